//! Export for Linux bridges with VLAN filtering: a shell script that calls `ip` and `bridge` of iproute2
//! (ip-link(8), bridge(8)). The Linux bridges that stand for switches in a lab get the same
//! configuration.

use tresse_base::id::Vid;

use super::preamble::Preamble;
use super::spell::{others, runs};
use super::{ExportFile, SwitchConfig};

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.bridge.sh", config.name);
    header(config, &name, &mut out);
    let ports: Vec<_> = config.cabled().iter().map(u32::to_string).collect();
    let ports = ports.join(" ");
    let interfaces: Vec<_> =
        config.ports.iter().map(|port| format!("\"{}\"", interface(config, port.port))).collect();
    line!(out, "set -eu");
    line!(out, ": \"${{bridge:=br0}}\" \"${{port:=swp}}\"");
    line!(out);
    line!(out, "# A new bridge forwards nothing: no VLAN is on any port.");
    line!(out, "ip link show dev \"$bridge\" >/dev/null 2>&1 ||");
    line!(out, "    ip link add name \"$bridge\" type bridge vlan_filtering 1 \\");
    line!(out, "        vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1");
    line!(out, "ip link set dev \"$bridge\" type bridge vlan_default_pvid 0 vlan_filtering 1 \\");
    line!(out, "    mcast_snooping 0 ageing_time {}", u64::from(config.fdb_age_seconds) * 100);
    for group in config.groups() {
        bond(&interface(config, group.port), &group.group, &mut out);
    }
    line!(out, "for dev in {}; do", interfaces.join(" "));
    line!(out, "    off=/proc/sys/net/ipv6/conf/$dev/disable_ipv6");
    line!(out, "    [ ! -w \"$off\" ] || echo 1 >\"$off\"");
    line!(out, "    ip link set dev \"$dev\" master \"$bridge\"");
    line!(out, "done");
    if config.base.is_none() {
        line!(out, "off=/proc/sys/net/ipv6/conf/$bridge/disable_ipv6");
        line!(out, "[ ! -w \"$off\" ] || echo 1 >\"$off\"");
    }
    line!(out);
    line!(out, "# Prune: the default VLAN and everything else that the plan does not have.");
    line!(out, "bridge -batch - <<EOF");
    let base: Vec<Vid> = config.base.into_iter().collect();
    for gap in others(&base) {
        line!(out, "vlan del dev $bridge vid {gap} self");
    }
    for port in &config.ports {
        let mut vids = port.tagged.clone();
        vids.extend(port.untagged);
        vids.sort_unstable();
        for gap in others(&vids) {
            line!(out, "vlan del dev {} vid {gap}", interface(config, port.port));
        }
    }
    line!(out, "EOF");
    line!(out);
    line!(out, "# VLANs. A port without an untagged VLAN drops untagged frames.");
    line!(out, "bridge -batch - <<EOF");
    if let Some(vid) = config.base {
        line!(out, "vlan add dev $bridge vid {vid} pvid untagged self");
    }
    for port in &config.ports {
        if let Some(vid) = port.untagged {
            line!(out, "vlan add dev {} vid {vid} pvid untagged", interface(config, port.port));
        }
        for vids in runs(&port.tagged) {
            line!(out, "vlan add dev {} vid {vids}", interface(config, port.port));
        }
    }
    line!(out, "EOF");
    if !config.fdb.is_empty() {
        line!(out);
        line!(out, "# Forwarding entries along the trees.");
        line!(out, "bridge -batch - <<EOF");
        for entry in &config.fdb {
            line!(
                out,
                "fdb replace {} dev {} vlan {} master static",
                entry.mac,
                interface(config, entry.port),
                entry.vid
            );
        }
        line!(out, "EOF");
    }
    if config.flow_control_off {
        line!(out);
        line!(out, "# Flow control off; virtual ports have none.");
        line!(out, "for n in {ports}; do");
        line!(out, "    ethtool -A \"$port$n\" autoneg off rx off tx off 2>/dev/null || :");
        line!(out, "done");
    }
    line!(out);
    line!(out, "for n in {ports}; do ip link set dev \"$port$n\" up; done");
    for group in config.groups() {
        line!(out, "ip link set dev {} up", interface(config, group.port));
    }
    line!(out, "ip link set dev \"$bridge\" up");
    line!(out);
    line!(out, "# Last: spanning tree off.");
    line!(out, "ip link set dev \"$bridge\" type bridge stp_state 0");
    vec![ExportFile { name, text: out }]
}

/// In the words of the shell.
fn interface(config: &SwitchConfig, port: u32) -> String {
    config.interface(port, |port| format!("${{port}}{port}"), |group| format!("lag{group}"))
}

/// Makes a bond of ports, unless it is there. Ports that it has lost are taken out by hand.
fn bond(name: &str, ports: &[u32], out: &mut String) {
    let ports: Vec<_> = ports.iter().map(u32::to_string).collect();
    line!(out, "ip link show dev {name} >/dev/null 2>&1 ||");
    line!(out, "    ip link add name {name} type bond mode 802.3ad miimon 100 \\");
    line!(out, "        lacp_rate fast xmit_hash_policy layer3+4");
    line!(out, "for n in {}; do", ports.join(" "));
    line!(
        out,
        "    case $(ip -o link show dev \"$port$n\") in *\" master {name} \"*) continue ;; esac"
    );
    line!(out, "    ip link set dev \"$port$n\" down");
    line!(out, "    ip link set dev \"$port$n\" master {name}");
    line!(out, "done");
}

fn header(config: &SwitchConfig, name: &str, out: &mut String) {
    line!(out, "#!/bin/sh");
    let ports =
        format!("Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh {name}");
    Preamble {
        mark: "#",
        file: name,
        format: "bridge",
        ports: &ports,
        advice: &[
            "Pre-flight: no loop detection, storm control (tc) or port isolation on these ports,",
            "`learning` and `flood` on (the default); EEE off: ethtool --set-eee PORT eee off.",
        ],
    }
    .write(config, out);
    line!(out);
}

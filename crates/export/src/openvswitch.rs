//! Export for Open vSwitch: a shell script that calls ovs-vsctl(8) and ovs-appctl(8).
//!
//! A port without `trunks` carries every VLAN (ovs-vswitchd.conf.db(5)), so ports that should carry
//! nothing are removed from the bridge. All ports change in one transaction, so that no port forwards a
//! frame before its VLANs are set.

use tresse_base::id::Vid;

use super::preamble::Preamble;
use super::{ExportFile, PortRole, SwitchConfig};

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.ovs.sh", config.name);
    line!(out, "#!/bin/sh");
    let ports =
        format!("Port 1 = swp1, port 2 = swp2; bridge br0. Others: port=eth bridge=br1 sh {name}");
    Preamble {
        mark: "#",
        file: &name,
        format: "openvswitch",
        ports: &ports,
        advice: &[
            "Userspace datapath: datapath=netdev sh ...; needs a bridge without a controller.",
            "Forwarding entries need Open vSwitch 2.16 and are lost when ovs-vswitchd restarts:",
            "run the script again. Pre-flight: no storm control (policing), no port isolation",
            "(other_config:protected), EEE off: ethtool --set-eee PORT eee off.",
        ],
    }
    .write(config, &mut out);
    line!(out);
    line!(out, "set -eu");
    line!(out, ": \"${{bridge:=br0}}\" \"${{port:=swp}}\" \"${{datapath:=system}}\"");
    line!(out);
    line!(out, "# One transaction: every port is pruned before it forwards its first frame.");
    line!(out, "ovs-vsctl \\");
    line!(out, "    --may-exist add-br \"$bridge\" \\");
    line!(out, "    -- set bridge \"$bridge\" datapath_type=\"$datapath\" \\");
    line!(
        out,
        "        mcast_snooping_enable=false other_config:mac-aging-time={} \\",
        config.fdb_age_seconds.clamp(15, 3600)
    );
    let own = config.base.unwrap_or(config.parking);
    line!(out, "    -- set port \"$bridge\" tag={own} \\");
    for port in &config.ports {
        let name = interface(config, port.port);
        let vids: Vec<Vid> = port.untagged.iter().chain(&port.tagged).copied().collect();
        if port.role == PortRole::Pruned || vids.is_empty() {
            line!(out, "    -- --if-exists del-port \"$bridge\" \"{name}\" \\");
            continue;
        }
        let trunks: Vec<_> = vids.iter().map(Vid::to_string).collect();
        let trunks = trunks.join(",");
        let members: Vec<_> =
            port.group.iter().map(|port| format!("\"{}\"", ethernet(*port))).collect();
        if members.is_empty() {
            line!(out, "    -- --may-exist add-port \"$bridge\" \"{name}\" \\");
        } else {
            for member in &members {
                line!(out, "    -- --if-exists del-port \"$bridge\" {member} \\");
            }
            line!(
                out,
                "    -- --may-exist add-bond \"$bridge\" \"{name}\" {} \\",
                members.join(" ")
            );
            line!(out, "    -- set port \"{name}\" lacp=active bond_mode=balance-tcp \\");
        }
        match port.untagged {
            Some(vid) if port.role == PortRole::Access => {
                line!(out, "    -- clear port \"{name}\" trunks \\");
                line!(out, "    -- set port \"{name}\" vlan_mode=access tag={vid} \\");
            }
            Some(vid) => line!(
                out,
                "    -- set port \"{name}\" vlan_mode=native-untagged tag={vid} trunks={trunks} \\"
            ),
            None => {
                line!(out, "    -- clear port \"{name}\" tag \\");
                line!(out, "    -- set port \"{name}\" vlan_mode=trunk trunks={trunks} \\");
            }
        }
    }
    line!(out, "    # end of the transaction");
    if !config.fdb.is_empty() {
        line!(out);
        line!(out, "# Forwarding entries along the trees.");
        line!(out, "while read -r name vid mac; do");
        line!(out, "    ovs-appctl fdb/add \"$bridge\" \"$name\" \"$vid\" \"$mac\"");
        line!(out, "done <<EOF");
        // Any port of a bond stands for the bond.
        for entry in &config.fdb {
            line!(out, "{} {} {}", ethernet(entry.port), entry.vid, entry.mac);
        }
        line!(out, "EOF");
    }
    let ports: Vec<_> = config.cabled().iter().map(u32::to_string).collect();
    let ports = ports.join(" ");
    line!(out);
    line!(out, "for n in {ports}; do");
    if config.flow_control_off {
        line!(out, "    ethtool -A \"$port$n\" autoneg off rx off tx off 2>/dev/null || :");
    }
    line!(out, "    ip link set dev \"$port$n\" up");
    line!(out, "done");
    line!(out);
    line!(out, "# Last: spanning tree off.");
    line!(out, "ovs-vsctl set bridge \"$bridge\" stp_enable=false rstp_enable=false");
    vec![ExportFile { name, text: out }]
}

fn interface(config: &SwitchConfig, port: u32) -> String {
    config.interface(port, ethernet, |group| format!("lag{group}"))
}

/// In the words of the shell.
fn ethernet(port: u32) -> String {
    format!("${{port}}{port}")
}

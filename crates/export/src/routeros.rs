//! Export for MikroTik RouterOS 7: a script for `/import`, with one VLAN-filtering bridge.

use super::preamble::Preamble;
use super::{ExportFile, PortRole, SwitchConfig};

const BRIDGE: &str = "bridge1";

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.rsc", config.name);
    Preamble {
        mark: "#",
        file: &name,
        format: "routeros",
        ports: "Port 1 = ether1, port 2 = ether2, ...; bridge bridge1",
        advice: &[
            "Apply: /import FILE, in safe mode; manage the switch by a port outside the bridge or",
            "by the base VLAN. Pre-flight: no storm-rate on these ports, no bpdu-guard,",
            "no horizon, learn=yes, RouterOS 7. EEE off where the port has it.",
            "VLANs that the plan no longer has: /interface bridge vlan remove [find comment=...].",
        ],
    }
    .write(config, &mut out);
    line!(out);
    line!(out, ":if ([:len [/interface bridge find where name=\"{BRIDGE}\"]] = 0) do={{ \\");
    line!(
        out,
        "    /interface bridge add name={BRIDGE} vlan-filtering=yes pvid={0} \\",
        config.parking
    );
    line!(out, "    frame-types=admit-only-vlan-tagged }}");
    let itself = match config.base {
        Some(vid) => format!("pvid={vid} frame-types=admit-all"),
        None => format!("pvid={} frame-types=admit-only-vlan-tagged", config.parking),
    };
    line!(out, "/interface bridge set {BRIDGE} vlan-filtering=yes {itself} \\");
    line!(out, "    ageing-time={}s igmp-snooping=no", config.fdb_age_seconds);
    line!(out);
    match config.ports.iter().all(|port| port.role == PortRole::Access) {
        true => line!(out, "# Ports: untagged frames only, in the VLAN of their line."),
        false => line!(out, "# Ports: tagged frames only, but for the base VLAN."),
    }
    let interface = |port| config.interface(port, ethernet, |group| format!("lag{group}"));
    for group in config.groups() {
        let members: Vec<_> = group.group.iter().map(|port| ethernet(*port)).collect();
        for member in &members {
            line!(out, "/interface bridge port remove [find where interface={member}]");
        }
        let name = interface(group.port);
        let slaves = members.join(",");
        let settings = format!(
            "slaves={slaves} mode=802.3ad lacp-rate=1sec transmit-hash-policy=layer-2-and-3"
        );
        upsert(
            "/interface bonding",
            &format!("name={name}"),
            &format!("name={name} {settings}"),
            &mut out,
        );
    }
    for port in &config.ports {
        let ether = interface(port.port);
        let settings = match port.untagged {
            Some(vid) if port.role == PortRole::Access => {
                format!("pvid={vid} frame-types=admit-only-untagged-and-priority-tagged")
            }
            Some(vid) => format!("pvid={vid} frame-types=admit-all"),
            None => format!("pvid={} frame-types=admit-only-vlan-tagged", config.parking),
        };
        let settings =
            format!("bridge={BRIDGE} {settings} ingress-filtering=yes comment=\"{}\"", port.peer);
        let menu = "/interface bridge port";
        upsert(
            menu,
            &format!("interface={ether}"),
            &format!("interface={ether} {settings}"),
            &mut out,
        );
    }
    line!(out, "/interface ethernet");
    for port in config.cabled() {
        let flow =
            if config.flow_control_off { " rx-flow-control=off tx-flow-control=off" } else { "" };
        let ether = ethernet(port);
        line!(out, "set [find where name=\"{ether}\"] loop-protect=off{flow} disabled=no");
    }
    line!(out);
    line!(out, "# VLANs.");
    let menu = "/interface bridge vlan";
    if let Some(vid) = config.base {
        let ports = config.ports.iter().filter(|p| p.untagged.is_some());
        let ports: Vec<_> = ports.map(|p| format!(",{}", interface(p.port))).collect();
        let settings =
            format!("bridge={BRIDGE} vlan-ids={vid} untagged={BRIDGE}{}", ports.concat());
        upsert(
            menu,
            "comment=\"tresse base\"",
            &format!("{settings} comment=\"tresse base\""),
            &mut out,
        );
    }
    for vlan in &config.vlans {
        let comment = format!("comment=\"tresse {} {}\"", vlan.vid, vlan.name);
        let (how, ports) = match vlan.untagged.is_empty() {
            true => ("tagged", &vlan.tagged),
            false => ("untagged", &vlan.untagged),
        };
        let ports: Vec<_> = ports.iter().map(|p| interface(*p)).collect();
        let settings = format!("bridge={BRIDGE} vlan-ids={} {how}={}", vlan.vid, ports.join(","));
        upsert(menu, &comment, &format!("{settings} {comment}"), &mut out);
    }
    if !config.fdb.is_empty() {
        line!(out);
        line!(out, "# Forwarding entries along the trees; addresses are learned meanwhile.");
        line!(out, "/interface bridge host");
        line!(out, "remove [find where comment=\"tresse\"]");
        for entry in &config.fdb {
            line!(
                out,
                "add bridge={BRIDGE} interface={} mac-address={} vid={} comment=\"tresse\"",
                interface(entry.port),
                entry.mac.to_string().to_uppercase(),
                entry.vid
            );
        }
    }
    let idle: Vec<_> =
        config.ports.iter().filter(|p| p.role == PortRole::Pruned).map(|p| p.port).collect();
    if !idle.is_empty() {
        line!(out, "# Ports without a VLAN stay in the bridge and forward nothing: {idle:?}");
    }
    line!(out);
    line!(out, "# Last: spanning tree off.");
    line!(out, "/interface bridge set {BRIDGE} protocol-mode=none");
    vec![ExportFile { name, text: out }]
}

/// Adds an entry to a menu, or sets the one that `find` finds.
fn upsert(menu: &str, find: &str, settings: &str, out: &mut String) {
    line!(out, ":if ([:len [{menu} find where {find}]] = 0) do={{ \\");
    line!(out, "    {menu} add {settings} }} else={{ \\");
    line!(out, "    {menu} set [find where {find}] {settings} }}");
}

fn ethernet(port: u32) -> String {
    format!("ether{port}")
}

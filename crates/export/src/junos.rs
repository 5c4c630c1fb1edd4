//! Export for Juniper Junos with Enhanced Layer 2 Software (EX2300, EX3400, EX4300 and later, QFX):
//! `set` commands for `load set`. A commit applies all commands at once, so their order is for the
//! reader only. The last block, which turns spanning tree off, can be committed separately.

use tresse_base::id::Vid;

use super::preamble::Preamble;
use super::spell::runs;
use super::{ExportFile, PortRole, SwitchConfig};

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.junos.set", config.name);
    Preamble {
        mark: "#",
        file: &name,
        format: "junos",
        ports: "Port 1 = ge-0/0/0, port 2 = ge-0/0/1, ...",
        advice: &[
            "Apply: load set FILE, show | compare, commit confirmed. `statement not found` after",
            "a delete is fine. Pre-flight: on these ports no storm-control profile, no MAC limit",
            "(switch-options), no loop-protect; EEE off. Spanning tree here is RSTP, the factory",
            "default; where VSTP or MSTP runs, disable these interfaces there instead.",
            "VLANs that the plan no longer has: delete vlans tresse-N.",
        ],
    }
    .write(config, &mut out);
    let interface = |port| config.interface(port, ethernet, |group| format!("ae{group}"));
    if let Some(highest) = config.groups().map(|group| group.port).max() {
        line!(out);
        line!(out, "set chassis aggregated-devices ethernet device-count {}", highest + 1);
    }
    for (group, port) in config.members() {
        let (name, member) = (interface(group.port), ethernet(port));
        line!(out);
        line!(out, "delete interfaces {member} unit 0");
        line!(out, "delete interfaces {member} native-vlan-id");
        line!(out, "set interfaces {member} description \"{}\"", group.peer);
        line!(out, "set interfaces {member} ether-options 802.3ad {name}");
        if config.flow_control_off {
            line!(out, "set interfaces {member} ether-options no-flow-control");
        }
    }
    for port in &config.ports {
        let name = interface(port.port);
        line!(out);
        line!(out, "delete interfaces {name} unit 0 family ethernet-switching");
        line!(out, "delete interfaces {name} native-vlan-id");
        line!(out, "set interfaces {name} description \"{}\"", port.peer);
        if !port.group.is_empty() {
            line!(out, "set interfaces {name} aggregated-ether-options lacp active");
        } else if config.flow_control_off {
            line!(out, "set interfaces {name} ether-options no-flow-control");
        }
        let mut vids: Vec<Vid> = port.untagged.iter().chain(&port.tagged).copied().collect();
        vids.sort_unstable();
        if vids.is_empty() {
            continue;
        }
        let family = format!("set interfaces {name} unit 0 family ethernet-switching");
        let access = port.role == PortRole::Access;
        line!(out, "{family} interface-mode {}", if access { "access" } else { "trunk" });
        if let Some(vid) = port.untagged.filter(|_| !access) {
            line!(out, "set interfaces {name} native-vlan-id {vid}");
        }
        for vids in runs(&vids) {
            line!(out, "{family} vlan members {vids}");
        }
    }
    line!(out);
    match config.base {
        Some(Vid(1)) => line!(out, "set vlans default vlan-id 1"),
        Some(vid) => line!(out, "set vlans tresse-base vlan-id {vid}"),
        None => {}
    }
    for vlan in &config.vlans {
        line!(out, "set vlans tresse-{0} vlan-id {0}", vlan.vid);
        line!(out, "set vlans tresse-{} description \"{}\"", vlan.vid, vlan.name);
    }
    line!(out);
    for entry in &config.fdb {
        line!(
            out,
            "set vlans tresse-{} switch-options interface {}.0 static-mac {}",
            entry.vid,
            interface(entry.port),
            entry.mac
        );
    }
    line!(out, "set protocols l2-learning global-mac-table-aging-time {}", config.fdb_age_seconds);
    line!(out);
    line!(out, "# Last: spanning tree off on the fabric's ports.");
    for port in config.ports.iter().filter(|p| p.role != PortRole::Pruned) {
        line!(out, "set protocols rstp interface {} disable", interface(port.port));
    }
    vec![ExportFile { name, text: out }]
}

fn ethernet(port: u32) -> String {
    format!("ge-0/0/{}", port.saturating_sub(1))
}

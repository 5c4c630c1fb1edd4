//! Export for Cisco Catalyst switches with IOS or IOS XE: command lines to paste in configuration
//! mode.

use tresse_base::id::Vid;

use super::preamble::Preamble;
use super::spell::{dotted, lists, vlan_name};
use super::{ExportFile, PortConfig, PortRole, SwitchConfig};

/// IOS takes command lines of 254 characters.
const LIST: usize = 200;
/// Longest VLAN name.
const NAME: usize = 32;

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.ios.cfg", config.name);
    let native = if config.ports.iter().all(|port| port.role == PortRole::Access) {
        "Every port is an access port, in the VLAN of its line of nodes.".to_owned()
    } else {
        format!(
            "VLAN {} is the native VLAN of ports that take tagged frames only: do not create it.",
            config.parking
        )
    };
    Preamble {
        mark: "!",
        file: &name,
        format: "ios",
        ports: "Port 1 = GigabitEthernet1/0/1, port 2 = GigabitEthernet1/0/2, ...",
        advice: &[
            &native,
            "Pre-flight: platforms with ISL want `switchport trunk encapsulation dot1q` first;",
            "on these ports no storm-control, no switchport port-security, no udld, no keepalive,",
            "no spanning-tree bpduguard; EEE off (no power efficient-ethernet auto).",
            "VLANs that the plan no longer has: no vlan N.",
        ],
    }
    .write(config, &mut out);
    line!(out, "!");
    line!(out, "vtp mode transparent");
    let interface = |port| config.interface(port, ethernet, |group| format!("Port-channel{group}"));
    for port in &config.ports {
        line!(out, "!");
        line!(out, "interface {}", interface(port.port));
        switchport(config, port, &mut out);
        if port.group.is_empty() {
            cable(config, &mut out);
        }
        line!(out, " no shutdown");
    }
    // Ports join a group only with the settings that it has.
    for (group, port) in config.members() {
        line!(out, "!");
        line!(out, "interface {}", ethernet(port));
        switchport(config, group, &mut out);
        cable(config, &mut out);
        line!(out, " channel-group {} mode active", group.port);
        line!(out, " no shutdown");
    }
    vlans_and_entries(config, " ", interface, &mut out);
    line!(out, "!");
    line!(out, "! Last: spanning tree off on these VLANs.");
    let vids: Vec<_> = config.vlans.iter().map(|v| v.vid).collect();
    for list in lists(&vids, LIST) {
        line!(out, "no spanning-tree vlan {list}");
    }
    line!(out, "end");
    vec![ExportFile { name, text: out }]
}

fn ethernet(port: u32) -> String {
    format!("GigabitEthernet1/0/{port}")
}

/// What a port, or a group of ports, carries.
fn switchport(config: &SwitchConfig, port: &PortConfig, out: &mut String) {
    line!(out, " description {}", port.peer);
    line!(out, " switchport");
    match port.untagged {
        Some(vid) if port.role == PortRole::Access => access(" ", vid, out),
        untagged => {
            line!(out, " switchport trunk native vlan {}", untagged.unwrap_or(config.parking));
            let mut vids: Vec<Vid> = untagged.iter().chain(&port.tagged).copied().collect();
            vids.sort_unstable();
            allowed(" ", &vids, out);
            line!(out, " switchport mode trunk");
        }
    }
    line!(out, " switchport nonegotiate");
}

/// What belongs to a port alone.
fn cable(config: &SwitchConfig, out: &mut String) {
    if config.flow_control_off {
        line!(out, " flowcontrol receive off");
    }
}

/// A port without tags.
pub(super) fn access(indent: &str, vid: Vid, out: &mut String) {
    line!(out, "{indent}switchport access vlan {vid}");
    line!(out, "{indent}switchport mode access");
}

/// The allowed VLANs of a trunk, in as many commands as the line length asks for.
pub(super) fn allowed(indent: &str, vids: &[Vid], out: &mut String) {
    if vids.is_empty() {
        line!(out, "{indent}switchport trunk allowed vlan none");
    }
    for (i, list) in lists(vids, LIST).iter().enumerate() {
        let add = if i == 0 { "" } else { "add " };
        line!(out, "{indent}switchport trunk allowed vlan {add}{list}");
    }
}

/// All VLANs with their names, the forwarding entries and the age at which learnt ones go. `interface`
/// spells the name of a port.
pub(super) fn vlans_and_entries(
    config: &SwitchConfig,
    indent: &str,
    interface: impl Fn(u32) -> String,
    out: &mut String,
) {
    line!(out, "!");
    if let Some(vid) = config.base.filter(|v| v.0 != 1) {
        line!(out, "vlan {vid}");
        line!(out, "{indent}name tresse-base");
    }
    for vlan in &config.vlans {
        line!(out, "vlan {}", vlan.vid);
        line!(out, "{indent}name {}", vlan_name(vlan.vid, &vlan.name, NAME));
    }
    line!(out, "!");
    for entry in &config.fdb {
        line!(
            out,
            "mac address-table static {} vlan {} interface {}",
            dotted(entry.mac),
            entry.vid,
            interface(entry.port)
        );
    }
    line!(out, "mac address-table aging-time {}", config.fdb_age_seconds);
}

//! Export for Arista EOS switches: command lines to paste in configuration mode or a configuration
//! session.

use tresse_base::id::Vid;

use super::ios::{access, allowed, vlans_and_entries};
use super::preamble::Preamble;
use super::spell::ranges;
use super::{ExportFile, PortRole, SwitchConfig};

pub(super) fn render(config: &SwitchConfig) -> Vec<ExportFile> {
    let mut out = String::new();
    let name = format!("{}.eos.cfg", config.name);
    Preamble {
        mark: "!",
        file: &name,
        format: "eos",
        ports: "Port 1 = Ethernet1, port 2 = Ethernet2, ...",
        advice: &[
            "Pre-flight: `vlan internal order` must leave these VIDs free; on these ports no",
            "storm-control, no port-security, no loop-protection, no bpduguard.",
            "VLANs that the plan no longer has: no vlan N.",
        ],
    }
    .write(config, &mut out);
    let interface = |port| config.interface(port, ethernet, |group| format!("Port-Channel{group}"));
    for port in &config.ports {
        line!(out, "!");
        line!(out, "interface {}", interface(port.port));
        line!(out, "   description {}", port.peer);
        line!(out, "   switchport");
        match port.untagged {
            Some(vid) if port.role == PortRole::Access => access("   ", vid, &mut out),
            untagged => {
                match untagged {
                    Some(vid) => line!(out, "   switchport trunk native vlan {vid}"),
                    None => line!(out, "   switchport trunk native vlan tag"),
                }
                let mut vids: Vec<Vid> = untagged.iter().chain(&port.tagged).copied().collect();
                vids.sort_unstable();
                allowed("   ", &vids, &mut out);
                line!(out, "   switchport mode trunk");
            }
        }
        if port.group.is_empty() {
            flow_control(config, &mut out);
        }
        line!(out, "   no shutdown");
    }
    for (group, port) in config.members() {
        line!(out, "!");
        line!(out, "interface {}", ethernet(port));
        line!(out, "   description {}", group.peer);
        flow_control(config, &mut out);
        line!(out, "   channel-group {} mode active", group.port);
        line!(out, "   no shutdown");
    }
    vlans_and_entries(config, "   ", interface, &mut out);
    line!(out, "!");
    line!(out, "! Last: spanning tree off on these VLANs.");
    let vids: Vec<_> = config.vlans.iter().map(|v| v.vid).collect();
    if !vids.is_empty() {
        line!(out, "no spanning-tree vlan-id {}", ranges(&vids));
    }
    line!(out, "end");
    vec![ExportFile { name, text: out }]
}

fn ethernet(port: u32) -> String {
    format!("Ethernet{port}")
}

fn flow_control(config: &SwitchConfig, out: &mut String) {
    if config.flow_control_off {
        line!(out, "   flowcontrol receive off");
        line!(out, "   flowcontrol send off");
    }
}

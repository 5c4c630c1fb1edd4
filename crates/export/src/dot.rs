//! Export for Graphviz: a drawing of switches, nodes and cables. Each cable between switches is labelled
//! with the VIDs that it carries, or as an uplink (a cable that carries multicast and other networks,
//! but no planned path).

use tresse_base::id::Vid;
use tresse_plan::Plan;
use tresse_topology::cluster::Link;

use super::spell::ranges;
use super::{ExportFile, PortRole, SwitchConfig};

/// With `only`, cables outside that VLAN are dotted grey and its tree is bold.
pub(super) fn render(plan: &Plan, configs: &[SwitchConfig], only: Option<Vid>) -> Vec<ExportFile> {
    let cluster = plan.cluster();
    let mut out = String::new();
    line!(out, "graph {} {{", quoted(&cluster.name));
    line!(out, "  // generation {}", plan.generation());
    line!(out, "  node [fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\", fontsize=9];");
    for switch in &cluster.switches {
        line!(out, "  {} [shape=box];", quoted(&switch.name));
    }
    for node in &cluster.nodes {
        line!(out, "  {} [shape=ellipse];", quoted(&node.name));
    }
    let style = |vids: &[Vid], untagged: Option<Vid>| match only {
        None => "",
        Some(vid) if vids.contains(&vid) || untagged == Some(vid) => ", style=bold",
        Some(_) => ", style=dotted, color=gray",
    };
    let port_of = |switch: usize, port: u32| {
        configs[switch].ports.iter().find(|p| p.port == port).expect("cabled ports are configured")
    };
    for (i, link) in cluster.links.iter().enumerate() {
        let cables = cluster.cables_of(i.into());
        let ports = |of: fn(&Link) -> u32| -> String {
            cables.iter().map(|cable| of(cable).to_string()).collect::<Vec<_>>().join(",")
        };
        let port = port_of(link.a.switch.index(), link.a.port);
        let label = match (&port.role, port.untagged) {
            _ if cluster.is_uplink(link) => "uplink".to_string(),
            (PortRole::Pruned, _) => "-".to_string(),
            (_, Some(base)) => format!("{} untagged {base}", ranges(&port.tagged)),
            (_, None) => ranges(&port.tagged),
        };
        line!(
            out,
            "  {} -- {} [label={}, taillabel=\"{}\", headlabel=\"{}\"{}];",
            quoted(&cluster.switch(link.a.switch).name),
            quoted(&cluster.switch(link.b.switch).name),
            quoted(&label),
            ports(|cable| cable.a.port),
            ports(|cable| cable.b.port),
            style(&port.tagged, port.untagged)
        );
    }
    for node in &cluster.nodes {
        for nic in node.nics.iter().filter(|nic| nic.peer.is_none()) {
            let port = port_of(nic.switch.index(), nic.port);
            let label = match (port.role, port.untagged) {
                (PortRole::Access, Some(vid)) => format!("label=\"untagged {vid}\", "),
                _ => String::new(),
            };
            line!(
                out,
                "  {} -- {} [{label}taillabel={}, headlabel=\"{}\"{}];",
                quoted(&node.name),
                quoted(&cluster.switch(nic.switch).name),
                quoted(&nic.name),
                nic.port,
                style(&port.tagged, port.untagged)
            );
        }
    }
    for (a, b) in cluster.direct_cables() {
        let (near, far) = (cluster.node(a.node), cluster.node(b.node));
        line!(
            out,
            "  {} -- {} [taillabel={}, headlabel={}];",
            quoted(&near.name),
            quoted(&far.name),
            quoted(&near.nics[a.nic].name),
            quoted(&far.nics[b.nic].name)
        );
    }
    line!(out, "}}");
    vec![ExportFile { name: format!("{}.dot", cluster.name), text: out }]
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

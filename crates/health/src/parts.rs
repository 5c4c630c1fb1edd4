//! What can be at fault: each cable, switch and node, with its crossings.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::path::Crossing;

use super::suspect::Kind;

/// A part of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub kind: Kind,
    pub name: String,
    pub crossings: BTreeSet<Crossing>,
    /// The node, if it is one.
    pub node: Option<NodeId>,
}

/// All parts: cables first, as the smallest explanation is the likeliest, then switches, then nodes.
pub(crate) fn parts(plan: &Plan, fabric: &FabricParts) -> Vec<Part> {
    let cluster = plan.cluster();
    let mut cables: BTreeMap<String, BTreeSet<Crossing>> = BTreeMap::new();
    // A cable between two nodes is one cable of each of them.
    for ([a, b], crossings) in fabric.cables() {
        let name = if a <= b { format!("{a}-{b}") } else { format!("{b}-{a}") };
        cables.entry(name).or_default().extend(crossings);
    }
    let cables = cables.into_iter().map(|(name, crossings)| Part {
        kind: Kind::Cable,
        name,
        crossings,
        node: None,
    });
    let place = |kind, name: &String, node| {
        let crossings = fabric.named(name).map(|part| part.wires().clone()).unwrap_or_default();
        Part { kind, name: name.clone(), crossings, node }
    };
    let switches = cluster.switches.iter().map(|switch| place(Kind::Switch, &switch.name, None));
    let nodes = cluster.nodes.iter().enumerate();
    let nodes = nodes.map(|(at, node)| place(Kind::Node, &node.name, Some(NodeId::from(at))));
    cables.chain(switches).chain(nodes).filter(|part| !part.crossings.is_empty()).collect()
}

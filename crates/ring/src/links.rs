//! The directed links that the stages of a ring cross.

use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::units::Rate;
use tresse_fabric::watch::{self, Crossing};

/// What the stages of a ring take, all at once. Less is better, the first figure first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost {
    /// Stages on directed links beyond one on each.
    pub excess: u32,
    /// Directed links between switches that stages cross, each time counted.
    pub crossings: u32,
    /// The same of all links, those of nodes included.
    pub links: u32,
}

/// Each with the one after it, the last with the first; none of one node.
pub(crate) fn stages(nodes: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    let next = nodes.iter().cycle().skip(1);
    nodes.iter().zip(next).map(|(a, b)| (*a, *b)).filter(|(a, b)| a != b)
}

/// The directed links from one node to another.
pub(crate) fn links(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Crossing> {
    plan.primary(from, to).iter().flat_map(|segment| watch::wires(plan, segment)).collect()
}

/// The rate of a directed link.
pub(crate) fn rate(plan: &Plan, crossing: Crossing) -> Rate {
    let (cluster, graph) = (plan.cluster(), plan.graph());
    match crossing {
        Crossing::Out(node, nic) | Crossing::In(node, nic) => cluster.node(node).nics[nic].rate,
        Crossing::Between(channel) => cluster.links[graph.link(channel).index()].rate,
    }
}

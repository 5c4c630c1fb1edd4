//! The order of a ring: each inter-switch link is crossed as seldom as possible, and no directed link carries more
//! stages than one where the fabric allows that. Where nodes have several NICs, several rings that share no directed
//! link.

mod candidates;
mod disjoint;
#[cfg(test)]
mod tests;

use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::units::Rate;
use tresse_fabric::watch::{self, Crossing};

use crate::search::{Search, Ways};
use candidates::candidates;

/// Nodes in a circle: each sends to the next one, the last one to the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    nodes: Vec<NodeId>,
    cost: Cost,
}

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

impl Ring {
    /// The best order that is found of these nodes, at least one; the first stays first. Deterministic. O(n^2) paths.
    #[must_use]
    pub fn of(plan: &Plan, members: &[NodeId]) -> Self {
        Self::beside(plan, members, &[])
    }

    /// The same, and as many rings more as nodes have NICs, each of which shares no directed link with the others,
    /// as far as such are found.
    #[must_use]
    pub fn disjoint(plan: &Plan, members: &[NodeId]) -> Vec<Self> {
        disjoint::rings(plan, members)
    }

    /// The best order beside other rings.
    fn beside(plan: &Plan, members: &[NodeId], others: &[Self]) -> Self {
        let mut search = Search::new(plan, Ways::There);
        others.iter().for_each(|other| search.hold(&other.nodes));
        let mut best: Option<(Cost, Vec<NodeId>)> = None;
        for order in candidates(plan, members, &mut search) {
            let cost = search.cost(&order);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, order));
            }
        }
        let (_, mut nodes) = best.unwrap_or_default();
        let cost = search.improve(&mut nodes);
        Self { nodes, cost }.from(members[0])
    }

    /// The same ring with that node in front.
    fn from(mut self, node: NodeId) -> Self {
        let first = self.nodes.iter().position(|it| *it == node).unwrap_or(0);
        self.nodes.rotate_left(first);
        self
    }

    /// All nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// What all stages take at once.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }
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

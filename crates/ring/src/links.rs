//! Finds the directed links of the fabric that the stages of a ring cross, and how many stages load
//! each link. A stage is one member sending to the next one.

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::Crossing;

/// The load on the directed links of the fabric when all members of a ring send to the next one at
/// once. Costs are compared field by field, in the order of the fields; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RingCost {
    /// Sum over all directed links of the stages beyond the first one on that link.
    pub excess: u32,
    /// Crossings of directed links between switches, counted once per stage.
    pub crossings: u32,
    /// The same count over all links, those of nodes included.
    pub links: u32,
}

/// Returns each node with the one after it, the last with the first; nothing for a single node.
pub(crate) fn stages(nodes: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    let next = nodes.iter().cycle().skip(1);
    nodes.iter().zip(next).map(|(a, b)| (*a, *b)).filter(|(a, b)| a != b)
}

/// Returns the directed links on the path from one node to another.
pub(crate) fn links(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Crossing> {
    plan.primary(from, to).iter().flat_map(|segment| plan.crossings(segment)).collect()
}

//! One ring: an order of nodes in a circle, and the load on links when each node sends to the next
//! one.

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use super::candidates::candidates;
use crate::links::RingCost;
use crate::search::{Direction, RingSearch};

/// An order of the nodes of a copy in a circle: each sends to the next one, the last one to the
/// first. Comes with the load that this puts on links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOrder {
    pub(super) nodes: Vec<NodeId>,
    pub(super) cost: RingCost,
}

impl RingOrder {
    /// Returns the best order found of the given nodes (at least one); the first node stays first.
    /// Deterministic. O(n^2) paths.
    #[must_use]
    pub fn of(plan: &Plan, members: &[NodeId]) -> Self {
        Self::beside(plan, members, &[])
    }

    /// Returns the best order, given the links that other rings use.
    pub(super) fn beside(plan: &Plan, members: &[NodeId], others: &[Self]) -> Self {
        let mut search = RingSearch::new(plan, Direction::Forward);
        others.iter().for_each(|other| search.hold(&other.nodes));
        let mut best: Option<(RingCost, Vec<NodeId>)> = None;
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

    /// Rotates the ring so that `node` comes first.
    pub(super) fn from(mut self, node: NodeId) -> Self {
        let first = self.nodes.iter().position(|it| *it == node).unwrap_or(0);
        self.nodes.rotate_left(first);
        self
    }

    /// Returns all nodes in order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns the cost of all stages at once.
    #[must_use]
    pub const fn cost(&self) -> RingCost {
        self.cost
    }
}

//! Finds several rings that share no directed link.
//!
//! Rings mostly come in pairs: a ring, and the same ring in the opposite direction. On a direct
//! torus (nodes cabled to each other) the initial orders along its lines contain such pairs. On a
//! P-Mesh (nodes in a grid, with switches for its rows and columns) such a ring has to change
//! between rows and columns at every node, which needs a search.

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use super::candidates::candidates;
use super::ring::RingOrder;
use crate::search::{Direction, RingSearch};

/// Number of pairs that are tried as the first pair.
const FIRST: usize = 8;

impl RingOrder {
    /// Returns the best ring, and as many further rings as nodes have NICs and the search finds. No
    /// two share a directed link.
    #[must_use]
    pub fn disjoint(plan: &Plan, members: &[NodeId]) -> Vec<Self> {
        rings(plan, members)
    }
}

/// Returns the best ring, and further rings that share no directed link: at most one per NIC of the
/// node with the fewest NICs.
fn rings(plan: &Plan, members: &[NodeId]) -> Vec<RingOrder> {
    let nics = members.iter().map(|node| plan.cluster().node(*node).nics.len()).min().unwrap_or(1);
    let one = RingOrder::of(plan, members);
    if nics < 2 || members.len() < 3 || one.cost.excess > 0 {
        return vec![one];
    }
    // The first pair decides which others are possible.
    let mut best = vec![one];
    for first in 0..FIRST {
        let Some(pair) = pair(plan, members, &[], first) else { break };
        let mut rings = Vec::from(pair);
        while rings.len() + 2 <= nics {
            let Some(pair) = self::pair(plan, members, &rings, 0) else { break };
            rings.extend(pair);
        }
        if rings.len() > best.len() {
            best = rings;
        }
        if best.len() + 2 > nics {
            break;
        }
    }
    while best.len() < nics {
        let more = RingOrder::beside(plan, members, &best);
        if more.cost.excess > 0 {
            break;
        }
        best.push(more);
    }
    best
}

/// Returns a ring and its reverse that share no directed link with each other or with `others`. The
/// first `skip` pairs that are found are left out.
fn pair(
    plan: &Plan,
    members: &[NodeId],
    others: &[RingOrder],
    skip: usize,
) -> Option<[RingOrder; 2]> {
    let mut search = RingSearch::new(plan, Direction::Both);
    others.iter().for_each(|other| search.hold(&other.nodes));
    let mut orders = candidates(plan, members, &mut search);
    orders.sort_by_key(|order| search.cost(order));
    let mut found = orders.into_iter().filter_map(|mut order| {
        let cost = search.cost(&order);
        let cost = if cost.excess == 0 { cost } else { search.anneal(&mut order) };
        (cost.excess == 0).then_some(order)
    });
    let nodes = found.nth(skip)?;
    let mut one_way = RingSearch::new(plan, Direction::Forward);
    let mut ring = |nodes: Vec<NodeId>| {
        let cost = one_way.cost(&nodes);
        RingOrder { nodes, cost }.from(members[0])
    };
    let back = nodes.iter().rev().copied().collect();
    Some([ring(nodes), ring(back)])
}

//! Finds the pairs of nodes that can still talk when parts of a fabric have failed: a search of the trials' own, which
//! shares no code with the program under test.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::path::{Crossing, Path};

/// Returns the ordered pairs of nodes that cables join which carry in both directions, through live nodes; where nodes
/// do not route, pairs of nodes that have a whole planned path in each direction join them. `lost`: the directed links
/// that carry nothing.
#[must_use]
pub fn joined(plan: &Plan, lost: &BTreeSet<Crossing>) -> BTreeSet<(NodeId, NodeId)> {
    let mut next: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    if let Some(layout) = plan.layout() {
        for node in (0..layout.nodes()).map(NodeId::from) {
            let whole = layout.neighbours(node).into_iter().filter(|hop| {
                let both = [
                    Crossing::Out(node, hop.nic),
                    Crossing::In(node, hop.nic),
                    Crossing::Out(hop.to, hop.to_nic),
                    Crossing::In(hop.to, hop.to_nic),
                ];
                both.iter().all(|wire| !lost.contains(wire))
            });
            next.insert(node, whole.map(|hop| hop.to).collect());
        }
    } else {
        let is_whole =
            |path: &Path| plan.path_crossings(path).iter().all(|crossing| !lost.contains(crossing));
        let leads = |src, dst| plan.paths(src, dst).iter().any(is_whole);
        for (a, b) in plan.pairs().filter(|(a, b)| leads(*a, *b) && leads(*b, *a)) {
            next.entry(a).or_default().insert(b);
        }
    }
    let mut joined = BTreeSet::new();
    for &from in next.keys() {
        let (mut reached, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(node) = open.pop() {
            open.extend(next[&node].iter().copied().filter(|to| reached.insert(*to)));
        }
        joined.extend(reached.into_iter().filter(|to| *to != from).map(|to| (from, to)));
    }
    joined
}

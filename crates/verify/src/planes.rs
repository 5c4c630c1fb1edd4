//! A note on switches that cables do not join: the planes of a fabric.

use std::collections::BTreeMap;

use tresse_plan::Plan;
use tresse_topology::Components;

use super::Finding;

/// So many planes are named.
const NAMED: usize = 4;

/// Says which planes there are, where nodes alone join the switches, since that may be a cable that was forgotten.
pub(super) fn note(plan: &Plan) -> Option<Finding> {
    let cluster = plan.cluster();
    if cluster.is_untagged() {
        return None;
    }
    let mut parts = Components::new(cluster.switches.len());
    for link in &cluster.links {
        parts.join(link.a.switch.index(), link.b.switch.index());
    }
    let mut planes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..cluster.switches.len() {
        planes.entry(parts.root(at)).or_default().push(at);
    }
    let mut planes: Vec<Vec<usize>> = planes.into_values().collect();
    planes.sort_unstable_by_key(|plane| plane[0]);
    if planes.len() < 2 {
        return None;
    }
    let name = |plane: &Vec<usize>| {
        let first = &cluster.switches[plane[0]].name;
        match plane.len() - 1 {
            0 => first.clone(),
            more => format!("{first} and {more} more"),
        }
    };
    let mut named: Vec<String> = planes.iter().take(NAMED).map(name).collect();
    if planes.len() > NAMED {
        named.push(format!("{} planes more", planes.len() - NAMED));
    }
    let on_one = cluster.nodes.iter().filter(|node| {
        let mut on = node.nics.iter().map(|nic| parts.root(nic.switch.index()));
        let first = on.next();
        on.all(|plane| Some(plane) == first)
    });
    let message = format!(
        "{} planes that no cable joins, each with VLANs of its own. Pairs of nodes use all planes that both are on, \
         weighted by rate; {} of {} nodes are on one alone, and reach those of others through nodes with `transit = true`",
        planes.len(),
        on_one.count(),
        cluster.nodes.len()
    );
    Some(Finding { kind: "planes", object: named.join("; "), message })
}

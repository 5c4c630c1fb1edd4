//! Computes which pairs of nodes are lost if whole switches of a P-Mesh fail: one switch, or two at
//! once. A switch may hold several lines (sets of nodes that share a switch in one dimension), which
//! then fail together.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rayon::prelude::*;
use tresse_base::hostlist::collapse;
use tresse_base::id::{NodeId, SwitchId};
use tresse_topology::cluster::{NicEnd, TopologyShape};
use tresse_topology::{Components, Hop};

use super::fabric::{Fabric, WALKED};
use crate::Finding;

/// Up to this many switches with several lines, pairs of switches are failed too.
const PAIRED: usize = 128;

/// Returns the ordered pairs lost with each switch, walked pair by pair for one destination in
/// `step`: a path may meet the same switch on several of its lines. O(pairs x dimensions x hops).
pub(super) fn lost(fabric: &Fabric<'_>, step: usize) -> Vec<u64> {
    let switches = fabric.plan.cluster().switches.len();
    let none = || vec![0; switches];
    (0..fabric.nodes.div_ceil(step))
        .into_par_iter()
        .fold(none, |mut lost, d| {
            let to = NodeId::from(d * step);
            for from in (0..fabric.nodes).map(NodeId::from).filter(|from| *from != to) {
                needed(fabric, from, to).for_each(|switch| lost[switch.index()] += 1);
            }
            lost
        })
        .reduce(none, |mut lost, other| {
            lost.iter_mut().zip(other).for_each(|(lost, other)| *lost += other);
            lost
        })
}

/// Returns the switches on the primary without which a packet does not arrive.
fn needed(fabric: &Fabric<'_>, from: NodeId, to: NodeId) -> impl Iterator<Item = SwitchId> {
    let of = |end: NicEnd| SwitchId(fabric.wires.switch[fabric.nic(end)]);
    let (mut at, mut crossed) = (from, Vec::new());
    // A primary that goes round or leads nowhere is a fault that the survey has found.
    while at != to && crossed.len() <= fabric.nodes {
        let hop = fabric.routes.find(at, None, to).main;
        if !fabric.wires.lead(at, &hop) {
            break;
        }
        crossed.push(of(NicEnd { node: at, nic: hop.nic }));
        at = hop.to;
    }
    crossed.dedup();
    let backups = fabric.plan.cluster().routing.paths > 1;
    let arrives = move |dead: SwitchId| {
        backups && fabric.arrives(from, to, &|end: NicEnd, _: &Hop| of(end) != dead)
    };
    crossed.into_iter().filter(move |switch| !arrives(*switch))
}

/// Returns notes on the loss of each switch with several lines; switches with the same loss share a
/// note. `pairs`: pairs walked. Nodes cut off are counted up to [`WALKED`] nodes.
pub(super) fn shared(fabric: &Fabric<'_>, lost: &[u64], pairs: usize) -> Vec<Finding> {
    let cluster = fabric.plan.cluster();
    let mut alike: BTreeMap<Reverse<(u64, usize)>, Vec<&str>> = BTreeMap::new();
    for (switch, lost) in lost.iter().enumerate() {
        let name = cluster.switches[switch].name.as_str();
        let cut = if fabric.nodes <= WALKED { cut_off(fabric, &[switch]) } else { 0 };
        alike.entry(Reverse((*lost, cut))).or_default().push(name);
    }
    let note = |(Reverse((lost, cut)), names): (_, Vec<&str>)| {
        let apart = match cut {
            0 => String::new(),
            1 => ", and 1 node is cut off from the others".to_owned(),
            nodes => format!(", and {nodes} nodes are cut off from the largest part left"),
        };
        let each = if names.len() > 1 { "each of these" } else { "this" };
        let round = match lost {
            0 => "",
            _ => {
                "; pairs are counted in one direction, and packets to lost nodes may circle until \
                 their TTL ends"
            }
        };
        Finding {
            kind: "shared-switch",
            object: collapse(&names).join(","),
            message: format!(
                "lines on one switch fail together: with {each} gone {lost} of {pairs} ordered pairs are \
                 lost{apart}{round}"
            ),
        }
    };
    alike.into_iter().map(note).collect()
}

/// p-mesh, section 4.0: two switch failures lose at most one node; this holds where no dimension is below
/// 3 and every line has a switch of its own.
pub(super) fn few_per_line(fabric: &Fabric<'_>) -> Option<Finding> {
    let cluster = fabric.plan.cluster();
    let TopologyShape::Pmesh { dims, .. } = &cluster.kind else { return None };
    let (a, b, lost) = two_failures(fabric)?;
    let shared = match fabric.wires.shared {
        true => " and every line has a switch of its own",
        false => "",
    };
    (lost > 1 && dims.len() > 1).then(|| {
        let name = |s: usize| cluster.switches[s].name.clone();
        Finding {
            kind: "two-failures",
            object: format!("{} and {}", name(a), name(b)),
            message: format!(
                "with both gone {lost} nodes are cut off: of two switch failures at most one node is \
                 lost where no dimension is below 3{shared}"
            ),
        }
    })
}

/// Returns the two switches whose loss cuts off the most nodes, and how many. `None` above
/// [`WALKED`] nodes or [`PAIRED`] shared switches, and if there are no two switches.
fn two_failures(fabric: &Fabric<'_>) -> Option<(usize, usize, usize)> {
    let cluster = fabric.plan.cluster();
    let switches = cluster.switches.len();
    let TopologyShape::Pmesh { dims, .. } = &cluster.kind else { return None };
    let shared = fabric.wires.shared;
    if cluster.nodes.len() > WALKED || shared && switches > PAIRED {
        return None;
    }
    // If each line has its own switch, every pair of switches is equivalent to one with the first
    // switch of some dimension.
    let counts = dims.iter().map(|n| cluster.nodes.len() / *n as usize);
    let firsts = counts.scan(0, |next, count| Some(std::mem::replace(next, *next + count)));
    let firsts: Vec<usize> = if shared { (0..switches).collect() } else { firsts.collect() };
    let pairs = firsts
        .into_iter()
        .flat_map(|a| (0..switches).filter(move |b| *b != a).map(move |b| (a, b)));
    let all = pairs.map(|(a, b)| (a, b, cut_off(fabric, &[a, b])));
    all.max_by_key(|(a, b, lost)| (*lost, Reverse((*a, *b))))
}

/// Returns how many nodes are outside the largest part that remains without these switches.
fn cut_off(fabric: &Fabric<'_>, gone: &[usize]) -> usize {
    let (nodes, wires) = (fabric.nodes, &fabric.wires);
    let mut parts = Components::new(nodes + wires.count);
    for node in 0..nodes {
        for nic in wires.first[node]..wires.first[node + 1] {
            if !gone.contains(&(wires.switch[nic] as usize)) {
                parts.join(node, nodes + wires.of[nic] as usize);
            }
        }
    }
    let mut sizes = vec![0; nodes + wires.count];
    (0..nodes).for_each(|k| sizes[parts.root(k)] += 1);
    nodes - sizes.into_iter().max().unwrap_or(0)
}

//! Fabrics whose cables do not join all switches: a note on their planes, and the throughput of all of these together.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::Components;

use super::Finding;

/// The traffic of a pair, in units of loads.
const PAIR: u64 = 1 << 32;
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

/// The ideal throughput of a report where pairs share their flows among planes: each path carries the part of its weight. `None` where there is one plane. O(pairs x planes x hops).
pub(super) fn ideal_throughput(plan: &Plan) -> Option<f64> {
    plan.planes()?;
    let (cluster, graph) = (plan.cluster(), plan.graph());
    let first_nic = plan.first_nics();
    let nics: Vec<f64> =
        cluster.nodes.iter().flat_map(|node| &node.nics).map(|nic| nic.rate.0 as f64).collect();
    let unit = nics.iter().copied().reduce(f64::min)?;
    // Channels, then NICs that send, then NICs that receive.
    let (sends, receives) = (graph.channels(), graph.channels() + nics.len());
    // In whole parts of a pair, so that every order of adding gives the same.
    let of_source = |mut loads: Vec<u64>, src: usize| {
        let mut channels = Vec::new();
        for dst in (0..cluster.nodes.len()).filter(|dst| *dst != src) {
            let paths = plan.carriers(src.into(), dst.into());
            let sum: u32 = paths.iter().map(|path| path.weight).sum();
            for path in &paths {
                let part = u64::from(path.weight) * PAIR / u64::from(sum.max(1));
                for segment in &path.segments {
                    let number = |node: NodeId, nic: usize| first_nic[node.index()] + nic;
                    loads[sends + number(segment.from, segment.nic)] += part;
                    loads[receives + number(segment.to, segment.to_nic)] += part;
                    channels.clear();
                    plan.walk(segment, &mut channels);
                    channels.iter().for_each(|c| loads[*c as usize] += part);
                }
            }
        }
        loads
    };
    let none = || vec![0u64; receives + nics.len()];
    let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect::<Vec<_>>();
    let loads = (0..cluster.nodes.len()).into_par_iter().fold(none, of_source).reduce(none, add);
    let links = (0..graph.channels() as u32).map(|c| cluster.link(graph.link(c)).rate.0 as f64);
    let rates = links.chain(nics.iter().copied()).chain(nics.iter().copied());
    let over = |(load, rate): (&u64, f64)| *load as f64 / PAIR as f64 * unit / rate;
    let worst = loads.iter().zip(rates).map(over).fold(0.0, f64::max);
    (worst > 0.0).then(|| (cluster.nodes.len() - 1) as f64 / worst)
}

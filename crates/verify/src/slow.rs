//! Compares the ideal throughput with the one without slow cables. Paths with the fewest hops take a slow cable even where faster
//! ones lead round it.

use std::collections::BTreeSet;

use tresse_base::id::{LinkId, NodeId};
use tresse_base::units::Rate;
use tresse_plan::Plan;
use tresse_topology::Components;
use tresse_topology::cluster::{Cable, Cluster, Node, Strategy, TopologyShape};

use super::Finding;
use super::names::link_name;
use super::report::line_rate;

/// Without slow cables, fabrics of at most so many switches and nodes are planned again, for so many rates.
const MOST: usize = 128;
const RATES: usize = 3;
/// So many times the throughput is worth a note.
const MORE: f64 = 1.05;

/// Says by how much the ideal throughput, which is `here`, would rise without the slow cables. `throughput`: that of a plan, if
/// it has no violations.
pub(super) fn note(
    plan: &Plan,
    here: f64,
    throughput: impl Fn(&Plan) -> Option<f64>,
) -> Option<Finding> {
    let cluster = plan.cluster();
    let fewest_hops = matches!(
        cluster.routing.strategy,
        Strategy::Minimal | Strategy::Updown { .. } | Strategy::Transit { .. } | Strategy::Shortest
    );
    let size = cluster.nodes.len().max(cluster.switches.len());
    if !fewest_hops || size > MOST || here <= 0.0 {
        return None;
    }
    let cables: Vec<(String, Rate)> = match &cluster.kind {
        TopologyShape::Cabled { cables, .. } => {
            cables.iter().map(|cable| (cable_name(cluster, cable), rate(cluster, cable))).collect()
        }
        _ => (0u32..)
            .zip(&cluster.links)
            .map(|(k, link)| (link_name(plan, LinkId(k)), link.rate))
            .collect(),
    };
    let rates: BTreeSet<Rate> = cables.iter().map(|(_, rate)| *rate).collect();
    let here = here * unit(cluster);
    let without = rates.iter().skip(1).take(RATES).rev().filter_map(|rate| {
        let fast = without_slower(cluster, *rate)?;
        let unit = unit(&fast);
        Some((throughput(&Plan::build(fast).ok()?)? * unit / here, *rate))
    });
    let (times, rate) = without.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut slow = cables.into_iter().filter(|(_, of)| *of < rate);
    let (first, _) = slow.next().filter(|_| times >= MORE)?;
    Some(Finding {
        kind: "slow-cables",
        object: first,
        message: format!(
            "without the {} slower than {rate}, this one first, paths are longer and the ideal throughput is {times:.2} times as \
             high: paths of the fewest hops take slow cables too; if throughput counts more than hops, unplug them and leave them \
             out of the cluster file",
            match slow.count() {
                0 => "1 cable".into(),
                more => format!("{} cables", more + 1),
            }
        ),
    })
}

/// The cluster without cables slower than `least`, with one path for each pair; `None` if the others do not join all.
fn without_slower(cluster: &Cluster, least: Rate) -> Option<Cluster> {
    let mut fast = cluster.clone();
    fast.routing.paths = 1;
    fast.addressing.layout = None;
    if let TopologyShape::Cabled { nodes, cables } = &cluster.kind {
        let kept = cables.iter().filter(|cable| rate(cluster, cable) >= least).cloned();
        let mut cables: Vec<Cable> = kept.collect();
        renumber(&mut fast.nodes, &mut cables);
        let pairs = cables.iter().map(|cable| cable.0[0].map(|end| end.node.index()));
        let joined = joins_all(cluster.nodes.len(), pairs);
        fast.kind = TopologyShape::Cabled { nodes: *nodes, cables };
        return joined.then_some(fast);
    }
    fast.kind = TopologyShape::Explicit;
    fast.lags.clear();
    fast.links.retain(|link| link.rate >= least);
    let pairs = fast.links.iter().map(|link| [link.a, link.b].map(|end| end.switch.index()));
    joins_all(cluster.switches.len(), pairs).then_some(fast)
}

/// Removes the NICs that are in none of these cables, and numbers the others anew, in the cables too.
fn renumber(nodes: &mut [Node], cables: &mut [Cable]) {
    let ends: BTreeSet<_> =
        cables.iter().flat_map(|cable| cable.0.iter().flatten()).copied().collect();
    let number = |node: NodeId, nic: usize| {
        ends.iter().filter(|end| end.node == node && end.nic < nic).count()
    };
    for (node, of) in (0u32..).map(NodeId).zip(nodes) {
        let mut nics = 0..;
        of.nics.retain(|_| {
            let nic = nics.next().unwrap_or(0);
            ends.iter().any(|end| (end.node, end.nic) == (node, nic))
        });
        for peer in of.nics.iter_mut().filter_map(|nic| nic.peer.as_mut()) {
            peer.nic = number(peer.node, peer.nic);
        }
    }
    for end in cables.iter_mut().flat_map(|cable| cable.0.iter_mut().flatten()) {
        end.nic = number(end.node, end.nic);
    }
}

fn joins_all(n: usize, pairs: impl Iterator<Item = [usize; 2]>) -> bool {
    let mut parts = Components::new(n);
    let joined = pairs.filter(|[a, b]| parts.join(*a, *b)).count();
    joined + 1 == n
}

/// The rate of a cable between nodes: that of the slower end.
fn rate(cluster: &Cluster, cable: &Cable) -> Rate {
    let [end, _] = cable.0[0];
    line_rate(cluster, &cluster.node(end.node).nics[end.nic])
}

fn cable_name(cluster: &Cluster, cable: &Cable) -> String {
    let [a, b] = cable.0[0].map(|end| {
        let node = cluster.node(end.node);
        format!("{}:{}", node.name, node.nics[end.nic].name)
    });
    format!("{a}-{b}")
}

/// What ideal throughputs count in: the rate of the slowest link of a node.
fn unit(cluster: &Cluster) -> f64 {
    let nics = cluster.nodes.iter().flat_map(|node| &node.nics);
    nics.map(|nic| line_rate(cluster, nic)).min().map_or(0.0, |rate| rate.0 as f64)
}

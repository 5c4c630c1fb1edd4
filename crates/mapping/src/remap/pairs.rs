//! Which pairs of nodes a change touches.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::{LinkId, NodeId, SwitchId};
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Link, Port};
use tresse_topology::path::Crossing;

use super::change::{Delta, End};

/// A part of a plan's cluster that paths cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    Switch(SwitchId),
    Link(LinkId),
    Node(NodeId),
    Nic(NodeId, usize),
}

/// For each change the number of ordered pairs of nodes, by name, of which a path in either plan crosses the part.
pub(super) fn touched(deltas: &[Delta], old: &Plan, new: &Plan) -> Vec<usize> {
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    for node in old.cluster().nodes.iter().chain(&new.cluster().nodes) {
        let next = names.len() as u32;
        names.entry(node.name.clone()).or_insert(next);
    }
    let mut pairs: Vec<BTreeSet<(u32, u32)>> = vec![BTreeSet::new(); deltas.len()];
    for (plan, spot) in [
        (old, before as fn(&Delta, &Plan, &Cluster) -> Option<Spot>),
        (new, after as fn(&Delta, &Plan, &Cluster) -> Option<Spot>),
    ] {
        let mut at: BTreeMap<Spot, Vec<usize>> = BTreeMap::new();
        for (k, delta) in deltas.iter().enumerate() {
            if let Some(spot) = spot(delta, plan, old.cluster()) {
                at.entry(spot).or_default().push(k);
            }
        }
        if !at.is_empty() {
            walk(plan, &names, &at, &mut pairs);
        }
    }
    pairs.iter().map(BTreeSet::len).collect()
}

fn walk(
    plan: &Plan,
    names: &BTreeMap<String, u32>,
    at: &BTreeMap<Spot, Vec<usize>>,
    pairs: &mut [BTreeSet<(u32, u32)>],
) {
    let cluster = plan.cluster();
    let nodes = || (0..cluster.nodes.len()).map(NodeId::from);
    for (src, dst) in nodes().flat_map(|src| nodes().map(move |dst| (src, dst))) {
        if src == dst {
            continue;
        }
        let mut spots = BTreeSet::new();
        for path in plan.paths(src, dst) {
            for crossing in plan.path_crossings(&path) {
                match crossing {
                    Crossing::Out(node, nic) | Crossing::In(node, nic) => {
                        spots.extend([Spot::Node(node), Spot::Nic(node, nic)]);
                        spots.insert(Spot::Switch(cluster.node(node).nics[nic].switch));
                    }
                    Crossing::Between(channel) => {
                        let graph = plan.graph();
                        spots.insert(Spot::Link(graph.link(channel)));
                        spots.extend(
                            [graph.tail(channel), graph.head(channel)]
                                .map(|s| Spot::Switch(SwitchId(s))),
                        );
                    }
                }
            }
        }
        let [a, b] = [src, dst].map(|node| names[&cluster.node(node).name]);
        for k in spots.iter().filter_map(|spot| at.get(spot)).flatten() {
            pairs[*k].insert((a, b));
        }
    }
}

/// The part in the old plan.
fn before(delta: &Delta, old: &Plan, _: &Cluster) -> Option<Spot> {
    // The cable's link in the plan, where those of a link aggregation group are one.
    let of = |cable: LinkId| old.cluster().cables().nth(cable.index()).map(|(link, _)| link);
    Some(match delta {
        Delta::SwitchGone { switch, .. } => Spot::Switch(*switch),
        Delta::CableGone { link, .. } | Delta::CableMoved { link, .. } => Spot::Link(of(*link)?),
        Delta::NodeGone { node, .. } => Spot::Node(*node),
        Delta::NicGone { node, nic, .. } | Delta::NicMoved { node, nic, .. } => {
            Spot::Nic(*node, *nic)
        }
        Delta::SwitchAdded { .. }
        | Delta::CableAdded(_)
        | Delta::NodeAdded { .. }
        | Delta::NicAdded { .. } => {
            return None;
        }
    })
}

/// The part in the new plan.
fn after(delta: &Delta, new: &Plan, old: &Cluster) -> Option<Spot> {
    let cluster = new.cluster();
    let nic = |node: NodeId, name: &str| {
        let node = cluster.node_named(&old.node(node).name)?;
        let nic = cluster.node(node).nics.iter().position(|nic| nic.name == name)?;
        Some(Spot::Nic(node, nic))
    };
    match delta {
        Delta::SwitchAdded { name, .. } => cluster.switch_named(name).map(Spot::Switch),
        Delta::CableAdded(ends) | Delta::CableMoved { to: ends, .. } => {
            link(cluster, ends).map(Spot::Link)
        }
        Delta::NodeAdded { name, .. } => cluster.node_named(name).map(Spot::Node),
        Delta::NicAdded { node, nic: to } => nic(*node, &to.name),
        Delta::NicMoved { node, nic: index, .. } => nic(*node, &old.node(*node).nics[*index].name),
        Delta::SwitchGone { .. }
        | Delta::CableGone { .. }
        | Delta::NodeGone { .. }
        | Delta::NicGone { .. } => None,
    }
}

/// The cable with these ends. Where an end has no number any cable between the two switches at the other end is it.
fn link(cluster: &Cluster, [a, b]: &[End; 2]) -> Option<LinkId> {
    let is = |port: Port, end: &End| {
        cluster.switch(port.switch).name == end.switch && [0, port.port].contains(&end.port)
    };
    let fits = |(_, link): &(LinkId, Link)| {
        is(link.a, a) && is(link.b, b) || is(link.a, b) && is(link.b, a)
    };
    cluster.cables().find(fits).map(|(link, _)| link)
}

//! Finds the pairs of nodes that a drain would cut off. Each node knows of its own cables and paths alone, so only all
//! of them together know what is left: where nodes route, of what has failed elsewhere, and where they do not, which
//! nodes still join planned paths.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_plan::remaining::{self, HopState, Remaining};
use tresse_slice::watch::Crossing;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::cluster::Cluster;
use tresse_topology::{Graph, Layout};

use super::Said;

/// Where nodes do not route: which nodes a node reaches, by its own planned paths or over nodes that join planned
/// paths, with `object` drained too.
#[derive(Debug)]
pub struct Joined<'a> {
    plan: &'a Plan,
    remaining: Remaining,
    said: &'a BTreeMap<String, Said>,
    /// Source and destination of each pair that has a planned path that is neither broken nor drained.
    whole: BTreeSet<(NodeId, NodeId)>,
    object: &'a str,
}

impl<'a> Joined<'a> {
    /// `None` where planned paths are not joined.
    pub fn of(plan: &'a Plan, object: &'a str, said: &'a BTreeMap<String, Said>) -> Option<Self> {
        let cluster = plan.cluster();
        let remaining = Remaining::of(cluster).filter(|_| remaining::joins_paths(cluster))?;
        let parts = FabricParts::of(cluster, plan.graph());
        let drained = said.values().flat_map(|said| &said.status.drained).map(String::as_str);
        let drained = drained.chain([object]).filter_map(|name| parts.named(name).ok());
        let drained: BTreeSet<Crossing> =
            drained.flat_map(|part| part.wires().iter().copied().collect::<Vec<_>>()).collect();
        let ids =
            cluster.nodes.iter().enumerate().map(|(at, node)| (&*node.name, NodeId::from(at)));
        let ids: BTreeMap<&str, NodeId> = ids.collect();
        let mut whole = BTreeSet::new();
        for (src, said) in said.iter().filter_map(|(node, said)| Some((*ids.get(&**node)?, said))) {
            let carry =
                said.paths.iter().filter(|line| matches!(&*line.state, "active" | "standby"));
            for (dst, rank) in carry.filter_map(|line| Some((*ids.get(&*line.dst)?, line.rank))) {
                let paths = plan.paths(src, dst);
                let path = paths.iter().find(|path| path.id.rank == rank);
                let mut wires = path.into_iter().flat_map(|path| plan.path_crossings(path));
                if path.is_some() && !wires.any(|wire| drained.contains(&wire)) {
                    whole.insert((src, dst));
                }
            }
        }
        Some(Self { plan, remaining, said, whole, object })
    }

    /// Does one node reach the other over nodes that join planned paths?
    pub fn reaches(&self, src: NodeId, dst: NodeId) -> bool {
        let is_whole =
            |from, at: usize| self.whole.contains(&(from, self.remaining.hops(from)[at].to));
        let state = |from, at| if is_whole(from, at) { HopState::Sound } else { HopState::Broken };
        let ways = self.remaining.ways(dst, state, |node| self.joins(node));
        self.joins(src) && self.remaining.walk(src, dst, &ways).is_some()
    }

    /// Does the daemon of a node detect failures, and tell and hear which paths are sound?
    fn joins(&self, node: NodeId) -> bool {
        let node = &self.plan.cluster().node(node).name;
        let is_up = |said: &Said| said.status.sessions_up > 0;
        node != self.object && self.said.get(node).is_some_and(is_up)
    }
}

/// By node: the names of those that nothing would join to it any more once `object` is drained. Empty
/// on fabrics whose nodes do not route: there every node knows the state of its own paths.
pub fn off(
    cluster: &Cluster,
    object: &str,
    said: &BTreeMap<String, Said>,
) -> BTreeMap<String, Vec<String>> {
    let parts = FabricParts::of(cluster, &Graph::new(cluster));
    let (Some(_), Ok(part)) = (Layout::of(&cluster.kind), parts.named(object)) else {
        return BTreeMap::new();
    };
    let before: BTreeSet<Crossing> =
        said.iter().flat_map(|(node, said)| dead(&parts, node, said)).collect();
    let after: BTreeSet<Crossing> = before.union(part.wires()).copied().collect();
    let nodes = cluster.nodes.iter().enumerate();
    let cut = nodes.filter_map(|(at, node)| {
        let [joined, left] =
            [&before, &after].map(|without| parts.joined(NodeId::from(at), without));
        let lost = joined.difference(&left).map(|lost| cluster.node(*lost).name.clone());
        let lost: Vec<String> = lost.collect();
        (!lost.is_empty()).then(|| (node.name.clone(), lost))
    });
    cut.collect()
}

/// The crossings that a node finds dead: its NICs without carrier, and what BFD found broken. If all
/// that a NIC leads to is broken, it is the NIC, else the NICs at the other ends.
fn dead(parts: &FabricParts, node: &str, said: &Said) -> Vec<Crossing> {
    let mut names: BTreeSet<String> = said
        .nics
        .nics
        .iter()
        .filter(|nic| !(nic.up && nic.carrier))
        .map(|nic| format!("{node}:{}", nic.name))
        .collect();
    let mut hops: BTreeMap<&str, BTreeMap<String, bool>> = BTreeMap::new();
    // Longer ones may be broken further on.
    for path in said.paths.iter().filter(|path| path.segments.len() == 1) {
        if let Some(first) = path.segments.first() {
            let end = format!("{}:{}", first.to, first.to_nic);
            *hops.entry(&first.nic).or_default().entry(end).or_default() |= path.state == "broken";
        }
    }
    for (nic, ends) in hops {
        if ends.values().all(|broken| *broken) {
            names.insert(format!("{node}:{nic}"));
        } else {
            names.extend(ends.into_iter().filter(|(_, broken)| *broken).map(|(end, _)| end));
        }
    }
    // Other NICs of the host are no part of the fabric.
    let found = names.iter().filter_map(|name| parts.named(name).ok());
    found.flat_map(|part| part.wires().iter().copied().collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tresse_control::{PathLine, Status};
    use tresse_topology::cluster::{Strategy, TopologyShape};
    use tresse_topology::path::Path;

    use super::*;

    /// What a node says of its paths, of which those to one other are broken.
    fn said(plan: &Plan, node: NodeId, broken: Option<NodeId>) -> Said {
        let name = |node: NodeId| plan.cluster().node(node).name.clone();
        let line = |dst: NodeId, path: &Path| -> PathLine {
            let mut line = json!(plan.path_view(path));
            line["state"] = if Some(dst) == broken { json!("broken") } else { json!("active") };
            serde_json::from_value(line).unwrap()
        };
        let pairs = plan.pairs().filter(|pair| pair.0 == node);
        let paths = pairs.flat_map(|(_, dst)| {
            plan.paths(node, dst).iter().map(|path| line(dst, path)).collect::<Vec<_>>()
        });
        let nics: Value = json!({ "node": name(node), "nics": [], "neighbours": [] });
        let status = Status { sessions_up: 1, ..Status::default() };
        let nics = serde_json::from_value(nics).unwrap();
        Said { status, nics, paths: paths.collect(), broken: Vec::new() }
    }

    #[test]
    fn what_is_broken_further_on_is_no_dead_cable_here() {
        let kind = TopologyShape::DirectMesh { dims: vec![3, 2] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        let parts = FabricParts::of(plan.cluster(), &Graph::new(plan.cluster()));
        let at = |broken: u32| said(&plan, NodeId(0), Some(NodeId(broken)));
        assert_eq!(dead(&parts, "n0", &at(2)), [], "two hops away");
        assert!(!dead(&parts, "n0", &at(1)).is_empty(), "a neighbour");
        let off = off(plan.cluster(), "n0-n3", &[("n0".to_owned(), at(2))].into());
        assert!(off.is_empty(), "{off:?}");
    }

    #[test]
    fn who_has_no_path_left_is_reached_over_nodes_that_have_one() {
        let file = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1 2 3\\n1: 0 1 4 5\\n\
                    2: 2 3 4 5\\n\" }\n[routing]\npaths = 2\n";
        let plan = Plan::build(tresse_cluster::parse(file, "flat").unwrap()).unwrap();
        let name = |node: u32| plan.cluster().node(NodeId(node)).name.clone();
        let all = |broken: &[u32], drained: &str| -> BTreeMap<String, Said> {
            let of = |node| {
                let mut said =
                    said(&plan, NodeId(node), broken.contains(&node).then_some(NodeId(2)));
                said.status.drained = vec![drained.to_owned()];
                (name(node), said)
            };
            (0..6).map(of).collect()
        };
        let reaches = |said: &BTreeMap<String, Said>, object: &str| {
            Joined::of(&plan, object, said).unwrap().reaches(NodeId(0), NodeId(2))
        };
        // n0 and n2 share s0 alone, and the plan's other path is over n4; n5 has a switch with either, too.
        assert!(reaches(&all(&[], "n4:eth1"), "s0"));
        assert!(reaches(&all(&[4, 5], "n4:eth1"), "s0"), "over n5 and n3");
        assert!(!reaches(&all(&[3, 4, 5], "n4:eth1"), "s0"));
        assert!(!reaches(&all(&[], "s2"), "s0"));
        let mut said = all(&[3, 4], "n4:eth1");
        assert!(reaches(&said, "s0"));
        said.get_mut(&name(5)).unwrap().status.sessions_up = 0;
        assert!(!reaches(&said, "s0"), "n5 does not detect failures");
    }
}

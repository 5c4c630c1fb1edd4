//! Finds the pairs of nodes that a drain would cut off because something else has failed already,
//! where nodes route: there each node knows of its own cables alone, so only all of them together
//! know what is left.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_control::{ClientError, NeighbourList, NodeError, PathLine};
use tresse_slice::watch::Crossing;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::cluster::Cluster;
use tresse_topology::{Graph, Layout};

/// What one node says of its cables: its NICs, and its paths with their states.
pub struct Said {
    pub nics: NeighbourList,
    pub paths: Vec<PathLine>,
}

impl Said {
    /// Asks a node; nothing of a daemon without a plan.
    pub fn ask(client: &mut tresse_control::Client) -> Result<Self, ClientError> {
        let nics = client.neighbours()?;
        match client.paths(None) {
            Ok(list) => Ok(Self { nics, paths: list.paths }),
            Err(ClientError::Node(NodeError::NoPlan)) => Ok(Self { nics, paths: Vec::new() }),
            Err(error) => Err(error),
        }
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
    use tresse_plan::Plan;
    use tresse_topology::cluster::{Strategy, TopologyShape};
    use tresse_topology::path::Path;

    use super::*;

    /// What a node of a mesh of 3x2 says of its paths, of which those to one other are broken.
    fn said(plan: &Plan, node: NodeId, broken: NodeId) -> Said {
        let name = |node: NodeId| plan.cluster().node(node).name.clone();
        let line = |dst: NodeId, path: &Path| -> PathLine {
            let mut line = json!(plan.path_view(path));
            line["state"] = if dst == broken { json!("broken") } else { json!("active") };
            serde_json::from_value(line).unwrap()
        };
        let pairs = plan.pairs().filter(|pair| pair.0 == node);
        let paths = pairs.flat_map(|(_, dst)| {
            plan.paths(node, dst).iter().map(|path| line(dst, path)).collect::<Vec<_>>()
        });
        let nics: Value = json!({ "node": name(node), "nics": [], "neighbours": [] });
        Said { nics: serde_json::from_value(nics).unwrap(), paths: paths.collect() }
    }

    #[test]
    fn what_is_broken_further_on_is_no_dead_cable_here() {
        let kind = TopologyShape::DirectMesh { dims: vec![3, 2] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        let parts = FabricParts::of(plan.cluster(), &Graph::new(plan.cluster()));
        let at = |broken: u32| said(&plan, NodeId(0), NodeId(broken));
        assert_eq!(dead(&parts, "n0", &at(2)), [], "two hops away");
        assert!(!dead(&parts, "n0", &at(1)).is_empty(), "a neighbour");
        let off = off(plan.cluster(), "n0-n3", &[("n0".to_owned(), at(2))].into());
        assert!(off.is_empty(), "{off:?}");
    }
}

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
    for path in &said.paths {
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

//! The index of a plan: what control calls need to know of it. It is made once, when the plan is
//! prepared, so that no call has to compute the plan again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{NodeId, PathId};
use tresse_base::units::{Mac, Prefix};
use tresse_control::{PathLine, SegmentLine};
use tresse_plan::{PathView, Plan, SegmentView};
use tresse_reconcile::Nexthop;
use tresse_slice::first_hop;
use tresse_slice::watch::part::FabricParts;
use tresse_slice::watch::watched_path;
use tresse_topology::path::{Crossing, Path};

/// What control calls need to know of a plan, from the view of one node: the paths from that node,
/// the names of the parts of the fabric (switches, nodes, links, ports and NICs), and the NICs of
/// all nodes by MAC address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// The paths from this node, by destination in the order of the cluster, then by rank.
    pub(super) paths: Vec<PathEntry>,
    /// The parts that operators may name.
    pub(super) parts: FabricParts,
    /// Node and NIC index by MAC address.
    nics: BTreeMap<Mac, (NodeId, u32)>,
}

/// One path of an [`Index`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PathEntry {
    /// The path.
    pub(super) id: PathId,
    /// The path as it is listed, without its state.
    pub(super) line: PathLine,
    /// The address of its destination.
    pub(super) address: IpAddr,
    /// The interface that it leaves by.
    pub(super) interface: String,
    /// The watched path whose state is its own.
    pub(super) watched: PathId,
    /// By each address of its destination: the nexthop of traffic on this path.
    pub(super) nexthops: Vec<(Prefix, Nexthop)>,
    /// The crossings of the path.
    pub(super) wires: Vec<Crossing>,
}

impl PathEntry {
    /// The first hops of the path, each with weight 1: in every plan the share is no part of the name.
    pub(super) fn first_hops(&self) -> BTreeSet<Nexthop> {
        self.nexthops.iter().map(|(_, nexthop)| Nexthop { weight: 1, ..nexthop.clone() }).collect()
    }

    /// The nodes that the path leads through, in order, without its ends.
    pub(super) fn transit_nodes(&self) -> Vec<String> {
        let segments = self.line.segments.split_last().map(|(_, rest)| rest).unwrap_or_default();
        segments.iter().map(|segment| segment.to.clone()).collect()
    }
}

impl Index {
    /// Makes the index of a plan for one of its nodes. O(nodes x paths).
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId) -> Self {
        let cluster = plan.cluster();
        let peers = (0..cluster.nodes.len()).map(NodeId::from).filter(|peer| *peer != node);
        let nics = cluster.nodes.iter().enumerate().flat_map(|(at, node)| {
            (0..).zip(&node.nics).map(move |(nic, of)| (of.mac, (NodeId::from(at), nic)))
        });
        Self {
            paths: peers.flat_map(|peer| entries(plan, node, peer)).collect(),
            parts: FabricParts::of(cluster),
            nics: nics.collect(),
        }
    }

    /// The paths from the node to the one called `peer`, by rank. O(paths).
    pub(super) fn to(&self, peer: &str) -> &[PathEntry] {
        self.pairs().find(|pair| pair[0].line.dst == peer).unwrap_or_default()
    }

    /// The paths from the node, one slice for each destination.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &[PathEntry]> {
        self.paths.chunk_by(|a, b| a.id.dst == b.id.dst)
    }

    /// The names of the node and of the NIC with this MAC address.
    #[must_use]
    pub fn nic(&self, mac: Mac) -> Option<(&str, &str)> {
        let (node, nic) = self.nics.get(&mac)?;
        self.parts.nic(*node, *nic)
    }
}

/// The paths from a node to a peer.
fn entries(plan: &Plan, node: NodeId, peer: NodeId) -> Vec<PathEntry> {
    let addresses = plan.addresses();
    let Some(address) = addresses.of_node(peer, true).or_else(|| addresses.of_node(peer, false))
    else {
        return Vec::new();
    };
    let nexthop =
        |path: &Path, to: &IpAddr| Some((Prefix::host(*to), first_hop(plan, path, to.is_ipv4())?));
    let entry = |path: &Path| PathEntry {
        nexthops: addresses.node[peer.index()].iter().filter_map(|to| nexthop(path, to)).collect(),
        wires: path.segments.iter().flat_map(|segment| plan.crossings(segment)).collect(),
        id: path.id,
        line: line(plan.path_view(path)),
        address,
        interface: plan.interface(node, path.segments[0].nic, path.segments[0].tree),
        watched: watched_path(plan, path),
    };
    plan.paths(node, peer).iter().map(entry).collect()
}

/// A path as it is listed: the one place where a plan's description of a path becomes that of the
/// control interface.
fn line(view: PathView) -> PathLine {
    let segment = |s: SegmentView| SegmentLine {
        from: s.from,
        nic: s.nic,
        vlan: s.vlan.map(|vid| vid.0),
        switches: s.switches,
        to: s.to,
        to_nic: s.to_nic,
    };
    PathLine {
        src: view.src,
        dst: view.dst,
        rank: view.rank,
        weight: view.weight,
        minimal: view.minimal,
        hops: view.hops,
        segments: view.segments.into_iter().map(segment).collect(),
        state: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    #[test]
    fn a_path_is_listed_as_tresse_paths_prints_it() {
        let kind = TopologyShape::Mesh { dims: vec![3, 2] };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Dor, 2)).unwrap();
        let object = |value: Value| value.as_object().unwrap().clone();
        for (src, dst) in plan.pairs() {
            for path in plan.paths(src, dst).iter() {
                let view = plan.path_view(path);
                let mut printed = object(json!(view));
                let mut listed = object(json!(line(view)));
                assert_eq!(printed.remove("format"), Some(json!(1)));
                assert_eq!(listed.remove("state"), Some(json!("")));
                assert_eq!(listed, printed);
            }
        }
    }
}

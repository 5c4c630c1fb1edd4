//! What control calls ask of a plan, looked up instead of planned again: made once when a plan is prepared.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_control::{NodeError, PathLine, PathList, SegmentLine};
use tresse_fabric::id::NodeId;
use tresse_fabric::path::Path;
use tresse_fabric::plan::{PathView, Plan, SegmentView};
use tresse_fabric::reconcile::Leg;
use tresse_fabric::slice::first_hop;
use tresse_fabric::units::Mac;
use tresse_fabric::watch::part::Parts;

use super::{Engine, PathPlace};

/// The index of one plan, as one node needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// The paths from this node, by destination in the order of the cluster, then by rank.
    paths: Vec<PathEntry>,
    /// What operators may name.
    pub(super) parts: Parts,
    /// Node and index of each NIC.
    nics: BTreeMap<Mac, (NodeId, u32)>,
}

/// One path of an [`Index`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PathEntry {
    /// The path as it is listed, without its state.
    line: PathLine,
    /// The address of its destination.
    address: IpAddr,
    /// The interface that it leaves by.
    interface: String,
    /// Its first hop.
    first_hop: Option<Leg>,
}

impl Index {
    /// The index of a plan for one of its nodes. O(nodes x paths).
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId) -> Self {
        let cluster = plan.cluster();
        let peers = (0..cluster.nodes.len()).map(NodeId::from).filter(|peer| *peer != node);
        let nics = cluster.nodes.iter().enumerate().flat_map(|(at, node)| {
            (0..).zip(&node.nics).map(move |(nic, of)| (of.mac, (NodeId::from(at), nic)))
        });
        Self {
            paths: peers.flat_map(|peer| entries(plan, node, peer)).collect(),
            parts: Parts::of(cluster),
            nics: nics.collect(),
        }
    }

    /// The names of the node and the NIC with a MAC.
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
    let entry = |path: &Path| PathEntry {
        line: line(plan.path_view(path)),
        address,
        interface: plan.interface(node, path.segments[0].nic, path.segments[0].tree),
        first_hop: first_hop(plan, path, address.is_ipv4()),
    };
    plan.paths(node, peer).iter().map(entry).collect()
}

/// A path as it is listed.
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

impl Engine {
    /// The answer to ListPaths: the paths from this node with their state; none to a destination that is not
    /// known.
    ///
    /// # Errors
    /// [`NodeError::NoPlan`].
    pub fn paths(&self, to: Option<&str>) -> Result<PathList, NodeError> {
        let current = self.current().ok_or(NodeError::NoPlan)?;
        let pairs = current.index.paths.chunk_by(|a, b| a.line.dst == b.line.dst);
        let pairs = pairs.filter(|pair| to.is_none_or(|to| pair[0].line.dst == to));
        Ok(PathList { paths: pairs.flat_map(|pair| self.pair(pair)).collect() })
    }

    /// The paths of one pair.
    fn pair(&self, pair: &[PathEntry]) -> Vec<PathLine> {
        let carriers = pair.iter().filter(|path| path.line.weight > 0).count();
        let unused: Vec<Option<&str>> =
            pair.iter().map(|path| self.unused(path.first_hop.as_ref()?)).collect();
        // Where all that carry are not used the first that is takes their place.
        let next = unused[..carriers].iter().all(Option::is_some);
        let whole = |why: &Option<&str>| *why != Some("broken");
        let first = || unused.iter().position(Option::is_none);
        let first = || first().or_else(|| unused.iter().position(whole));
        let next = next.then(first).flatten();
        let line = |(at, path): (usize, &PathEntry)| {
            let place = match at {
                _ if next == Some(at) => PathPlace::Next,
                _ if path.line.weight > 0 => PathPlace::Carrier,
                _ if at == carriers => PathPlace::FirstBackup,
                _ => PathPlace::Backup,
            };
            let state = self.path_state(&path.interface, path.address, place);
            // What is kept free is used where there is nothing else.
            let state = unused[at].filter(|_| next != Some(at)).unwrap_or(state);
            PathLine { state: state.into(), ..path.line.clone() }
        };
        pair.iter().enumerate().map(line).collect()
    }
}

//! Chooses the paths of a node that BFD sessions watch, and concludes from the sessions that are
//! down which other paths are broken (DESIGN section 7, rule K10).
//!
//! A BFD session belongs to two nodes and a path rank (a path's place among the paths of its pair),
//! and runs over the paths of that rank in both directions. Each end has to tell which rank a packet came along: by the
//! interface of arrival, or by the packet's source port where several of the peer's paths end on one.
//!
//! Few sessions suffice. A [`Crossing`] is a link or NIC that a path crosses in one direction. It
//! matters to a pair of nodes if some paths of the pair have it and others do not, because then
//! traffic can avoid it. Paths are chosen for watching until they have every crossing that matters
//! to a pair of this node. They are taken by rank; within a rank, those with the most crossings that
//! matter come first, so that few sessions are needed. Where planned paths are joined after failures
//! ([`remaining`](tresse_plan::remaining)), traffic can avoid every crossing, and all matter: then each pair has a session.
//! Each end chooses its own sessions and answers those of the other end. Cost:
//! O(nodes x paths per pair), like the slice.
//!
//! A session that goes down shows that its path has a broken crossing, but not which one:
//! [`Watches::broken`] narrows it down.

pub mod part;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, NodeId, PathId};
use tresse_base::units::Mac;
use tresse_plan::Plan;
use tresse_plan::remaining::joins_paths;
use tresse_reconcile::Nexthop;
use tresse_topology::path::Path;
use tresse_topology::{Hop, Layout};

pub use tresse_topology::path::Crossing;

use crate::first_hop;

/// A path from this node to a peer, with the addresses and interface of the BFD session that can
/// watch it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The path. Its session runs over the path of the same rank in both directions.
    #[serde(flatten)]
    pub id: PathId,
    /// Name of the peer, the node at the other end.
    pub peer: String,
    /// Source address of the BFD packets: this node's address, or a NIC's if the peer is a routing
    /// neighbour.
    pub source: IpAddr,
    /// Destination address of the BFD packets, and source of those received.
    pub destination: IpAddr,
    /// First nexthop of the BFD packets, of the same family as the addresses.
    #[serde(rename = "leg")]
    pub nexthop: Nexthop,
    /// MAC address of that nexthop.
    pub mac: Mac,
    /// The interface on which the peer's packets of this rank arrive. Empty if the peer has no path of this rank: then
    /// there is no session.
    pub arrival: String,
    /// Do packets of several ranks arrive there?
    #[serde(default)]
    pub shared: bool,
    /// Number of transit nodes on the path from the peer to this node.
    pub transits: u8,
    /// Does this end start the session? Otherwise it only answers.
    pub active: bool,
    /// First nexthops of traffic on this path, one per address family, each with weight 1: the share
    /// that the path has in a group is no part of its name.
    #[serde(rename = "legs")]
    pub nexthops: Vec<Nexthop>,
    /// The crossings of the path.
    pub wires: Vec<Crossing>,
    /// The node addresses of the two ends, if `source` and `destination` are NIC addresses. The
    /// nodes may have other paths to each other.
    #[serde(default)]
    pub nodes: Option<(IpAddr, IpAddr)>,
}

/// All paths of a node to its peers, with the BFD sessions that watch them. On a node-routed
/// fabric, whose nodes forward plain IP, only the paths to neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredWatches")]
pub struct Watches {
    paths: Vec<Watch>,
    /// Indices of a path and of one of its nexthops, sorted by [`first_hop_key`].
    #[serde(skip)]
    first_hops: Vec<(usize, usize)>,
}

/// What a file holds of [`Watches`].
#[derive(Deserialize)]
struct StoredWatches {
    paths: Vec<Watch>,
}

impl From<StoredWatches> for Watches {
    fn from(stored: StoredWatches) -> Self {
        stored.paths.into_iter().collect()
    }
}

impl FromIterator<Watch> for Watches {
    fn from_iter<T: IntoIterator<Item = Watch>>(paths: T) -> Self {
        let paths: Vec<Watch> = paths.into_iter().collect();
        let of_path = |(at, watch): (usize, &Watch)| {
            (0..watch.nexthops.len()).map(move |nexthop| (at, nexthop))
        };
        let mut first_hops: Vec<_> = paths.iter().enumerate().flat_map(of_path).collect();
        let key = |&(at, nexthop): &(usize, usize)| first_hop_key(&paths[at].nexthops[nexthop]);
        first_hops.sort_by(|a, b| key(a).cmp(&key(b)));
        Self { paths, first_hops }
    }
}

/// What tells the first nexthops of two paths of a node apart. The labels say the rest of the path, so no
/// two paths begin alike.
fn first_hop_key(nexthop: &Nexthop) -> (&str, IpAddr, &[Label]) {
    (&nexthop.interface, nexthop.via, &nexthop.labels)
}

impl Watches {
    /// All paths of `node` and the choice of those that it watches. On a node-routed fabric: its
    /// neighbours.
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId) -> Self {
        let mut paths =
            if plan.layout().is_some() { neighbours(plan, node) } else { paths(plan, node) };
        choose(&mut paths, joins_paths(plan.cluster()));
        paths.into_iter().collect()
    }

    /// The paths, sorted by peer, then rank; on a node-routed fabric in the order of the NICs.
    #[must_use]
    pub fn paths(&self) -> &[Watch] {
        &self.paths
    }

    /// The path that begins with a nexthop, whatever the nexthop's weight. O(log paths).
    #[must_use]
    pub fn path_of(&self, nexthop: &Nexthop) -> Option<PathId> {
        let key =
            |&(at, nexthop): &(usize, usize)| first_hop_key(&self.paths[at].nexthops[nexthop]);
        let found =
            self.first_hops.binary_search_by(|at| key(at).cmp(&first_hop_key(nexthop))).ok()?;
        Some(self.paths[self.first_hops[found].0].id)
    }

    /// Whether one of these paths begins with a nexthop.
    #[must_use]
    pub fn is_first_hop(&self, nexthop: &Nexthop, of: &BTreeSet<PathId>) -> bool {
        !of.is_empty() && self.path_of(nexthop).is_some_and(|path| of.contains(&path))
    }

    /// The number of sessions that this end starts.
    #[must_use]
    pub fn active(&self) -> usize {
        self.paths.iter().filter(|watch| watch.active).count()
    }

    /// Returns the paths to avoid, from the paths whose sessions are `down` and `up`.
    ///
    /// A path is avoided if its session is down. It is also avoided if its session is not up and it
    /// crosses a suspect: a crossing that some path with a session down has, and no path with a
    /// session up. If every session with a peer is down, the peer itself may be dead: then only its
    /// NICs are suspect, and crossings that are shared with broken paths to other peers.
    #[must_use]
    pub fn broken(&self, down: &BTreeSet<PathId>, up: &BTreeSet<PathId>) -> BTreeSet<PathId> {
        let of = |paths| self.paths.iter().filter(move |w| BTreeSet::contains(paths, &w.id));
        let sound: BTreeSet<Crossing> = of(up).flat_map(|watch| &watch.wires).copied().collect();
        let alive: BTreeSet<NodeId> = of(up).map(|watch| watch.id.dst).collect();
        let mut blamed: BTreeMap<Crossing, BTreeSet<NodeId>> = BTreeMap::new();
        for watch in of(down) {
            for wire in &watch.wires {
                blamed.entry(*wire).or_default().insert(watch.id.dst);
            }
        }
        let guilty = |(wire, peers): &(Crossing, BTreeSet<NodeId>)| {
            matches!(wire, Crossing::In(..))
                || peers.len() > 1
                || peers.iter().any(|peer| alive.contains(peer))
        };
        let suspect: BTreeSet<Crossing> = blamed
            .into_iter()
            .filter(|(wire, _)| !sound.contains(wire))
            .filter(guilty)
            .map(|(wire, _)| wire)
            .collect();
        let crosses = |watch: &Watch| watch.wires.iter().any(|wire| suspect.contains(wire));
        let avoided =
            |watch: &&Watch| down.contains(&watch.id) || !up.contains(&watch.id) && crosses(watch);
        self.paths.iter().filter(avoided).map(|watch| watch.id).collect()
    }
}

/// Returns the path whose BFD session shows the state of `path`. That is `path` itself; on a
/// node-routed fabric, whose nodes forward plain IP, it is the one-hop path to the first neighbour
/// on `path`. [`Watches`] lists it.
#[must_use]
pub fn watched_path(plan: &Plan, path: &Path) -> PathId {
    match plan.layout() {
        Some(layout) => {
            let first = &path.segments[0];
            let hop = Hop { nic: first.nic, to: first.to, to_nic: first.to_nic };
            to_neighbour(layout, path.id.src, hop)
        }
        None => path.id,
    }
}

/// The path to a neighbour by the cable between them. Of several pairs of NICs the rank says which, alike at both ends: in
/// the order of the NICs of the first of the two nodes.
fn to_neighbour(layout: &Layout, node: NodeId, hop: Hop) -> PathId {
    let of_first = |hop: &Hop| if node < hop.to { hop.nic } else { hop.to_nic };
    let beside = layout.listed_hops(node).iter().filter(|other| other.to == hop.to);
    let rank = beside.filter(|other| of_first(other) < of_first(&hop)).count() as u32;
    PathId { src: node, dst: hop.to, rank }
}

/// All paths to all peers.
fn paths(plan: &Plan, node: NodeId) -> Vec<Watch> {
    let peers = (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|peer| *peer != node);
    let mut watches = Vec::new();
    for peer in peers {
        let (out, back) = (plan.paths(node, peer), plan.paths(peer, node));
        let ends = |paths: &[Path]| -> Vec<String> {
            paths.iter().map(|path| arrival(plan, path)).collect()
        };
        let here = ends(&back);
        let is_shared = |at: usize| here.iter().filter(|other| **other == here[at]).count() > 1;
        for path in &out {
            let matched = back.iter().position(|back| back.id.rank == path.id.rank);
            let first_hop = |ipv4| Some(Nexthop { weight: 1, ..first_hop(plan, path, ipv4)? });
            let nexthops: Vec<Nexthop> = [true, false].into_iter().filter_map(first_hop).collect();
            let ipv4 = nexthops.first().is_some_and(|nexthop| nexthop.via.is_ipv4());
            let addresses = plan.addresses();
            let ends = addresses.of_node(node, ipv4).zip(addresses.of_node(peer, ipv4));
            let (Some(nexthop), Some((source, destination))) = (nexthops.first().cloned(), ends)
            else {
                continue;
            };
            watches.push(Watch {
                id: path.id,
                peer: plan.cluster().node(peer).name.clone(),
                source,
                destination,
                nexthop,
                mac: plan.receiver(&path.segments[0]).mac,
                arrival: matched.map(|at| here[at].clone()).unwrap_or_default(),
                shared: matched.is_some_and(is_shared),
                transits: matched.map_or(0, |at| (back[at].segments.len() - 1) as u8),
                active: false,
                nexthops,
                wires: plan.path_crossings(path),
                nodes: None,
            });
        }
    }
    watches
}

/// The neighbours of a node that routes. Each neighbour watches what lies behind it.
fn neighbours(plan: &Plan, node: NodeId) -> Vec<Watch> {
    let Some(layout) = plan.layout() else { return Vec::new() };
    let nics = &plan.addresses().nic;
    let backups = plan.cluster().routing.paths > 1;
    let watch = |hop: Hop| {
        let theirs = &nics[hop.to.index()][hop.to_nic];
        let own = &nics[node.index()][hop.nic];
        let interface = &plan.cluster().node(node).nics[hop.nic].name;
        let to = |via: &IpAddr| Nexthop {
            interface: interface.clone(),
            via: *via,
            labels: Vec::new(),
            weight: 1,
        };
        let nexthop = theirs.first().map(to)?;
        let ipv4 = nexthop.via.is_ipv4();
        let source = own.iter().find(|own| own.is_ipv4() == ipv4)?;
        let of_node = |node| plan.addresses().of_node(node, ipv4);
        Some(Watch {
            id: to_neighbour(layout, node, hop),
            peer: plan.cluster().node(hop.to).name.clone(),
            source: *source,
            destination: nexthop.via,
            nexthop,
            mac: plan.cluster().node(hop.to).nics[hop.to_nic].mac,
            arrival: interface.clone(),
            shared: false,
            transits: 0,
            active: backups,
            nexthops: theirs.iter().map(to).collect(),
            wires: vec![Crossing::Out(node, hop.nic), Crossing::In(hop.to, hop.to_nic)],
            nodes: of_node(node).zip(of_node(hop.to)),
        })
    };
    layout.neighbours(node).into_iter().filter_map(watch).collect()
}

/// The interface of the destination on which a path's frames arrive.
fn arrival(plan: &Plan, path: &Path) -> String {
    let last = path.segments.last().expect("a path has a segment");
    plan.interface(last.to, last.to_nic, last.tree)
}

/// Starts sessions until every crossing that matters is watched. `all`: whether all do.
fn choose(paths: &mut [Watch], all: bool) {
    let mut matters: Vec<Vec<Crossing>> = vec![Vec::new(); paths.len()];
    let mut of_peer: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        of_peer.entry(path.id.dst).or_default().push(at);
    }
    for group in of_peer.values() {
        for &at in group {
            let avoids =
                |wire: &Crossing| all || group.iter().any(|p| !paths[*p].wires.contains(wire));
            let wires = paths[at].wires.iter().filter(|wire| avoids(wire));
            matters[at] = wires.copied().collect();
        }
    }
    let mut order: Vec<usize> =
        (0..paths.len()).filter(|at| !paths[*at].arrival.is_empty()).collect();
    order.sort_by_key(|at| (paths[*at].id.rank, std::cmp::Reverse(matters[*at].len()), *at));
    let mut watched = BTreeSet::new();
    for at in order {
        let before = watched.len();
        watched.extend(matters[at].iter().copied());
        paths[at].active |= watched.len() > before;
    }
}

//! Which paths of a node a BFD session watches, and what a session that goes down says of the others
//! (DESIGN section 7, rule K10).
//!
//! A session goes over the path of one rank both ways, as both ends know it: packets of node b on its path
//! of rank r to node a come in by an interface of a that no other of b's paths ends at, and the other way
//! round, or they are not told apart, and the rank has no session.
//!
//! Few are enough. A [`Crossing`] matters where a pair has paths with it and paths without; every one that
//! paths of this node cross is crossed by a path that this node watches. Paths in use come first, long ones
//! before short ones, so that few watch much. Each end chooses for itself and answers what others chose:
//! O(nodes x paths), like the slice.
//!
//! A session that goes down is known to have a broken wire, not which: [`Watches::broken`].

pub mod part;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_plan::Plan;
use tresse_reconcile::Leg;
use tresse_topology::path::Path;

pub use tresse_topology::path::Crossing;

use crate::first_hop;

/// A path of this node, and the session over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// The other end's name.
    pub peer: String,
    /// The path's rank, and that of the path back.
    pub rank: u32,
    /// Source of the packets: this node's address, or that of the NIC where the neighbours are watched.
    pub source: IpAddr,
    /// Destination of the packets, and source of those that come.
    pub destination: IpAddr,
    /// First hop of the packets, in the family of the addresses.
    pub leg: Leg,
    /// The neighbour's lladdr.
    pub mac: Mac,
    /// The interface by which the other end's packets come; empty where they cannot be told apart, and
    /// there is no session.
    pub arrival: String,
    /// Nodes in transit on the way here.
    pub transits: u8,
    /// Does this end begin the session? Else it answers.
    pub active: bool,
    /// First hops of what takes this path: one for each family.
    pub legs: Vec<Leg>,
    /// What the path crosses.
    pub wires: Vec<Crossing>,
    /// Where `source` and `destination` name NICs: the addresses of the two nodes, between which there are
    /// other ways.
    #[serde(default)]
    pub nodes: Option<(IpAddr, IpAddr)>,
}

impl Watch {
    /// First hops of what takes this path, whatever share of a group they have.
    pub fn ways(&self) -> impl Iterator<Item = Leg> + '_ {
        self.legs.iter().map(Leg::alone)
    }
}

/// The paths of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watches {
    /// By peer, then rank.
    pub paths: Vec<Watch>,
}

impl Watches {
    /// The paths of `node`, all of them, and which are watched. Where nodes route: its neighbours.
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId) -> Self {
        let mut paths =
            if plan.xy().is_some() { neighbours(plan, node) } else { paths(plan, node) };
        choose(&mut paths);
        Self { paths }
    }

    /// Sessions that this end begins.
    #[must_use]
    pub fn active(&self) -> usize {
        self.paths.iter().filter(|watch| watch.active).count()
    }

    /// The paths that are not to be used while the sessions of `down` are down and those of `up` are up, both
    /// by index: those themselves, and those that cross a wire which only paths that are down cross. Where
    /// all that is known of a peer is down it may be the peer: of the way there only its NICs are suspect,
    /// and what paths to others that are down cross too.
    #[must_use]
    pub fn broken(&self, down: &BTreeSet<usize>, up: &BTreeSet<usize>) -> BTreeSet<usize> {
        let wires = |of: &BTreeSet<usize>| -> BTreeSet<Crossing> {
            of.iter().filter_map(|at| self.paths.get(*at)).flat_map(|w| &w.wires).copied().collect()
        };
        let sound = wires(up);
        let of = |set: &BTreeSet<usize>| -> BTreeSet<&str> {
            set.iter().filter_map(|at| self.paths.get(*at)).map(|w| w.peer.as_str()).collect()
        };
        let alive = of(up);
        let mut blamed: BTreeMap<Crossing, BTreeSet<&str>> = BTreeMap::new();
        for watch in down.iter().filter_map(|at| self.paths.get(*at)) {
            for wire in &watch.wires {
                blamed.entry(*wire).or_default().insert(&watch.peer);
            }
        }
        let guilty = |(wire, peers): &(Crossing, BTreeSet<&str>)| {
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
        let with = |(at, watch): (usize, &Watch)| {
            (down.contains(&at) || !up.contains(&at) && crosses(watch)).then_some(at)
        };
        self.paths.iter().enumerate().filter_map(with).collect()
    }
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
        let (here, there) = (ends(&back), ends(&out));
        let alone = |ends: &[String], at: &usize| {
            ends.iter().filter(|other| **other == ends[*at]).count() == 1
        };
        for (of_out, path) in out.iter().enumerate() {
            // Each end must tell by the interface which path a packet came by.
            let told = back.iter().position(|back| back.rank == path.rank);
            let told = told.filter(|at| alone(&here, at) && alone(&there, &of_out));
            let legs: Vec<Leg> =
                [true, false].iter().filter_map(|&ipv4| first_hop(plan, path, ipv4)).collect();
            let ipv4 = legs.first().is_some_and(|leg| leg.via.is_ipv4());
            let addresses = plan.addresses();
            let ends = addresses.of_node(node, ipv4).zip(addresses.of_node(peer, ipv4));
            let (Some(leg), Some((source, destination))) = (legs.first().cloned(), ends) else {
                continue;
            };
            watches.push(Watch {
                peer: plan.cluster().node(peer).name.clone(),
                rank: path.rank,
                source,
                destination,
                leg,
                mac: plan.receiver(&path.segments[0]).mac,
                arrival: told.map(|at| here[at].clone()).unwrap_or_default(),
                transits: told.map_or(0, |at| (back[at].segments.len() - 1) as u8),
                active: false,
                legs,
                wires: path.segments.iter().flat_map(|segment| plan.crossings(segment)).collect(),
                nodes: None,
            });
        }
    }
    watches
}

/// Where nodes route, each neighbour is watched: what lies behind it is its own to watch.
fn neighbours(plan: &Plan, node: NodeId) -> Vec<Watch> {
    let Some(xy) = plan.xy() else { return Vec::new() };
    let nics = &plan.addresses().nic;
    let backups = plan.cluster().routing.paths > 1;
    let watch = |hop: tresse_topology::Hop| {
        let theirs = &nics[hop.to.index()][hop.to_nic];
        let own = &nics[node.index()][hop.nic];
        let interface = &plan.cluster().node(node).nics[hop.nic].name;
        let to = |via: &IpAddr| Leg {
            interface: interface.clone(),
            via: *via,
            labels: Vec::new(),
            weight: 1,
        };
        let leg = theirs.first().map(to)?;
        let ipv4 = leg.via.is_ipv4();
        let source = own.iter().find(|own| own.is_ipv4() == ipv4)?;
        let of_node = |node| plan.addresses().of_node(node, ipv4);
        Some(Watch {
            peer: plan.cluster().node(hop.to).name.clone(),
            rank: 0,
            source: *source,
            destination: leg.via,
            leg,
            mac: plan.cluster().node(hop.to).nics[hop.to_nic].mac,
            arrival: interface.clone(),
            transits: 0,
            active: backups,
            legs: theirs.iter().map(to).collect(),
            wires: vec![Crossing::Out(node, hop.nic), Crossing::In(hop.to, hop.to_nic)],
            nodes: of_node(node).zip(of_node(hop.to)),
        })
    };
    xy.layout().neighbours(node).into_iter().filter_map(watch).collect()
}

/// The interface of a path's destination by which its frames come.
fn arrival(plan: &Plan, path: &Path) -> String {
    let last = path.segments.last().expect("a path has a segment");
    plan.interface(last.to, last.to_nic, last.tree)
}

/// Begins sessions until every wire that matters is watched.
fn choose(paths: &mut [Watch]) {
    let mut matters: Vec<Vec<Crossing>> = vec![Vec::new(); paths.len()];
    let mut of_peer: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        of_peer.entry(&path.peer).or_default().push(at);
    }
    for group in of_peer.values() {
        for &at in group {
            let avoids = |wire: &Crossing| group.iter().any(|p| !paths[*p].wires.contains(wire));
            let wires = paths[at].wires.iter().filter(|wire| avoids(wire));
            matters[at] = wires.copied().collect();
        }
    }
    let mut order: Vec<usize> =
        (0..paths.len()).filter(|at| !paths[*at].arrival.is_empty()).collect();
    order.sort_by_key(|at| (paths[*at].rank, std::cmp::Reverse(matters[*at].len()), *at));
    let mut watched = BTreeSet::new();
    for at in order {
        let before = watched.len();
        watched.extend(matters[at].iter().copied());
        paths[at].active |= watched.len() > before;
    }
}

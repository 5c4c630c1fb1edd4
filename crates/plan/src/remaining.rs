//! Ways through what is left of a fabric after failures, hop by hop (DESIGN section 7a).
//!
//! Where nodes route, a hop is a cable or line between two nodes. On other fabrics it is all planned paths from one
//! node to another: a node whose paths to a destination are all broken sends to one whose paths there are sound, and
//! that one routes the packet on.
//!
//! A node whose planned route still leads to the destination keeps it. Every other node takes the shortest way over
//! hops that are known to be sound, to the destination itself or to a node that keeps its planned route. Once all
//! nodes know the same, no packet circles: a planned route that leads there does so at each of its nodes, and every
//! other hop is by one nearer.
//!
//! Among equally short ways the planned nexthop comes first, then that of the backup route, then, for each node and
//! destination, another one.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::cluster::Cluster;
use tresse_topology::{Hop, Layout};

pub use self::hop::HopState;
use crate::node_routes::NodeRoutes;

mod hop;

/// How a node sends to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By the planned route.
    Planned,
    /// By the planned backup route, to a node that keeps its planned route.
    Backup,
    /// Round what is broken.
    Around {
        /// The nexthop.
        hop: Hop,
        /// A nexthop by another NIC, from which no packet comes back.
        other: Option<Hop>,
    },
    /// By the planned backup route, as the planned one begins with a hop that is avoided, and only hops that nothing is known of
    /// may lead there.
    Unproven,
    /// No hops lead there.
    Cut,
}

/// Most nodes of a fabric whose planned paths are joined: each knows the hops between all of them.
const JOINED_MOST: usize = 256;

/// The hops of a fabric, and the routes that its plan has over them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remaining {
    #[serde(alias = "xy")]
    next_hops: NextHops,
    backups: bool,
    /// Is a hop all planned paths from one node to another? Else nodes route.
    joins_paths: bool,
    /// By node: may packets of others cross it?
    transit: Vec<bool>,
    hops: Vec<Vec<Hop>>,
    /// By node: the hops to it, as the sender and the place among the sender's hops.
    arriving: Vec<Vec<(NodeId, usize)>>,
}

/// Are the planned paths of a cluster joined where none of a pair is whole? Not where nodes route, nor with `paths = 1`.
#[must_use]
pub fn joins_paths(cluster: &Cluster) -> bool {
    cluster.routing.paths > 1 && Layout::of(&cluster.kind).is_none() && can_join(cluster)
}

fn can_join(cluster: &Cluster) -> bool {
    (2..=JOINED_MOST).contains(&cluster.nodes.len())
}

impl Remaining {
    /// That of a cluster; `None` if its nodes do not route and there are more than 256.
    #[must_use]
    pub fn of(cluster: &Cluster) -> Option<Self> {
        if let Some(next_hops) = NextHops::of_cluster(cluster) {
            return Some(Self::over(next_hops, cluster, false));
        }
        let nodes = u32::try_from(cluster.nodes.len()).ok()?;
        let all = NextHops::of_full_mesh(nodes).filter(|_| can_join(cluster))?;
        Some(Self::over(all, cluster, true))
    }

    fn over(next_hops: NextHops, cluster: &Cluster, joins_paths: bool) -> Self {
        let layout = next_hops.layout();
        let nodes = (0..layout.nodes()).map(NodeId::from);
        let hops: Vec<Vec<Hop>> = nodes.map(|node| layout.neighbours(node)).collect();
        let mut arriving = vec![Vec::new(); hops.len()];
        for (from, hops) in hops.iter().enumerate() {
            for (at, hop) in hops.iter().enumerate() {
                arriving[hop.to.index()].push((NodeId::from(from), at));
            }
        }
        let transit = cluster.nodes.iter().map(|node| node.transit).collect();
        let backups = cluster.routing.paths > 1 && !joins_paths;
        Self { next_hops, backups, joins_paths, transit, hops, arriving }
    }

    /// Is a hop all planned paths from one node to another? Else nodes route.
    #[must_use]
    pub const fn joins_paths(&self) -> bool {
        self.joins_paths
    }

    /// The place of a hop among the [`hops`](Self::hops) of its node. O(1) where paths are joined.
    #[must_use]
    pub fn place(&self, node: NodeId, hop: Hop) -> Option<usize> {
        if self.joins_paths {
            // A full mesh has a NIC for each hop.
            return Some(hop.nic);
        }
        self.hops(node).iter().position(|other| *other == hop)
    }

    /// Number of nodes.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.hops.len()
    }

    /// May packets of others cross a node?
    #[must_use]
    pub fn may_pass(&self, node: NodeId) -> bool {
        self.transit.get(node.index()).is_some_and(|may| *may)
    }

    /// The hops of a node to its neighbours, by NIC, then by the neighbour's coordinate.
    #[must_use]
    pub fn hops(&self, node: NodeId) -> &[Hop] {
        self.hops.get(node.index()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The hops that lead to a node, as the sender and the place among the sender's [`hops`](Self::hops).
    #[must_use]
    pub fn arriving(&self, node: NodeId) -> &[(NodeId, usize)] {
        self.arriving.get(node.index()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The nodes on the way from one node to another, with both ends; `None` if it is cut or not known. `ways`: those
    /// [`to`](Self::ways) the other node.
    #[must_use]
    pub fn walk(&self, from: NodeId, to: NodeId, ways: &[Way]) -> Option<Vec<NodeId>> {
        let (mut nodes, mut came) = (vec![from], None);
        while let Some(&at) = nodes.last().filter(|at| **at != to) {
            let table = self.routes().find(at, came, to).table;
            let table = table.filter(|_| !self.leads_away(at, to, ways));
            let hop = match ways[at.index()] {
                Way::Planned => Some(table.unwrap_or_else(|| self.routes().main(at, to))),
                Way::Backup => table.or_else(|| self.routes().backup(at, to)),
                Way::Around { hop, .. } => Some(hop),
                Way::Unproven | Way::Cut => None,
            };
            let hop = hop.filter(|_| nodes.len() <= self.hops.len())?;
            nodes.push(hop.to);
            came = Some(hop.to_nic);
        }
        Some(nodes)
    }

    /// The ways to `to` from every node, by node. `state`: what is known of the hop of a node that has this place among
    /// [`hops`](Self::hops). `speaks`: whether a node's daemon answers; one that does not goes on by its planned route
    /// alone. O(hops).
    #[must_use]
    pub fn ways(
        &self,
        to: NodeId,
        state: impl Fn(NodeId, usize) -> HopState,
        speaks: impl Fn(NodeId) -> bool,
    ) -> Vec<Way> {
        let keeps = self.planned(to, &state);
        // Where paths are joined, nothing but its own word shows that a node forwards.
        let forwards = |node| !self.joins_paths || speaks(node);
        let may_pass = |node: NodeId| node == to || self.transit[node.index()] && forwards(node);
        let passes = |node: NodeId| {
            let knows = node == to || speaks(node) || keeps[node.index()].is_some();
            knows && may_pass(node)
        };
        let is_sound = |from, at| state(from, at) == HopState::Sound;
        let is_proven = |from, at| state(from, at).arrives();
        let may = |from, at| state(from, at) != HopState::Broken;
        let sound = self.distances(&keeps, passes, is_sound);
        // Who has a way over sound hops keeps it, and the distance by it.
        let proven = self.distances(&sound, passes, is_proven);
        let possible = self.distances(&proven, may_pass, may);
        let way = |node: NodeId| {
            let [keeps_it, sound_at, proven_at, possible_at] =
                [&keeps, &sound, &proven, &possible].map(|of| of[node.index()]);
            if keeps_it.is_some() {
                return Way::Planned;
            }
            let main = self.routes().main(node, to);
            let begins_avoided = self.state(node, main, &state).is_avoided();
            if begins_avoided && self.backs_up(node, to, &keeps, &state) {
                return Way::Backup;
            }
            let backup = self.routes().backup(node, to);
            let backed_up = backup.is_some_and(|hop| !self.state(node, hop, &state).is_avoided());
            let hops = || self.hops(node).iter().enumerate();
            let passing = || hops().filter(|(_, hop)| passes(hop.to));
            match (sound_at, proven_at, possible_at) {
                (Some(distance), ..) => {
                    let usable = passing().filter(|(at, _)| is_sound(node, *at));
                    self.around(node, to, distance, &sound, usable)
                }
                (_, Some(distance), _) => {
                    let usable = passing().filter(|(at, _)| is_proven(node, *at));
                    self.around(node, to, distance, &proven, usable)
                }
                (_, _, Some(_)) if begins_avoided && backed_up => Way::Unproven,
                (_, _, Some(distance)) => {
                    let usable = hops().filter(|(at, hop)| may(node, *at) && may_pass(hop.to));
                    self.around(node, to, distance, &possible, usable)
                }
                _ => Way::Cut,
            }
        };
        (0..self.hops.len()).map(NodeId::from).map(way).collect()
    }

    /// The nodes that whole hops lead to from one, over nodes that may be crossed; itself included. O(hops).
    #[must_use]
    pub fn joined(&self, from: NodeId, is_whole: impl Fn(NodeId, Hop) -> bool) -> BTreeSet<NodeId> {
        let (mut joined, mut open) = (BTreeSet::from([from]), vec![from]);
        while let Some(node) = open.pop() {
            if node == from || self.transit[node.index()] {
                let whole = self.hops(node).iter().filter(|hop| is_whole(node, **hop));
                open.extend(whole.map(|hop| hop.to).filter(|to| joined.insert(*to)));
            }
        }
        joined
    }

    /// Must a node do without its table route to `to`? It would lead packets away that others send by these ways.
    #[must_use]
    pub fn leads_away(&self, node: NodeId, to: NodeId, ways: &[Way]) -> bool {
        let Some((nic, _)) = self.routes().table_route(node, to) else { return false };
        let arrives = |hop: &Hop| hop.to == node && hop.to_nic == nic;
        self.arriving[node.index()].iter().any(|(from, _)| match &ways[from.index()] {
            Way::Around { hop, other } => {
                [Some(hop), other.as_ref()].into_iter().flatten().any(arrives)
            }
            _ => false,
        })
    }

    /// The nodes from which packets arrive where the table route to `to` would send them on.
    pub fn beside(&self, node: NodeId, to: NodeId) -> impl Iterator<Item = NodeId> {
        let nic = self.routes().table_route(node, to).map(|(nic, _)| nic);
        let hops = self.hops(node).iter().filter(move |hop| Some(hop.nic) == nic);
        hops.map(|hop| hop.to)
    }

    /// Does the planned route of `from` lead to `to` over hops that are neither broken, nor were a short while ago, nor
    /// are drained?
    /// O(dimensions x hops on the way).
    #[must_use]
    pub fn keeps(
        &self,
        from: NodeId,
        to: NodeId,
        state: impl Fn(NodeId, usize) -> HopState,
    ) -> bool {
        let mut at = from;
        while at != to {
            let hop = self.routes().main(at, to);
            if self.state(at, hop, &state).is_avoided() {
                return false;
            }
            at = hop.to;
        }
        true
    }

    /// Is there one NIC, cable or line that all these hops cross? True of no hops. They are given as the sender and the
    /// place among its [`hops`](Self::hops).
    #[must_use]
    pub fn are_of_one_part(&self, hops: impl IntoIterator<Item = (NodeId, usize)>) -> bool {
        let hops = hops.into_iter();
        let known = hops.filter_map(|(from, at)| Some((from, *self.hops(from).get(at)?)));
        hop::are_of_one_part(self.next_hops.layout(), known)
    }

    fn routes(&self) -> NodeRoutes<'_> {
        NodeRoutes::new(&self.next_hops, self.backups)
    }

    /// What is known of a hop.
    fn state(
        &self,
        node: NodeId,
        hop: Hop,
        state: &impl Fn(NodeId, usize) -> HopState,
    ) -> HopState {
        self.place(node, hop).map_or(HopState::Broken, |at| state(node, at))
    }

    /// Does the planned backup route lead to a node that sends on by its planned route?
    fn backs_up(
        &self,
        node: NodeId,
        to: NodeId,
        keeps: &[Option<usize>],
        state: &impl Fn(NodeId, usize) -> HopState,
    ) -> bool {
        let backup = self.routes().backup(node, to);
        backup.is_some_and(|hop| {
            let table = || self.routes().find(hop.to, Some(hop.to_nic), to).table;
            let goes_on = hop.to == to || keeps[hop.to.index()].is_some() && table().is_none();
            goes_on && self.state(node, hop, state) == HopState::Sound
        })
    }

    /// By node: the number of hops of its planned route to `to`, if none of them is avoided.
    fn planned(
        &self,
        to: NodeId,
        state: &impl Fn(NodeId, usize) -> HopState,
    ) -> Vec<Option<usize>> {
        let mut main = Vec::new();
        self.routes().main_of_all(to, &mut main);
        // Some(known), or None where it has not been looked at.
        let mut lengths: Vec<Option<Option<usize>>> = vec![None; main.len()];
        lengths[to.index()] = Some(Some(0));
        let mut walked = Vec::new();
        for from in (0..main.len()).map(NodeId::from) {
            let mut at = from;
            let mut length = loop {
                if let Some(length) = lengths[at.index()] {
                    break length;
                }
                walked.push(at);
                let hop = main[at.index()];
                let known = self.state(at, hop, state);
                // Planned paths of other nodes that nothing is known of may be broken.
                let holds = !known.is_avoided() && (!self.joins_paths || known.arrives());
                if !holds {
                    break None;
                }
                at = hop.to;
            };
            // The node at which the walk ended is the last one if its own hop is avoided.
            for node in walked.drain(..).rev() {
                length = length.map(|length| length + 1);
                lengths[node.index()] = Some(length);
            }
        }
        lengths.into_iter().map(Option::flatten).collect()
    }

    /// By node: the number of hops to `to`, for nodes that keep their planned route by that, for others by the shortest
    /// way over hops that are usable.
    fn distances(
        &self,
        keeps: &[Option<usize>],
        passes: impl Fn(NodeId) -> bool,
        is_usable: impl Fn(NodeId, usize) -> bool,
    ) -> Vec<Option<usize>> {
        let mut distances = keeps.to_vec();
        let mut seeds: Vec<(usize, NodeId)> =
            (0..keeps.len()).filter_map(|node| Some((keeps[node]?, NodeId::from(node)))).collect();
        seeds.sort_unstable();
        let (mut seeds, mut reached) = (seeds.into_iter().peekable(), VecDeque::new());
        loop {
            // The nearest node of both: what is reached is in the order of its distance.
            let next = match (seeds.peek().copied(), reached.front().copied()) {
                (Some(seed), Some(front)) if seed <= front => seeds.next(),
                (Some(_), None) => seeds.next(),
                _ => reached.pop_front(),
            };
            let Some((distance, node)) = next else { return distances };
            if !passes(node) {
                continue;
            }
            for (from, at) in &self.arriving[node.index()] {
                if distances[from.index()].is_none() && is_usable(*from, *at) {
                    distances[from.index()] = Some(distance + 1);
                    reached.push_back((distance + 1, *from));
                }
            }
        }
    }

    /// The way of a node that does not keep its planned route, and is at this distance, by one of these hops.
    fn around<'a>(
        &self,
        node: NodeId,
        to: NodeId,
        distance: usize,
        distances: &[Option<usize>],
        usable: impl Iterator<Item = (usize, &'a Hop)>,
    ) -> Way {
        let (main, backup) = (self.routes().main(node, to), self.routes().backup(node, to));
        let preference = |hop: Hop| {
            let numbers = [node, to, hop.to].map(|node| u64::from(node.0));
            let number = Random::new(numbers[0] << 42 ^ numbers[1] << 21 ^ numbers[2]).number();
            (hop != main, Some(hop) != backup, number)
        };
        let mut hops: Vec<_> = usable
            .filter_map(|(_, hop)| Some((distances[hop.to.index()]?, preference(*hop), *hop)))
            .collect();
        hops.sort_unstable_by_key(|(there, preference, _)| (*there, *preference));
        let Some((_, _, hop)) = hops.first().copied() else { return Way::Cut };
        // Whoever is not farther away never sends back to this node.
        let other =
            hops.iter().find(|(there, _, other)| other.nic != hop.nic && *there <= distance);
        Way::Around { hop, other: other.map(|(_, _, hop)| *hop) }
    }
}

#[cfg(test)]
mod joined;
#[cfg(test)]
mod tests;

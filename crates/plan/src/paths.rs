//! The third stage of a plan: all paths of every ordered pair of nodes, and their MTU. A pair has a primary, weighted
//! siblings that share its traffic with the primary, and backups that carry traffic only after a failure. Paths are
//! computed when they are asked for, and not stored.

mod backup;
mod mtu;
mod reflect;

pub use mtu::SmallMtu;

use std::ops::Deref;

use smallvec::smallvec;
use tresse_base::id::{NodeId, PathId, SwitchId, TreeId};
use tresse_routing::direct::Direct;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_routing::reflect::{Detours, MOST_SWITCHES};
use tresse_topology::cluster::ReflectMode;
use tresse_topology::path::{Path, Segment};
use tresse_topology::vlan::Role;

use self::reflect::{ADAPTIVE_SWITCHES, ThirdSwitches};
use crate::primaries::{PlaneWays, Primaries};
use crate::trees::{ALL_TREES, Trees};

/// The most nodes whose paths are all looked at for backup trees that none uses.
const MOST_NODES: usize = 256;

/// All paths between the nodes of a cluster: for each ordered pair the primary, its weighted siblings and the backups.
/// They are computed from the [`Primaries`].
#[derive(Debug)]
pub struct Paths {
    primaries: Primaries,
    /// The detours through reflectors that some pairs have as weighted siblings.
    pub(crate) detours: Detours,
    /// Where detours are used as they are needed.
    third_switches: ThirdSwitches,
    /// Whether all switches accept the same frame size. If so, no path is walked for its MTU.
    uniform_frames: bool,
}

/// What came of the search for detours through reflectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DetourSearch {
    /// The fabric has more switches than the `most` for which detours are sought.
    TooManySwitches {
        /// That number.
        most: usize,
    },
    /// The linear program did not run, because `reflect` is not set, or gave no answer.
    NoAnswer,
    /// The linear program gave an answer.
    Found {
        /// The highest load divided by capacity if the number of detours of a pair were not limited.
        congestion: f64,
        /// The number of candidate detours.
        candidates: usize,
        /// Whether candidates were left out because there are too many.
        restricted: bool,
        /// Whether some pair would use more detours than `paths` leaves it.
        limited: bool,
    },
}

impl Deref for Paths {
    type Target = Primaries;

    fn deref(&self) -> &Primaries {
        &self.primaries
    }
}

impl Paths {
    /// Adds detours to the primaries. Backups are computed when asked for.
    pub(crate) fn new(primaries: Primaries) -> Self {
        let detours = primaries.find_detours();
        let third_switches = primaries.all_third_switches();
        let switches = &primaries.cluster.switches;
        let uniform_frames = switches.windows(2).all(|pair| pair[0].max_frame == pair[1].max_frame);
        Self { primaries, detours, third_switches, uniform_frames }
    }

    /// The trees that all was computed from.
    pub(crate) fn into_trees(self) -> Trees {
        self.primaries.into_trees()
    }

    /// The trees that some path uses, those that carry primaries or their siblings first, and the others as backup trees;
    /// `None` where that is what there is. Not sought where not every tree is tried for every pair, nor in large fabrics.
    /// The order of trees decides between equals, so it stays as it is.
    pub(crate) fn trees_in_use(&self) -> Option<Vec<(TreeId, Role)>> {
        if self.cluster.nodes.len() > MOST_NODES || self.specs.len() > ALL_TREES {
            return None;
        }
        // Where nodes have one NIC, every pair of switches that has a route needs it.
        let several = self.cluster.nodes.iter().any(|node| node.nics.len() > 1);
        let may_go = self.assignment.may_keep_some() || self.planes().is_some();
        let doubtful = several && may_go;
        let known = |role| (role == Role::Primary && !doubtful).then_some(role);
        let mut found: Vec<Option<Role>> = self.specs.iter().map(|spec| known(spec.role)).collect();
        let expected = |found: &[Option<Role>]| {
            found.iter().zip(&self.specs).all(|(found, spec)| *found == Some(spec.role))
        };
        for (src, dst) in self.pairs() {
            if expected(&found) {
                return None;
            }
            for path in self.paths(src, dst) {
                for segment in &path.segments {
                    let Some(role) = found.get_mut(segment.tree.index()) else { continue };
                    // Backups from plane to plane take the routes of primaries.
                    let of_primaries = self.planes().is_some()
                        && self.specs[segment.tree.index()].role == Role::Primary;
                    if path.weight > 0 || of_primaries {
                        *role = Some(Role::Primary);
                    } else if role.is_none() {
                        *role = Some(Role::Backup);
                    }
                }
            }
        }
        self.keep_one_of_each_plane(&mut found);
        // A node alone has no paths.
        if let Some(first) = found.first_mut().filter(|_| self.cluster.nodes.len() < 2) {
            *first = Some(Role::Primary);
        }
        let with = |role| {
            let trees = found.iter().enumerate();
            trees
                .filter(move |(_, found)| **found == Some(role))
                .map(move |(k, _)| (k.into(), role))
        };
        let kept: Vec<_> = with(Role::Primary).chain(with(Role::Backup)).collect();
        (!expected(&found)).then_some(kept)
    }

    /// A plane that pairs could use and none does, as they have fewer paths than planes, keeps its first tree: by the rates
    /// there it is decided which planes a pair uses.
    fn keep_one_of_each_plane(&self, found: &mut [Option<Role>]) {
        let Some(planes) = self.planes() else { return };
        for plane in 0..planes.count() {
            let is_here = |tree: &usize| planes.plane(self.specs[*tree].at) == plane;
            let on = self
                .cluster
                .nodes
                .iter()
                .filter(|node| node.nics.iter().any(|nic| planes.plane(nic.switch) == plane));
            let mut here = (0..self.specs.len()).filter(is_here);
            if on.count() > 1 && !here.clone().any(|tree| found[tree] == Some(Role::Primary)) {
                here.next().into_iter().for_each(|tree| found[tree] = Some(Role::Primary));
            }
        }
    }

    /// The figures of the linear program that chose the detours. The optimum is the program's own word: no proof.
    #[must_use]
    pub fn detour_search(&self) -> DetourSearch {
        let most = match self.cluster.routing.reflect {
            ReflectMode::Adaptive => ADAPTIVE_SWITCHES,
            ReflectMode::Demand | ReflectMode::Off => MOST_SWITCHES,
        };
        if self.direct().is_none() && self.graph.switches() > most {
            return DetourSearch::TooManySwitches { most };
        }
        self.detours.found.map_or(DetourSearch::NoAnswer, |found| DetourSearch::Found {
            congestion: found.optimum,
            candidates: found.candidates,
            restricted: found.restricted,
            limited: found.limited,
        })
    }

    /// The result of the linear program; empty unless `reflect` is set.
    #[must_use]
    pub const fn detours(&self) -> &Detours {
        &self.detours
    }

    /// The paths from `src` to `dst` that carry traffic while nothing fails: the primary, then its
    /// weighted siblings.
    #[must_use]
    pub fn carriers(&self, src: NodeId, dst: NodeId) -> Vec<Path> {
        if let Some(direct) = &self.direct {
            return direct.carriers(src, dst, self.cluster.routing.paths);
        }
        if let Some(paths) = self.over_planes(src, dst) {
            let path = |((weight, segments), rank)| Path {
                id: PathId { src, dst, rank },
                weight,
                segments,
            };
            return paths.into_iter().zip(0..self.cluster.routing.paths).map(path).collect();
        }
        let segments = self.primary(src, dst);
        let (first, last) = (segments[0], segments[segments.len() - 1]);
        let id = PathId { src, dst, rank: 0 };
        let mut paths = vec![Path { id, weight: 1, segments }];
        let (from, to) = (self.sender(&first), self.receiver(&last));
        let pair = (from.switch, to.switch, self.lane(from, to));
        let Some(split) = self.detours.by_pair.get(&pair) else { return paths };
        paths[0].weight = split.direct;
        for detour in split.detours.iter().filter(|detour| ![src, dst].contains(&detour.node)) {
            let (at, nic) = (detour.node, detour.nic);
            let there = Segment { tree: detour.there, to: at, to_nic: nic, ..first };
            let on = Segment { from: at, nic, tree: detour.on, to: dst, to_nic: last.to_nic };
            let id = PathId { rank: paths.len() as u32, ..id };
            paths.push(Path { id, weight: detour.weight, segments: smallvec![there, on] });
        }
        paths
    }

    /// The [`carriers`](Self::carriers) and, with `reflect = "adaptive"` in a fabric of trees, the detours beside them, with
    /// weight 0.
    pub(crate) fn sharing(&self, src: NodeId, dst: NodeId) -> Vec<Path> {
        let mut paths = self.carriers(src, dst);
        let Some(primary) = paths.first().filter(|_| !self.third_switches.is_empty()) else {
            return paths;
        };
        let primary = primary.segments.clone();
        let pair = [&primary[0], &primary[primary.len() - 1]];
        let pair = (self.sender(pair[0]).switch, self.receiver(pair[1]).switch);
        let thirds = self.third_switches.get(&pair).map_or(&[][..], Vec::as_slice);
        for segments in self.detours_through(thirds, &primary) {
            let id = PathId { src, dst, rank: paths.len() as u32 };
            paths.push(Path { id, weight: 0, segments });
        }
        paths
    }

    /// All paths from `src` to `dst`, by rank: the primary, its weighted siblings, then detours and backups with
    /// weight 0; never empty. `src` and `dst` differ.
    #[must_use]
    pub fn paths(&self, src: NodeId, dst: NodeId) -> Vec<Path> {
        if let Some(next_hops) = &self.next_hops {
            return self.routed_paths(next_hops, src, dst);
        }
        if let Some(direct) = &self.direct {
            return direct.paths(src, dst, self.cluster.routing.paths);
        }
        let mut paths = self.sharing(src, dst);
        for rank in paths.len() as u32..self.cluster.routing.paths {
            let Some(segments) = self.primaries.backup(&paths) else { break };
            let id = PathId { src, dst, rank };
            paths.push(Path { id, weight: 0, segments });
        }
        paths
    }

    /// The primary, and the path of packets while `src` has lost its next hop. Nodes further on repair
    /// their own failures, so there are at most two paths.
    fn routed_paths(&self, next_hops: &NextHops, src: NodeId, dst: NodeId) -> Vec<Path> {
        let path = |rank: u32, segments| Path {
            id: PathId { src, dst, rank },
            weight: u32::from(rank == 0),
            segments,
        };
        let backup = (self.cluster.routing.paths > 1).then(|| next_hops.backup(src, dst)).flatten();
        let backup = backup.map(|segments| path(1, segments));
        [path(0, next_hops.primary(src, dst))].into_iter().chain(backup).collect()
    }

    /// The IP MTU of a segment: the smallest of its NICs and switches.
    #[must_use]
    pub fn mtu(&self, segment: &Segment) -> u32 {
        let ends = self.nic_mtu(self.sender(segment)).min(self.nic_mtu(self.receiver(segment)));
        if self.uniform_frames || segment.tree == TreeId::NONE {
            return ends;
        }
        let mut channels = Vec::new();
        self.walk(segment, &mut channels);
        let switches = channels.iter().map(|c| SwitchId(self.graph.head(*c)));
        switches.fold(ends, |mtu, s| mtu.min(self.cluster.switch(s).max_frame.saturating_sub(22)))
    }

    /// The IP MTU of a path: each segment carries 4 bytes for every label that is still on the packet (K9).
    #[must_use]
    pub fn path_mtu(&self, segments: &[Segment]) -> u32 {
        let labels = if self.next_hops.is_some() { 0 } else { segments.len() as u32 };
        let left = (0..labels).rev().chain(std::iter::repeat(0));
        let mtus =
            segments.iter().zip(left).map(|(s, labels)| self.mtu(s).saturating_sub(4 * labels));
        mtus.min().unwrap_or(0)
    }

    /// Whether primaries or weighted siblings may have transit nodes.
    #[must_use]
    pub fn has_labels(&self) -> bool {
        let relays = |direct: &Direct| direct.has_relays(self.cluster.routing.paths);
        self.has_transit()
            || !self.detours.by_pair.is_empty()
            || !self.third_switches.is_empty()
            || self.direct.as_ref().is_some_and(relays)
            || self.ways.as_ref().is_some_and(PlaneWays::has_relays)
    }
}

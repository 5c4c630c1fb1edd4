//! Walks the paths of all pairs of nodes once and collects loads of links and NICs, numbers of hops,
//! primary paths that are longer than necessary, channel dependencies, and which NICs receive on which
//! VID.
//!
//! Primary paths are handled source by source. All destinations that a source reaches by one tree are
//! handled in one pass over that tree: the load of a tree link is the number of destinations behind it
//! as seen from the source. Counting the destinations in each subtree gives all loads in O(switches).

use std::sync::Arc;

use rayon::prelude::*;
use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_plan::{Longer, Plan};
use tresse_topology::Channel;
use tresse_topology::Dependencies;
use tresse_topology::path::Segment;
use tresse_topology::vlan::Tree;

/// What one walk over the paths of all pairs of nodes found: how many primary paths cross each channel,
/// NIC and switch, how many hops they have, and the channel dependencies.
#[derive(Debug, Clone)]
pub struct Survey {
    /// Primary paths per channel, when every ordered node pair sends 1 unit.
    pub loads: Vec<u64>,
    /// Primary paths that leave each NIC: index of the first NIC of the node + NIC.
    pub sent: Vec<u64>,
    /// Primary paths that enter each NIC, indexed alike.
    pub received: Vec<u64>,
    /// First NIC number of each node.
    pub first_nic: Vec<usize>,
    /// Switch-to-switch links crossed by all primaries together.
    pub hops: u64,
    /// Primary paths that cross each switch without starting or ending there.
    pub through: Vec<u64>,
    /// A pair whose primary is not minimal: the first in order.
    pub not_minimal: Option<(NodeId, NodeId)>,
    /// Pairs whose primary is not minimal, by [`Longer`].
    pub longer: [u64; Longer::ALL.len()],
    /// Primaries through transit nodes.
    pub transit: TransitCount,
    /// Channel dependencies of paths of every rank.
    pub dependencies: Dependencies,
    /// (tree, NIC) pairs that receive, of any rank: per tree, one bit per NIC.
    receives: Vec<u64>,
    /// The switch of each node where every node has one NIC.
    homes: Option<Arc<[u32]>>,
}

impl Survey {
    /// Surveys `plan`, whose trees all span: paths of every rank.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self::walk(plan, plan.cluster().routing.paths > 1)
    }

    /// Surveys the primaries alone.
    #[must_use]
    pub fn of_primaries(plan: &Plan) -> Self {
        Self::walk(plan, false)
    }

    fn walk(plan: &Plan, backups: bool) -> Self {
        let nodes = plan.cluster().nodes.len();
        // Built here once: if several threads built it lazily, some would wait.
        (0..plan.specs().len()).into_par_iter().for_each(|t| {
            let _ = plan.tree(t.into());
        });
        let chunk = nodes.div_ceil(rayon::current_num_threads() * 4).max(1);
        (0..nodes)
            .into_par_iter()
            .with_min_len(chunk)
            .fold(
                || (Self::empty(plan), Scratch::default()),
                |(mut survey, mut scratch), s| {
                    survey.add_source(plan, s.into(), backups, &mut scratch);
                    (survey, scratch)
                },
            )
            .map(|(survey, _)| survey)
            .reduce(|| Self::empty(plan), Self::merge)
    }

    /// Returns an empty survey.
    pub(super) fn empty(plan: &Plan) -> Self {
        let cluster = plan.cluster();
        let nics = cluster.nodes.iter().map(|node| node.nics.len()).sum();
        Self {
            loads: vec![0; plan.graph().channels()],
            sent: vec![0; nics],
            received: vec![0; nics],
            first_nic: plan.first_nics(),
            hops: 0,
            through: vec![0; plan.graph().switches()],
            not_minimal: None,
            longer: [0; Longer::ALL.len()],
            transit: TransitCount::default(),
            dependencies: Dependencies::new(plan.graph()),
            receives: vec![0; nics.div_ceil(64) * plan.specs().len()],
            homes: (nics == cluster.nodes.len() && cluster.nodes.iter().all(|n| n.nics.len() == 1))
                .then(|| cluster.nodes.iter().map(|n| n.nics[0].switch.0).collect()),
        }
    }

    pub(super) fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.loads, &other.loads);
        add(&mut self.sent, &other.sent);
        add(&mut self.received, &other.received);
        add(&mut self.through, &other.through);
        add(&mut self.longer, &other.longer);
        self.hops += other.hops;
        self.transit.paths += other.transit.paths;
        self.transit.nodes += other.transit.nodes;
        self.transit.most = self.transit.most.max(other.transit.most);
        self.receives.iter_mut().zip(&other.receives).for_each(|(a, b)| *a |= b);
        self.dependencies.merge(&other.dependencies);
        self.not_minimal = match (self.not_minimal, other.not_minimal) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self
    }

    fn add_source(&mut self, plan: &Plan, s: NodeId, backups: bool, scratch: &mut Scratch) {
        let cluster = plan.cluster();
        let trees = plan.specs().len();
        scratch.begin(cluster.node(s).nics.len() * trees);
        if plan.has_transit() {
            self.walk_primaries(plan, s, scratch);
        } else if let Some(homes) = &self.homes {
            self.group_one_nic(plan, s, &homes.clone(), scratch);
        } else {
            self.group_many_nics(plan, s, scratch);
        }
        let mut groups = std::mem::take(&mut scratch.groups);
        for group in &mut groups[..scratch.used] {
            if scratch.distances_from != Some(group.from) {
                plan.graph().distances(group.from, &mut scratch.distance, &mut scratch.queue);
                scratch.distances_from = Some(group.from);
            }
            let tree = plan.tree(TreeId(group.tree));
            self.add_group(plan, s, tree, group, scratch);
        }
        scratch.groups = groups;
        if backups {
            self.add_backups(plan, s, &mut scratch.channels);
        }
    }

    /// Sorts the destinations of `s` into groups where every node has one NIC.
    fn group_one_nic(&mut self, plan: &Plan, s: NodeId, homes: &[u32], scratch: &mut Scratch) {
        let from = homes[s.index()];
        let mut trees = std::mem::take(&mut scratch.trees);
        plan.primary_trees(SwitchId(from), &mut trees).expect("no path here has transit nodes");
        let (lanes, own) = (plan.lanes(), &plan.cluster().node(s).nics[0]);
        self.sent[s.index()] += homes.len() as u64 - 1;
        let mut last = (u32::MAX, usize::MAX);
        for (d, &home) in homes.iter().enumerate() {
            if d == s.index() {
                continue;
            }
            self.received[d] += 1;
            let tree = if lanes == 1 {
                trees[home as usize]
            } else {
                let to = &plan.cluster().node(d.into()).nics[0];
                trees[(home * lanes + plan.lane(own, to)) as usize]
            };
            if tree.0 != last.0 {
                scratch.group(tree.index(), tree.0, from, plan.graph().switches());
                last = (tree.0, scratch.slot[tree.index()] as usize - 1);
            }
            let group = &mut scratch.groups[last.1];
            group.counts[home as usize] += 1;
            group.last = d.into();
            self.mark_receives(tree, d);
        }
        scratch.trees = trees;
    }

    /// The same where nodes have several NICs: every pair chooses its own.
    fn group_many_nics(&mut self, plan: &Plan, s: NodeId, scratch: &mut Scratch) {
        let cluster = plan.cluster();
        let trees = plan.specs().len();
        // Fewest hops to every switch from any NIC of the source.
        let mut fewest = vec![u32::MAX; plan.graph().switches()];
        for nic in &cluster.node(s).nics {
            plan.graph().distances(nic.switch.0, &mut scratch.distance, &mut scratch.queue);
            fewest.iter_mut().zip(&scratch.distance).for_each(|(f, d)| *f = (*f).min(*d));
        }
        scratch.distances_from = None;
        for d in (0..cluster.nodes.len()).map(NodeId::from).filter(|d| *d != s) {
            let segment = plan.primary(s, d)[0];
            let shortest = cluster.node(d).nics.iter().map(|n| fewest[n.switch.index()]).min();
            if shortest < Some(plan.hops(&segment)) {
                self.find_longer(plan, s, d, &[segment]);
            }
            let receiver = self.add_ends(&segment);
            self.mark_receives(segment.tree, receiver);
            let home = plan.receiver(&segment).switch.0;
            let from = plan.sender(&segment).switch.0;
            let key = segment.nic * trees + segment.tree.index();
            let group = scratch.group(key, segment.tree.0, from, plan.graph().switches());
            group.counts[home as usize] += 1;
            group.last = d;
        }
    }

    /// Counts a segment of a primary at the NICs of both its ends: the number of the receiving one.
    pub(super) fn add_ends(&mut self, segment: &Segment) -> usize {
        self.sent[self.first_nic[segment.from.index()] + segment.nic] += 1;
        let receiver = self.first_nic[segment.to.index()] + segment.to_nic;
        self.received[receiver] += 1;
        receiver
    }

    /// The same where primaries may have transit nodes: pair by pair, segment by segment.
    fn walk_primaries(&mut self, plan: &Plan, s: NodeId, scratch: &mut Scratch) {
        let cluster = plan.cluster();
        let mut fewest = vec![u32::MAX; plan.graph().switches()];
        for nic in &cluster.node(s).nics {
            plan.graph().distances(nic.switch.0, &mut scratch.distance, &mut scratch.queue);
            fewest.iter_mut().zip(&scratch.distance).for_each(|(f, d)| *f = (*f).min(*d));
        }
        for d in (0..cluster.nodes.len()).map(NodeId::from).filter(|d| *d != s) {
            let segments = plan.primary(s, d);
            let mut hops = 0;
            for segment in &segments {
                let receiver = self.add_ends(segment);
                self.mark_receives(segment.tree, receiver);
                scratch.channels.clear();
                plan.walk(segment, &mut scratch.channels);
                hops += scratch.channels.len() as u32;
                let mut before = NONE;
                for &channel in &scratch.channels {
                    self.flow(before, channel, plan.graph().tail(channel), 1);
                    before = channel;
                }
            }
            self.transit.add(segments.len() as u32 - 1);
            let shortest = cluster.node(d).nics.iter().map(|n| fewest[n.switch.index()]).min();
            if shortest < Some(hops) {
                self.find_longer(plan, s, d, &segments);
            }
        }
    }

    fn mark_receives(&mut self, tree: TreeId, nic: usize) {
        self.receives[tree.index() * self.sent.len().div_ceil(64) + nic / 64] |= 1 << (nic % 64);
    }

    /// Returns whether NIC number `nic` receives on `tree`, on a path of any rank.
    #[must_use]
    pub fn receives(&self, tree: TreeId, nic: usize) -> bool {
        let word = self.receives[tree.index() * self.sent.len().div_ceil(64) + nic / 64];
        word >> (nic % 64) & 1 == 1
    }

    /// Returns how many NICs receive on a tree, on paths of any rank.
    #[must_use]
    pub fn receivers(&self, tree: TreeId) -> u32 {
        let words = self.sent.len().div_ceil(64);
        self.receives[tree.index() * words..][..words].iter().map(|w| w.count_ones()).sum()
    }

    /// Adds everything that `s` sends over one tree. `group.counts` is left zeroed.
    fn add_group(
        &mut self,
        plan: &Plan,
        s: NodeId,
        tree: &Tree,
        group: &mut Group,
        scratch: &mut Scratch,
    ) {
        let graph = plan.graph();
        let n = graph.switches();
        let Scratch { below, into, steps, distance, .. } = scratch;
        below.clear();
        below.extend_from_slice(&group.counts);
        for &v in tree.order.iter().rev() {
            let p = tree.parent[v as usize];
            if p != v {
                below[p as usize] += below[v as usize];
            }
        }
        let total = below[tree.root as usize];
        // `into[v]`: the channel by which frames from the source enter switch v.
        into.clear();
        into.resize(n, UNSEEN);
        steps.resize(n, 0);
        let mut v = group.from;
        into[v as usize] = NONE;
        steps[v as usize] = 0;
        while v != tree.root {
            let (p, up) = (tree.parent[v as usize], tree.up[v as usize]);
            let flow = total - below[v as usize];
            self.flow(into[v as usize], up, v, flow);
            into[p as usize] = up;
            steps[p as usize] = steps[v as usize] + 1;
            v = p;
        }
        for &v in &tree.order {
            if into[v as usize] != UNSEEN {
                continue;
            }
            let p = tree.parent[v as usize];
            let down = graph.reverse(tree.up[v as usize]);
            self.flow(into[p as usize], down, p, below[v as usize]);
            into[v as usize] = down;
            steps[v as usize] = steps[p as usize] + 1;
        }
        for (v, count) in group.counts.iter_mut().enumerate() {
            // For nodes with several NICs the search for the nearest has done this.
            if *count > 0 && steps[v] != distance[v] && self.homes.is_some() {
                let cause = plan.why_longer(SwitchId(group.from), v.into());
                self.longer[cause as usize] += u64::from(*count);
                if self.not_minimal.is_none_or(|(a, _)| s < a) {
                    let d = (0..plan.cluster().nodes.len()).map(NodeId::from).find(|d| {
                        *d != s && plan.receiver(&plan.primary(s, *d)[0]).switch.index() == v
                    });
                    self.not_minimal = Some((s, d.unwrap_or(group.last)));
                }
            }
            *count = 0;
        }
    }

    /// Counts a primary that is longer than the shortest path.
    fn find_longer(&mut self, plan: &Plan, s: NodeId, d: NodeId, primary: &[Segment]) {
        if let (Some(first), Some(last)) = (primary.first(), primary.last()) {
            let (from, to) = (plan.sender(first).switch, plan.receiver(last).switch);
            self.longer[plan.why_longer(from, to) as usize] += 1;
        }
        if self.not_minimal.is_none_or(|(a, _)| s < a) {
            self.not_minimal = Some((s, d));
        }
    }

    fn flow(&mut self, before: Channel, channel: Channel, at: u32, flow: u32) {
        if flow == 0 {
            return;
        }
        self.loads[channel as usize] += u64::from(flow);
        self.hops += u64::from(flow);
        if before != NONE {
            self.through[at as usize] += u64::from(flow);
            self.dependencies.add(before, channel);
        }
    }

    /// Dependencies and receivers of every further rank.
    fn add_backups(&mut self, plan: &Plan, s: NodeId, channels: &mut Vec<Channel>) {
        for d in (0..plan.cluster().nodes.len()).map(NodeId::from).filter(|d| *d != s) {
            for path in plan.paths(s, d).iter().skip(1) {
                for segment in &path.segments {
                    let receiver = self.first_nic[segment.to.index()] + segment.to_nic;
                    self.mark_receives(segment.tree, receiver);
                    channels.clear();
                    plan.walk(segment, channels);
                    for pair in channels.windows(2) {
                        self.dependencies.add(pair[0], pair[1]);
                    }
                }
            }
        }
    }
}

/// How many primary paths go through transit nodes (nodes that forward frames for others), and how many
/// transit nodes they have in total and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransitCount {
    /// Primaries that have any.
    pub paths: u64,
    /// In-transit nodes of all primaries together.
    pub nodes: u64,
    /// Most of one primary.
    pub most: u32,
}

impl TransitCount {
    /// Counts a primary with so many transit nodes.
    pub(super) fn add(&mut self, nodes: u32) {
        self.paths += u64::from(nodes > 0);
        self.nodes += u64::from(nodes);
        self.most = self.most.max(nodes);
    }
}

const NONE: Channel = u32::MAX;
const UNSEEN: Channel = u32::MAX - 1;

/// Destinations that one source NIC reaches by one tree.
#[derive(Debug, Clone, Default)]
struct Group {
    tree: u32,
    from: u32,
    /// Nodes per destination switch.
    counts: Vec<u32>,
    last: NodeId,
}

/// Buffers that are reused from source to source.
#[derive(Debug, Default)]
struct Scratch {
    groups: Vec<Group>,
    used: usize,
    /// (NIC, tree) to group + 1; 0 is none.
    slot: Vec<u32>,
    touched: Vec<usize>,
    trees: Vec<TreeId>,
    below: Vec<u32>,
    into: Vec<Channel>,
    steps: Vec<u32>,
    distance: Vec<u32>,
    distances_from: Option<u32>,
    queue: Vec<u32>,
    channels: Vec<Channel>,
}

impl Scratch {
    fn begin(&mut self, slots: usize) {
        for key in self.touched.drain(..) {
            self.slot[key] = 0;
        }
        self.used = 0;
        if self.slot.len() < slots {
            self.slot.resize(slots, 0);
        }
    }

    fn group(&mut self, key: usize, tree: u32, from: u32, switches: usize) -> &mut Group {
        if self.slot[key] == 0 {
            self.touched.push(key);
            if self.groups.len() == self.used {
                self.groups.push(Group { counts: vec![0; switches], ..Group::default() });
            }
            self.groups[self.used].tree = tree;
            self.groups[self.used].from = from;
            self.used += 1;
            self.slot[key] = self.used as u32;
        }
        &mut self.groups[self.slot[key] as usize - 1]
    }
}

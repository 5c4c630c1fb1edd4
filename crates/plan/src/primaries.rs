//! The second stage of a plan: the primary path of every ordered pair of nodes. A path is computed when it is asked
//! for.

mod planes;

use std::ops::Deref;

use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_routing::RoutingError;
use tresse_routing::direct::Direct;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::Layout;
use tresse_topology::cluster::{Nic, Strategy};
use tresse_topology::path::{Segment, Segments};

use crate::address::Addresses;
use crate::lock;
use crate::trees::Trees;
use planes::weights;

pub(crate) use planes::PlaneWays;

/// The primary path (the path of rank 0) of every ordered pair of nodes, computed from the [`Trees`].
#[derive(Debug)]
pub struct Primaries {
    trees: Trees,
    /// The next hops, on fabrics whose nodes route.
    pub(crate) next_hops: Option<NextHops>,
    /// The NICs that every pair uses, in a flat neighbourhood.
    pub(crate) direct: Option<Direct>,
    /// How pairs use several planes, where the switches form some.
    pub(crate) ways: Option<PlaneWays>,
    /// By switch: the nodes that may be transit nodes there, and their NIC, by round-robin index.
    pub(crate) transit_nodes: Vec<Vec<(NodeId, usize)>>,
    /// By node: its round-robin index, which its address determines.
    round_robin: Vec<usize>,
}

impl Deref for Primaries {
    type Target = Trees;

    fn deref(&self) -> &Trees {
        &self.trees
    }
}

impl Primaries {
    /// Determines the primary paths over `trees`. `addresses` give the round-robin indices.
    pub(crate) fn new(trees: Trees, addresses: &Addresses) -> Result<Self, RoutingError> {
        let cluster = &trees.cluster;
        let flat = cluster.routing.strategy == Strategy::Direct;
        let round_robin = lock::balance::round_robin(cluster, addresses);
        let mut transit_nodes = cluster.transit_nodes();
        // The index does not change when the cluster grows, so existing pairs keep their nodes.
        for nodes in &mut transit_nodes {
            nodes.sort_by_key(|(node, _)| round_robin[node.index()]);
        }
        let ways = trees.planes().map(|planes| PlaneWays::new(cluster, planes, &round_robin));
        Ok(Self {
            ways: ways.transpose()?,
            next_hops: NextHops::of_cluster(cluster),
            direct: if flat { Some(Direct::new(cluster)?) } else { None },
            transit_nodes,
            round_robin,
            trees,
        })
    }

    /// The trees that they were computed from.
    pub(crate) fn into_trees(self) -> Trees {
        self.trees
    }

    /// The coordinates and cables of the nodes, on node-routed fabrics.
    #[must_use]
    pub fn layout(&self) -> Option<&Layout> {
        self.next_hops.as_ref().map(NodeRouting::layout)
    }

    /// The NICs that every pair uses, in a flat neighbourhood.
    #[must_use]
    pub const fn direct(&self) -> Option<&Direct> {
        self.direct.as_ref()
    }

    /// Switch-to-switch links that a segment crosses; 1 where nodes route, so that a path has as many
    /// hops as segments.
    #[must_use]
    pub fn hops(&self, segment: &Segment) -> u32 {
        if segment.tree == TreeId::NONE {
            let mut uplink = Vec::new();
            self.walk(segment, &mut uplink);
            return if self.next_hops.is_some() { 1 } else { uplink.len() as u32 };
        }
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        self.tree(segment.tree).distance(s, d)
    }

    /// The primary's segments. Between nodes with several NICs: the pair of NICs with the fewest
    /// hops, ties go round-robin by the sum of the nodes' indices, so parallel fabrics share the load.
    #[must_use]
    pub fn primary(&self, src: NodeId, dst: NodeId) -> Segments {
        if let Some(next_hops) = &self.next_hops {
            return next_hops.primary(src, dst);
        }
        if let Some(direct) = &self.direct {
            return direct.primary(src, dst);
        }
        if let Some(paths) = self.over_planes(src, dst) {
            return paths.into_iter().next().map(|(_, primary)| primary).unwrap_or_default();
        }
        self.nearest((src, dst), None, self.round_robin_index(src, dst))
    }

    /// The path between the NICs with the fewest hops, those on one plane alone if one is given; equal ones by turns.
    pub(crate) fn nearest(
        &self,
        (src, dst): (NodeId, NodeId),
        plane: Option<usize>,
        turn: usize,
    ) -> Segments {
        let (a, b) = (self.cluster.node(src).nics.len(), self.cluster.node(dst).nics.len());
        if a == 1 && b == 1 {
            return self.segments((src, 0), (dst, 0), turn);
        }
        let is_on =
            |nic: &Nic| plane.is_none() || self.planes().map(|all| all.plane(nic.switch)) == plane;
        let mut best: Vec<Segments> = Vec::with_capacity(a * b);
        let mut fewest = u32::MAX;
        for i in 0..a * b {
            let [from, to] =
                [(src, i % a), (dst, i / a)].map(|(node, nic)| &self.cluster.node(node).nics[nic]);
            if !is_on(from) || !is_on(to) {
                continue;
            }
            let segments = self.segments((src, i % a), (dst, i / a), turn);
            let given_up = self.hops_given_up(from.switch, to.switch, self.lane(from, to));
            let hops =
                given_up.unwrap_or_else(|| segments.iter().map(|s| self.hops(s)).sum::<u32>());
            if hops < fewest {
                best.clear();
                fewest = hops;
            }
            if hops == fewest {
                best.push(segments);
            }
        }
        best.swap_remove(turn % best.len())
    }

    /// The path of a pair in each plane that both are on, the primary first, with the weights of their rates; where they are
    /// on none in common, one through nodes that are on both. `None` where the fabric has no planes.
    pub(crate) fn over_planes(&self, src: NodeId, dst: NodeId) -> Option<Vec<(u32, Segments)>> {
        let ways = self.ways.as_ref()?;
        let index = self.round_robin_index(src, dst);
        let planes: Vec<usize> = ways.shared((src, dst)).collect();
        if planes.is_empty() {
            return Some(vec![(1, self.through_relays(ways, (src, dst), index))]);
        }
        let turn = index / planes.len();
        let mut paths: Vec<(u64, Segments)> = planes
            .iter()
            .map(|plane| {
                let segments = self.nearest((src, dst), Some(*plane), turn);
                (self.narrowest(&segments), segments)
            })
            .collect();
        let rates: Vec<u64> = paths.iter().map(|(rate, _)| *rate).collect();
        let weights = weights(&rates);
        let place = index as u64 % weights.iter().sum::<u64>();
        let ends = weights.iter().scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        let first = ends.take_while(|end| *end <= place).count();
        paths.rotate_left(first);
        let weights = weights[first..].iter().chain(&weights[..first]);
        Some(weights.zip(paths).map(|(weight, (_, segments))| (*weight as u32, segments)).collect())
    }

    /// Whether primaries may have nodes in transit, within planes or between them.
    #[must_use]
    pub fn has_transit(&self) -> bool {
        self.trees.routes_have_transit() || self.ways.as_ref().is_some_and(PlaneWays::is_apart)
    }

    fn through_relays(
        &self,
        ways: &PlaneWays,
        (src, dst): (NodeId, NodeId),
        index: usize,
    ) -> Segments {
        let all = ways.between((src, dst));
        let way = all[index % all.len()];
        let turn = index / all.len();
        let (mut segments, mut at) = (Segments::new(), src);
        for step in way.windows(2) {
            let relay = ways.relays((step[0], step[1]), turn).next();
            let relay = relay.expect("a way leads where nodes forward");
            segments.extend(self.nearest((at, relay), Some(step[0]), turn));
            at = relay;
        }
        let last = way.last().copied();
        segments.extend(self.nearest((at, dst), last, turn));
        segments
    }

    /// The rate of the slowest NIC or cable on a path.
    fn narrowest(&self, segments: &Segments) -> u64 {
        let mut channels = Vec::new();
        segments.iter().for_each(|segment| self.walk(segment, &mut channels));
        let links = channels.iter().map(|c| self.cluster.link(self.graph.link(*c)).rate.0);
        let nics = segments.iter().flat_map(|s| [self.sender(s).rate.0, self.receiver(s).rate.0]);
        links.chain(nics).min().unwrap_or(1).max(1)
    }

    /// Returns the segments between two NICs. The transit nodes of a switch are assigned to pairs by turns.
    fn segments(
        &self,
        (src, nic): (NodeId, usize),
        (dst, to_nic): (NodeId, usize),
        turn: usize,
    ) -> Segments {
        let nic_of = |(node, nic): (NodeId, usize)| &self.cluster.node(node).nics[nic];
        let switch = |at| nic_of(at).switch;
        let mut at = (src, nic);
        let end = (dst, to_nic);
        let lane = self.lane(nic_of(at), nic_of(end));
        let tree_segments = self.assignment.tree_segments(switch(at), switch(end), lane);
        let mut segments = Segments::new();
        for tree_segment in tree_segments {
            let next = self
                .transit_at(tree_segment.to, (src, dst), turn)
                .filter(|_| tree_segment.to != switch((dst, to_nic)));
            let (to, to_nic) = next.unwrap_or((dst, to_nic));
            segments.push(Segment { from: at.0, nic: at.1, tree: tree_segment.tree, to, to_nic });
            at = (to, to_nic);
        }
        segments
    }

    /// Returns the transit node of a pair at a switch, and its NIC there: neither end of the pair if there
    /// is another.
    fn transit_at(
        &self,
        switch: SwitchId,
        (src, dst): (NodeId, NodeId),
        turn: usize,
    ) -> Option<(NodeId, usize)> {
        let nodes = self.in_transit(switch);
        // The pairs on one lane have sums that differ by multiples of the number of lanes.
        let first = match self.assignment.lanes_at(switch) as usize {
            1 => turn,
            lanes => self.round_robin[src.index()] + turn / lanes,
        };
        let mut order = (0..nodes.len()).map(|i| nodes[(first + i) % nodes.len()]);
        order.find(|(node, _)| ![src, dst].contains(node)).or(nodes.first().copied())
    }

    /// The transit nodes that primaries use at a switch, and their NICs: as many as the paths are balanced
    /// for.
    pub(crate) fn in_transit(&self, switch: SwitchId) -> &[(NodeId, usize)] {
        let nodes = &self.transit_nodes[switch.index()];
        &nodes[..nodes.len().min(self.balance.transit[switch.index()] as usize)]
    }

    /// The round-robin index of a pair.
    pub(crate) fn round_robin_index(&self, src: NodeId, dst: NodeId) -> usize {
        self.round_robin[src.index()] + self.round_robin[dst.index()]
    }
}

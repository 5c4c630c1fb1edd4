//! The second stage of a plan: the primary path of every ordered pair of nodes. A path is computed when it is asked
//! for.

use std::ops::Deref;

use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_routing::RoutingError;
use tresse_routing::direct::Direct;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::Layout;
use tresse_topology::cluster::Strategy;
use tresse_topology::path::{Segment, Segments};

use crate::address::Addresses;
use crate::lock;
use crate::trees::Trees;

/// The primary path (the path of rank 0) of every ordered pair of nodes, computed from the [`Trees`].
#[derive(Debug)]
pub struct Primaries {
    trees: Trees,
    /// The next hops, on fabrics whose nodes route.
    pub(crate) next_hops: Option<NextHops>,
    /// The NICs that every pair uses, in a flat neighbourhood.
    pub(crate) direct: Option<Direct>,
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
        Ok(Self {
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
        let (a, b) = (self.cluster.node(src).nics.len(), self.cluster.node(dst).nics.len());
        if a == 1 && b == 1 {
            return self.segments((src, 0), (dst, 0));
        }
        let mut best: Vec<Segments> = Vec::with_capacity(a * b);
        let mut fewest = u32::MAX;
        for i in 0..a * b {
            let segments = self.segments((src, i % a), (dst, i / a));
            let [from, to] =
                [(src, i % a), (dst, i / a)].map(|(node, nic)| &self.cluster.node(node).nics[nic]);
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
        best.swap_remove(self.round_robin_index(src, dst) % best.len())
    }

    /// Returns the segments between two NICs. The transit nodes of a switch are assigned to pairs
    /// round-robin, by the sum of the pair's indices.
    fn segments(&self, (src, nic): (NodeId, usize), (dst, to_nic): (NodeId, usize)) -> Segments {
        let nic_of = |(node, nic): (NodeId, usize)| &self.cluster.node(node).nics[nic];
        let switch = |at| nic_of(at).switch;
        let mut at = (src, nic);
        let end = (dst, to_nic);
        let lane = self.lane(nic_of(at), nic_of(end));
        let tree_segments = self.assignment.tree_segments(switch(at), switch(end), lane);
        let mut segments = Segments::new();
        for tree_segment in tree_segments {
            let next = self
                .transit_at(tree_segment.to, src, dst)
                .filter(|_| tree_segment.to != switch((dst, to_nic)));
            let (to, to_nic) = next.unwrap_or((dst, to_nic));
            segments.push(Segment { from: at.0, nic: at.1, tree: tree_segment.tree, to, to_nic });
            at = (to, to_nic);
        }
        segments
    }

    /// Returns the transit node of a pair at a switch, and its NIC there: neither end of the pair if there
    /// is another.
    fn transit_at(&self, switch: SwitchId, src: NodeId, dst: NodeId) -> Option<(NodeId, usize)> {
        let nodes = self.in_transit(switch);
        let index = self.round_robin_index(src, dst);
        // The pairs on one lane have sums that differ by multiples of the number of lanes.
        let first = match self.lanes() as usize {
            1 => index,
            lanes => self.round_robin[src.index()] + index / lanes,
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
    fn round_robin_index(&self, src: NodeId, dst: NodeId) -> usize {
        self.round_robin[src.index()] + self.round_robin[dst.index()]
    }
}

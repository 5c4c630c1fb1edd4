//! The first stage of a plan: the VLAN trees (VLANs whose links form a spanning tree), and the tree that each ordered
//! pair of switches uses.

mod backup;
mod blocks;
mod keep;
mod lay;
mod planes;
mod turns;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_routing::updown::Order;
use tresse_routing::{Assignment, Assignments, Balance, SwitchDemand};
use tresse_topology::cluster::{Cluster, Nic};
use tresse_topology::path::Segment;
use tresse_topology::vlan::{Role, Tree, TreeError, TreeLinks, TreeSpec};
use tresse_topology::{Channel, Graph, Grid, Planes};

use crate::lock;
use crate::lock::ports::NodePorts;

pub(crate) use backup::ALL_TREES;
pub use backup::MOST_PATHS;
use planes::PlaneTurns;
use turns::Turns;

/// The VLAN trees of a cluster (VLANs whose links form a spanning tree), and the tree that each ordered pair of
/// switches uses. A tree is built when it is first asked for.
#[derive(Debug)]
pub struct Trees {
    pub(crate) cluster: Cluster,
    pub(crate) graph: Graph,
    /// The grid of the switches, if they form a mesh, torus, hypercube or HyperX.
    pub(crate) grid: Option<Grid>,
    /// The trees that each pair of switches uses.
    pub(crate) assignment: Assignments,
    /// The node counts that the assignment was balanced for.
    pub(crate) balance: Balance,
    /// The numbers of the ports that lead to nodes.
    node_ports: NodePorts,
    pub(crate) specs: Vec<TreeSpec>,
    /// Where the plan is lossless and not by up*/down* routing, whose paths are legal in any tree: the turns of backups.
    turns: Option<Turns>,
    /// The planes that the switches form, if several.
    planes: Option<PlaneTurns>,
    /// By pair of switches and lane: the hops of a route whose tree was left out ([`hops_given_up`](Self::hops_given_up)).
    given_up: BTreeMap<(SwitchId, SwitchId, u32), u32>,
    /// By tree, once it is built.
    built: Vec<OnceLock<Tree>>,
}

impl Trees {
    /// Removes the last tree if it is a backup tree. Returns whether it did.
    pub(crate) fn drop_last_backup(&mut self) -> bool {
        let backup = self.specs.last().is_some_and(|spec| spec.role == Role::Backup);
        if backup {
            self.specs.pop();
            self.built.pop();
        }
        backup
    }

    /// The hops that a route between two switches had in a tree that was given up, as no node uses it: nodes choose their
    /// NICs as if it were there, so that they choose the same when other nodes come that do use it.
    pub(crate) fn hops_given_up(&self, s: SwitchId, d: SwitchId, lane: u32) -> Option<u32> {
        self.given_up.get(&(s, d, lane)).copied()
    }

    /// Whether a backup may take a path. In a lossless plan the channel dependency graph stays without a cycle.
    pub(crate) fn may_back_up(&self, path: &[Channel]) -> bool {
        match &self.planes {
            Some(planes) => planes.allow(&self.graph, path),
            None => self.turns.as_ref().is_none_or(|turns| turns.allow(path)),
        }
    }

    /// The planes that the switches form, if several.
    #[must_use]
    pub fn planes(&self) -> Option<&Planes> {
        self.planes.as_ref().map(PlaneTurns::planes)
    }

    /// Whether cables between switches join two of them.
    #[must_use]
    pub fn joins(&self, s: SwitchId, d: SwitchId) -> bool {
        self.planes().is_none_or(|planes| planes.plane(s) == planes.plane(d))
    }

    /// The planned cluster.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Its switch graph.
    #[must_use]
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// All VLAN trees, in [`TreeId`] order.
    #[must_use]
    pub fn specs(&self) -> &[TreeSpec] {
        &self.specs
    }

    /// Returns a tree. It is built on the first call.
    #[must_use]
    pub fn tree(&self, id: TreeId) -> &Tree {
        self.built[id.index()].get_or_init(|| {
            self.try_tree(id).expect("strategies give spanning trees; `verify` tries each")
        })
    }

    /// Builds a tree again, without the copy that [`tree`](Self::tree) keeps.
    ///
    /// # Errors
    /// The reason why it does not span the switches.
    pub fn try_tree(&self, id: TreeId) -> Result<Tree, TreeError> {
        let spec = &self.specs[id.index()];
        self.build(&spec.links, spec.at)
    }

    /// Builds the tree with these links, from this switch.
    fn build(&self, links: &TreeLinks, at: SwitchId) -> Result<Tree, TreeError> {
        match (links, &self.grid) {
            (TreeLinks::Lines { center, order }, Some(grid)) => {
                Ok(Tree::of_lines(grid, &self.graph, center, order))
            }
            (TreeLinks::Lines { .. }, None) => unreachable!("lines exist on grids only"),
            (TreeLinks::Links(links), _) => {
                let ends: Vec<_> = links
                    .iter()
                    .map(|&id| {
                        let link = self.cluster.link(id);
                        (id, link.a.switch.0, link.b.switch.0)
                    })
                    .collect();
                Tree::of_links(&self.graph, at, &ends)
            }
        }
    }

    /// Returns a tree as one line of text. [`lock::tree`] reads its links from it without the plan.
    #[must_use]
    pub fn tree_text(&self, id: TreeId) -> String {
        lock::tree::text(&self.cluster, &self.specs[id.index()].links)
    }

    /// Digest of a tree: 16 hexadecimal digits. If it changes, the VID must be proven again.
    #[must_use]
    pub fn tree_digest(&self, id: TreeId) -> String {
        Sha256::digest(self.tree_text(id)).iter().take(8).map(|b| format!("{b:02x}")).collect()
    }

    /// The number of trees in a role.
    #[must_use]
    pub fn count(&self, role: Role) -> usize {
        self.specs.iter().filter(|s| s.role == role).count()
    }

    /// Paths that each ordered pair of switches has beside each other. Its pairs of nodes are spread over them. Of several
    /// planes the most.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.assignment.lanes()
    }

    /// The lane of the frames between two NICs, which the numbers of their ports decide: it stays as other nodes come and go.
    #[must_use]
    pub fn lane(&self, from: &Nic, to: &Nic) -> u32 {
        let lanes = self.assignment.lanes_at(from.switch);
        if lanes == 1 {
            return 0;
        }
        let sum = self.node_ports.number(from) + self.node_ports.number(to);
        SwitchDemand::lane(lanes, from.switch.0, to.switch.0, sum)
    }

    /// The numbers of the ports that lead to nodes, if some pair of switches has several lanes.
    pub(crate) fn ports_in_use(&self) -> Option<&NodePorts> {
        (self.lanes() > 1).then_some(&self.node_ports)
    }

    /// The tree that primary frames from switch `s` to switch `d` take first on a lane.
    #[must_use]
    pub fn primary_tree(&self, s: SwitchId, d: SwitchId, lane: u32) -> TreeId {
        self.assignment.tree(s, d, lane)
    }

    /// The trees that primary frames from switch `s` take, by destination switch and lane; `None` where some
    /// paths may have several segments.
    #[must_use]
    pub fn primary_trees(&self, s: SwitchId, trees: &mut Vec<TreeId>) -> Option<()> {
        self.assignment.one()?.trees_from(s, self.graph.switches(), trees)
    }

    /// Whether routes between switches may have transit nodes.
    pub(crate) fn routes_have_transit(&self) -> bool {
        self.assignment.has_transit()
    }

    /// The up end of every cable, if the strategy uses up*/down* routing.
    #[must_use]
    pub const fn updown_order(&self) -> Option<&Order> {
        match self.assignment.one() {
            Some(Assignment::Updown(updown)) => Some(updown.order()),
            _ => None,
        }
    }

    /// The IP MTU that a NIC gives a VLAN interface (K9): the frame carries 18 bytes of header
    /// and FCS, and 4 bytes of tag unless it is untagged.
    #[must_use]
    pub fn nic_mtu(&self, nic: &Nic) -> u32 {
        let tag = if self.cluster.is_untagged() { 0 } else { 4 };
        let switch = self.cluster.switches.get(nic.switch.index());
        switch.map_or(nic.mtu, |switch| nic.mtu.min(switch.max_frame.saturating_sub(18 + tag)))
    }

    /// The NIC of a segment's sender.
    #[must_use]
    pub fn sender(&self, segment: &Segment) -> &Nic {
        &self.cluster.node(segment.from).nics[segment.nic]
    }

    /// The NIC of a segment's receiver.
    #[must_use]
    pub fn receiver(&self, segment: &Segment) -> &Nic {
        &self.cluster.node(segment.to).nics[segment.to_nic]
    }

    /// Appends the switch-to-switch channels that a segment crosses to `channels`.
    pub fn walk(&self, segment: &Segment, channels: &mut Vec<Channel>) {
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        if segment.tree == TreeId::NONE {
            // In a flat neighbourhood by way of the uplink.
            let uplink = if s == d { None } else { self.cluster.uplink() };
            let hops = uplink.into_iter().flat_map(|uplink| [(s, uplink), (uplink, d)]);
            channels.extend(hops.filter_map(|(from, to)| self.graph.between(from, to)));
            return;
        }
        self.tree(segment.tree).walk(&self.graph, s, d, channels);
    }

    /// Every ordered pair of different nodes, by source, then destination.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let n = self.cluster.nodes.len() as u32;
        (0..n)
            .flat_map(move |s| (0..n).filter(move |d| *d != s).map(move |d| (NodeId(s), NodeId(d))))
    }

    /// The index of each node's first NIC when the NICs of all nodes are counted in node order.
    #[must_use]
    pub fn first_nics(&self) -> Vec<usize> {
        let before = |next: &mut usize, node: &tresse_topology::cluster::Node| {
            let first = *next;
            *next += node.nics.len();
            Some(first)
        };
        self.cluster.nodes.iter().scan(0, before).collect()
    }

    /// The channels of the primary path from `s` to `d` on a lane.
    pub(crate) fn between(&self, s: SwitchId, d: SwitchId, lane: u32) -> Vec<Channel> {
        let (mut channels, mut at) = (Vec::new(), s);
        for tree_segment in self.assignment.tree_segments(s, d, lane) {
            self.tree(tree_segment.tree).walk(&self.graph, at, tree_segment.to, &mut channels);
            at = tree_segment.to;
        }
        channels
    }
}

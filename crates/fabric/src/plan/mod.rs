//! The plan: the whole cluster's result (DESIGN sections 1 and 4).
//!
//! A plan is a pure function of cluster file and lock, and everything in it can be asked for one
//! pair or one node alone: trees are built when first used, paths are computed, never stored.

mod against;
mod backup;
mod digest;
#[cfg(test)]
mod tests;
mod trace;
mod view;
mod why;

pub use against::Comparison;
pub use trace::{Trace, TracedPath, TracedSegment, TracedSwitch};
pub use view::{NicView, NodeView, PathView, PlanView, SegmentView, SwitchView, VlanView};

use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::address::{self, AddressError, Addresses};
use crate::cluster::{Cluster, Nic};
use crate::export::base_vlan;
use crate::id::{LinkId, NodeId, SwitchId, TreeId, Vid};
use crate::lock::{self, BaseWasTree, Lock, VidsExhausted};
use crate::path::{Path, Segment};
use crate::routing::{self, Assignment, RoutingError};
use crate::topology::{Channel, Graph, Grid};
use crate::verify::Dependencies;
use crate::vlan::{Role, Shape, Tree, TreeError, TreeSpec};

/// Raised whenever the same input plans differently than before.
const PLANNER: u32 = 3;

/// A plan. See the module.
#[derive(Debug)]
pub struct Plan {
    cluster: Cluster,
    graph: Graph,
    grid: Option<Grid>,
    assignment: Assignment,
    specs: Vec<TreeSpec>,
    vids: Vec<Vid>,
    addresses: Addresses,
    built: Vec<OnceLock<Tree>>,
    turns: OnceLock<Dependencies>,
    generation: String,
    /// The base VLAN's tree before this plan, from the lock.
    base_before: Option<String>,
    /// Do all switches take frames of one size? Then no path has to be walked for its MTU.
    uniform_frames: bool,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The strategy does not fit the fabric.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// A prefix is too small.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Fewer VIDs in `[vlans] range` than trees.
    #[error(transparent)]
    Vids(#[from] VidsExhausted),
    /// The base VLAN's VID was a tree's.
    #[error(transparent)]
    Base(#[from] BaseWasTree),
}

impl Plan {
    /// Plans `cluster` without a lock. O(trees) here; the rest is done when asked for.
    ///
    /// # Errors
    /// [`PlanError`] where the strategy does not fit or VIDs run out.
    pub fn build(cluster: Cluster) -> Result<Self, PlanError> {
        Self::build_with(cluster, &Lock::default())
    }

    /// Plans `cluster` with the VIDs and addresses that `lock` holds.
    ///
    /// # Errors
    /// [`PlanError`] where the strategy does not fit, VIDs or addresses run out, or the lock has the
    /// base VLAN's VID for a tree.
    pub fn build_with(cluster: Cluster, lock: &Lock) -> Result<Self, PlanError> {
        if let Some(base) = cluster.vlans.base {
            lock::accept_base(Vid(base), lock)?;
        }
        let graph = Graph::new(&cluster);
        let (specs, assignment) = Assignment::new(&cluster, &graph)?;
        let mut plan = Self {
            grid: routing::grid_of(&cluster.kind),
            built: Vec::new(),
            turns: OnceLock::new(),
            vids: Vec::new(),
            addresses: address::assign(&cluster, lock)?,
            generation: String::new(),
            base_before: lock.base.clone(),
            uniform_frames: cluster
                .switches
                .windows(2)
                .all(|pair| pair[0].max_frame == pair[1].max_frame),
            cluster,
            graph,
            assignment,
            specs,
        };
        plan.reset_trees();
        if plan.cluster.routing.paths > 1 {
            let more = plan.backup_trees();
            plan.specs.extend(more);
            plan.reset_trees();
        }
        plan.vids = plan.allocate_vids(lock)?;
        plan.generation = plan.digest();
        Ok(plan)
    }

    fn reset_trees(&mut self) {
        self.built.resize_with(self.specs.len(), OnceLock::new);
    }

    fn allocate_vids(&self, lock: &Lock) -> Result<Vec<Vid>, VidsExhausted> {
        let trees = self.named_texts();
        let trees: Vec<_> = trees.iter().map(|(name, text)| (*name, text.as_str())).collect();
        lock::allocate(&trees, &self.cluster.vlans.free_ranges(), lock)
    }

    fn named_texts(&self) -> Vec<(&str, String)> {
        let text = |spec: &TreeSpec| lock::tree::text(&self.cluster, &spec.shape);
        self.specs.iter().map(|spec| (spec.name.as_str(), text(spec))).collect()
    }

    /// The lock to keep beside the cluster file after this plan, which was built with `lock`.
    #[must_use]
    pub fn lock(&self, lock: &Lock) -> Lock {
        let trees = self.named_texts();
        let trees: Vec<_> = trees.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let base = base_vlan(self).map(|(_, links)| lock::place::cables(&self.cluster, &links));
        Lock { base, ..lock.next(&self.cluster, &self.addresses, &trees, &self.vids) }
    }

    /// Does `lock` know the VIDs of this plan?
    #[must_use]
    pub fn is_held_by(&self, lock: &Lock) -> bool {
        let trees = self.named_texts();
        let trees: Vec<_> = trees.iter().map(|(name, text)| (*name, text.as_str())).collect();
        lock.holds(&trees, &self.vids)
    }

    /// The cables of the base VLAN's tree before this plan, those that are still there.
    pub(crate) fn base_before(&self) -> Vec<LinkId> {
        let before = self.base_before.as_deref();
        before.map_or_else(Vec::new, |text| lock::place::links(&self.cluster, text))
    }

    fn digest(&self) -> String {
        let mut digest = digest::Digest::new();
        digest.add(&PLANNER);
        digest.add(&self.cluster);
        for (spec, vid) in self.specs.iter().zip(&self.vids) {
            digest.add(&(&spec.name, vid));
        }
        digest.add(&(&self.addresses.node, &self.addresses.nic));
        digest.finish()
    }

    /// The cluster that was planned.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Its switch graph.
    #[must_use]
    pub const fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The digest of the plan: 16 hexadecimal digits, equal on every node.
    #[must_use]
    pub fn generation(&self) -> &str {
        &self.generation
    }

    /// All VLAN trees, in [`TreeId`] order.
    #[must_use]
    pub fn specs(&self) -> &[TreeSpec] {
        &self.specs
    }

    /// The VID of a tree.
    #[must_use]
    pub fn vid(&self, tree: TreeId) -> Vid {
        self.vids[tree.index()]
    }

    /// All addresses.
    #[must_use]
    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The tree of a VID.
    #[must_use]
    pub fn tree_of(&self, vid: Vid) -> Option<TreeId> {
        self.vids.iter().position(|v| *v == vid).map(TreeId::from)
    }

    /// A tree, built when first asked for.
    #[must_use]
    pub fn tree(&self, id: TreeId) -> &Tree {
        self.built[id.index()].get_or_init(|| {
            self.try_tree(id).expect("strategies give spanning trees; `verify` tries each")
        })
    }

    /// Builds a tree anew, reporting where it is not spanning.
    pub(crate) fn try_tree(&self, id: TreeId) -> Result<Tree, TreeError> {
        match (&self.specs[id.index()].shape, &self.grid) {
            (Shape::Lines { center, order }, Some(grid)) => {
                Ok(Tree::of_lines(grid, &self.graph, center, order))
            }
            (Shape::Lines { .. }, None) => unreachable!("lines exist on grids only"),
            (Shape::Links(links), _) => {
                let ends: Vec<_> = links
                    .iter()
                    .map(|&id| {
                        let link = self.cluster.link(id);
                        (id, link.a.switch.0, link.b.switch.0)
                    })
                    .collect();
                Tree::of_links(&self.graph, &ends)
            }
        }
    }

    /// A tree in one line of text, from which [`lock::tree`] tells its links without the plan.
    #[must_use]
    pub fn tree_text(&self, id: TreeId) -> String {
        lock::tree::text(&self.cluster, &self.specs[id.index()].shape)
    }

    /// Digest of a tree: 16 hexadecimal digits. A VID whose digest changes is to be proven anew.
    #[must_use]
    pub fn tree_digest(&self, id: TreeId) -> String {
        Sha256::digest(self.tree_text(id)).iter().take(8).map(|b| format!("{b:02x}")).collect()
    }

    /// The IP MTU that a NIC gives a VLAN interface (K9): the frame carries 18 octets of header
    /// and FCS and 4 of tag.
    #[must_use]
    pub fn nic_mtu(&self, nic: &Nic) -> u32 {
        nic.mtu.min(self.cluster.switch(nic.switch).max_frame.saturating_sub(18 + 4))
    }

    /// The IP MTU of a segment: the smallest NIC and switch on the way.
    #[must_use]
    pub fn mtu(&self, segment: &Segment) -> u32 {
        let ends = self.nic_mtu(self.sender(segment)).min(self.nic_mtu(self.receiver(segment)));
        if self.uniform_frames {
            return ends;
        }
        let mut channels = Vec::new();
        self.walk(segment, &mut channels);
        let switches = channels.iter().map(|c| SwitchId(self.graph.head(*c)));
        switches.fold(ends, |mtu, s| mtu.min(self.cluster.switch(s).max_frame.saturating_sub(22)))
    }

    /// The tree that primary frames from switch `s` to switch `d` take.
    #[must_use]
    pub fn primary_tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        self.assignment.tree(s, d)
    }

    /// The trees that primary frames from switch `s` take, by destination switch.
    pub fn primary_trees(&self, s: SwitchId, trees: &mut Vec<TreeId>) {
        self.assignment.trees_from(s, self.graph.switches(), trees);
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

    /// The channels that a segment crosses, onto the end of `channels`.
    pub fn walk(&self, segment: &Segment, channels: &mut Vec<Channel>) {
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        self.tree(segment.tree).walk(&self.graph, s, d, channels);
    }

    /// Switch-to-switch links that a segment crosses.
    #[must_use]
    pub fn hops(&self, segment: &Segment) -> u32 {
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        self.tree(segment.tree).distance(s, d)
    }

    /// The primary's segment. Between nodes with several NICs: the pair of NICs with the fewest
    /// hops, ties taken in turn by (src + dst) so that parallel fabrics share the load.
    #[must_use]
    pub fn primary(&self, src: NodeId, dst: NodeId) -> Segment {
        let (a, b) = (&self.cluster.node(src).nics, &self.cluster.node(dst).nics);
        let make = |nic: usize, to_nic: usize| Segment {
            from: src,
            nic,
            tree: self.primary_tree(a[nic].switch, b[to_nic].switch),
            to: dst,
            to_nic,
        };
        if a.len() == 1 && b.len() == 1 {
            return make(0, 0);
        }
        let all = a.len() * b.len();
        let mut best: Vec<Segment> = Vec::with_capacity(all);
        let mut fewest = u32::MAX;
        for i in 0..all {
            let segment = make(i % a.len(), i / a.len());
            let hops = self.hops(&segment);
            if hops < fewest {
                best.clear();
                fewest = hops;
            }
            if hops == fewest {
                best.push(segment);
            }
        }
        best[(src.index() + dst.index()) % best.len()]
    }

    /// All paths from `src` to `dst`, by rank; never empty. `src` and `dst` differ.
    #[must_use]
    pub fn paths(&self, src: NodeId, dst: NodeId) -> Vec<Path> {
        let primary = self.primary(src, dst);
        let mut paths = vec![Path { src, dst, rank: 0, weight: 1, segments: vec![primary] }];
        for rank in 1..self.cluster.routing.paths {
            let Some(segment) = self.backup(&paths) else { break };
            paths.push(Path { src, dst, rank, weight: 0, segments: vec![segment] });
        }
        paths
    }

    /// Every ordered pair of different nodes, by source, then destination.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> {
        let n = self.cluster.nodes.len() as u32;
        (0..n)
            .flat_map(move |s| (0..n).filter(move |d| *d != s).map(move |d| (NodeId(s), NodeId(d))))
    }

    /// Trees in a role.
    #[must_use]
    pub fn count(&self, role: Role) -> usize {
        self.specs.iter().filter(|s| s.role == role).count()
    }
}

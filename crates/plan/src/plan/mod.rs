//! The plan: the whole cluster's result (DESIGN sections 1 and 4).
//!
//! A plan is a pure function of cluster file and lock, and everything in it can be asked for one
//! pair or one node alone: trees are built when first used, paths are computed, never stored.

mod against;
mod backup;
mod base;
pub mod demand;
mod dependencies;
mod digest;
mod estimate;
mod lines;
mod longer;
mod mtu;
mod reflect;
mod trace;
mod updown;
mod uses;
mod view;
mod why;

pub use against::Comparison;
pub use base::base_vlan;
pub use estimate::{Estimate, Measured};
pub use lines::Line;
pub use longer::Longer;
pub use mtu::SmallMtu;
pub use trace::{Trace, TracedPath, TracedSegment, TracedSwitch};
/// Up to so many switches, detours through reflectors are sought.
pub use tresse_routing::reflect::MOST_SWITCHES as REFLECT_MOST_SWITCHES;
pub use updown::BesideUpdown;
pub use view::{NicView, NodeView, PathView, PlanView, SegmentView, SwitchView, VlanView};

use std::sync::OnceLock;

use sha2::{Digest, Sha256};
use smallvec::smallvec;
use tresse_base::id::{Label, LinkId, NodeId, SwitchId, TreeId, Vid};
use tresse_routing::direct::Direct;
use tresse_routing::reflect::Detours;
use tresse_routing::updown::Order;
use tresse_routing::xy::Xy;
use tresse_routing::{Assignment, Balance, RoutingError};
use tresse_topology::cluster::{Cluster, Nic, Strategy};
use tresse_topology::path::{Path, Segment, Segments};
use tresse_topology::vlan::{Role, Shape, Tree, TreeError, TreeSpec};
use tresse_topology::{Channel, Dependencies, Graph, Grid};

use crate::address::Addresses;
use crate::label::{self, Transit, Transits};
use crate::lock::{self, AddressError, BaseWasTree, Lock, VidsExhausted};

/// Raised whenever the same input plans differently than before.
const PLANNER: u32 = 4;

/// A plan. See the module.
#[derive(Debug)]
pub struct Plan {
    cluster: Cluster,
    graph: Graph,
    grid: Option<Grid>,
    /// Who routes where, where nodes do.
    xy: Option<Xy>,
    /// Which NICs every pair uses, in a flat neighbourhood.
    direct: Option<Direct>,
    assignment: Assignment,
    specs: Vec<TreeSpec>,
    vids: Vec<Vid>,
    /// By line, where switches hold several.
    line_vids: Vec<Vid>,
    addresses: Addresses,
    built: Vec<OnceLock<Tree>>,
    transits: Transits,
    detours: Detours,
    /// By switch, the nodes that may be in transit there and their NIC.
    transit: Vec<Vec<(NodeId, usize)>>,
    turns: OnceLock<Dependencies>,
    balance: Balance,
    /// By node: its number where pairs take turns.
    turns_of: Vec<usize>,
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
    /// Fewer VIDs in `[vlans] range` than trees, or than lines on shared switches.
    #[error(transparent)]
    Vids(#[from] VidsExhausted),
    /// The base VLAN's VID was a tree's.
    #[error(transparent)]
    Base(#[from] BaseWasTree),
    /// Labels leave too little for IPv6.
    #[error(transparent)]
    Mtu(#[from] SmallMtu),
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
    /// [`PlanError`] where the strategy does not fit, VIDs or addresses run out, labels leave too small
    /// an MTU, or the lock has the base VLAN's VID for a tree.
    pub fn build_with(cluster: Cluster, lock: &Lock) -> Result<Self, PlanError> {
        if let Some(base) = cluster.vlans.base {
            lock::accept_base(Vid(base), lock)?;
        }
        let graph = Graph::new(&cluster);
        let balance = lock::balance::of(&cluster, lock);
        let (specs, assignment) = Assignment::new(&cluster, &graph, &balance)?;
        let addresses = lock::assign(&cluster, lock)?;
        let flat = cluster.routing.strategy == Strategy::Direct;
        let mut plan = Self {
            grid: Grid::of(&cluster.kind),
            xy: Xy::of(&cluster.kind),
            direct: if flat { Some(Direct::new(&cluster)?) } else { None },
            transit: cluster.transit_nodes(),
            transits: Transits::default(),
            detours: Detours::default(),
            built: Vec::new(),
            turns: OnceLock::new(),
            vids: Vec::new(),
            line_vids: Vec::new(),
            turns_of: lock::balance::turns(&cluster, &addresses),
            addresses,
            balance,
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
        // By what the lock keeps, as pairs take turns: those that are there keep theirs.
        for nodes in &mut plan.transit {
            nodes.sort_by_key(|(node, _)| plan.turns_of[node.index()]);
        }
        plan.reset_trees();
        if plan.cluster.routing.paths > 1 && !plan.cluster.is_untagged() {
            let more = plan.backup_trees();
            plan.specs.extend(more);
            plan.reset_trees();
        }
        plan.vids = loop {
            match plan.allocate_vids(lock) {
                // VIDs that the lock holds for other trees may leave too few: backups do without.
                Err(_) if plan.specs.last().is_some_and(|spec| spec.role == Role::Backup) => {
                    plan.specs.pop();
                    plan.reset_trees();
                }
                vids => break vids?,
            }
        };
        plan.line_vids = plan.vids.split_off(plan.specs.len());
        plan.detours = plan.find_detours();
        plan.check_mtu()?;
        plan.transits = label::allocate(&plan, lock);
        plan.generation = plan.digest();
        Ok(plan)
    }

    fn reset_trees(&mut self) {
        self.built.resize_with(self.specs.len(), OnceLock::new);
    }

    fn allocate_vids(&self, lock: &Lock) -> Result<Vec<Vid>, VidsExhausted> {
        let named = self.named_texts();
        lock::allocate(&borrowed(&named), &self.cluster.vlans.free_ranges(), lock)
    }

    /// Trees, then lines: all that has a VID, by name and by what the lock says of it.
    fn named_texts(&self) -> Vec<(String, String)> {
        let text = |spec: &TreeSpec| lock::tree::text(&self.cluster, &spec.shape);
        let trees = self.specs.iter().map(|spec| (spec.name.clone(), text(spec)));
        let lines = self.line_names().into_iter().map(|name| (name.clone(), name));
        trees.chain(lines).collect()
    }

    /// The VIDs of [`named_texts`](Self::named_texts).
    fn all_vids(&self) -> Vec<Vid> {
        self.vids.iter().chain(&self.line_vids).copied().collect()
    }

    /// The lock to keep beside the cluster file after this plan, which was built with `lock`.
    #[must_use]
    pub fn lock(&self, lock: &Lock) -> Lock {
        let (named, vids) = (self.named_texts(), self.all_vids());
        let base = base_vlan(self).map(|(_, links)| lock::place::cables(&self.cluster, &links));
        let labels = label::to_lock(self);
        let next = lock.next(&self.cluster, &self.addresses, &borrowed(&named), &vids, labels);
        let balance = lock::balance::to_lock(&self.balance, &self.cluster);
        Lock { base, balance, ..next }
    }

    /// Does `lock` know the VIDs of this plan?
    #[must_use]
    pub fn is_held_by(&self, lock: &Lock) -> bool {
        lock.holds(&borrowed(&self.named_texts()), &self.all_vids())
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
        if self.cluster.routing.mptcp {
            digest.add(&"mptcp");
        }
        for (spec, vid) in self.specs.iter().zip(&self.vids) {
            digest.add(&(&spec.name, vid));
        }
        self.line_vids.iter().for_each(|vid| digest.add(vid));
        digest.add(&(&self.balance.nodes, &self.balance.transit));
        digest.add(&(&self.addresses.node, &self.addresses.nic));
        for transit in &self.transits {
            transit.labels.values().for_each(|label| digest.add(label));
        }
        self.detours.by_pair.iter().for_each(|split| digest.add(&split));
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
    ///
    /// # Errors
    /// What keeps it from spanning the switches.
    pub fn try_tree(&self, id: TreeId) -> Result<Tree, TreeError> {
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

    /// The routing through nodes, where nodes route.
    #[must_use]
    pub const fn xy(&self) -> Option<&Xy> {
        self.xy.as_ref()
    }

    /// Which NICs every pair uses, in a flat neighbourhood.
    #[must_use]
    pub const fn direct(&self) -> Option<&Direct> {
        self.direct.as_ref()
    }

    /// The IP MTU that a NIC gives a VLAN interface (K9): the frame carries 18 octets of header
    /// and FCS and 4 of tag, which untagged ones do not have.
    #[must_use]
    pub fn nic_mtu(&self, nic: &Nic) -> u32 {
        let tag = if self.cluster.is_untagged() { 0 } else { 4 };
        let switch = self.cluster.switches.get(nic.switch.index());
        switch.map_or(nic.mtu, |switch| nic.mtu.min(switch.max_frame.saturating_sub(18 + tag)))
    }

    /// The IP MTU of a segment: the smallest NIC and switch on the way.
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

    /// The tree that primary frames from switch `s` to switch `d` take first.
    #[must_use]
    pub fn primary_tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        self.assignment.tree(s, d)
    }

    /// The trees that primary frames from switch `s` take, by destination switch; `None` where some
    /// paths may have several segments.
    #[must_use]
    pub fn primary_trees(&self, s: SwitchId, trees: &mut Vec<TreeId>) -> Option<()> {
        self.assignment.trees_from(s, self.graph.switches(), trees)
    }

    /// What every node does in transit, by node.
    #[must_use]
    pub fn transits(&self) -> &[Transit] {
        &self.transits
    }

    /// The labels that frames bear at the start of a path's first segment: one per node in transit.
    #[must_use]
    pub fn labels(&self, segments: &[Segment]) -> Vec<Label> {
        if self.xy.is_some() {
            return Vec::new();
        }
        let label = |after: &Segment| self.transits[after.from.index()].labels[after];
        segments[1..].iter().map(label).collect()
    }

    /// The IP MTU of a path: each segment carries four octets for every label that is left on it (K9).
    #[must_use]
    pub fn path_mtu(&self, segments: &[Segment]) -> u32 {
        let labels = if self.xy.is_some() { 0 } else { segments.len() as u32 };
        let left = (0..labels).rev().chain(std::iter::repeat(0));
        let mtus =
            segments.iter().zip(left).map(|(s, labels)| self.mtu(s).saturating_sub(4 * labels));
        mtus.min().unwrap_or(0)
    }

    /// May paths have in-transit nodes: primaries, or weighted siblings?
    #[must_use]
    pub fn has_labels(&self) -> bool {
        let relays = |direct: &Direct| direct.has_relays(self.cluster.routing.paths);
        self.has_transit()
            || !self.detours.by_pair.is_empty()
            || self.direct.as_ref().is_some_and(relays)
    }

    /// May primaries have in-transit nodes?
    #[must_use]
    pub fn has_transit(&self) -> bool {
        matches!(&self.assignment, Assignment::Updown(updown) if updown.has_transit())
    }

    /// Which ends of cables are up, where the strategy goes by that.
    #[must_use]
    pub const fn updown_order(&self) -> Option<&Order> {
        match &self.assignment {
            Assignment::Updown(updown) => Some(updown.order()),
            _ => None,
        }
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

    /// Switch-to-switch channels that a segment crosses, onto the end of `channels`.
    pub fn walk(&self, segment: &Segment, channels: &mut Vec<Channel>) {
        if segment.tree == TreeId::NONE {
            return;
        }
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        self.tree(segment.tree).walk(&self.graph, s, d, channels);
    }

    /// Switch-to-switch links that a segment crosses; 1 where nodes route, so that a path has as many
    /// hops as segments.
    #[must_use]
    pub fn hops(&self, segment: &Segment) -> u32 {
        if segment.tree == TreeId::NONE {
            return u32::from(self.xy.is_some());
        }
        let (s, d) = (self.sender(segment).switch, self.receiver(segment).switch);
        self.tree(segment.tree).distance(s, d)
    }

    /// The primary's segments. Between nodes with several NICs: the pair of NICs with the fewest
    /// hops, ties taken in turn by the sum of the nodes' numbers so that parallel fabrics share the load.
    #[must_use]
    pub fn primary(&self, src: NodeId, dst: NodeId) -> Segments {
        if let Some(xy) = &self.xy {
            return xy.primary(src, dst);
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
            let hops = segments.iter().map(|s| self.hops(s)).sum();
            if hops < fewest {
                best.clear();
                fewest = hops;
            }
            if hops == fewest {
                best.push(segments);
            }
        }
        best.swap_remove(self.turn(src, dst) % best.len())
    }

    /// The segments between two NICs. Of the nodes that may be in transit at a switch every pair of
    /// nodes takes another one, in turn by the sum of their numbers.
    fn segments(&self, (src, nic): (NodeId, usize), (dst, to_nic): (NodeId, usize)) -> Segments {
        let switch = |(node, nic): (NodeId, usize)| self.cluster.node(node).nics[nic].switch;
        let mut at = (src, nic);
        let legs = self.assignment.legs(switch(at), switch((dst, to_nic)));
        let mut segments = Segments::new();
        for leg in legs {
            let next =
                self.transit_at(leg.to, src, dst).filter(|_| leg.to != switch((dst, to_nic)));
            let (to, to_nic) = next.unwrap_or((dst, to_nic));
            segments.push(Segment { from: at.0, nic: at.1, tree: leg.tree, to, to_nic });
            at = (to, to_nic);
        }
        segments
    }

    /// The in-transit node of a pair at a switch, and its NIC there: neither end of the pair if there is
    /// another.
    fn transit_at(&self, switch: SwitchId, src: NodeId, dst: NodeId) -> Option<(NodeId, usize)> {
        let nodes = self.in_transit(switch);
        let first = self.turn(src, dst);
        let mut turn = (0..nodes.len()).map(|i| nodes[(first + i) % nodes.len()]);
        turn.find(|(node, _)| ![src, dst].contains(node)).or(nodes.first().copied())
    }

    /// The nodes that primaries may turn at on a switch, and their NICs: as many as the paths are balanced
    /// for.
    pub(super) fn in_transit(&self, switch: SwitchId) -> &[(NodeId, usize)] {
        let nodes = &self.transit[switch.index()];
        &nodes[..nodes.len().min(self.balance.transit[switch.index()] as usize)]
    }

    /// Where pairs take turns, whose it is: the lock keeps the numbers of nodes as the file grows.
    fn turn(&self, src: NodeId, dst: NodeId) -> usize {
        self.turns_of[src.index()] + self.turns_of[dst.index()]
    }

    /// All paths from `src` to `dst`, by rank: the primary, its weighted siblings, then backups with
    /// weight 0; never empty. `src` and `dst` differ.
    #[must_use]
    pub fn paths(&self, src: NodeId, dst: NodeId) -> Vec<Path> {
        if let Some(xy) = &self.xy {
            return self.routed_paths(xy, src, dst);
        }
        if let Some(direct) = &self.direct {
            return direct.paths(src, dst, self.cluster.routing.paths);
        }
        let mut paths = self.carriers(src, dst);
        for rank in paths.len() as u32..self.cluster.routing.paths {
            let Some(segment) = self.backup(&paths) else { break };
            paths.push(Path { src, dst, rank, weight: 0, segments: smallvec![segment] });
        }
        paths
    }

    /// The primary, and the way that packets take where `src` has lost its next hop. What nodes further
    /// on lose they mend themselves, so there are never more than two.
    fn routed_paths(&self, xy: &Xy, src: NodeId, dst: NodeId) -> Vec<Path> {
        let path =
            |rank: u32, segments| Path { src, dst, rank, weight: u32::from(rank == 0), segments };
        let backup = (self.cluster.routing.paths > 1).then(|| xy.backup(src, dst)).flatten();
        let backup = backup.map(|segments| path(1, segments));
        [path(0, xy.primary(src, dst))].into_iter().chain(backup).collect()
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

fn borrowed(named: &[(String, String)]) -> Vec<(&str, &str)> {
    named.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

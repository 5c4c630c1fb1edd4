//! The plan of a whole cluster (DESIGN sections 1 and 4).
//!
//! A plan is a pure function of cluster file and lock. It is computed in stages: [`Trees`](crate::trees::Trees) (the
//! VLAN trees), [`Primaries`](crate::primaries::Primaries) (one path per pair), [`Paths`] (all paths), then the labels
//! of transit nodes. Each stage contains the one before it. Results can be computed for one pair or one node alone:
//! trees are built when first used, and paths are computed but not stored.

mod against;
mod base;
mod behind;
mod bound;
mod digest;
mod estimate;
mod lines;
mod locked;
mod longer;
mod trace;
mod updown;
mod uses;
mod view;
mod why;

pub use against::Comparison;
pub use base::base_vlan;
pub use bound::LoadBound;
pub use estimate::{Estimate, MeasuredLoads};
pub use lines::Line;
pub use longer::Longer;
pub use trace::{Trace, TracedPath, TracedSegment, TracedSwitch};
pub use updown::BesideUpdown;
pub use view::{NicView, NodeView, PathView, PlanView, SegmentView, SwitchView, VlanView};

use std::ops::Deref;

use tresse_base::id::{Label, TreeId, Vid};
use tresse_routing::RoutingError;
use tresse_topology::cluster::{AddressLayout, Cluster};
use tresse_topology::path::Segment;

use crate::address::Addresses;
use crate::label::{self, Numbers, TransitForwarding, Transits};
use crate::lock::{self, AddressError, BaseWasTree, Lock, VidsExhausted};
use crate::paths::{Paths, SmallMtu};
use crate::primaries::Primaries;
use crate::trees::Trees;
use crate::vids::Vids;

/// Incremented whenever the same input gives another plan than before.
const PLANNER: u32 = 12;

/// The plan of a cluster: its VLAN trees and [`Paths`], with the VIDs of the trees, the addresses of nodes and NICs,
/// and the labels of transit nodes.
#[derive(Debug)]
pub struct Plan {
    paths: Paths,
    addresses: Addresses,
    vids: Vids,
    transits: Transits,
    generation: String,
    /// The base VLAN's tree before this plan, as the lock has it.
    base_before: Option<String>,
    /// Nodes with another address than the lock has for them.
    renumbered: usize,
    /// Whether the cluster file says how addresses are laid out.
    names_layout: bool,
}

impl Deref for Plan {
    type Target = Paths;

    fn deref(&self) -> &Paths {
        &self.paths
    }
}

/// Why a cluster cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The strategy does not fit the fabric.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// A prefix is too small, or the lock gives an address twice.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Fewer VIDs in `[vlans] range` than trees, or than lines on shared switches.
    #[error(transparent)]
    Vids(#[from] VidsExhausted),
    /// The base VLAN's VID was a tree's before.
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
    pub fn build_with(mut cluster: Cluster, lock: &Lock) -> Result<Self, PlanError> {
        let names_layout = cluster.addressing.layout.is_some();
        cluster.addressing.layout = Some(lock.layout(&cluster));
        if let Some(base) = cluster.vlans.base {
            lock::accept_base(Vid(base), lock)?;
        }
        let mut trees = Trees::new(cluster, lock)?;
        let addresses = lock::assign(&trees.cluster, lock)?;
        let (paths, vids) = loop {
            let (with_vids, vids) = Vids::allocate(trees, lock)?;
            let paths = Paths::new(Primaries::new(with_vids, &addresses)?);
            let Some(kept) = paths.trees_in_use() else { break (paths, vids) };
            trees = paths.into_trees().keep(&kept);
        };
        paths.check_mtu(&addresses)?;
        let numbers = Numbers { addresses: &addresses, vids: &vids };
        let transits = label::allocate(&paths, numbers, lock);
        let generation = generation(&paths, numbers, &transits);
        let renumbered = lock::renumbered(&paths.cluster, &addresses, lock);
        let base_before = lock.base.clone();
        Ok(Self {
            paths,
            addresses,
            vids,
            transits,
            generation,
            base_before,
            renumbered,
            names_layout,
        })
    }

    /// The digest of the plan: 16 hexadecimal digits, equal on every node.
    #[must_use]
    pub fn generation(&self) -> &str {
        &self.generation
    }

    /// The VID of a tree.
    #[must_use]
    pub fn vid(&self, tree: TreeId) -> Vid {
        self.vids.trees[tree.index()]
    }

    /// All addresses.
    #[must_use]
    pub const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// The number of nodes that get another address than the lock has for them.
    #[must_use]
    pub const fn renumbered(&self) -> usize {
        self.renumbered
    }

    /// Whether the cluster file says how node addresses are laid out; else the lock does, or the kind of fabric.
    #[must_use]
    pub const fn names_layout(&self) -> bool {
        self.names_layout
    }

    /// The tree of a VID.
    #[must_use]
    pub fn tree_of(&self, vid: Vid) -> Option<TreeId> {
        self.vids.trees.iter().position(|v| *v == vid).map(TreeId::from)
    }

    /// The transit labels and arrivals of every node, by node.
    #[must_use]
    pub fn transits(&self) -> &[TransitForwarding] {
        &self.transits
    }

    /// The label stack of frames on a path's first segment: one label per transit node.
    #[must_use]
    pub fn labels(&self, segments: &[Segment]) -> Vec<Label> {
        if self.next_hops.is_some() {
            return Vec::new();
        }
        let label = |after: &Segment| self.transits[after.from.index()].labels[after];
        segments[1..].iter().map(label).collect()
    }
}

/// The digest of a plan's results.
fn generation(paths: &Paths, numbers: Numbers<'_>, transits: &[TransitForwarding]) -> String {
    let Numbers { addresses, vids } = numbers;
    let mut digest = digest::Digest::new();
    digest.add(&PLANNER);
    digest.add(&paths.cluster);
    if paths.cluster.routing.mptcp {
        digest.add(&"mptcp");
    }
    if paths.cluster.addressing.layout == Some(AddressLayout::Coordinates) {
        // The spares of the two depend on the coordinates in different ways, and have not always.
        let along_cables = paths.layout().is_some_and(|layout| !layout.has_switches());
        digest.add(&if along_cables { "coordinates along cables" } else { "coordinates" });
    }
    for (spec, vid) in paths.specs.iter().zip(&vids.trees) {
        digest.add(&(&spec.name, vid));
    }
    vids.lines.iter().for_each(|vid| digest.add(vid));
    digest.add(&(&paths.balance.nodes, &paths.balance.transit));
    paths.ports_in_use().iter().flat_map(|ports| ports.out_of_order()).for_each(|s| digest.add(&s));
    digest.add(&(&addresses.node, &addresses.nic));
    for transit in transits {
        transit.labels.values().for_each(|label| digest.add(label));
    }
    paths.detours.by_pair.iter().for_each(|split| digest.add(&split));
    for (pair, split) in paths.direct().iter().flat_map(|direct| &direct.detours().by_pair) {
        split.iter().for_each(|(weight, way)| digest.add(&(pair, weight, &way[..])));
    }
    digest.finish()
}

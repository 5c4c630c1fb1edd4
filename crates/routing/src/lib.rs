//! The routing strategies: each decides which VLAN trees exist, and which of them each ordered pair of switches uses.
//!
//! The input is a resolved cluster. This crate uses no socket, file, clock, environment, log or thread of its own.
#![forbid(unsafe_code)]

mod backup_trees;
mod balance;
pub mod basic;
mod detour;
pub mod direct;
mod dor;
mod fold;
mod keep;
mod left;
pub mod lines;
mod minimal;
pub mod next_hops;
pub mod node_routing;
mod order;
mod packing;
mod pdor;
mod planes;
pub mod reflect;
pub mod routes;
mod shortest;
mod stp;
pub mod updown;
mod xy;

pub use backup_trees::{legal_trees, woven_tree};
pub use balance::{Balance, gcd};
pub use detour::DetourSearch;
use keep::Kept;
pub use minimal::Minimal;
use minimal::TreeSet;
pub use planes::{Assignments, OfPlanes};
pub use routes::SwitchDemand;
pub use stp::{StpMethod, least_hops_tree};
pub use updown::{TreeSegment, Updown};

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::cluster::{Choice, Cluster, Strategy, TopologyShape};
use tresse_topology::vlan::{Role, Tree, TreeLinks, TreeSpec};
use tresse_topology::{Graph, Grid};

/// The result of a strategy: which VLAN tree each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub enum Assignment {
    /// All pairs on tree 0.
    Single,
    /// Dimension-order routing on a grid.
    Dor(dor::Dor),
    /// Partial dimension-order routing on a grid.
    Pdor(pdor::Pdor),
    /// Minimal paths in few trees.
    Minimal(Minimal),
    /// Up*/down* routing, with or without transit nodes.
    Updown(Updown),
    /// No trees: the nodes route, or no two switches are cabled together.
    Untagged,
}

/// Why a strategy cannot plan a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// `dor` and `pdor` need the coordinates of a mesh, torus or hypercube, or `dor` those of a HyperX.
    #[error(
        "strategy `{strategy}` is for mesh, torus and hypercube (`dor` for hyperx too), and this fabric is {kind}: use stp"
    )]
    NeedsGrid {
        /// The strategy's name.
        strategy: &'static str,
        /// The fabric's kind.
        kind: &'static str,
    },
    /// `xy` needs nodes that are joined by lines or cables.
    #[error(
        "strategy `xy` is for fabrics whose nodes route, and this one has switches with VLANs: \
         use stp"
    )]
    NeedsNodes,
    /// Fabrics whose nodes route have no VLANs.
    #[error("the nodes of this fabric route: use strategy `xy`")]
    NeedsXy,
    /// Fabrics whose cables between nodes are listed have neither VLANs nor coordinates.
    #[error("the cables between the nodes of this fabric are listed: use strategy `shortest`")]
    NeedsShortest,
    /// `shortest` needs listed cables between nodes.
    #[error(
        "strategy `shortest` is for fabrics whose cables between nodes are listed, and this is none"
    )]
    NeedsCables,
    /// `direct` plans no cables between switches.
    #[error(
        "strategy `direct` uses no cable between switches, and this fabric has some: use minimal \
         or stp"
    )]
    NeedsFlat,
    /// A flat neighbourhood has no trees.
    #[error("this fabric has no paths between switches: use strategy `direct`")]
    NeedsDirect,
    /// Two nodes of a flat neighbourhood share no switch, and no third node joins them.
    #[error(
        "nodes {a} and {b} share no switch, and no possible transit node shares one with each: \
         give one of them a NIC on a switch of the other"
    )]
    NotJoined {
        /// A node's name.
        a: String,
        /// Another's.
        b: String,
    },
    /// Detours are not planned over several planes.
    #[error(
        "cables do not join all switches, and over several planes detours through third nodes are not planned: leave \
         `reflect` out"
    )]
    ReflectOverPlanes,
    /// Two nodes are on no plane in common, and no nodes forward from one to the other.
    #[error(
        "nodes {a} and {b} are on switches that no cables join, and no possible transit nodes lead from one to the other: \
         give one of them a NIC on a plane of the other, or let a node that is on both have `transit = true`"
    )]
    PlanesApart {
        /// A node's name.
        a: String,
        /// Another's.
        b: String,
    },
    /// Some switches cannot reach each other at all.
    #[error("switch {switch} cannot be reached from the first switch: cable it")]
    Disconnected {
        /// The switch's name.
        switch: String,
    },
}

/// As many trees as there are VIDs, about.
const AMPLE: usize = 4093;

impl Assignment {
    /// Returns the trees and the assignment of `cluster`'s strategy, balanced for the node counts of
    /// `balance`.
    ///
    /// # Errors
    /// [`RoutingError`] where the strategy does not fit the fabric.
    pub fn new(
        cluster: &Cluster,
        graph: &Graph,
        balance: &Balance,
    ) -> Result<(Vec<TreeSpec>, Self), RoutingError> {
        let Balance { nodes, transit } = balance;
        let grid = Grid::of(&cluster.kind);
        let disconnected =
            |s| RoutingError::Disconnected { switch: cluster.switch(s).name.clone() };
        let cabled = matches!(cluster.kind, TopologyShape::Cabled { .. });
        match (cluster.routing.strategy, grid) {
            (Strategy::Shortest, _) if cabled => Ok((Vec::new(), Self::Untagged)),
            (Strategy::Shortest, _) => Err(RoutingError::NeedsCables),
            _ if cabled => Err(RoutingError::NeedsShortest),
            (Strategy::Xy, _) if cluster.kind.is_routed() => Ok((Vec::new(), Self::Untagged)),
            (Strategy::Xy, _) => Err(RoutingError::NeedsNodes),
            _ if cluster.kind.is_routed() => Err(RoutingError::NeedsXy),
            (Strategy::Direct, _) if !cluster.links.iter().all(|link| cluster.is_uplink(link)) => {
                Err(RoutingError::NeedsFlat)
            }
            (Strategy::Direct, _) => Ok((Vec::new(), Self::Untagged)),
            _ if matches!(cluster.kind, TopologyShape::Fnn { .. }) => {
                Err(RoutingError::NeedsDirect)
            }
            (Strategy::Stp, grid) => {
                let slowness = SwitchDemand::of_cluster(cluster, graph, balance).slowness;
                let (links, _) = least_hops_tree(graph, grid.as_ref(), nodes, &slowness)
                    .map_err(disconnected)?;
                let spec = TreeSpec {
                    name: "stp".into(),
                    role: Role::Primary,
                    links: TreeLinks::Links(links),
                    at: SwitchId(0),
                };
                Ok((vec![spec], Self::Single))
            }
            (Strategy::Dor, Some(grid)) => {
                let (trees, dor) = dor::Dor::new(grid);
                Ok((trees, Self::Dor(dor)))
            }
            (Strategy::Pdor, Some(grid)) if !grid.is_hyperx() => {
                let (trees, pdor) = pdor::Pdor::new(grid);
                Ok((trees, Self::Pdor(pdor)))
            }
            (Strategy::Minimal, grid) => {
                let demand = SwitchDemand::of_cluster(cluster, graph, balance);
                let others = || grid.as_ref().map_or_else(Vec::new, |grid| of_grid(grid, graph));
                let prefer = cluster.routing.prefer;
                let planned = fitting(cluster.most_trees(), |most| {
                    Minimal::new(graph, &demand, prefer, others, most)
                });
                let (trees, minimal) = planned.map_err(disconnected)?;
                Ok((numbered(trees), Self::Minimal(minimal)))
            }
            (Strategy::Transit { root }, _) if cluster.routing.choice == Choice::Paper => {
                let planned = Updown::as_in_the_paper(graph, root, transit, cluster.most_trees());
                let (trees, updown) = planned.map_err(disconnected)?;
                Ok((numbered(trees), Self::Updown(updown)))
            }
            (Strategy::Updown { root } | Strategy::Transit { root }, _) => {
                let mut demand = SwitchDemand::of_cluster(cluster, graph, balance);
                if matches!(cluster.routing.strategy, Strategy::Updown { .. }) {
                    demand = demand.without_transit();
                }
                let prefer = cluster.routing.prefer;
                let planned = fitting(cluster.most_trees(), |most| {
                    Updown::new(graph, root, &demand, prefer, most)
                });
                let (trees, updown) = planned.map_err(disconnected)?;
                Ok((numbered(trees), Self::Updown(updown)))
            }
            (strategy, _) => Err(RoutingError::NeedsGrid {
                strategy: if strategy == Strategy::Dor { "dor" } else { "pdor" },
                kind: match cluster.kind {
                    TopologyShape::Clique { .. } => "a clique",
                    TopologyShape::Irregular { .. } => "irregular",
                    TopologyShape::Clos { .. } => "leaf and spine",
                    TopologyShape::FatTree { .. } => "a fat tree",
                    TopologyShape::Hyperx { .. } => "a HyperX",
                    TopologyShape::Dragonfly { .. } => "a dragonfly",
                    TopologyShape::SlimFly { .. } => "a Slim Fly",
                    _ => "explicit",
                },
            }),
        }
    }

    /// Whether routes may take any tree.
    #[must_use]
    pub const fn may_keep_some(&self) -> bool {
        matches!(self, Self::Minimal(_) | Self::Updown(_))
    }

    /// Whether routes may have transit nodes.
    #[must_use]
    pub const fn has_transit(&self) -> bool {
        matches!(self, Self::Updown(updown) if updown.has_transit())
    }

    /// How many routes between switches are not those that were chosen, as these fit into no tree, and the ends of the first
    /// one; `None` where all fit.
    #[must_use]
    pub fn crowded(&self) -> Option<(usize, [SwitchId; 2])> {
        let crowded = match self {
            Self::Updown(updown) => updown.crowded(),
            Self::Minimal(minimal) => minimal.crowded(),
            _ => &[],
        };
        let (source, d) = crowded.first()?;
        Some((crowded.len(), [source / self.lanes(), *d].map(SwitchId)))
    }

    /// Whether the path chosen for two switches on a lane fits into no tree.
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId, lane: u32) -> bool {
        match self {
            Self::Updown(updown) => updown.is_crowded(s, d, lane),
            Self::Minimal(minimal) => minimal.is_crowded(s, d, lane),
            _ => false,
        }
    }

    /// Keeps these trees alone, at least one, and numbers them by their place here. Routes in others take the shortest way
    /// that one of them has. `links`: of those that are kept. Nothing where routes may not take any tree.
    pub fn keep(&mut self, graph: &Graph, trees: &[TreeId], links: &[Vec<LinkId>]) {
        let kept = Kept::new(graph, trees, links);
        match self {
            Self::Minimal(minimal) => minimal.keep(&kept),
            Self::Updown(updown) => updown.keep(&kept),
            _ => {}
        }
    }

    /// Routes of each ordered pair of switches. Their pairs of nodes are spread over them.
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        match self {
            Self::Minimal(minimal) => minimal.lanes(),
            Self::Updown(updown) => updown.lanes(),
            _ => 1,
        }
    }

    /// Returns the path of a frame from a node on `s` to a node on `d` on one of the lanes: one segment, or several with a transit
    /// node between each and the next. O(dimensions).
    pub fn tree_segments(
        &self,
        s: SwitchId,
        d: SwitchId,
        lane: u32,
    ) -> impl Iterator<Item = TreeSegment> + '_ {
        let (one, several) = match self {
            Self::Untagged => (None, None),
            Self::Single => (Some(TreeSegment { tree: TreeId(0), to: d }), None),
            Self::Dor(dor) => (Some(TreeSegment { tree: dor.tree(s, d), to: d }), None),
            Self::Pdor(pdor) => (Some(TreeSegment { tree: pdor.tree(s, d), to: d }), None),
            Self::Minimal(minimal) => (Some(minimal.tree_segment(s, d, lane)), None),
            Self::Updown(updown) => (None, Some(updown.tree_segments(s, d, lane))),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }

    /// Lists the trees from `s` to every switch, by switch and lane; `None` if paths may have several segments.
    #[must_use]
    pub fn trees_from(&self, s: SwitchId, switches: usize, trees: &mut Vec<TreeId>) -> Option<()> {
        trees.clear();
        match self {
            _ if self.has_transit() => return None,
            // Dimension order chooses by the first coordinate alone.
            Self::Dor(dor) => {
                let row = dor.row_from(s);
                trees.extend(row.iter().cycle().take(switches));
            }
            _ => {
                let all = (0..switches).flat_map(|d| (0..self.lanes()).map(move |lane| (d, lane)));
                trees.extend(all.map(|(d, lane)| self.tree(s, d.into(), lane)));
            }
        }
        Some(())
    }

    /// The tree of the first segment from `s` to `d` on a lane.
    #[must_use]
    pub fn tree(&self, s: SwitchId, d: SwitchId, lane: u32) -> TreeId {
        self.tree_segments(s, d, lane).next().map_or(TreeId(0), |tree_segment| tree_segment.tree)
    }
}

/// The trees of the strategies for grids.
fn of_grid(grid: &Grid, graph: &Graph) -> Vec<TreeSet> {
    let all = || (0..grid.len() as u32).map(SwitchId);
    let set = |specs: Vec<TreeSpec>, tree: &dyn Fn(SwitchId, SwitchId) -> TreeId| {
        let links = |tree: TreeSpec| match tree.links {
            TreeLinks::Lines { center, order } => {
                Tree::of_lines(grid, graph, &center, &order).links(graph)
            }
            TreeLinks::Links(links) => links,
        };
        let pairs = all().flat_map(|s| all().map(move |d| (s, d)));
        let trees = pairs.map(|(s, d)| if s == d { 0 } else { tree(s, d).index() as u16 });
        TreeSet { trees: trees.collect(), links: specs.into_iter().map(links).collect() }
    };
    let (specs, dor) = dor::Dor::new(grid.clone());
    let mut sets = vec![set(specs, &|s, d| dor.tree(s, d))];
    if !grid.is_hyperx() {
        let (specs, pdor) = pdor::Pdor::new(grid.clone());
        sets.push(set(specs, &|s, d| pdor.tree(s, d)));
    }
    sets
}

/// What is planned with at most `most` trees. Routes are packed with room for all first: first fit may need more trees than
/// are left in the end.
fn fitting<T>(
    most: usize,
    planned: impl Fn(usize) -> Result<(Vec<Vec<LinkId>>, T), SwitchId>,
) -> Result<(Vec<Vec<LinkId>>, T), SwitchId> {
    if most < AMPLE {
        let ample = planned(AMPLE)?;
        if ample.0.len() <= most {
            return Ok(ample);
        }
    }
    planned(most)
}

/// Trees `T0`, `T1`, ... of these cables.
fn numbered(trees: Vec<Vec<LinkId>>) -> Vec<TreeSpec> {
    let spec = |(k, links)| TreeSpec {
        name: format!("T{k}"),
        role: Role::Primary,
        links: TreeLinks::Links(links),
        at: SwitchId(0),
    };
    trees.into_iter().enumerate().map(spec).collect()
}

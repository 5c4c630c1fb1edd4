//! Strategies: which VLAN trees exist and which of them each ordered pair of switches uses.

mod dor;
pub(crate) mod lines;
mod pdor;
mod stp;
pub mod updown;

pub use stp::{StpMethod, least_hops_tree};
pub use updown::Updown;

use crate::cluster::{Cluster, Kind, Strategy};
use crate::id::{SwitchId, TreeId};
use crate::topology::{Graph, Grid};
use crate::vlan::{Role, Shape, TreeSpec};

/// The assignment of ordered switch pairs to trees.
#[derive(Debug, Clone)]
pub enum Assignment {
    /// All pairs on tree 0.
    Single,
    /// Dimension-order routing on a grid.
    Dor(dor::Dor),
    /// Partial dimension-order routing on a grid.
    Pdor(pdor::Pdor),
    /// Up*/down* routing.
    Updown(Updown),
}

/// Why a strategy cannot plan a fabric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// `dor` and `pdor` need the coordinates of a mesh or torus.
    #[error("strategy `{strategy}` plans mesh and torus only, and this fabric is {kind}: use stp")]
    NeedsGrid {
        /// The strategy's name.
        strategy: &'static str,
        /// The fabric's kind.
        kind: &'static str,
    },
    /// `pdor` on a torus of more than two dimensions needs even sizes past dimension 0.
    #[error(
        "strategy `pdor` on a torus of more than two dimensions needs an even size in every \
         dimension past 0, and dimension {dim} has {size}: use dor"
    )]
    OddSize {
        /// The dimension.
        dim: usize,
        /// Its size.
        size: u32,
    },
    /// Some switches cannot reach each other at all.
    #[error("switch {switch} cannot be reached from the first switch: cable it")]
    Disconnected {
        /// The switch's name.
        switch: String,
    },
}

impl Assignment {
    /// The trees and the assignment of `cluster`'s strategy.
    ///
    /// # Errors
    /// [`RoutingError`] where the strategy does not fit the fabric.
    pub fn new(cluster: &Cluster, graph: &Graph) -> Result<(Vec<TreeSpec>, Self), RoutingError> {
        let grid = grid_of(&cluster.kind);
        match (cluster.routing.strategy, grid) {
            (Strategy::Stp, grid) => {
                let weights = weights(cluster);
                let (links, _) = least_hops_tree(graph, grid.as_ref(), &weights).map_err(|s| {
                    RoutingError::Disconnected { switch: cluster.switch(s).name.clone() }
                })?;
                let spec = TreeSpec {
                    name: "stp".into(),
                    role: Role::Primary,
                    shape: Shape::Links(links),
                };
                Ok((vec![spec], Self::Single))
            }
            (Strategy::Dor, Some(grid)) => {
                let (trees, dor) = dor::Dor::new(grid);
                Ok((trees, Self::Dor(dor)))
            }
            (Strategy::Pdor, Some(grid)) => {
                if grid.is_torus() && grid.rank() > 2 {
                    let odd = grid.dims().iter().enumerate().skip(1).find(|(_, n)| *n % 2 == 1);
                    if let Some((dim, &size)) = odd {
                        return Err(RoutingError::OddSize { dim, size });
                    }
                }
                let (trees, pdor) = pdor::Pdor::new(grid);
                Ok((trees, Self::Pdor(pdor)))
            }
            (Strategy::Updown { root }, _) => {
                let updown = Updown::new(graph, root, &weights(cluster), most_trees(cluster));
                let (trees, updown) = updown.map_err(|s| RoutingError::Disconnected {
                    switch: cluster.switch(s).name.clone(),
                })?;
                let spec = |(k, links)| TreeSpec {
                    name: format!("T{k}"),
                    role: Role::Primary,
                    shape: Shape::Links(links),
                };
                Ok((trees.into_iter().enumerate().map(spec).collect(), Self::Updown(updown)))
            }
            (strategy, None) => Err(RoutingError::NeedsGrid {
                strategy: if strategy == Strategy::Dor { "dor" } else { "pdor" },
                kind: match cluster.kind {
                    Kind::Clique { .. } => "a clique",
                    Kind::Irregular { .. } => "irregular",
                    _ => "explicit",
                },
            }),
        }
    }

    /// The trees from `s` to every switch, by switch: what [`tree`](Self::tree) gives for each.
    pub fn trees_from(&self, s: SwitchId, switches: usize, trees: &mut Vec<TreeId>) {
        trees.clear();
        match self {
            // Dimension order chooses by the first coordinate alone.
            Self::Dor(dor) => {
                let row = dor.row_from(s);
                trees.extend(row.iter().cycle().take(switches));
            }
            _ => trees.extend((0..switches).map(|d| self.tree(s, d.into()))),
        }
    }

    /// The tree that a frame from a node on `s` to a node on `d` takes. O(dimensions).
    #[must_use]
    pub fn tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        match self {
            Self::Single => TreeId(0),
            Self::Dor(dor) => dor.tree(s, d),
            Self::Pdor(pdor) => pdor.tree(s, d),
            Self::Updown(updown) => updown.tree(s, d),
        }
    }
}

/// Nodes on each switch, by their first NIC.
fn weights(cluster: &Cluster) -> Vec<u64> {
    let mut weights = vec![0; cluster.switches.len()];
    for nic in cluster.nodes.iter().filter_map(|node| node.nics.first()) {
        weights[nic.switch.index()] += 1;
    }
    weights
}

/// Trees that every switch and the VID ranges have room for.
fn most_trees(cluster: &Cluster) -> usize {
    let vids =
        cluster.vlans.free_ranges().iter().map(|(low, high)| usize::from(high - low) + 1).sum();
    let base = u32::from(cluster.vlans.base.is_some());
    let held = cluster.switches.iter().map(|s| s.max_vlans.saturating_sub(base) as usize).min();
    held.map_or(vids, |held| held.min(vids)).max(1)
}

/// The grid of a mesh or torus.
#[must_use]
pub fn grid_of(kind: &Kind) -> Option<Grid> {
    match kind {
        Kind::Mesh { dims } => Some(Grid::new(dims, false)),
        Kind::Torus { dims } => Some(Grid::new(dims, true)),
        Kind::Clique { .. } | Kind::Irregular { .. } | Kind::Explicit => None,
    }
}

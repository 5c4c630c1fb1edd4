//! The strategy `dor`: dimension-order routing with VLAN trees (vlan-minimal-paths, Definitions
//! 2.4, 2.6, 3.4, 3.6).
//!
//! A frame uses the tree centred in its source's row: VL(-, x1, ..., x(M-1)) on a mesh, VL(-:ab,
//! x1, ..., x(M-1)) on a torus. There are N^(M-1) and 2 N^(M-1) trees.

use tresse_base::id::{SwitchId, TreeId};
use tresse_topology::Grid;
use tresse_topology::vlan::TreeSpec;

use super::lines;

/// The tree of each pair of switches under `dor`. Tree index = row + rows x (0 for a, 1 for b).
#[derive(Debug, Clone)]
pub struct Dor {
    grid: Grid,
    rows: u32,
}

impl Dor {
    /// The trees and the assignment.
    pub fn new(grid: Grid) -> (Vec<TreeSpec>, Self) {
        let order: Vec<_> = (0..grid.rank()).collect();
        let mut trees = Vec::new();
        for x0 in lines::centers(&grid) {
            for mut center in lines::rows(&grid) {
                center[0] = x0;
                trees.push(lines::tree(&grid, center, order.clone()));
            }
        }
        let rows = grid.len() as u32 / grid.dims()[0];
        (trees, Self { grid, rows })
    }

    /// The trees from `s` to the switches of one row, the same for every row.
    pub fn row_from(&self, s: SwitchId) -> Vec<TreeId> {
        (0..self.grid.dims()[0]).map(|d| self.tree(s, SwitchId(d))).collect()
    }

    /// The tree from `s` to `d`: row of `s`, `select_ab` of dimension 0.
    pub fn tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        let n0 = self.grid.dims()[0];
        let ab = lines::select_ab(&self.grid, s.0 % n0, d.0 % n0);
        TreeId(s.0 / n0 + self.rows * ab as u32)
    }
}

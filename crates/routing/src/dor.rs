//! The strategy `dor`: dimension-order routing with VLAN trees on a mesh, torus or HyperX (vlan-minimal-paths,
//! Definitions 2.4, 2.6, 3.4, 3.6).
//!
//! A row is the switches that differ only in coordinate 0. A frame uses a tree that is centred in the row of its
//! source switch, at (x1, ..., x(M-1)) with M dimensions: the paper calls it VL(-, x1, ..., x(M-1)) on a mesh, and
//! VL(-:ab, x1, ..., x(M-1)) on a torus, where ab is one of two centres a and b of the row. With N switches in every
//! dimension there are N^(M-1) trees on a mesh and 2 N^(M-1) on a torus.
//!
//! On a HyperX, whose lines are cliques, such a tree has a star in place of each line, and dimension order takes one
//! cable in each dimension. In dimensions 1 to M-1 the stars are centred at the source's coordinates, so that every switch
//! of the line is one cable away. In dimension 0 one end of the cable must be the centre: the source, or the destination
//! where the source is the last switch of its line. So there are N-1 trees for each row, (N-1) N^(M-1) in all; fewer
//! centres would leave two switches of a line without a tree in which they are neighbours.

use tresse_base::id::{SwitchId, TreeId};
use tresse_topology::Grid;
use tresse_topology::vlan::TreeSpec;

use super::lines;

/// The result of the strategy `dor`: the VLAN tree that each ordered pair of switches uses. The index of a tree is the
/// row of the source switch, plus the number of rows times the index of the tree's centre in dimension 0 (see the
/// module `lines`).
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

//! The strategy `pdor`: partial dimension-order routing on a mesh or torus (vlan-minimal-paths, Definitions 2.5, 2.7,
//! 3.5, 3.7).
//!
//! A row is the switches that differ only in coordinate 0. Only every other row has VLAN trees of its own, as under
//! the strategy `dor`: rows whose other coordinates have an odd sum on a mesh, an even sum on a torus. A source in
//! another row first sends one hop towards the destination, into a row that has such trees. If source and destination
//! are in the same row and it has none, they use a tree that contains the lines of dimension 0 in all rows.

use tresse_base::id::{SwitchId, TreeId};
use tresse_topology::vlan::TreeSpec;
use tresse_topology::{Coordinates, Grid};

use super::lines;

/// The result of the strategy `pdor`: the VLAN tree that each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub struct Pdor {
    grid: Grid,
    /// Tree of (row, ab), where that row keeps one: index 2 row + ab.
    of_row: Vec<Option<TreeId>>,
    /// Trees for pairs within one row, by ab.
    within: Vec<TreeId>,
    /// Parity of the coordinate sum of rows that keep their trees.
    kept: u32,
}

impl Pdor {
    /// The trees and the assignment.
    pub fn new(grid: Grid) -> (Vec<TreeSpec>, Self) {
        let m = grid.rank();
        let kept = if grid.is_torus() { 0 } else { 1 };
        let forward: Vec<_> = (0..m).collect();
        let backward: Vec<_> = (0..m).rev().collect();
        let centers = lines::centers(&grid);
        let mut trees = Vec::new();
        let mut of_row = vec![None; 2 * grid.len() / grid.dims()[0] as usize];
        for (ab, &x0) in centers.iter().enumerate() {
            for mut center in lines::rows(&grid) {
                if parity(&center, m) == kept {
                    let row = lines::row(&grid, &center);
                    of_row[2 * row + ab] = Some(trees.len().into());
                    center[0] = x0;
                    trees.push(lines::tree(&grid, center, forward.clone()));
                }
            }
        }
        // In one dimension the trees of the single kept row serve pairs within it too.
        let mut within: Vec<TreeId> = of_row.iter().copied().flatten().collect();
        if m > 1 || within.is_empty() {
            within.clear();
            for (ab, &x0) in centers.iter().enumerate() {
                let mut center: Coordinates = [0; Grid::MAX_DIMS];
                for (x, &n) in center.iter_mut().zip(grid.dims()) {
                    *x = if ab == 0 { lines::a_of(n) } else { lines::b_of(n) };
                }
                if grid.is_torus() {
                    center[0] = x0;
                }
                within.push(trees.len().into());
                trees.push(lines::tree(&grid, center, backward.clone()));
            }
        }
        (trees, Self { grid, of_row, within, kept })
    }

    /// The tree from `s` to `d`: the procedures of sections 2.3, 2.4, 3.3 and 3.4.
    pub fn tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        let grid = &self.grid;
        let (mut x, y) = (grid.coordinates(s), grid.coordinates(d));
        let ab = lines::select_ab(grid, x[0], y[0]);
        if parity(&x, grid.rank()) != self.kept {
            let Some(dim) = (1..grid.rank()).find(|&i| x[i] != y[i]) else {
                return self.within[ab];
            };
            x[dim] = grid.step(x[dim], dim, grid.goes_plus(x[dim], y[dim], dim));
        }
        self.of_row[2 * lines::row(grid, &x) + ab].expect("a step changes the parity of the row")
    }
}

/// Sum of x1 .. x(M-1) modulo 2.
fn parity(x: &Coordinates, m: usize) -> u32 {
    x[1..m].iter().sum::<u32>() % 2
}

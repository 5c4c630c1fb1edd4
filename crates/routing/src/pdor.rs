//! The strategy `pdor`: partial dimension-order routing on a mesh (a hypercube too) or torus (vlan-minimal-paths, Definitions 2.5, 2.7,
//! 3.5, 3.7).
//!
//! A row is the switches that differ only in coordinate 0. Rows have VLAN trees of their own, as under
//! the strategy `dor`, but for those that rest, about half of them ([`Grid::rests`]). A source in a row that rests
//! first sends one hop towards the destination, into a row that has such trees. If source and destination
//! are both in it, they use a tree that contains the lines of dimension 0 in all rows.

use tresse_base::id::{SwitchId, TreeId};
use tresse_topology::vlan::TreeSpec;
use tresse_topology::{Coordinates, Grid};

use super::lines;

/// The result of the strategy `pdor`: the VLAN tree that each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub struct Pdor {
    /// Without sizes of 1.
    grid: Grid,
    /// Tree of (row, ab), where that row keeps one: index 2 row + ab.
    of_row: Vec<Option<TreeId>>,
    /// Trees for pairs within one row, by ab.
    within: Vec<TreeId>,
}

impl Pdor {
    /// The trees and the assignment.
    pub fn new(whole: Grid) -> (Vec<TreeSpec>, Self) {
        let (grid, dims) = whole.without_ones();
        let m = grid.rank();
        let centers = lines::centers(&grid);
        // A tree of the grid with all its dimensions.
        let tree = |center: Coordinates, order: &mut dyn Iterator<Item = usize>| {
            let mut all: Coordinates = [0; Grid::MAX_DIMS];
            dims.iter().zip(center).for_each(|(dim, x)| all[*dim] = x);
            let ones = (0..whole.rank()).filter(|dim| !dims.contains(dim));
            let order = order.map(|dim| dims[dim]).chain(ones).collect();
            lines::tree(&whole, all, order)
        };
        let mut trees = Vec::new();
        let mut of_row = vec![None; 2 * grid.len() / grid.dims()[0] as usize];
        for (ab, &x0) in centers.iter().enumerate() {
            for mut center in lines::rows(&grid).filter(|row| !grid.rests(row)) {
                let row = lines::row(&grid, &center);
                of_row[2 * row + ab] = Some(trees.len().into());
                center[0] = x0;
                trees.push(tree(center, &mut (0..m)));
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
                trees.push(tree(center, &mut (0..m).rev()));
            }
        }
        (trees, Self { grid, of_row, within })
    }

    /// The tree from `s` to `d`: the procedures of sections 2.3, 2.4, 3.3 and 3.4.
    pub fn tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        let grid = &self.grid;
        let (mut x, y) = (grid.coordinates(s), grid.coordinates(d));
        let ab = lines::select_ab(grid, x[0], y[0]);
        if grid.rests(&x) {
            let Some(dim) = (1..grid.rank()).find(|&i| x[i] != y[i]) else {
                return self.within[ab];
            };
            x[dim] = grid.step(x[dim], dim, grid.goes_plus(x[dim], y[dim], dim));
        }
        self.of_row[2 * lines::row(grid, &x) + ab].expect("no row beside one that rests rests")
    }
}

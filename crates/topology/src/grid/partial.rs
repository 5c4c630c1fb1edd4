//! Which rows keep VLAN trees under partial dimension-order routing (the strategy `pdor`; vlan-minimal-paths, Definitions
//! 2.5, 2.7, 3.5, 3.7). A row is the switches that differ only in coordinate 0.
//!
//! A row rests, and has no trees of its own, if all rows beside it have some: the rows that rest are an independent set
//! of the grid of rows. On a mesh and where all sizes are even, the paper's own: every other row. The paper leaves odd
//! sizes open; with n the smallest odd size after the first, the rows of an n-cycle of which every other one rests but for
//! two neighbours, shifted by one, to and fro, along all other dimensions; along an odd one of size L >= n first n times in
//! the same direction, which is a whole turn. No independent set of a torus is larger.

use super::{Coordinates, Grid};

impl Grid {
    /// Does the row of the switch with the coordinates `x` rest?
    #[must_use]
    pub fn rests(&self, x: &Coordinates) -> bool {
        let others = x[1..].iter().zip(self.dims.get(1..).unwrap_or_default());
        if !self.is_torus() {
            return others.map(|(x, _)| x).sum::<u32>() % 2 == 0;
        }
        let Some(n) = self.smallest_odd() else {
            return others.map(|(x, _)| x).sum::<u32>() % 2 == 1;
        };
        let phase = |(x, size): (&u32, &u32)| match size % 2 {
            1 if *x < n => *x,
            1 => (*x - n) % 2,
            _ => *x % 2,
        };
        others.map(phase).sum::<u32>() % n % 2 == 1
    }

    /// The number of VLAN trees of partial dimension-order routing: floor(N^(M-1)/2) + 1 on a mesh, N^(M-1) + 2 on a
    /// torus of even sizes (theorems 2.2 and 3.2), 2 (R - R (n-1)/(2n)) + 2 where n is the smallest odd size after the first,
    /// with R the product of these. Sizes of 1 do not count, and where the first size is 2 there is one where others have two.
    /// `None` on a HyperX: all rows of a line are beside each other, so only one of them could rest.
    #[must_use]
    pub fn pdor_trees(&self) -> Option<u64> {
        if self.is_hyperx() {
            return None;
        }
        let (grid, _) = self.without_ones();
        let rows = grid.rows();
        Some(match (grid.is_torus(), grid.rank()) {
            (false, _) => rows / 2 + 1,
            (true, 1) => grid.cuts(),
            (true, _) => {
                let odd = grid.smallest_odd().map(u64::from);
                let rest = odd.map_or(rows / 2, |n| rows / n * (n - 1) / 2);
                grid.cuts() * (rows - rest + 1)
            }
        })
    }

    /// The same switches with the same numbers as a grid without the dimensions of one switch, and which ones it keeps; of a
    /// single switch the first.
    #[must_use]
    pub fn without_ones(&self) -> (Self, Vec<usize>) {
        let mut kept: Vec<usize> = (0..self.rank()).filter(|dim| self.dims[*dim] > 1).collect();
        if kept.is_empty() {
            kept.push(0);
        }
        let dims: Vec<u32> = kept.iter().map(|dim| self.dims[*dim]).collect();
        (Self::cabled(&dims, self.cabling), kept)
    }

    /// The smallest odd size after the first, but for sizes of 1.
    fn smallest_odd(&self) -> Option<u32> {
        self.dims[1..].iter().copied().filter(|n| n % 2 == 1 && *n > 1).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_base::id::SwitchId;

    /// All tori up to 7 in each of up to four dimensions: rows that rest have no such neighbour, and are as many as the formula
    /// says; of the paper's and of those computed elsewhere the numbers of trees.
    #[test]
    fn rows_that_rest_are_independent_and_counted() {
        let mut grids: Vec<Vec<u32>> = vec![vec![]];
        for rank in 1..=4_u32 {
            let sizes = if rank < 4 { 1..=7 } else { 2..=5 };
            let longer = |dims: &Vec<u32>| {
                let dims = dims.clone();
                sizes.clone().map(move |n| [&dims[..], &[n]].concat())
            };
            grids = grids.iter().flat_map(longer).collect();
            for dims in &grids {
                let (grid, _) = Grid::new(dims, true).without_ones();
                let first = grid.dims()[0] as usize;
                let rows: Vec<_> = (0..grid.len()).step_by(first).collect();
                let rests = |x: &Coordinates| grid.rests(x);
                let mut kept = 0;
                for row in rows {
                    let x = grid.coordinates(SwitchId(row as u32));
                    kept += u64::from(!rests(&x));
                    for dim in 1..grid.rank() {
                        let mut beside = x;
                        beside[dim] = grid.step(x[dim], dim, true);
                        assert!(!(rests(&x) && rests(&beside)), "{dims:?}: {x:?}");
                    }
                }
                if grid.rank() > 1 {
                    let cuts = if first > 2 { 2 } else { 1 };
                    assert_eq!(
                        Grid::new(dims, true).pdor_trees(),
                        Some(cuts * (kept + 1)),
                        "{dims:?}"
                    );
                }
            }
        }
        for (dims, trees) in [
            (&[4, 4][..], 6),
            (&[4, 4, 4], 18),
            (&[3, 3, 3], 14),
            (&[5, 5, 5], 32),
            (&[4, 3, 3], 14),
            (&[3, 3, 5], 22),
            (&[3, 5, 3], 22),
            (&[4, 5, 3], 22),
            (&[5, 3, 4], 18),
            (&[3, 5], 8),
            (&[7, 5], 8),
            (&[3, 3, 3, 3], 38),
            (&[5, 7, 5], 44),
            (&[1, 4, 1, 4], 6),
            (&[5, 1], 2),
        ] {
            assert_eq!(Grid::new(dims, true).pdor_trees(), Some(trees), "{dims:?}");
        }
    }
}

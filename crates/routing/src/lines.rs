//! What the strategies `dor` and `pdor` share: the names of their VL(...) trees, and the choice of
//! the two cuts a and b of a ring in dimension 0 (vlan-minimal-paths, Definitions 2.3, 3.3,
//! sections 2.4, 3.2, 3.4).

use tresse_topology::vlan::{Role, TreeLinks, TreeSpec};
use tresse_topology::{Coordinates, Grid};

/// a = floor((N-1)/2): the centre of lines of dimension 0 that are cut at the wrap-around link.
pub fn a_of(n: u32) -> u32 {
    (n - 1) / 2
}

/// b = N - 1: the centre of lines of dimension 0 that contain the wrap-around link.
pub fn b_of(n: u32) -> u32 {
    n - 1
}

/// Returns the centres that trees need in dimension 0: a and b on a torus; only one on a mesh, and
/// in rings of at most two switches, which have no link to cut.
pub fn centers(grid: &Grid) -> Vec<u32> {
    let n = grid.dims()[0];
    match (grid.is_torus(), n) {
        (false, _) => vec![0],
        (true, 1 | 2) => vec![a_of(n)],
        (true, _) => vec![a_of(n), b_of(n)],
    }
}

/// The function `select_ab` of section 3.2: returns which centre the pair (s, d) uses, as an index
/// into
/// [`centers`].
pub fn select_ab(grid: &Grid, s: u32, d: u32) -> usize {
    let n = grid.dims()[0];
    if !grid.is_torus() || n <= 2 {
        return 0;
    }
    usize::from((s < n / 2) != grid.goes_plus(s, d, 0))
}

/// Returns the tree VL(center | order), with the paper's name without spaces.
pub fn tree(grid: &Grid, center: Coordinates, order: Vec<usize>) -> TreeSpec {
    let axis = order[0];
    let mut name = String::from("VL(");
    for (dim, x) in center.iter().enumerate().take(grid.rank()) {
        if dim > 0 {
            name.push(',');
        }
        match (dim == axis, grid.is_torus()) {
            (true, true) => name.push_str(&format!("-:{x}")),
            (true, false) => name.push('-'),
            (false, _) => name.push_str(&x.to_string()),
        }
    }
    if grid.rank() > 2 {
        let order: Vec<_> = order.iter().map(ToString::to_string).collect();
        name.push_str(&format!("|({})", order.join(",")));
    }
    name.push(')');
    TreeSpec { name, role: Role::Primary, links: TreeLinks::Lines { center, order } }
}

/// Returns the rows of a grid: every vertex of dimensions 1..M-1 in index order, with coordinate 0
/// set to 0.
pub fn rows(grid: &Grid) -> impl Iterator<Item = Coordinates> + '_ {
    let n0 = grid.dims()[0] as usize;
    (0..grid.len() / n0).map(move |row| grid.coordinates((row * n0).into()))
}

/// Returns the index of a switch's row among [`rows`].
pub fn row(grid: &Grid, x: &Coordinates) -> usize {
    grid.switch(x).index() / grid.dims()[0] as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `select_ab` against the text of section 3.2, all sizes up to 9.
    #[test]
    fn select_ab_is_the_papers() {
        for n in 3..10 {
            let grid = Grid::new(&[n], true);
            for s in 0..n {
                for d in 0..n {
                    let (plus, minus) = ((d + n - s) % n, (s + n - d) % n);
                    let ab = match (plus <= minus, s < n / 2) {
                        (true, true) | (false, false) => a_of(n),
                        (true, false) | (false, true) => b_of(n),
                    };
                    assert_eq!(centers(&grid)[select_ab(&grid, s, d)], ab, "n {n} s {s} d {d}");
                }
            }
        }
    }
}

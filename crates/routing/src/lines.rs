//! What the strategies `dor` and `pdor` share: the VLAN trees of a mesh, torus or HyperX, which the paper calls VL(...),
//! and the choice between two trees in each row of a torus. Such a tree cuts the ring of dimension 0 at one link: it is
//! centred at a and cut at the wrap-around link, or centred at b and cut on the opposite side (vlan-minimal-paths,
//! Definitions 2.3, 3.3, sections 2.4, 3.2, 3.4). On a HyperX, whose lines are cliques, stars take the place of the
//! paper's lines.

use tresse_base::id::SwitchId;
use tresse_topology::vlan::{Role, TreeLinks, TreeSpec};
use tresse_topology::{Coordinates, Grid};

/// Returns a = floor((n-1)/2), the coordinate in which a ring of `n` switches is centred if it is cut at its
/// wrap-around link, the one between switch n-1 and switch 0.
pub fn a_of(n: u32) -> u32 {
    (n - 1) / 2
}

/// Returns b = n-1, the coordinate in which a ring of `n` switches is centred if it is cut opposite its wrap-around
/// link, the one between switch n-1 and switch 0 (so the link is at the centre).
pub fn b_of(n: u32) -> u32 {
    n - 1
}

/// Returns the coordinates in dimension 0 in which VLAN trees must be centred: a and b ([`a_of`], [`b_of`]) on a
/// torus; only one on a mesh, and in rings of at most two switches, which have no link to cut. On a HyperX all but the
/// last: of any two switches of a line one is then the centre of a star, as a path of one cable needs.
pub fn centers(grid: &Grid) -> Vec<u32> {
    let n = grid.dims()[0];
    if grid.is_hyperx() {
        return (0..(n - 1).max(1)).collect();
    }
    match (grid.is_torus(), n) {
        (false, _) => vec![0],
        (true, 1 | 2) => vec![a_of(n)],
        (true, _) => vec![a_of(n), b_of(n)],
    }
}

/// Returns the centre of the VLAN tree for frames from coordinate `s` to coordinate `d` of dimension 0, as an index
/// into [`centers`]. This is the function `select_ab` of vlan-minimal-paths, section 3.2. On a HyperX the centre is
/// the source if it is one, else the destination.
pub fn select_ab(grid: &Grid, s: u32, d: u32) -> usize {
    let n = grid.dims()[0];
    if grid.is_hyperx() {
        let last = n.saturating_sub(2);
        return if s <= last { s } else { d.min(last) } as usize;
    }
    if !grid.is_torus() || n <= 2 {
        return 0;
    }
    usize::from((s < n / 2) != grid.goes_plus(s, d, 0))
}

/// Returns the VLAN tree that vlan-minimal-paths calls VL(center | order) (see [`TreeLinks::Lines`]). Its name is the
/// paper's, without spaces.
pub fn tree(grid: &Grid, center: Coordinates, order: Vec<usize>) -> TreeSpec {
    let axis = order[0];
    let mut name = String::from("VL(");
    for (dim, x) in center.iter().enumerate().take(grid.rank()) {
        if dim > 0 {
            name.push(',');
        }
        match (dim == axis, grid.is_torus() || grid.is_hyperx()) {
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
    TreeSpec {
        name,
        role: Role::Primary,
        links: TreeLinks::Lines { center, order },
        at: SwitchId(0),
    }
}

/// Returns the rows of a grid in index order, each by the coordinates of its first switch, the one with coordinate 0
/// equal to 0. A row is the switches that differ only in coordinate 0.
pub fn rows(grid: &Grid) -> impl Iterator<Item = Coordinates> + '_ {
    let n0 = grid.dims()[0] as usize;
    (0..grid.len() / n0).map(move |row| grid.coordinates((row * n0).into()))
}

/// Returns the index, in the order of [`rows`], of the row that contains the switch with the coordinates `x`.
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

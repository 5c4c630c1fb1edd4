//! Coordinates and distances on an M-dimensional mesh or torus of switches
//! (vlan-minimal-paths, Definitions 2.1, 3.1 and sections 2.4, 3.4), or on a HyperX, where every line of a mesh is a clique.

mod partial;

use serde::Serialize;
use tresse_base::id::SwitchId;

use crate::cluster::TopologyShape;

/// An M-dimensional mesh, torus or HyperX of switches, 1 <= M <= 16, with the sizes N0, N1, ... per dimension. Switch k has the
/// coordinates (x0, x1, ...) with k = x0 + N0 x1 + N0 N1 x2 + ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grid {
    dims: Vec<u32>,
    strides: Vec<u32>,
    cabling: Cabling,
}

/// How the switches of each line, which differ in one coordinate only, are cabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Cabling {
    /// Each to the next: a mesh.
    Chain,
    /// Each to the next, and the last to the first: a torus. Two switches have one cable.
    Ring,
    /// Each to every other: a HyperX.
    Clique,
}

/// The coordinates of one switch of a [`Grid`], one per dimension; the entries beyond the grid's dimensions are 0.
pub type Coordinates = [u32; Grid::MAX_DIMS];

impl Grid {
    /// The largest number of dimensions of a grid.
    pub const MAX_DIMS: usize = 16;

    /// Builds a mesh (`torus` is false) or a torus of these sizes, each at least 1.
    #[must_use]
    pub fn new(dims: &[u32], torus: bool) -> Self {
        Self::cabled(dims, if torus { Cabling::Ring } else { Cabling::Chain })
    }

    /// Builds a HyperX of these sizes, each at least 1.
    #[must_use]
    pub fn hyperx(dims: &[u32]) -> Self {
        Self::cabled(dims, Cabling::Clique)
    }

    fn cabled(dims: &[u32], cabling: Cabling) -> Self {
        assert!((1..=Self::MAX_DIMS).contains(&dims.len()), "a grid has 1 to 16 dimensions");
        Self { dims: dims.to_vec(), strides: strides(dims), cabling }
    }

    /// Returns the grid of a mesh, torus, HyperX or hypercube of switches; `None` for other kinds. A hypercube is the mesh
    /// of two switches in every dimension.
    #[must_use]
    pub fn of(kind: &TopologyShape) -> Option<Self> {
        match kind {
            TopologyShape::Mesh { dims } => Some(Self::new(dims, false)),
            TopologyShape::Torus { dims } => Some(Self::new(dims, true)),
            TopologyShape::Hyperx { dims } => Some(Self::hyperx(dims)),
            TopologyShape::Hypercube { dimensions } => {
                Some(Self::new(&vec![2; *dimensions as usize], false))
            }
            _ => None,
        }
    }

    /// Returns the number of dimensions M.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Returns the sizes N0, N1, ...
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Whether the grid is a torus, whose dimensions are closed to rings.
    #[must_use]
    pub const fn is_torus(&self) -> bool {
        matches!(self.cabling, Cabling::Ring)
    }

    /// Whether the grid is a HyperX, whose lines are cliques.
    #[must_use]
    pub const fn is_hyperx(&self) -> bool {
        matches!(self.cabling, Cabling::Clique)
    }

    /// Returns the number of switches.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dims.iter().map(|n| *n as usize).product()
    }

    /// Always false: every size is at least 1.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the coordinate of `switch` in dimension `dim`.
    #[must_use]
    pub fn coordinate(&self, switch: SwitchId, dim: usize) -> u32 {
        switch.0 / self.strides[dim] % self.dims[dim]
    }

    /// Returns all coordinates of `switch`.
    #[must_use]
    pub fn coordinates(&self, switch: SwitchId) -> Coordinates {
        let mut x = [0; Self::MAX_DIMS];
        let mut rest = switch.0;
        for (value, n) in x.iter_mut().zip(&self.dims) {
            *value = rest % n;
            rest /= n;
        }
        x
    }

    /// Returns the switch at the coordinates `x`.
    #[must_use]
    pub fn switch(&self, x: &Coordinates) -> SwitchId {
        SwitchId(x.iter().zip(&self.strides).map(|(x, s)| x * s).sum())
    }

    /// Returns the distance from `s` to `d` in the + direction: d+(s, d) = (d - s + N) mod N (section 3.1).
    #[must_use]
    pub fn plus(&self, s: u32, d: u32, dim: usize) -> u32 {
        let n = self.dims[dim];
        (d + n - s) % n
    }

    /// Returns the distance from `s` to `d` in the - direction: d-(s, d) = (s - d + N) mod N (section 3.1).
    #[must_use]
    pub fn minus(&self, s: u32, d: u32, dim: usize) -> u32 {
        self.plus(d, s, dim)
    }

    /// Whether a minimal step in `dim` from `s` towards `d` goes in the + direction. Ties go to +.
    #[must_use]
    pub fn goes_plus(&self, s: u32, d: u32, dim: usize) -> bool {
        if self.is_torus() { self.plus(s, d, dim) <= self.minus(s, d, dim) } else { d > s }
    }

    /// Returns the coordinate one step from `x` in `dim`. The caller must not step off a mesh.
    #[must_use]
    pub fn step(&self, x: u32, dim: usize, plus: bool) -> u32 {
        let n = self.dims[dim];
        if plus { (x + 1) % n } else { (x + n - 1) % n }
    }

    /// Returns the smallest number of links between two switches.
    #[must_use]
    pub fn distance(&self, a: SwitchId, b: SwitchId) -> u32 {
        (0..self.rank())
            .map(|dim| {
                let (s, d) = (self.coordinate(a, dim), self.coordinate(b, dim));
                match self.cabling {
                    Cabling::Chain => s.abs_diff(d),
                    Cabling::Ring => self.plus(s, d, dim).min(self.minus(s, d, dim)),
                    Cabling::Clique => u32::from(s != d),
                }
            })
            .sum()
    }

    /// Returns the number of VLAN trees of dimension-order routing: N^(M-1) on a mesh, 2 N^(M-1) on a torus
    /// (vlan-minimal-paths, theorems 2.1 and 3.1; with unequal sizes the product over dimensions 1 to
    /// M-1), (N-1) N^(M-1) on a HyperX.
    #[must_use]
    pub fn dor_trees(&self) -> u64 {
        self.cuts() * self.rows()
    }

    /// Returns the number of lines of switches along dimension 0.
    fn rows(&self) -> u64 {
        self.dims[1..].iter().map(|n| u64::from(*n)).product()
    }

    /// Returns how many trees there are for each line of dimension 0: one for each cut a and b of a torus, which coincide
    /// if there is no link to cut; one for each switch but the last of a clique; else one.
    fn cuts(&self) -> u64 {
        match self.cabling {
            Cabling::Ring if self.dims[0] > 2 => 2,
            Cabling::Clique => u64::from(self.dims[0] - 1).max(1),
            _ => 1,
        }
    }
}

/// How far the numbers of neighbours in each dimension are apart: 1, N0, N0 N1, ...
pub(crate) fn strides(dims: &[u32]) -> Vec<u32> {
    let next = |stride: &mut u32, n: &u32| Some(std::mem::replace(stride, *stride * n));
    dims.iter().scan(1, next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_round_trip() {
        let grid = Grid::new(&[4, 3, 2], true);
        for k in 0..24 {
            let x = grid.coordinates(SwitchId(k));
            assert_eq!(grid.switch(&x), SwitchId(k));
            assert_eq!(x[1], grid.coordinate(SwitchId(k), 1));
        }
    }

    /// Section 3.1: distances from (0,3) to (3,1) on the 4x4 torus.
    #[test]
    fn distances_of_the_paper() {
        let grid = Grid::new(&[4, 4], true);
        assert_eq!((grid.plus(0, 3, 0), grid.minus(0, 3, 0)), (3, 1));
        assert_eq!((grid.plus(3, 1, 1), grid.minus(3, 1, 1)), (2, 2));
    }
}

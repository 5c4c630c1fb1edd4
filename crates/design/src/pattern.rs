//! Communication patterns: which pairs of PCs talk, as the specification's `[[pattern]]` names them.
//!
//! On a grid with the sizes `d0`, `d1`, ... the PC at coordinates `(x0, x1, x2, ...)` has the
//! number `x0 + d0 x1 + d0 d1 x2 + ...`, as on generated fabrics. The kinds are those that the
//! cluster KASY0 was wired for (aggregate.org/KASY0).

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a communication pattern, such as ring or hypercube: it determines which pairs of PCs
/// communicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PatternKind {
    /// Pairs of a PC and the next one, and of the last and the first.
    Ring,
    /// Pairs of PCs in one row or one column of a two-dimensional grid.
    RowsAndColumns,
    /// Pairs of PCs that differ in one coordinate of a grid of any number of dimensions.
    AxisLines,
    /// Pairs of PCs whose numbers differ in one bit.
    Hypercube,
    /// Pairs of PCs of which one number has the bits of the other in reverse order.
    BitReversal,
    /// The pairs that the specification lists.
    Pairs,
}

/// One communication pattern of a specification: its kind, the sizes of its grid of PCs or the
/// listed pairs of PCs, and the weight of each link (shared switch) of these pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// The kind of pattern.
    pub kind: PatternKind,
    /// Sizes, dimension 0 fastest; the number of PCs for ring, hypercube and bit-reversal.
    #[serde(default)]
    pub dims: Vec<u32>,
    /// The pairs of kind `pairs`, PCs from 0.
    #[serde(default)]
    pub pairs: Vec<[u32; 2]>,
    /// Weight of a link between two PCs of a pair.
    #[serde(default = "one")]
    pub weight: f64,
}

/// Why a communication pattern is invalid for the number of PCs of the design.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The number of places of the grid is not the number of PCs.
    #[error("dims = {dims:?} make {places} places for {pcs} PCs: the product must be {pcs}")]
    Places {
        /// As given.
        dims: Vec<u32>,
        /// Their product.
        places: u64,
        /// Number of PCs.
        pcs: usize,
    },
    /// The kind needs another number of dimensions.
    #[error("{kind} takes {expected}, found dims = {dims:?}")]
    Dimensions {
        /// Name of the kind.
        kind: &'static str,
        /// In words.
        expected: &'static str,
        /// As given.
        dims: Vec<u32>,
    },
    /// The kind needs a number of PCs that is a power of two.
    #[error("{kind} needs a power of two of PCs, found {pcs}")]
    PowerOfTwo {
        /// Name of the kind.
        kind: &'static str,
        /// Number of PCs.
        pcs: usize,
    },
    /// A pair names a PC that does not exist, or one PC twice.
    #[error("pair [{a}, {b}]: expected two different PCs from 0 to {last}")]
    Pair {
        /// First PC.
        a: u32,
        /// Second PC.
        b: u32,
        /// The highest PC.
        last: usize,
    },
    /// The weight is too large.
    #[error("weight = {weight}: expected a number above 0 and at most {}", MAX_WEIGHT)]
    Weight {
        /// As given.
        weight: String,
    },
}

impl Pattern {
    /// Returns the pairs as `(lower, higher)`, or why the pattern does not fit this number of PCs.
    pub fn pairs(&self, pcs: usize) -> Result<BTreeSet<(u32, u32)>, PatternError> {
        if !(self.weight > 0.0 && self.weight <= MAX_WEIGHT) {
            return Err(PatternError::Weight { weight: self.weight.to_string() });
        }
        let kind = self.kind.name();
        let number = pcs as u32;
        let places: u64 = self.dims.iter().map(|d| u64::from(*d)).product();
        let grid = self.kind != PatternKind::Pairs;
        if grid && (self.dims.is_empty() || places != pcs as u64) {
            return Err(PatternError::Places { dims: self.dims.clone(), places, pcs });
        }
        let expected = match (self.kind, self.dims.len()) {
            (PatternKind::RowsAndColumns, 2)
            | (PatternKind::AxisLines, _)
            | (PatternKind::Pairs, 0) => None,
            (PatternKind::RowsAndColumns, _) => Some("two dims"),
            (PatternKind::Pairs, _) => Some("`pairs` and no dims"),
            (_, 1) => None,
            _ => Some("one of the dims: the number of PCs"),
        };
        if let Some(expected) = expected {
            return Err(PatternError::Dimensions { kind, expected, dims: self.dims.clone() });
        }
        let bits = number.trailing_zeros();
        if matches!(self.kind, PatternKind::Hypercube | PatternKind::BitReversal)
            && !pcs.is_power_of_two()
        {
            return Err(PatternError::PowerOfTwo { kind, pcs });
        }
        let mut pairs = BTreeSet::new();
        let mut add = |a: u32, b: u32| {
            if a != b {
                pairs.insert((a.min(b), a.max(b)));
            }
        };
        match self.kind {
            PatternKind::Ring => (0..number).for_each(|a| add(a, (a + 1) % number)),
            PatternKind::RowsAndColumns | PatternKind::AxisLines => lines(&self.dims, number, add),
            PatternKind::Hypercube => {
                for a in 0..number {
                    (0..bits).for_each(|bit| add(a, a ^ (1 << bit)));
                }
            }
            PatternKind::BitReversal if bits > 0 => {
                (0..number).for_each(|a| add(a, a.reverse_bits() >> (32 - bits)));
            }
            PatternKind::BitReversal => {}
            PatternKind::Pairs => {
                for &[a, b] in &self.pairs {
                    if a == b || a.max(b) >= number {
                        return Err(PatternError::Pair { a, b, last: pcs.saturating_sub(1) });
                    }
                    add(a, b);
                }
            }
        }
        Ok(pairs)
    }
}

/// Returns all pairs that differ in one coordinate.
fn lines(dims: &[u32], number: u32, mut add: impl FnMut(u32, u32)) {
    let mut stride = 1;
    for &size in dims {
        for a in 0..number {
            let x = a / stride % size;
            (x + 1..size).for_each(|other| add(a, a + (other - x) * stride));
        }
        stride *= size;
    }
}

impl PatternKind {
    /// Returns the word for the kind in the specification.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::RowsAndColumns => "rows-and-columns",
            Self::AxisLines => "axis-lines",
            Self::Hypercube => "hypercube",
            Self::BitReversal => "bit-reversal",
            Self::Pairs => "pairs",
        }
    }
}

const fn one() -> f64 {
    1.0
}

const MAX_WEIGHT: f64 = 1e6;

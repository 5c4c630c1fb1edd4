//! The wiring problem: what a wiring must satisfy, and what makes one wiring better than another.
//!
//! Statement (flat-neighborhood-network-compiler, section 2): PCs `i` with `n_i` NICs, switches `s` with
//! `p_s` usable ports; a PC has at most one NIC on a switch; `L_ij` is the number of switches that
//! `i` and `j` share. Every required pair needs `L_ij >= 1`, every pair of a pattern
//! `L_ij >= minimum_pattern_links`; among those wirings one with a large weighted sum of `L_ij` is sought.

use std::collections::BTreeMap;

use super::pattern::Pattern;

/// Which pairs of PCs must share a switch: all, or those of the communication patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Required {
    /// All pairs: a universal flat neighbourhood.
    #[default]
    All,
    /// The pairs of the patterns: a sparse flat neighbourhood (Mattox, Dietz and Dieter 2005).
    Patterns,
}

/// What the search for a wiring maximises once the wiring meets all requirements: links (shared
/// switches) of the pairs in the patterns, of all pairs, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Maximize {
    /// Nothing: the search ends with the first wiring that meets all requirements.
    None,
    /// Weighted links between the pairs of the patterns.
    #[default]
    Patterns,
    /// Links between all pairs.
    All,
}

/// A wiring problem that has been checked: the NICs of each PC, the usable ports of each switch,
/// the pairs of PCs that must share a switch, and what is maximised. PCs and switches are numbered
/// from 0 in the order of the specification.
#[derive(Debug, Clone)]
pub struct WiringProblem {
    /// Number of NICs of every PC.
    pub nics: Vec<u32>,
    /// Number of usable ports of every switch.
    pub ports: Vec<u32>,
    /// The pairs that must share a switch.
    pub required: Required,
    /// Number of links that every pair of a pattern needs.
    pub minimum_pattern_links: u32,
    /// What the search maximises.
    pub maximize: Maximize,
    /// Pairs of patterns, `(lower, higher)`, with the greatest weight that a pattern gives them.
    pub weights: BTreeMap<(u32, u32), f64>,
    /// The patterns as given; the bounds use them.
    pub patterns: Vec<Pattern>,
}

impl WiringProblem {
    /// Returns the number of PCs.
    #[must_use]
    pub const fn pcs(&self) -> usize {
        self.nics.len()
    }

    /// Whether a pair must share a switch.
    #[must_use]
    pub fn requires(&self, a: u32, b: u32) -> bool {
        match self.required {
            Required::All => a != b,
            Required::Patterns => self.weights.contains_key(&(a.min(b), a.max(b))),
        }
    }

    /// Returns how many other PCs each PC must share a switch with.
    #[must_use]
    pub fn degrees(&self) -> Vec<u32> {
        if self.required == Required::All {
            return vec![self.pcs().saturating_sub(1) as u32; self.pcs()];
        }
        let mut degrees = vec![0; self.pcs()];
        for (a, b) in self.weights.keys() {
            degrees[*a as usize] += 1;
            degrees[*b as usize] += 1;
        }
        degrees
    }
}

//! The answer of `tresse design`: a contract that other programs rely on.

use schemars::JsonSchema;
use serde::Serialize;
use tresse_base::wiring::Wiring;

use super::bound;
use super::designer::{Designer, pattern_bound};
use super::placement::Placement;
use super::problem::{Maximize, Problem};

/// What was found, with what is known about it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Of this contract.
    pub format: u32,
    /// True with a wiring that satisfies, false only with a proof, null: not found.
    pub feasible: Option<bool>,
    /// PCs on every switch, ascending, both from 0 and in the order of the specification; empty
    /// where a switch is not used.
    pub switches: Vec<Vec<u32>>,
    /// Required pairs without a switch in common.
    pub uncovered: u64,
    /// Switches that a pair has in common, on average over all pairs.
    pub mean_links_per_pair: f64,
    /// The same over the pairs of the patterns.
    pub pattern: PatternLinks,
    /// What no wiring exceeds.
    pub bound: Bound,
    /// Why there is no wiring, where that is known.
    pub proof: Option<String>,
    /// Time taken.
    pub seconds: f64,
    /// Where chance began.
    pub seed: u64,
    /// Which rack PCs and switches stand in, where the specification has `placement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
}

/// Links of the pairs of patterns; a pair in several of them counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct PatternLinks {
    /// Number of pairs.
    pub pairs: u64,
    /// Sum of their links.
    pub total: u64,
    /// Fewest links of one of them.
    pub min: u64,
}

/// A bound and its value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// `mean_links` (section 4.1), `lindsey` or `degree` (weighted links of patterns), or the bound
    /// that a problem without a wiring violates.
    pub name: String,
    /// Its value; null for a violated one, whose proof says it in words.
    pub value: Option<f64>,
}

impl Answer {
    /// The answer of a design as far as it is.
    #[must_use]
    pub fn of(designer: &Designer, seconds: f64, seed: u64) -> Self {
        let problem = designer.problem();
        let wiring = designer.wiring().unwrap_or_default();
        let (uncovered, mean, pattern) = judge(problem, &wiring);
        let lacking = pattern.pairs > 0 && pattern.min < u64::from(needed(problem));
        let (feasible, bound, proof) = if let Some(violation) = designer.impossible() {
            let bound = Bound { name: violation.name.into(), value: None };
            (Some(false), bound, Some(violation.proof.clone()))
        } else {
            let bound = if problem.maximize == Maximize::Patterns {
                let (name, value) = pattern_bound(problem);
                Bound { name: name.into(), value: Some(value) }
            } else {
                let pairs = (problem.pcs() * (problem.pcs() - 1) / 2) as f64;
                let value = Some(bound::links(problem) as f64 / pairs);
                Bound { name: "mean_links".into(), value }
            };
            ((uncovered == 0 && !lacking).then_some(true), bound, None)
        };
        Self {
            format: 1,
            feasible,
            switches: wiring.switches,
            uncovered,
            mean_links_per_pair: mean,
            pattern,
            bound,
            proof,
            seconds,
            seed,
            placement: None,
        }
    }
}

const fn needed(problem: &Problem) -> u32 {
    // The first link of a pair is needed where it is required at all; that is counted apart.
    if problem.minimum_pattern_links > 1 { problem.minimum_pattern_links } else { 0 }
}

/// Uncovered pairs, links per pair over all and over the patterns.
#[must_use]
pub fn judge(problem: &Problem, wiring: &Wiring) -> (u64, f64, PatternLinks) {
    let pcs = problem.pcs();
    let links = wiring.links(pcs);
    let (mut uncovered, mut sum) = (0, 0u64);
    for a in 0..pcs {
        for b in 0..a {
            let shared = links[a * pcs + b];
            sum += u64::from(shared);
            if shared == 0 && problem.requires(a as u32, b as u32) {
                uncovered += 1;
            }
        }
    }
    let mut pattern = PatternLinks { pairs: problem.weights.len() as u64, total: 0, min: 0 };
    let of = |(a, b): &(u32, u32)| u64::from(links[*a as usize * pcs + *b as usize]);
    pattern.total = problem.weights.keys().map(of).sum();
    pattern.min = problem.weights.keys().map(of).min().unwrap_or(0);
    let pairs = (pcs * pcs.saturating_sub(1) / 2).max(1);
    (uncovered, sum as f64 / pairs as f64, pattern)
}

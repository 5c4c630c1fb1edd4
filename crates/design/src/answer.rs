//! The JSON output of `tresse design`, which other programs read.

use schemars::JsonSchema;
use serde::Serialize;
use tresse_base::wiring::Wiring;

use super::bound;
use super::designer::{Designer, pattern_bound};
use super::placement::Placement;
use super::problem::{Maximize, WiringProblem};

/// The result of a design, printed as JSON by `tresse design`: the best wiring found, whether it
/// meets the specification, how well it connects the PCs, and an upper bound to compare with.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// Version of this contract.
    pub format: u32,
    /// True if a wiring was found that satisfies the specification, false if none can exist (with a proof), null
    /// if none was found.
    pub feasible: Option<bool>,
    /// The PCs on every switch, ascending. PCs and switches count from 0 in the order of the specification. An
    /// unused switch has an empty list.
    pub switches: Vec<Vec<u32>>,
    /// Number of required pairs that share no switch.
    pub uncovered: u64,
    /// Average number of switches that a pair shares, over all pairs.
    pub mean_links_per_pair: f64,
    /// Links of the pairs of the patterns.
    pub pattern: PatternLinks,
    /// Upper bounds that no wiring exceeds.
    pub bound: Bound,
    /// Why no wiring can exist, if that is proved.
    pub proof: Option<String>,
    /// Time that the design took.
    pub seconds: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The rack of each PC and switch, if the specification has `placement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
}

/// The number of pairs of PCs in the communication patterns, and how many links (shared switches)
/// these pairs have. A pair in several patterns counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct PatternLinks {
    /// Number of pairs.
    pub pairs: u64,
    /// Sum of their links.
    pub total: u64,
    /// Smallest number of links of one pair.
    pub min: u64,
}

/// An upper bound that no wiring of these PCs and switches can exceed: on the mean number of links
/// (shared switches) per pair of PCs, or on the weighted links of the pairs in the patterns. If a
/// bound proves that no wiring can exist, only its name is given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// The name: `mean_links` (section 4.1), `lindsey` or `degree` (weighted links of patterns), or the bound
    /// that rules out every wiring.
    pub name: String,
    /// The value; null for a violated bound, which the proof explains in words.
    pub value: Option<f64>,
}

impl Answer {
    /// Builds the answer from the present state of a design.
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

const fn needed(problem: &WiringProblem) -> u32 {
    // The first link of a required pair is counted separately, because it is needed in any case.
    if problem.minimum_pattern_links > 1 { problem.minimum_pattern_links } else { 0 }
}

/// Computes how well a wiring solves a problem. Returns the number of pairs of PCs that must share
/// a switch and do not, the mean number of links (shared switches) per pair over all pairs, and the
/// links of the pairs in the communication patterns.
#[must_use]
pub fn judge(problem: &WiringProblem, wiring: &Wiring) -> (u64, f64, PatternLinks) {
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

//! Runs a whole design step by step: first the bounds, then constructions that need no search, then
//! the search.
//!
//! Several searches run in parallel; each restarts after its own number of moves. From time to time
//! the worst search continues from a crossover of the best wirings of the two best searches. Half
//! of the searches start from the wiring of a construction or, without one, from that of a smaller
//! problem, in which the numbers of PCs and ports are divided by one factor
//! (flat-neighborhood-network-compiler, section 2.1).

use rayon::prelude::*;
use tresse_base::random::Random;
use tresse_base::wiring::Wiring;

use super::bound::{self, Violation};
use super::construct::construct;
use super::fill::fill;
use super::pattern::PatternKind;
use super::problem::{Maximize, Required, WiringProblem};
use super::search::{MOST_PCS, Progress, TooMany, WiringSearch, cross, lowest};

/// A design in progress: the caller runs it step by step, and can ask for the best wiring so far at
/// any time.
#[derive(Debug)]
pub struct Designer {
    problem: WiringProblem,
    walks: Vec<WiringSearch>,
    last: Vec<Progress>,
    random: Random,
    steps: u64,
    outcome: Option<Outcome>,
}

/// Why an existing wiring cannot be judged: its table has too few or too many PCs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unjudged {
    /// Fewer than two PCs: there are no pairs.
    #[error("{pcs} PCs in the table: expected at least two")]
    TooFew {
        /// Number of PCs.
        pcs: usize,
    },
    /// More PCs than a search supports.
    #[error(transparent)]
    TooMany(#[from] TooMany),
}

/// What bounds and constructions establish before any search.
#[derive(Debug, Clone)]
enum Outcome {
    Impossible(Violation),
    Done(Wiring),
}

impl Designer {
    /// Starts a design. Bounds and constructions are tried here, in well under a second.
    pub fn new(problem: WiringProblem, seed: u64) -> Result<Self, TooMany> {
        let mut random = Random::new(seed);
        let (mut walks, mut outcome) = (Vec::new(), None);
        if let Some(violation) = bound::violated(&problem) {
            outcome = Some(Outcome::Impossible(violation));
        } else {
            let made = construct(&problem).map(|(wiring, _)| wiring);
            match made {
                Some(mut wiring) if problem.maximize == Maximize::None => {
                    fill(&mut wiring, &problem);
                    outcome = Some(Outcome::Done(wiring));
                }
                made => {
                    let mut from = made.or_else(|| scaled(&problem, &mut random));
                    if let Some(from) = &mut from {
                        fill(from, &problem);
                    }
                    let enough = enough(&problem);
                    for walk in 0..WALKS {
                        let lowest = || lowest(&problem);
                        // Half of the searches start from the paper's starting wiring.
                        let from = from.clone().filter(|_| walk % 2 == 0).unwrap_or_else(lowest);
                        let length = RUN << walk;
                        let seed = random.number();
                        walks.push(WiringSearch::new(&problem, &from, seed, length, enough)?);
                    }
                }
            }
        }
        let nothing =
            Progress { uncovered: u32::MAX, lacking: 0, links: 0.0, moves: 0, done: false };
        Ok(Self { problem, last: vec![nothing; walks.len()], walks, random, steps: 0, outcome })
    }

    /// Judges an existing wiring as a design without search. Every PC has the NICs, and every switch the ports,
    /// that the wiring uses.
    ///
    /// # Errors
    /// Fewer than two PCs, or more than a search supports.
    pub fn judged(wiring: Wiring) -> Result<Self, Unjudged> {
        let pcs = wiring.pcs();
        match pcs {
            0 | 1 => return Err(Unjudged::TooFew { pcs }),
            _ if pcs > MOST_PCS => return Err(TooMany { pcs }.into()),
            _ => {}
        }
        let problem = WiringProblem {
            nics: wiring.rows(pcs).iter().map(|row| row.len() as u32).collect(),
            ports: wiring.switches.iter().map(|members| members.len() as u32).collect(),
            required: Required::All,
            minimum_pattern_links: 1,
            maximize: Maximize::None,
            weights: Default::default(),
            patterns: Vec::new(),
        };
        let (walks, last, random) = (Vec::new(), Vec::new(), Random::new(0));
        Ok(Self { problem, walks, last, random, steps: 0, outcome: Some(Outcome::Done(wiring)) })
    }

    /// Whether the design is finished.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.outcome.is_some() || self.last.iter().any(|progress| progress.done)
    }

    /// Lets every walk evaluate `moves` moves. Returns the progress of the best walk, with the moves of all walks.
    pub fn step(&mut self, moves: u64) -> Progress {
        let steps: Vec<Progress> = self.walks.par_iter_mut().map(|walk| walk.step(moves)).collect();
        self.last = steps;
        self.steps += 1;
        if self.walks.len() > 2 && self.steps.is_multiple_of(CROSS_EVERY) && !self.is_done() {
            let order = self.order();
            let (best, second) = (self.walks[order[0]].best(), self.walks[order[1]].best());
            let child = cross(&self.problem, &best, &second, &mut self.random);
            self.walks[order[order.len() - 1]].restart(child, RUN);
        }
        self.progress()
    }

    /// Returns the walks, the best first.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.walks.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.last[*a], &self.last[*b]);
            let missing = |p: &Progress| p.uncovered.saturating_add(p.lacking);
            missing(a).cmp(&missing(b)).then(b.links.total_cmp(&a.links))
        });
        order
    }

    /// Returns the progress of the best walk so far.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let moves = self.last.iter().map(|p| p.moves).sum();
        let done = self.is_done();
        let nothing = Progress { uncovered: 0, lacking: 0, links: 0.0, moves: 0, done };
        let best = self.order().first().map_or(nothing, |best| self.last[*best]);
        Progress { moves, done, ..best }
    }

    /// Returns the bound that rules out every wiring, if there is one.
    #[must_use]
    pub const fn impossible(&self) -> Option<&Violation> {
        match &self.outcome {
            Some(Outcome::Impossible(violation)) => Some(violation),
            _ => None,
        }
    }

    /// Returns the best wiring so far, with spare NICs cabled to spare ports; `None` if no wiring can exist.
    #[must_use]
    pub fn wiring(&self) -> Option<Wiring> {
        match &self.outcome {
            Some(Outcome::Impossible(_)) => None,
            Some(Outcome::Done(wiring)) => Some(wiring.clone()),
            None => {
                let mut best = self.walks[*self.order().first()?].best();
                fill(&mut best, &self.problem);
                Some(best)
            }
        }
    }

    /// Returns the problem.
    #[must_use]
    pub const fn problem(&self) -> &WiringProblem {
        &self.problem
    }
}

/// Returns an upper bound on the weighted sum of links (shared switches) that the problem
/// maximises: a search that reaches it can stop. `None` if the problem maximises nothing.
#[must_use]
pub fn enough(problem: &WiringProblem) -> Option<f64> {
    match problem.maximize {
        Maximize::None => None,
        Maximize::All => Some(bound::links(problem) as f64),
        Maximize::Patterns => Some(pattern_bound(problem).1),
    }
}

/// Returns the name and value of an upper bound on the weighted links of the communication
/// patterns: the sum, over their pairs of PCs, of weight times number of shared switches.
#[must_use]
pub fn pattern_bound(problem: &WiringProblem) -> (&'static str, f64) {
    let heaviest = problem.weights.values().copied().fold(0.0, f64::max);
    if let [pattern] = &problem.patterns[..]
        && matches!(pattern.kind, PatternKind::RowsAndColumns | PatternKind::AxisLines)
        && let [a, b] = pattern.dims[..]
    {
        let lines = |used| bound::lindsey(u64::from(a), u64::from(b), used);
        return ("lindsey", heaviest * bound::sum_over_switches(problem, lines) as f64);
    }
    let mut degrees = vec![0u64; problem.pcs()];
    for (a, b) in problem.weights.keys() {
        degrees[*a as usize] += 1;
        degrees[*b as usize] += 1;
    }
    let most = degrees.into_iter().max().unwrap_or(0);
    let pairs = |used: u64| used * used.saturating_sub(1).min(most) / 2;
    ("degree", heaviest * bound::sum_over_switches(problem, pairs) as f64)
}

/// Returns a starting wiring made from a wiring of fewer PCs on narrower switches: each of those PCs is repeated
/// several times.
fn scaled(problem: &WiringProblem, random: &mut Random) -> Option<Wiring> {
    let widest = *problem.ports.iter().max()?;
    if problem.required != Required::All {
        return None;
    }
    (2..=widest.min(problem.pcs() as u32) / 2).rev().take(SCALES).find_map(|factor| {
        // Sorts PCs by number of NICs, so that no group loses one.
        let mut order: Vec<u32> = (0..problem.pcs() as u32).collect();
        order.sort_by_key(|pc| problem.nics[*pc as usize]);
        let groups: Vec<&[u32]> = order.chunks(factor as usize).collect();
        let small = WiringProblem {
            nics: groups.iter().map(|group| problem.nics[group[0] as usize]).collect(),
            ports: problem.ports.iter().map(|ports| ports / factor).collect(),
            maximize: Maximize::None,
            minimum_pattern_links: 1,
            weights: Default::default(),
            patterns: Vec::new(),
            required: Required::All,
        };
        if groups.len() < 2 || bound::violated(&small).is_some() {
            return None;
        }
        let mut search =
            WiringSearch::new(&small, &lowest(&small), random.number(), SMALL_RUN, None).ok()?;
        if !search.step(SMALL_RUN).done {
            return None;
        }
        let mut rows = vec![Vec::new(); problem.pcs()];
        for (group, row) in groups.iter().zip(search.best().rows(groups.len())) {
            group.iter().for_each(|pc| rows[*pc as usize].clone_from(&row));
        }
        Some(Wiring::from_rows(problem.ports.len(), &rows))
    })
}

/// Number of walks. It is the same on every machine, so that a seed gives the same result.
const WALKS: usize = 4;
/// Number of moves in the first run of the shortest walk.
const RUN: u64 = 500_000;
const SMALL_RUN: u64 = 20_000;
const SCALES: usize = 12;
const CROSS_EVERY: u64 = 40;

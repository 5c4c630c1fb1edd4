//! Searches for a wiring by simulated annealing. A move exchanges two cables, or all cables of two
//! PCs. A run has a given number of moves; the next run starts from the best wiring or from a
//! crossover of two wirings. Moves and crossover are those of flat-neighborhood-network-compiler,
//! section 2.2; the schedule of temperatures is our own.
//!
//! The search has no clock: the caller asks for a number of moves, looks at the progress and decides whether
//! to go on. The same seed and the same calls give the same wirings.

use tresse_base::random::Random;
use tresse_base::wiring::Wiring;

use super::bits::Set;
use super::problem::{Maximize, WiringProblem};
use super::state::{Change, PriceTable, State, Worth, wiring};

/// The progress of a search for a wiring: what the best wiring so far achieves, how many moves were
/// evaluated, and whether the search has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of required pairs without a link in the best wiring so far.
    pub uncovered: u32,
    /// Number of links that pairs of patterns still lack in that wiring.
    pub lacking: u32,
    /// Weighted links of that wiring.
    pub links: f64,
    /// Number of moves evaluated so far.
    pub moves: u64,
    /// Whether the search has ended.
    pub done: bool,
}

/// One search for a wiring by simulated annealing. It runs in the thread of the caller, a number of
/// moves at a time.
pub struct WiringSearch {
    walk: Box<dyn Step + Send>,
}

impl std::fmt::Debug for WiringSearch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}

/// Error: the wiring problem has more PCs than a search supports, [`MOST_PCS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a search supports at most {MOST_PCS} PCs, found {pcs}: split the problem")]
pub struct TooMany {
    /// Number of PCs.
    pub pcs: usize,
}

trait Step {
    fn step(&mut self, moves: u64) -> Progress;
    fn best(&self) -> Wiring;
    fn restart(&mut self, from: Wiring, moves: u64);
}

impl WiringSearch {
    /// Starts a search from a wiring, cooled down over `moves` moves. The search ends when the wiring has
    /// `enough` weighted links, the largest possible number.
    pub fn new(
        problem: &WiringProblem,
        from: &Wiring,
        seed: u64,
        moves: u64,
        enough: Option<f64>,
    ) -> Result<Self, TooMany> {
        macro_rules! walk {
            ($($words:literal)*) => {
                match problem.pcs().div_ceil(64) {
                    $(words if words <= $words => Box::new(
                        Walk::<$words>::new(problem.clone(), from, seed, moves, enough)
                    ) as Box<dyn Step + Send>,)*
                    _ => return Err(TooMany { pcs: problem.pcs() }),
                }
            };
        }
        Ok(Self { walk: walk!(1 2 3 4 8 16 32) })
    }

    /// Evaluates `moves` moves, or fewer if the search ends earlier.
    pub fn step(&mut self, moves: u64) -> Progress {
        self.walk.step(moves)
    }

    /// Returns the best wiring so far.
    #[must_use]
    pub fn best(&self) -> Wiring {
        self.walk.best()
    }

    /// Restarts from another wiring and keeps the best wiring so far.
    pub fn restart(&mut self, from: Wiring, moves: u64) {
        self.walk.restart(from, moves);
    }
}

struct Walk<const W: usize> {
    problem: WiringProblem,
    state: State<W>,
    cost: PriceTable,
    /// The PCs on each switch in the best wiring so far.
    best: Vec<Set<W>>,
    best_cost: PriceTable,
    random: Random,
    /// `-ln(u)` for evenly spread u.
    logarithms: Vec<f32>,
    moves: u64,
    /// Number of moves done in this run, and the length of the run.
    run: u64,
    length: u64,
    enough: Option<f64>,
    swaps: bool,
}

impl<const W: usize> Walk<W> {
    fn new(
        problem: WiringProblem,
        from: &Wiring,
        seed: u64,
        length: u64,
        enough: Option<f64>,
    ) -> Self {
        let state = State::<W>::new(&problem, from);
        let cost = state.cost();
        let size = 1 << LOG_BITS;
        let logarithms = (0..size).map(|i| -((i as f32 + 0.5) / size as f32).ln()).collect();
        Self {
            best: state.members().to_vec(),
            best_cost: cost,
            swaps: !problem.weights.is_empty() && problem.maximize != Maximize::All
                || problem.required == super::problem::Required::Patterns,
            problem,
            state,
            cost,
            random: Random::new(seed),
            logarithms,
            moves: 0,
            run: 0,
            length: length.max(1),
            enough,
        }
    }

    fn done(&self) -> bool {
        let enough = self.enough.is_some_and(|enough| self.best_cost.links >= enough - 1e-6);
        self.best_cost.satisfied() && (self.problem.maximize == Maximize::None || enough)
    }

    /// Returns the largest cost at which a change is accepted: `temperature * -ln(u)`, where `bits` give u.
    #[inline]
    fn limit(&self, temperature: f32, bits: u64) -> f32 {
        temperature * self.logarithms[(bits >> (64 - LOG_BITS)) as usize]
    }

    #[inline]
    fn took(&mut self, change: &Change) {
        self.cost.uncovered += change.uncovered;
        self.cost.lacking += change.lacking;
        self.cost.links += f64::from(change.links);
        let (now, best) = (&self.cost, &self.best_cost);
        let missing = |cost: &PriceTable| cost.uncovered + cost.lacking;
        let fewer = missing(now) < missing(best);
        if fewer || missing(now) == missing(best) && now.links > best.links + 1e-6 {
            self.best_cost = *now;
            self.best.copy_from_slice(self.state.members());
        }
    }

    /// Tries a random exchange of two cables. Returns whether one was evaluated.
    #[inline]
    fn cable(&mut self, temperature: f32) -> bool {
        let ends = self.state.ends.len() as u64;
        let draw = self.random.number();
        let end = |bits: u64| (((bits & END_MASK) * ends) >> END_BITS) as usize;
        let (one, two) = (end(draw), end(draw >> END_BITS));
        let limit = self.limit(temperature, draw);
        let Some(change) = self.state.exchange(one, two, &WORTH, limit) else { return false };
        if WORTH.of(&change) - change.links <= limit {
            self.state.apply(one, two);
            self.took(&change);
        }
        true
    }

    /// Tries a random exchange of all cables of two PCs.
    #[inline]
    fn swap(&mut self, temperature: f32) -> bool {
        let pcs = self.problem.pcs();
        let (p, q) = (self.random.below(pcs) as u32, self.random.below(pcs) as u32);
        let Some(change) = self.state.swap(p, q) else { return false };
        let draw = self.random.number();
        let limit = self.limit(temperature, draw);
        if WORTH.of(&change) - change.links <= limit {
            self.state.apply_swap(p, q);
            self.took(&change);
        }
        true
    }

    fn walk_to(&mut self, end: u64) {
        // Impossible moves count too: otherwise a wiring without possible moves would never end.
        while self.moves < end && !self.done() {
            if self.run >= self.length {
                // Starts a longer run from the best wiring, at a higher temperature.
                self.restart(wiring(&self.best), self.length.saturating_mul(2));
            }
            let temperature = self.temperature();
            let mut judged = 1;
            for attempt in 0..BATCH {
                judged += u64::from(if self.swaps && attempt % 4 == 0 {
                    self.swap(temperature)
                } else {
                    self.cable(temperature)
                });
            }
            self.run += judged;
            self.moves += judged;
            // Recomputed, because sums of fractions accumulate rounding errors.
            self.cost.links =
                if self.run.is_multiple_of(64) { self.state.cost().links } else { self.cost.links };
        }
    }

    fn temperature(&self) -> f32 {
        let share = (self.run as f32 / self.length as f32).min(1.0);
        HOT * (COLD / HOT).powf(share)
    }
}

impl<const W: usize> Step for Walk<W> {
    fn step(&mut self, moves: u64) -> Progress {
        let end = self.moves + moves;
        self.walk_to(end);
        Progress {
            uncovered: self.best_cost.uncovered as u32,
            lacking: self.best_cost.lacking as u32,
            links: self.best_cost.links,
            moves: self.moves,
            done: self.done(),
        }
    }

    fn best(&self) -> Wiring {
        wiring(&self.best)
    }

    fn restart(&mut self, from: Wiring, moves: u64) {
        self.state.wire(&self.problem, &from);
        self.cost = self.state.cost();
        self.run = 0;
        self.length = moves.max(1);
    }
}

/// Returns a crossover of two wirings (flat-neighborhood-network-compiler, section 2.2): the first
/// wiring, in which some random PCs get the switches that they have in the second. For each cable
/// that moves to a full switch, a PC on that switch gets the old port in exchange.
#[must_use]
pub fn cross(problem: &WiringProblem, one: &Wiring, two: &Wiring, random: &mut Random) -> Wiring {
    let mut rows = one.rows(problem.pcs());
    let mut members: Vec<Vec<u32>> = one.switches.clone();
    members.resize(problem.ports.len(), Vec::new());
    let wanted = two.rows(problem.pcs());
    for _ in 0..1 + random.below(problem.pcs().max(2) / 2) {
        let pc = random.below(problem.pcs());
        for switch in &wanted[pc] {
            if rows[pc].contains(switch) {
                continue;
            }
            let Some(at) = rows[pc].iter().position(|s| !wanted[pc].contains(s)) else { break };
            let away = rows[pc][at];
            let holders = &members[*switch as usize];
            let free = holders.len() < problem.ports[*switch as usize] as usize;
            let holder = holders.iter().find(|h| !rows[**h as usize].contains(&away)).copied();
            match (free, holder) {
                (true, _) => {}
                (false, Some(holder)) => {
                    let row = &mut rows[holder as usize];
                    row.iter_mut().filter(|s| *s == switch).for_each(|s| *s = away);
                    members[*switch as usize].retain(|m| *m != holder);
                    members[away as usize].push(holder);
                }
                (false, None) => continue,
            }
            rows[pc][at] = *switch;
            members[away as usize].retain(|m| *m as usize != pc);
            members[*switch as usize].push(pc as u32);
        }
    }
    Wiring::from_rows(problem.ports.len(), &rows)
}

/// Returns the starting wiring of the paper flat-neighborhood-network-compiler: PC by PC, every NIC
/// is cabled to the switch with the lowest number that has a free port and no other NIC of this PC.
#[must_use]
pub fn lowest(problem: &WiringProblem) -> Wiring {
    let mut wiring = Wiring { switches: vec![Vec::new(); problem.ports.len()] };
    for (pc, nics) in problem.nics.iter().enumerate() {
        let mut left = *nics;
        for (members, ports) in wiring.switches.iter_mut().zip(&problem.ports) {
            if left > 0 && members.len() < *ports as usize {
                members.push(pc as u32);
                left -= 1;
            }
        }
    }
    wiring
}

const WORTH: Worth = Worth { uncovered: 10.0, lacking: 5.0 };
const HOT: f32 = 2.5;
const COLD: f32 = 0.25;
/// Of one random number, two ends and a logarithm.
const LOG_BITS: u32 = 12;
const END_BITS: u32 = 26;
const END_MASK: u64 = (1 << END_BITS) - 1;
const BATCH: u32 = 512;
/// The largest number of PCs for which a wiring can be searched.
pub const MOST_PCS: usize = 2048;

//! The state of a search: who is on which switch and how many links every pair has, changed by
//! exchanges only, so that NIC and port limits hold all the time (the paper's closed operators,
//! section 2.2), and judged by population counts over bit sets of PCs.
//!
//! Every NIC and every free port is an *end*. An end is `(pc, switch)`, where `pc` is `NOBODY` for a
//! free port (the paper's dummy NIC) and `switch` is `NOWHERE` for a NIC without cable (its dummy
//! switch). A move exchanges the switches of two ends.

use super::problem::{Maximize, Problem, Required};
use super::wiring::Wiring;

/// A set of PCs, 64 to a word.
pub(super) type Set<const W: usize> = [u64; W];

/// A PC or a free port, a switch or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub pc: u32,
    pub switch: u32,
}

/// Pairs of one weight.
#[derive(Debug, Clone)]
pub(super) struct Layer<const W: usize> {
    pub weight: f32,
    pub of: Vec<Set<W>>,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct State<const W: usize> {
    pub ends: Vec<End>,
    /// The ends of PC `p` are `first[p]..first[p + 1]`; those of free ports follow.
    first: Vec<u32>,
    members: Vec<Set<W>>,
    required: Vec<Set<W>>,
    layers: Vec<Layer<W>>,
    /// All pairs of patterns; empty unless more than one link is needed there.
    pattern: Vec<Set<W>>,
    floor: u32,
}

impl<const W: usize> State<W> {
    /// A wiring as a state; what does not fit the problem is left out.
    pub fn new(problem: &Problem, wiring: &Wiring) -> Self {
        let pcs = problem.pcs();
        let mut required = vec![[0; W]; pcs];
        let mut pattern = required.clone();
        let mut layers: Vec<Layer<W>> = Vec::new();
        for (&(a, b), &weight) in &problem.weights {
            let weight = weight as f32;
            let layer = layers.iter().position(|l| l.weight == weight).unwrap_or(layers.len());
            if layer == layers.len() {
                layers.push(Layer { weight, of: vec![[0; W]; pcs] });
            }
            for (a, b) in [(a, b), (b, a)] {
                set(&mut layers[layer].of[a as usize], b);
                set(&mut pattern[a as usize], b);
            }
        }
        match problem.maximize {
            Maximize::Patterns => {}
            Maximize::None => layers.clear(),
            Maximize::All => layers = vec![Layer { weight: 1.0, of: everyone(pcs) }],
        }
        if problem.required == Required::All {
            required = everyone(pcs);
        } else {
            required.clone_from(&pattern);
        }
        if problem.minimum_pattern_links < 2 {
            pattern.clear();
        }
        let mut state = Self {
            ends: Vec::new(),
            first: Vec::new(),
            members: vec![[0; W]; problem.ports.len()],
            required,
            layers,
            pattern,
            floor: problem.minimum_pattern_links,
        };
        state.wire(problem, wiring);
        state
    }

    /// Takes up another wiring.
    pub fn wire(&mut self, problem: &Problem, wiring: &Wiring) {
        self.members.fill([0; W]);
        let mut rows = vec![Vec::new(); problem.pcs()];
        let mut spare = Vec::new();
        for (switch, ports) in problem.ports.iter().enumerate() {
            let mut free = *ports;
            for &pc in wiring.switches.get(switch).into_iter().flatten() {
                let Some(row) = rows.get_mut(pc as usize) else { continue };
                if free > 0 && row.len() < problem.nics[pc as usize] as usize {
                    free -= 1;
                    row.push(switch as u32);
                    set(&mut self.members[switch], pc);
                }
            }
            // More free ports than PCs would never be used.
            let free = free.min(problem.pcs() as u32);
            spare.extend((0..free).map(|_| End { pc: NOBODY, switch: switch as u32 }));
        }
        self.ends.clear();
        self.first.clear();
        for (pc, row) in rows.iter().enumerate() {
            self.first.push(self.ends.len() as u32);
            let ports = row.iter().copied().chain(std::iter::repeat(NOWHERE));
            let nics = problem.nics[pc] as usize;
            self.ends.extend(ports.take(nics).map(|switch| End { pc: pc as u32, switch }));
        }
        self.first.push(self.ends.len() as u32);
        self.ends.extend(spare);
    }

    fn nics(&self, pc: u32) -> std::ops::Range<usize> {
        self.first[pc as usize] as usize..self.first[pc as usize + 1] as usize
    }

    /// Links of a PC to every other in binary: plane `j` holds those with bit `j` set. Kept nowhere:
    /// a few additions are less work than what an exchange would change.
    #[inline]
    fn planes(&self, pc: u32) -> [Set<W>; PLANES] {
        let mut planes = [[0; W]; PLANES];
        for end in &self.ends[self.nics(pc)] {
            let Some(members) = self.members.get(end.switch as usize) else { continue };
            for w in 0..W {
                let mut carry = members[w];
                for plane in planes.iter_mut().take(PLANES - 1) {
                    let old = plane[w];
                    plane[w] = old ^ carry;
                    carry &= old;
                }
                // With fewer than eight NICs never.
                if carry != 0 {
                    planes[PLANES - 1][w] ^= carry;
                }
            }
        }
        planes
    }

    /// As a wiring.
    pub fn wiring(&self) -> Wiring {
        let mut wiring = Wiring { switches: vec![Vec::new(); self.members.len()] };
        for (switch, members) in self.members.iter().enumerate() {
            each(members, |pc| wiring.switches[switch].push(pc));
        }
        wiring
    }

    /// Cost from nothing: uncovered pairs, links that patterns lack, the weighted sum of links.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        for pc in 0..self.required.len() {
            let planes = &self.planes(pc as u32);
            cost.uncovered += count(|w| zero(planes, w) & self.required[pc][w], W);
            for floor in 1..self.floor {
                if let Some(pattern) = self.pattern.get(pc) {
                    cost.lacking += count(|w| at_most(planes, w, floor) & pattern[w], W);
                }
            }
            for layer in &self.layers {
                let links: i32 =
                    (0..PLANES).map(|j| count(|w| planes[j][w] & layer.of[pc][w], W) << j).sum();
                cost.links += f64::from(layer.weight) * f64::from(links);
            }
        }
        Cost { uncovered: cost.uncovered / 2, lacking: cost.lacking / 2, links: cost.links / 2.0 }
    }

    /// What an exchange of the switches of two ends changes; `None` where it may not be done or
    /// changes nothing.
    #[inline]
    pub fn exchange(&self, one: usize, two: usize) -> Option<Change> {
        let (one, two) = (self.ends[one], self.ends[two]);
        if one.switch == two.switch || one.pc == two.pc {
            return None;
        }
        let empty = [0; W];
        let a = self.members.get(one.switch as usize).unwrap_or(&empty);
        let b = self.members.get(two.switch as usize).unwrap_or(&empty);
        if on(b, one.pc) || on(a, two.pc) {
            return None;
        }
        let mut change = Change::default();
        // Those on both switches keep their links, and so do the two with each other.
        let (mut leaves, mut joins) = (empty, empty);
        for w in 0..W {
            leaves[w] = a[w] & !b[w];
            joins[w] = b[w] & !a[w];
        }
        clear(&mut leaves, one.pc);
        clear(&mut joins, two.pc);
        self.moved(one.pc, &leaves, &joins, &mut change);
        self.moved(two.pc, &joins, &leaves, &mut change);
        Some(change)
    }

    #[inline]
    fn moved(&self, pc: u32, leaves: &Set<W>, joins: &Set<W>, change: &mut Change) {
        if pc == NOBODY {
            return;
        }
        let planes = &self.planes(pc);
        let required = &self.required[pc as usize];
        for w in 0..W {
            let high = planes[1][w] | planes[2][w] | planes[3][w];
            let one = planes[0][w] & !high & required[w];
            let zero = !(planes[0][w] | high) & required[w];
            change.uncovered += ones(one & leaves[w]) - ones(zero & joins[w]);
        }
        for layer in &self.layers {
            let of = &layer.of[pc as usize];
            let mut links = 0;
            for w in 0..W {
                links += ones(of[w] & joins[w]) - ones(of[w] & leaves[w]);
            }
            change.links += layer.weight * links as f32;
        }
        if let Some(pattern) = self.pattern.get(pc as usize) {
            for w in 0..W {
                // The first link of a pair is counted as its cover.
                let lost = at_most(planes, w, self.floor) & !at_most(planes, w, 1);
                let won = at_most(planes, w, self.floor - 1) & !at_most(planes, w, 0);
                change.lacking +=
                    ones(pattern[w] & leaves[w] & lost) - ones(pattern[w] & joins[w] & won);
            }
        }
    }

    /// Does it.
    #[inline]
    pub fn apply(&mut self, one: usize, two: usize) {
        let (p, q) = (self.ends[one], self.ends[two]);
        for (end, to) in [(p, q.switch), (q, p.switch)] {
            if end.pc != NOBODY {
                if let Some(members) = self.members.get_mut(end.switch as usize) {
                    clear(members, end.pc);
                }
                if let Some(members) = self.members.get_mut(to as usize) {
                    set(members, end.pc);
                }
            }
        }
        self.ends[one].switch = q.switch;
        self.ends[two].switch = p.switch;
    }

    /// What an exchange of all cables of two PCs changes.
    #[inline]
    pub fn swap(&self, p: u32, q: u32) -> Option<Change> {
        if p == q || self.nics(p).len() != self.nics(q).len() {
            return None;
        }
        let (of_p, of_q) = (self.planes(p), self.planes(q));
        let mut change = Change::default();
        for (pc, old, new) in [(p, &of_p, &of_q), (q, &of_q, &of_p)] {
            for w in 0..W {
                let mask = !(bit(p, w) | bit(q, w));
                let required = self.required[pc as usize][w] & mask;
                change.uncovered += ones(required & zero(new, w)) - ones(required & zero(old, w));
                if let Some(pattern) = self.pattern.get(pc as usize) {
                    for floor in 1..self.floor {
                        change.lacking += ones(pattern[w] & mask & at_most(new, w, floor))
                            - ones(pattern[w] & mask & at_most(old, w, floor));
                    }
                }
                for layer in &self.layers {
                    let of = layer.of[pc as usize][w] & mask;
                    let mut links = 0;
                    let planes = if old[3][w] | new[3][w] == 0 { 3 } else { PLANES };
                    for j in 0..planes {
                        links += (ones(of & new[j][w]) - ones(of & old[j][w])) << j;
                    }
                    change.links += layer.weight * links as f32;
                }
            }
        }
        Some(change)
    }

    /// Does it.
    #[inline]
    pub fn apply_swap(&mut self, p: u32, q: u32) {
        for (one, two) in self.nics(p).zip(self.nics(q)) {
            let (a, b) = (self.ends[one].switch, self.ends[two].switch);
            self.ends[one].switch = b;
            self.ends[two].switch = a;
        }
        self.members.iter_mut().for_each(|members| exchange_bits(members, p, q));
    }
}

/// What counts of a wiring.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Cost {
    /// Required pairs without a link.
    pub uncovered: i32,
    /// Links that pairs of patterns lack.
    pub lacking: i32,
    /// Links between the pairs that count, by weight.
    pub links: f64,
}

impl Cost {
    /// Whether nothing required is missing.
    pub const fn satisfied(&self) -> bool {
        self.uncovered == 0 && self.lacking == 0
    }
}

/// A difference of costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Change {
    pub uncovered: i32,
    pub lacking: i32,
    pub links: f32,
}

fn everyone<const W: usize>(pcs: usize) -> Vec<Set<W>> {
    (0..pcs as u32)
        .map(|pc| {
            let mut others = [0; W];
            (0..pcs as u32).filter(|other| *other != pc).for_each(|other| set(&mut others, other));
            others
        })
        .collect()
}

#[inline]
fn zero<const W: usize>(planes: &[Set<W>; PLANES], w: usize) -> u64 {
    !(planes[0][w] | planes[1][w] | planes[2][w] | planes[3][w])
}

/// The PCs whose number is at most `limit`.
#[inline]
fn at_most<const W: usize>(planes: &[Set<W>; PLANES], w: usize, limit: u32) -> u64 {
    let (mut less, mut equal) = (0, !0);
    for j in (0..PLANES).rev() {
        let plane = planes[j][w];
        if limit & (1 << j) != 0 {
            less |= equal & !plane;
            equal &= plane;
        } else {
            equal &= !plane;
        }
    }
    less | equal
}

#[inline]
fn count(word: impl Fn(usize) -> u64, words: usize) -> i32 {
    (0..words).map(|w| ones(word(w))).sum()
}

#[inline]
const fn ones(word: u64) -> i32 {
    word.count_ones() as i32
}

#[inline]
const fn bit(pc: u32, w: usize) -> u64 {
    if pc as usize / 64 == w { 1 << (pc % 64) } else { 0 }
}

#[inline]
const fn set<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] |= 1 << (pc % 64);
}

#[inline]
fn clear<const W: usize>(set: &mut Set<W>, pc: u32) {
    if let Some(word) = set.get_mut(pc as usize / 64) {
        *word &= !(1 << (pc % 64));
    }
}

#[inline]
fn on<const W: usize>(set: &Set<W>, pc: u32) -> bool {
    set.get(pc as usize / 64).is_some_and(|word| word & (1 << (pc % 64)) != 0)
}

fn exchange_bits<const W: usize>(set: &mut Set<W>, p: u32, q: u32) {
    if on(set, p) != on(set, q) {
        set[p as usize / 64] ^= 1 << (p % 64);
        set[q as usize / 64] ^= 1 << (q % 64);
    }
}

fn each<const W: usize>(set: &Set<W>, mut act: impl FnMut(u32)) {
    for (w, word) in set.iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            act((w * 64) as u32 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

/// A free port's PC.
pub(super) const NOBODY: u32 = u32::MAX;
/// A spare NIC's switch.
pub(super) const NOWHERE: u32 = u32::MAX;
/// Links of a pair are below 2 to this power.
const PLANES: usize = 4;

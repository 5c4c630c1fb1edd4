//! The state of a search for a wiring: the PCs on each switch, and the number of links (shared
//! switches) of every pair of PCs. Only exchanges of cables change it, so that the limits of NICs
//! and ports always hold (the closed operators of flat-neighborhood-network-compiler, section 2.2).
//! Whether a move improves the wiring is computed by counting bits in bit sets of PCs.
//!
//! Every NIC and every free port is an *end*. An end is `(pc, switch)`, where `pc` is `NOBODY` for a
//! free port (the paper's dummy NIC) and `switch` is `NOWHERE` for a NIC without cable (its dummy
//! switch). A move exchanges the switches of two ends.
//!
//! Many more moves are judged than made. So the links of every pair are kept as bit planes: judging
//! a move reads the planes of two PCs, making it updates the planes of all PCs.

use tresse_base::wiring::Wiring;

use super::bits::{
    PLANES, Planes, Set, at_most, bit, clear, count, each, exchange_bits, flip, on, ones, set, zero,
};
use super::problem::{Maximize, Required, WiringProblem};

/// An end: a PC or a free port, and a switch or none.
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

/// The state of a search; see the module.
#[derive(Debug, Clone)]
pub(super) struct State<const W: usize> {
    pub ends: Vec<End>,
    /// The ends of PC `p` are `first[p]..first[p + 1]`; those of free ports follow.
    first: Vec<u32>,
    members: Vec<Set<W>>,
    /// Number of links from every PC to every other, as bit planes.
    planes: Vec<Planes<W>>,
    required: Vec<Set<W>>,
    layers: Vec<Layer<W>>,
    /// Upper bound on the weighted links that one exchange can add.
    most: f32,
    /// All pairs of the patterns; empty if they need at most one link.
    pattern: Vec<Set<W>>,
    floor: u32,
}

impl<const W: usize> State<W> {
    /// Builds the state of a wiring. Cables that do not fit the problem are left out.
    pub fn new(problem: &WiringProblem, wiring: &Wiring) -> Self {
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
        let weighed = |pc: usize| {
            layers.iter().map(|l| l.weight * count(|w| l.of[pc][w], W) as f32).sum::<f32>()
        };
        let most = 2.0 * (0..pcs).map(weighed).fold(0.0, f32::max);
        let mut state = Self {
            ends: Vec::new(),
            first: Vec::new(),
            members: vec![[0; W]; problem.ports.len()],
            planes: Vec::new(),
            required,
            layers,
            most,
            pattern,
            floor: problem.minimum_pattern_links,
        };
        state.wire(problem, wiring);
        state
    }

    /// Replaces the wiring.
    pub fn wire(&mut self, problem: &WiringProblem, wiring: &Wiring) {
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
        self.planes = (0..problem.pcs() as u32).map(|pc| self.counted(pc)).collect();
    }

    fn nics(&self, pc: u32) -> std::ops::Range<usize> {
        self.first[pc as usize] as usize..self.first[pc as usize + 1] as usize
    }

    /// Computes the links of a PC to every other by addition.
    fn counted(&self, pc: u32) -> Planes<W> {
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

    /// Counts the links of a PC again and updates the planes of the other PCs.
    fn renew(&mut self, pc: u32) {
        let new = self.counted(pc);
        let old = std::mem::replace(&mut self.planes[pc as usize], new);
        for j in 0..PLANES {
            let differ = std::array::from_fn::<u64, W, _>(|w| old[j][w] ^ new[j][w]);
            each(&differ, |other| flip(&mut self.planes[other as usize][j], pc));
        }
    }

    /// Returns the PCs on every switch, from which [`wiring`] builds a wiring.
    pub fn members(&self) -> &[Set<W>] {
        &self.members
    }

    /// Computes the cost from scratch: uncovered pairs, links that patterns lack, weighted sum of links.
    pub fn cost(&self) -> PriceTable {
        let mut cost = PriceTable::default();
        for pc in 0..self.required.len() {
            let planes = &self.planes[pc];
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
        PriceTable {
            uncovered: cost.uncovered / 2,
            lacking: cost.lacking / 2,
            links: cost.links / 2.0,
        }
    }

    /// Returns the change of cost if two ends exchange their switches; `None` if the exchange is not allowed or
    /// changes nothing. If the loss exceeds `limit` by more than the largest possible gain of links can make
    /// good (at `worth` links for a pair), links are not counted and the change reports infinitely few.
    #[inline]
    pub fn exchange(&self, one: usize, two: usize, worth: &Worth, limit: f32) -> Option<Change> {
        let (one, two) = (self.ends[one], self.ends[two]);
        let empty = [0; W];
        let a = self.members.get(one.switch as usize).unwrap_or(&empty);
        let b = self.members.get(two.switch as usize).unwrap_or(&empty);
        // One branch only, because which case occurs cannot be predicted.
        let same = (one.switch == two.switch) | (one.pc == two.pc);
        if same | on(b, one.pc) | on(a, two.pc) {
            return None;
        }
        // PCs on both switches keep their links, and so do the two PCs with each other.
        let (mut leaves, mut joins) = (empty, empty);
        for w in 0..W {
            leaves[w] = a[w] & !b[w];
            joins[w] = b[w] & !a[w];
        }
        clear(&mut leaves, one.pc);
        clear(&mut joins, two.pc);
        let mut change = Change::default();
        self.missed(one.pc, &leaves, &joins, &mut change);
        self.missed(two.pc, &joins, &leaves, &mut change);
        if worth.of(&change) > limit + self.most {
            change.links = f32::NEG_INFINITY;
        } else {
            self.linked(one.pc, &leaves, &joins, &mut change);
            self.linked(two.pc, &joins, &leaves, &mut change);
        }
        Some(change)
    }

    #[inline]
    fn missed(&self, pc: u32, leaves: &Set<W>, joins: &Set<W>, change: &mut Change) {
        let Some(planes) = self.planes.get(pc as usize) else { return };
        let required = &self.required[pc as usize];
        for w in 0..W {
            let high = planes[1][w] | planes[2][w] | planes[3][w];
            let single = planes[0][w] & !high & required[w];
            change.uncovered += ones(single & leaves[w]);
            let bare = !(planes[0][w] | high) & required[w] & joins[w];
            if bare != 0 {
                change.uncovered -= ones(bare);
            }
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

    #[inline]
    fn linked(&self, pc: u32, leaves: &Set<W>, joins: &Set<W>, change: &mut Change) {
        for layer in &self.layers {
            let Some(of) = layer.of.get(pc as usize) else { return };
            let mut links = 0;
            for w in 0..W {
                links += ones(of[w] & joins[w]) - ones(of[w] & leaves[w]);
            }
            change.links += layer.weight * links as f32;
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
        for end in [p, q].into_iter().filter(|end| end.pc != NOBODY) {
            self.renew(end.pc);
        }
    }

    /// Returns the change of cost if two PCs exchange all their cables.
    #[inline]
    pub fn swap(&self, p: u32, q: u32) -> Option<Change> {
        if p == q || self.nics(p).len() != self.nics(q).len() {
            return None;
        }
        let (planes_p, planes_q) = (&self.planes[p as usize], &self.planes[q as usize]);
        let mut change = Change::default();
        for w in 0..W {
            let mask = !(bit(p, w) | bit(q, w));
            // PCs that both or neither share a switch with are unchanged.
            let mine = |of: &[Set<W>]| {
                let (of_p, of_q) = (of[p as usize][w] & mask, of[q as usize][w] & mask);
                (of_p & !of_q, of_q & !of_p)
            };
            let fewer = |(of_p, of_q): (u64, u64), p: u64, q: u64| {
                ones(of_p & q | of_q & p) - ones(of_p & p | of_q & q)
            };
            let required = mine(&self.required);
            if required != (0, 0) {
                change.uncovered += fewer(required, zero(planes_p, w), zero(planes_q, w));
            }
            if !self.pattern.is_empty() {
                let pattern = mine(&self.pattern);
                for floor in 1..self.floor {
                    let at_most = |planes| at_most(planes, w, floor);
                    change.lacking += fewer(pattern, at_most(planes_p), at_most(planes_q));
                }
            }
            for layer in &self.layers {
                let of = mine(&layer.of);
                let plane = |j: usize| fewer(of, planes_p[j][w], planes_q[j][w]) << j;
                let mut links = plane(0) + plane(1) + plane(2);
                // With fewer than eight NICs never.
                if planes_p[3][w] | planes_q[3][w] != 0 {
                    links += plane(3);
                }
                change.links += layer.weight * links as f32;
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
        self.renew(p);
        self.renew(q);
    }
}

/// Builds the wiring with these PCs on its switches.
pub(super) fn wiring<const W: usize>(members: &[Set<W>]) -> Wiring {
    let mut wiring = Wiring { switches: vec![Vec::new(); members.len()] };
    for (members, pcs) in members.iter().zip(&mut wiring.switches) {
        each(members, |pc| pcs.push(pc));
    }
    wiring
}

/// The cost of a wiring.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PriceTable {
    /// Number of required pairs without a link.
    pub uncovered: i32,
    /// Number of links that pairs of patterns lack.
    pub lacking: i32,
    /// Weighted links between the pairs that count.
    pub links: f64,
}

impl PriceTable {
    /// Whether all requirements are met.
    pub const fn satisfied(&self) -> bool {
        self.uncovered == 0 && self.lacking == 0
    }
}

/// A difference of two costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Change {
    pub uncovered: i32,
    pub lacking: i32,
    pub links: f32,
}

/// The worth, in weighted links, of meeting a requirement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Worth {
    /// Worth of a link for an uncovered pair.
    pub uncovered: f32,
    /// Worth of a link that a pair of a pattern lacks.
    pub lacking: f32,
}

impl Worth {
    /// Returns the worth of what a change leaves unmet, without its links.
    #[inline]
    pub fn of(&self, change: &Change) -> f32 {
        self.uncovered * change.uncovered as f32 + self.lacking * change.lacking as f32
    }
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

/// A free port's PC.
pub(super) const NOBODY: u32 = u32::MAX;
/// A spare NIC's switch.
pub(super) const NOWHERE: u32 = u32::MAX;

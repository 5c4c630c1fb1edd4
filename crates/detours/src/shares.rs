//! How a pair of nodes shares its traffic between its own paths and its detours, by what the wires carry
//! (big-fat-switches-ring-clique-reflector, section 5: idle links are found at run time).
//!
//! - Detours are used once a wire of the own paths is full that they do not cross, and left when the own paths
//!   alone would do again.
//! - The own paths of others come first: a detour takes what they leave, and gives way fast where such a wire is full and
//!   they may want more of it ([`Others`] says so); if they did, it gets no more for a while.
//! - Each path's weight is divided by how full its fullest wire is. Where many pairs see the same wires and do so at once,
//!   wires become just full; where they are full, all weights are a fixed point. A step half as long does for those that
//!   see others only later. What a path gets by its weight depends on the flows, so weights are corrected and never computed
//!   from rates alone.

use crate::others::{LITTLE, Load, MUCH, Others};

/// A path of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PathUse {
    /// Its share in the plan; 0 for a detour.
    pub planned: u32,
    /// Is it neither broken nor drained?
    pub usable: bool,
    /// Bytes a second that the pair sends by it.
    pub sent: f64,
    /// The wires that it crosses, by number.
    pub wires: Vec<usize>,
}

/// The sum of the weights of a pair: a step of one moves few flows.
const SUM: u32 = 255;
/// An own path that carries so much is reason enough for a detour: TCP in both directions at once fills no wire.
const NEARLY_FULL: f64 = 0.9;
/// Own paths of others and detours that come to a wire fill this part of it at most, so that the others can be seen to grow.
const LIMIT: f64 = 0.85;
/// The own paths alone do where their wires would then carry less than this part.
const ALONE: f64 = 0.75;
/// A pair that sends no more than its own paths carry gains nothing by detours.
const VAIN: f64 = 1.02;
/// A detour that is in the way keeps this part of its traffic, to see whether others take more,
/// or none beside others who have much of a wire already.
const GIVES_WAY: f64 = 0.25;
/// A pair that sends less than this part of a wire is left as planned.
const IDLE: f64 = 0.01;
/// A share that differs less from what it should be stays as it is.
const STEP: f64 = 0.03;
/// By so much a path's traffic may grow at once.
const GROWTH: f64 = 4.0;

/// What a pair sends, and what detours have room for, in bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seen {
    pub total: f64,
    pub room: f64,
}

/// What becomes of a pair, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub weights: Vec<u8>,
    pub reason: Reason,
}

/// Why a pair has other weights from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its own paths do.
    Alone,
    /// Its own paths would carry as much: the detours brought nothing.
    Vain,
    /// Others need wires of a detour.
    GivesWay,
    /// Its own paths are full.
    Full,
}

impl Reason {
    /// The same in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Alone => "its own paths do",
            Self::Vain => "detours bring nothing: too few flows",
            Self::GivesWay => "others need the wires of a detour",
            Self::Full => "its own paths are full",
        }
    }
}

/// The weights by which a pair would fill its paths; `None`: the present ones.
fn balanced(pair: &Pair<'_>) -> Option<Vec<u8>> {
    let (paths, now) = (pair.paths, pair.now);
    let shares_now = shares(now)?;
    let is_detour = |at: usize| paths[at].planned == 0;
    let factors: Vec<f64> = (0..paths.len())
        .map(|at| if now[at] == 0 { pair.entering(at) } else { pair.factor(at) })
        .collect();
    let at_once = (0..paths.len()).filter(|at| is_detour(*at)).any(|at| match now[at] {
        0 => factors[at] > 0.0,
        _ => factors[at] == 0.0 || pair.in_the_way[at],
    });
    // Any weights keep full wires full, even those by which all flows that move now may miss a path.
    let share = |at: usize| match at_once && pair.is_full(at) {
        true => paths[at].sent / pair.total(),
        false => shares_now[at],
    };
    let own_share: f64 = (0..paths.len()).filter(|at| !is_detour(*at)).map(share).sum();
    let wanted = |at: usize| match now[at] {
        0 => own_share * factors[at],
        _ => share(at) * factors[at],
    };
    let mut wanted: Vec<f64> = (0..paths.len()).map(wanted).collect();
    let sum: f64 = wanted.iter().sum();
    if sum <= 0.0 {
        return None;
    }
    wanted.iter_mut().for_each(|wanted| *wanted /= sum);
    let moved = wanted.iter().zip(&shares_now).map(|(wanted, now)| (wanted - now).abs());
    let moves = at_once || moved.fold(0.0, f64::max) >= STEP;
    let gain = if at_once { 1.0 } else { 0.5 };
    for (wanted, now) in wanted.iter_mut().zip(&shares_now) {
        *wanted = now + gain * (*wanted - now);
    }
    // A few flows are not worth a detour, nor that others wait for them.
    for at in (0..paths.len()).filter(|at| is_detour(*at)) {
        wanted[at] = if wanted[at] < LITTLE { 0.0 } else { wanted[at] };
    }
    let sum: f64 = wanted.iter().sum();
    if (0..paths.len()).all(|at| !is_detour(at) || wanted[at] == 0.0) || sum <= 0.0 {
        return Some(planned(paths)).filter(|planned| planned != now);
    }
    wanted.iter_mut().for_each(|wanted| *wanted /= sum);
    Some(whole(&wanted)).filter(|weights| moves && weights != now)
}

/// A pair, and what its paths cross.
pub(crate) struct Pair<'a> {
    paths: &'a [PathUse],
    loads: &'a [Load],
    /// The present weights.
    now: &'a [u8],
    /// By wire: what the pair itself sends over it.
    own: &'a [f64],
    others: &'a Others,
    now_ms: u64,
    /// By path: is it a detour in use that is in the way of others?
    in_the_way: Vec<bool>,
}

/// By wire: what a pair sends over it by all its paths.
pub(crate) fn own(paths: &[PathUse], wires: usize) -> Vec<f64> {
    let mut own = vec![0.0; wires];
    for path in paths {
        path.wires.iter().for_each(|wire| own[*wire] += path.sent);
    }
    own
}

impl<'a> Pair<'a> {
    /// `loads` without what the pair sends itself, which is `own`; `now`: the present weights; `others` have been looked at.
    pub fn of(
        paths: &'a [PathUse],
        loads: &'a [Load],
        own: &'a [f64],
        now: &'a [u8],
        others: &'a Others,
        now_ms: u64,
    ) -> Self {
        let mut pair = Self { paths, loads, now, own, others, now_ms, in_the_way: Vec::new() };
        pair.in_the_way = (0..paths.len()).map(|at| pair.is_in_the_way(at)).collect();
        pair
    }

    /// How it shares its traffic from now on; `None`: as before.
    pub fn decide(&self) -> Option<Decision> {
        let (paths, now) = (self.paths, self.now);
        let active = paths.iter().zip(now).any(|(path, now)| path.planned == 0 && *now > 0);
        let back = |reason| {
            let weights = planned(paths);
            (active && weights != now).then_some(Decision { weights, reason })
        };
        if self.is_idle() || active && self.would_do_alone(ALONE) {
            return back(Reason::Alone);
        }
        if active && self.would_do_alone(VAIN) {
            return back(Reason::Vain);
        }
        let reason = if self.gives_way() { Reason::GivesWay } else { Reason::Full };
        match balanced(self)? {
            weights if weights == planned(paths) => back(reason),
            weights => Some(Decision { weights, reason }),
        }
    }

    /// Does it send by its own paths alone?
    pub fn goes_as_planned(&self) -> bool {
        self.now == planned(self.paths)
    }

    /// Is a detour in the way of others?
    pub fn gives_way(&self) -> bool {
        self.in_the_way.contains(&true)
    }

    /// The wires on which a detour is in the way of others.
    pub fn asked_for(&self) -> impl Iterator<Item = usize> {
        let detours = self.paths.iter().zip(&self.in_the_way).filter(|(_, is)| **is);
        detours.flat_map(|(path, _)| &path.wires).copied().filter(|wire| self.is_asked_for(*wire))
    }

    /// What it sends, and what its detours have room for.
    pub fn seen(&self) -> Seen {
        let room = |path: &PathUse| {
            path.wires.iter().map(|wire| self.room(*wire)).fold(f64::INFINITY, f64::min)
        };
        let detours = self.paths.iter().filter(|path| path.planned == 0 && path.usable);
        Seen { total: self.total(), room: detours.map(room).sum() }
    }

    fn total(&self) -> f64 {
        self.paths.iter().map(|path| path.sent).sum()
    }

    /// Does it send next to nothing? Failure detection sends something by every path.
    pub fn is_idle(&self) -> bool {
        let wires = self.planned().flat_map(|path| &path.wires);
        let least = wires.map(|wire| self.loads[*wire].capacity).fold(f64::INFINITY, f64::min);
        least.is_infinite() || self.total() < IDLE * least
    }

    /// The pair's own paths.
    fn planned(&self) -> impl Iterator<Item = &'a PathUse> {
        self.paths.iter().filter(|path| path.planned > 0 && path.usable)
    }

    /// Would the pair's own paths do, each wire at most so full?
    fn would_do_alone(&self, fill: f64) -> bool {
        let sum: u32 = self.planned().map(|path| path.planned).sum();
        let does = |path: &PathUse| {
            let sent = self.total() * f64::from(path.planned) / f64::from(sum);
            path.wires.iter().all(|wire| {
                let load = &self.loads[*wire];
                load.first + sent < fill * load.capacity
            })
        };
        sum > 0 && self.planned().all(does)
    }

    /// Is a wire of a path full?
    fn is_full(&self, at: usize) -> bool {
        self.paths[at].wires.iter().any(|wire| self.loads[*wire].is_full_with(self.own[*wire]))
    }

    /// What the weight of a path is multiplied by: what it would be if its fullest wire were just full.
    fn factor(&self, at: usize) -> f64 {
        let path = &self.paths[at];
        if !path.usable {
            return 0.0;
        }
        if path.planned > 0 {
            let full = |wire: &usize| {
                (self.loads[*wire].first + self.own[*wire]) / self.loads[*wire].capacity
            };
            let fullest = path.wires.iter().map(full).fold(0.0, f64::max);
            return 1.0 / fullest.max(1.0 / GROWTH);
        }
        if !self.has_room(path) {
            return 0.0;
        }
        let full = |wire: &usize| (self.loads[*wire].detours + self.own[*wire]) / self.left(*wire);
        let fullest = path.wires.iter().map(full).fold(0.0, f64::max);
        let most = match () {
            () if self.in_the_way[at] && self.is_in_the_way_of_much(path) => 0.0,
            () if self.in_the_way[at] => GIVES_WAY,
            () if self.is_held(path) => 1.0,
            () => GROWTH,
        };
        (1.0 / fullest.max(1.0 / GROWTH)).min(most)
    }

    /// Has each wire of a detour room for it?
    fn has_room(&self, detour: &PathUse) -> bool {
        detour.wires.iter().all(|wire| self.room(*wire) >= LITTLE * self.loads[*wire].capacity)
    }

    /// What the pair would send by a detour that it does not use yet, by what it sends by its own paths: its part of what all
    /// would send by the detour that use the full wire now.
    fn entering(&self, at: usize) -> f64 {
        let detour = &self.paths[at];
        let may = detour.planned == 0 && detour.usable && !self.is_held(detour);
        if !may || !self.has_room(detour) {
            return 0.0;
        }
        let own: f64 = self.planned().map(|path| path.sent).sum();
        let full = |wire: &usize| {
            let load = &self.loads[*wire];
            load.first + self.own[*wire] >= NEARLY_FULL * load.capacity
        };
        let (shared, others): (Vec<usize>, Vec<usize>) =
            detour.wires.iter().partition(|wire| self.own[**wire] > 0.0);
        // What the pair sends fills a wire that the detour crosses, too.
        if shared.iter().any(full) {
            return 0.0;
        }
        let relieved = |path: &&PathUse| {
            path.wires.iter().filter(|wire| !detour.wires.contains(wire)).copied().find(full)
        };
        let found = self.planned().filter_map(|path| relieved(&path).map(|wire| (wire, path.sent)));
        let Some((wire, sent)) = found.max_by(|a, b| a.1.total_cmp(&b.1)) else { return 0.0 };
        let beside = self.loads[wire].first + self.own[wire];
        let part = |wire: &usize| self.room(*wire) * sent / (beside + self.loads[*wire].detours);
        others.iter().map(part).fold(own, f64::min) / own.max(1.0)
    }

    /// What a wire has for detours.
    fn room(&self, wire: usize) -> f64 {
        let load = &self.loads[wire];
        let limit = if self.is_shared(wire) { LIMIT } else { 1.0 };
        (limit * load.capacity - load.first).max(0.0)
    }

    /// What detours may take of a wire: all that is left where others have what they want, as TCP takes it anyway.
    fn left(&self, wire: usize) -> f64 {
        let load = &self.loads[wire];
        if self.others.are_content(wire) { load.capacity - load.first } else { self.room(wire) }
    }

    /// Is a path a detour in use that crosses a full wire of which others want more for their own paths?
    fn is_in_the_way(&self, at: usize) -> bool {
        let path = &self.paths[at];
        let is_used = path.planned == 0 && path.usable && self.now[at] > 0;
        is_used && path.wires.iter().any(|wire| self.is_asked_for(*wire))
    }

    /// Do others want more of a full wire for their own paths?
    fn is_asked_for(&self, wire: usize) -> bool {
        self.is_shared(wire)
            && self.loads[wire].is_full_with(self.own[wire])
            && !self.others.are_content(wire)
    }

    /// Do those whose way a detour is in already have much of a wire?
    fn is_in_the_way_of_much(&self, detour: &PathUse) -> bool {
        let much = |wire: &usize| self.loads[*wire].first >= MUCH * self.loads[*wire].capacity;
        detour.wires.iter().any(|wire| self.is_asked_for(*wire) && much(wire))
    }

    /// Was a detour in the way, and do others still send by one of its wires?
    fn is_held(&self, detour: &PathUse) -> bool {
        let held = |wire: &usize| self.others.hold(*wire, self.now_ms) && self.is_shared(*wire);
        detour.wires.iter().any(held)
    }

    /// Have others a wire for their own paths?
    fn is_shared(&self, wire: usize) -> bool {
        self.loads[wire].first > LITTLE * self.loads[wire].capacity
    }
}

/// The weights of the plan.
#[must_use]
pub fn planned(paths: &[PathUse]) -> Vec<u8> {
    let planned: Vec<f64> = paths.iter().map(|path| f64::from(path.planned)).collect();
    let sum: f64 = planned.iter().sum();
    whole(&planned.iter().map(|planned| planned / sum.max(1.0)).collect::<Vec<_>>())
}

/// Shares by weight; `None` if nothing has any.
fn shares(weights: &[u8]) -> Option<Vec<f64>> {
    let sum: u32 = weights.iter().map(|weight| u32::from(*weight)).sum();
    (sum > 0).then(|| weights.iter().map(|weight| f64::from(*weight) / f64::from(sum)).collect())
}

/// Whole weights of about [`SUM`] in all.
fn whole(shares: &[f64]) -> Vec<u8> {
    shares.iter().map(|share| (share * f64::from(SUM)).round() as u8).collect()
}

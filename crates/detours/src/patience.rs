//! When a pair may have other weights again. A change that brought nothing is followed by longer and longer rests, and one
//! that cost something is taken back, so that flows which no weights can divide are left in peace.

use crate::others::{Load, Others};
use crate::shares::{Decision, Pair, PathUse, Reason, Seen, own};

/// Weights change at most once in this time.
const REST_MS: u64 = 2000;
const REST_MOST_MS: u64 = 64_000;
/// So many looks until a change has taken effect.
const SETTLING: u32 = 2;
/// Detours that seem to be needed no more are left after this time.
const UNNEEDED_MS: u64 = 2000;
/// By this factor a rest grows after a change in vain.
const LONGER: u64 = 4;
/// A change that brought less than this is in vain.
const GAIN: f64 = 1.05;
/// One after which less than this is left is taken back.
const LOSS: f64 = 0.95;
/// Traffic, or room, that differs by this factor later on is for others to explain.
const OTHER: f64 = 1.25;

/// The last change of a pair.
#[derive(Debug, Clone, PartialEq)]
struct Patience {
    at_ms: u64,
    rest_ms: u64,
    before: Seen,
    /// What was seen when the change had taken effect: of the first two looks the one at more traffic, as TCP sends less
    /// for a while when flows move.
    settled: Option<Seen>,
    looks: u32,
    /// The weights before.
    weights: Vec<u8>,
    taken_back: bool,
    /// Since when the detours have seemed to be needed no more.
    unneeded_since: Option<u64>,
    reason: Reason,
}

/// What is remembered of a pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// The last change of its weights.
    last: Option<Patience>,
    others: Others,
}

impl Memory {
    /// Why it has the weights that it has.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.last.as_ref().map_or(Reason::Alone, |last| last.reason)
    }

    /// For how many milliseconds from now on its detours get no more, unless traffic changes.
    #[must_use]
    pub fn rests_ms(&self, now_ms: u64) -> u64 {
        let rest = self.last.as_ref().filter(|last| !last.gained());
        let rest = rest.map_or(0, |last| last.at_ms + last.rest_ms);
        rest.max(self.others.held_until()).saturating_sub(now_ms)
    }

    /// New weights of a pair, if it is time for any. `now`: the present weights; `loads`: without what the pair sends.
    pub fn reconsider(
        &mut self,
        paths: &[PathUse],
        loads: &[Load],
        now: &[u8],
        now_ms: u64,
    ) -> Option<Vec<u8>> {
        let own = own(paths, loads.len());
        self.others.look(loads, &own, now_ms);
        let pair = Pair::of(paths, loads, &own, now, &self.others, now_ms);
        let last = &mut self.last;
        if last.as_ref().is_some_and(|last| last.rests(now_ms)) {
            return None;
        }
        if pair.is_idle() && pair.goes_as_planned() {
            // What was learned of its flows says nothing of the next ones.
            *last = None;
            return None;
        }
        let seen = pair.seen();
        let lost = last.as_mut().is_some_and(|last| last.look(seen));
        let decision = pair.decide();
        if let Some(last) = last {
            let reason = decision.as_ref().map(|decision| decision.reason);
            last.note_need(now_ms, pair.gives_way(), reason);
        }
        if let Some(Decision { weights, reason }) = decision {
            let allowed = last.as_ref().is_none_or(|last| last.allows(now_ms, seen, reason));
            // A pair that sends less because of the change seems to need no detours, and would try the same again at once.
            if allowed && (!lost || reason == Reason::GivesWay) {
                let asked_for: Vec<usize> = pair.asked_for().collect();
                asked_for.into_iter().for_each(|wire| self.others.try_wire(wire, &loads[wire]));
                *last = Some(Patience::after(last.as_ref(), now_ms, seen, now.to_vec(), reason));
                return Some(weights);
            }
        }
        let last = last.as_mut().filter(|_| lost)?;
        last.take_back(now_ms);
        Some(last.weights.clone())
    }
}

impl Patience {
    /// A change of `weights` at `now_ms`, after the change before.
    fn after(
        last: Option<&Self>,
        now_ms: u64,
        seen: Seen,
        weights: Vec<u8>,
        reason: Reason,
    ) -> Self {
        let rest_ms = match (last, reason) {
            (None, _) | (_, Reason::Alone | Reason::GivesWay) => REST_MS,
            (Some(last), _) if last.others_changed(seen) => REST_MS,
            (Some(last), _) if last.gained() => (last.rest_ms / 2).max(REST_MS),
            // One try and its end are one change in vain, not two.
            (Some(last), Reason::Full) if last.taken_back || last.reason == Reason::Vain => {
                last.rest_ms
            }
            (Some(last), _) => (LONGER * last.rest_ms).min(REST_MOST_MS),
        };
        Self {
            at_ms: now_ms,
            rest_ms,
            before: seen,
            settled: None,
            looks: 0,
            weights,
            taken_back: false,
            unneeded_since: None,
            reason,
        }
    }

    /// Has the change had no time yet to take effect?
    const fn rests(&self, now_ms: u64) -> bool {
        now_ms < self.at_ms + REST_MS
    }

    /// Looks at what the change has brought. Returns whether it is to be taken back.
    fn look(&mut self, seen: Seen) -> bool {
        if self.looks < SETTLING {
            let more = self.settled.is_none_or(|settled| seen.total > settled.total);
            self.settled = if more { Some(seen) } else { self.settled };
            self.looks += 1;
        }
        let least = LOSS * self.before.total;
        let lost = self.looks == SETTLING && self.settled.is_some_and(|of| of.total < least);
        lost && !self.others_changed(seen) && !self.taken_back && self.reason == Reason::Full
    }

    /// The change is taken back at `now_ms`.
    fn take_back(&mut self, now_ms: u64) {
        self.rest_ms = (LONGER * self.rest_ms).min(REST_MOST_MS);
        (self.at_ms, self.settled, self.looks, self.taken_back) = (now_ms, None, 0, true);
    }

    /// Notes whether the detours seem to be needed at `now_ms`. Those in the way of others are not waited for.
    fn note_need(&mut self, now_ms: u64, in_the_way: bool, decision: Option<Reason>) {
        self.unneeded_since = match decision {
            Some(Reason::Alone | Reason::Vain) if in_the_way => Some(0),
            Some(Reason::Alone | Reason::Vain) => Some(self.unneeded_since.unwrap_or(now_ms)),
            _ => None,
        };
    }

    /// May there be a change for this reason?
    fn allows(&self, now_ms: u64, seen: Seen, reason: Reason) -> bool {
        if matches!(reason, Reason::Alone | Reason::Vain) {
            return self.unneeded_since.is_some_and(|since| now_ms >= since + UNNEEDED_MS);
        }
        reason != Reason::Full
            || now_ms >= self.at_ms + self.rest_ms
            || self.gained()
            || self.others_changed(seen)
    }

    /// Has the change brought something?
    fn gained(&self) -> bool {
        let more = |settled: Seen| settled.total > GAIN * self.before.total;
        !self.taken_back && self.reason == Reason::Full && self.settled.is_some_and(more)
    }

    /// Have others changed something since the change took effect?
    fn others_changed(&self, seen: Seen) -> bool {
        let differs = |a: f64, b: f64| a > OTHER * b || b > OTHER * a;
        self.settled.is_some_and(|settled| {
            differs(seen.total, settled.total) || seen.room > OTHER * settled.room
        })
    }
}

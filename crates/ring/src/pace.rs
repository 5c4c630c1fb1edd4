//! Finds the slow member of a ring, the one that delays all members behind it.
//!
//! A member is slow if it receives at less than half the rate of the fastest one although the
//! member in front of it has more to send. Either the member itself is slow, or the one in front
//! sends slowly. So the member is bypassed first; if the next member behind is slow too, the one in
//! front is at fault.

use std::collections::VecDeque;
use std::time::Duration;

use crate::routes::StreamRoutes;

/// Length of the time window over which rates are measured.
const WINDOW: Duration = Duration::from_secs(3);
/// A member is judged only if the one in front has this many bytes more.
const BEHIND: u64 = 4 << 20;
/// A member is judged only if the rest would take it at least this long.
const LONG: Duration = Duration::from_secs(3);

/// The number of bytes that each member of a copy had received at several recent times, from which
/// its rate is computed.
#[derive(Debug, Clone)]
pub struct Pace {
    seen: Vec<Seen>,
    stripes: usize,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    /// Samples of the progress: time, and bytes present of each stripe over all parts.
    has: VecDeque<(Duration, Vec<u64>)>,
    /// Bytes present of each stream.
    streams: Vec<u64>,
    lacks: u64,
    /// Last measured bytes per second of each stripe.
    rates: Vec<f64>,
    /// Whether this member or the one behind it was bypassed.
    blamed: bool,
    bypassed: bool,
}

impl Pace {
    /// Starts without samples, for `members` members that receive each part in `stripes` stripes.
    #[must_use]
    pub fn new(members: usize, stripes: usize) -> Self {
        Self { seen: vec![Seen::default(); members], stripes }
    }

    /// Adds a sample: the bytes that a member has of each stream, and how many it still lacks.
    pub fn report(&mut self, member: usize, at: Duration, streams: &[u64], lacks: u64) {
        if streams.is_empty() {
            // The member reports no streams, or cannot send yet what it has.
            let seen = &mut self.seen[member];
            seen.has.clear();
            seen.streams.clear();
            return seen.rates.clear();
        }
        let of_stripe = |stripe| streams.iter().skip(stripe).step_by(self.stripes).sum();
        let has = (0..self.stripes).map(of_stripe).collect();
        let seen = &mut self.seen[member];
        // The newest sample older than the window is kept.
        while seen.has.get(1).is_some_and(|(then, _)| *then + WINDOW <= at) {
            seen.has.pop_front();
        }
        seen.has.push_back((at, has));
        seen.streams = streams.to_vec();
        seen.lacks = lacks;
        if let Some(rates) = self.rates(member, at).filter(|_| lacks > 0) {
            self.seen[member].rates = rates;
        }
    }

    /// Discards all samples.
    pub fn forget(&mut self) {
        self.seen.iter_mut().for_each(|seen| seen.has.clear());
    }

    /// Returns whether a member was bypassed.
    #[must_use]
    pub fn was_bypassed(&self, member: usize) -> bool {
        self.seen[member].bypassed
    }

    /// Returns the bytes per second that a member received lately.
    #[must_use]
    pub fn rate(&self, member: usize, now: Duration) -> Option<f64> {
        Some(self.rates(member, now)?.into_iter().sum())
    }

    fn rates(&self, member: usize, now: Duration) -> Option<Vec<f64>> {
        let (then, before) = self.seen[member].has.front()?;
        let (_, has) = self.seen[member].has.back()?;
        let seconds = now.checked_sub(*then).filter(|since| *since >= WINDOW / 2)?.as_secs_f64();
        let rate = |(has, before): (&u64, &u64)| has.saturating_sub(*before) as f64 / seconds;
        Some(has.iter().zip(before).map(rate).collect())
    }

    /// Returns a slow member that should be bypassed, and records that it is.
    pub fn slow(&mut self, now: Duration, routes: &StreamRoutes) -> Option<usize> {
        let all =
            (0..self.seen.len()).flat_map(|m| (0..self.stripes).map(move |stripe| (m, stripe)));
        let (culprit, parent) = all.into_iter().find_map(|(member, stripe)| {
            let parent = self.waits_for(member, stripe, now, routes)?;
            // If the member before was blamed once already, the member bypassed behind it was not
            // the cause.
            let culprit = if self.seen[parent].blamed { parent } else { member };
            let can_go = !routes.parents(culprit).is_empty() && !self.seen[culprit].bypassed;
            can_go.then_some((culprit, parent))
        })?;
        self.seen[parent].blamed = true;
        self.seen[culprit].bypassed = true;
        self.forget();
        Some(culprit)
    }

    /// If `member` is slow in a stripe and holds up members behind it, returns the member it
    /// receives from.
    fn waits_for(
        &self,
        member: usize,
        stripe: usize,
        now: Duration,
        routes: &StreamRoutes,
    ) -> Option<usize> {
        let seen = &self.seen[member];
        if seen.bypassed || !routes.lives(member) || !routes.has_behind(member) {
            return None;
        }
        let (first, _) = seen.has.front()?;
        let rate = *self.rates(member, now).filter(|_| now >= *first + WINDOW)?.get(stripe)?;
        let best = self.seen.iter().filter_map(|seen| seen.rates.get(stripe));
        let best = best.fold(0.0, |best: f64, rate| best.max(*rate));
        if rate >= best / 2.0 || seen.lacks as f64 <= rate * LONG.as_secs_f64() {
            return None;
        }
        let behind = |(stream, has): (usize, &u64)| {
            let parent = routes.parent(stream, member)?;
            let part = stream / self.stripes;
            let all = !routes.wants(part, parent);
            let there = if all { u64::MAX } else { *self.seen[parent].streams.get(stream)? };
            (!routes.has(part, member) && there.saturating_sub(*has) >= BEHIND).then_some(parent)
        };
        let streams = seen.streams.iter().enumerate().skip(stripe).step_by(self.stripes);
        streams.into_iter().find_map(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Distribution, StreamFlow};

    const ALL: u64 = 1_000_000_000;

    /// Runs a simulated ring whose members get at most the given bytes per second; returns the
    /// members that are bypassed.
    fn run(rates: &[f64], out: &[f64]) -> Vec<usize> {
        let order: Vec<usize> = (0..rates.len()).collect();
        let mut routes =
            StreamRoutes::new(vec![StreamFlow::along(&order, 0, Distribution::Ring)], 1);
        let mut pace = Pace::new(rates.len(), 1);
        let mut has = vec![0.0; rates.len()];
        has[0] = ALL as f64;
        let mut bypassed = Vec::new();
        for tick in 0..400 {
            let before = has.clone();
            for member in 1..rates.len() {
                let parent = routes.parents(member).into_iter().next().unwrap();
                let most = rates[member].min(out[parent]) / 4.0;
                has[member] = (has[member] + most).min(before[parent]);
                let now = Duration::from_millis(250 * tick);
                pace.report(member, now, &[has[member] as u64], ALL - has[member] as u64);
                if has[member] >= ALL as f64 {
                    routes.done(0, member);
                }
            }
            if let Some(slow) = pace.slow(Duration::from_millis(250 * tick), &routes) {
                bypassed.push(slow);
                routes.bypass(slow);
            }
        }
        bypassed
    }

    #[test]
    fn a_slow_member_is_bypassed_and_no_other() {
        let (fast, slow) = (50e6, 10e6);
        let mut rates = [fast; 8];
        assert_eq!(run(&rates, &[fast; 8]), [0; 0]);
        rates[3] = slow;
        assert_eq!(run(&rates, &[fast; 8]), [3]);
        rates[6] = slow / 2.0;
        let mut bypassed = run(&rates, &[fast; 8]);
        bypassed.sort_unstable();
        assert_eq!(bypassed, [3, 6]);
        // Nobody waits for the last one.
        rates = [fast; 8];
        rates[7] = slow;
        assert_eq!(run(&rates, &[fast; 8]), [0; 0]);
    }

    #[test]
    fn a_member_that_sends_slowly_is_found_behind_the_first_that_is_not_it() {
        let mut out = [50e6; 8];
        out[3] = 5e6;
        assert_eq!(run(&[50e6; 8], &out), [4, 3]);
        // Instead of a source nobody can send.
        out = [50e6; 8];
        out[0] = 5e6;
        assert_eq!(run(&[50e6; 8], &out).len(), 0);
    }

    #[test]
    fn one_slow_ring_of_two_is_found() {
        let orders = [[0, 1, 2, 3], [0, 3, 2, 1]];
        let flows = orders.map(|order| StreamFlow::along(&order, 0, Distribution::Ring)).to_vec();
        let routes = StreamRoutes::new(flows, 2);
        let mut pace = Pace::new(4, 2);
        let mut slow = None;
        for tick in 0..40_u64 {
            let now = Duration::from_millis(250 * tick);
            let fast = tick * 10_000_000;
            // From the third to the second one in the second ring, and so to the first one.
            pace.report(1, now, &[fast, fast / 20], ALL - fast);
            pace.report(2, now, &[fast, fast / 20], ALL - fast);
            pace.report(3, now, &[fast, fast], ALL - fast);
            slow = slow.or(pace.slow(now, &routes));
        }
        assert_eq!(slow, Some(2));
    }
}

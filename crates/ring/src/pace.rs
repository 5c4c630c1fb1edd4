//! Which member holds up those behind it.
//!
//! One that gets less than half of what the fastest got, though the one in front of it has more to send, is slow: or
//! that one is, which shows when the next one behind it is no faster.

use std::collections::VecDeque;
use std::time::Duration;

use crate::routes::Routes;

/// What is looked at.
const WINDOW: Duration = Duration::from_secs(3);
/// Octets that the one in front has and it has not.
const BEHIND: u64 = 4 << 20;
/// Time that it would need for the rest, at least.
const LONG: Duration = Duration::from_secs(3);

/// What members had at which times, from the beginning of the run.
#[derive(Debug, Clone)]
pub struct Pace {
    seen: Vec<Seen>,
    /// Octets per second of the fastest.
    best: f64,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    /// When it had how much.
    has: VecDeque<(Duration, u64)>,
    /// Of each part now.
    parts: Vec<u64>,
    lacks: u64,
    /// The one behind it was bypassed, or it was itself.
    blamed: bool,
    bypassed: bool,
}

impl Pace {
    /// Of so many members.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Self { seen: vec![Seen::default(); members], best: 0.0 }
    }

    /// A member has so much of each part, and lacks so many octets.
    pub fn tell(&mut self, member: usize, at: Duration, parts: &[u64], lacks: u64) {
        let seen = &mut self.seen[member];
        // The last one that is older than the window stays.
        while seen.has.get(1).is_some_and(|(then, _)| *then + WINDOW <= at) {
            seen.has.pop_front();
        }
        seen.has.push_back((at, parts.iter().sum()));
        seen.parts = parts.to_vec();
        seen.lacks = lacks;
        self.best = self.rate(member, at).map_or(self.best, |rate| rate.max(self.best));
    }

    /// Was it bypassed?
    #[must_use]
    pub fn was_bypassed(&self, member: usize) -> bool {
        self.seen[member].bypassed
    }

    /// Octets per second that a member got of late.
    #[must_use]
    pub fn rate(&self, member: usize, now: Duration) -> Option<f64> {
        let (then, before) = *self.seen[member].has.front()?;
        let (_, has) = *self.seen[member].has.back()?;
        let seconds = now.checked_sub(then).filter(|since| *since >= WINDOW / 2)?.as_secs_f64();
        Some(has.saturating_sub(before) as f64 / seconds)
    }

    /// One to bypass, which is noted.
    pub fn slow(&mut self, now: Duration, routes: &Routes) -> Option<usize> {
        let (member, parent) = (0..self.seen.len()).find_map(|member| {
            let parent = self.waits_for(member, now, routes)?;
            Some((member, parent))
        })?;
        // What was bypassed behind it was not the reason.
        let culprit = if self.seen[parent].blamed { parent } else { member };
        self.seen[parent].blamed = true;
        let can_go = !routes.parents(culprit).is_empty() && !self.seen[culprit].bypassed;
        self.seen[culprit].bypassed |= can_go;
        // What was seen until now does not count any more.
        self.seen.iter_mut().for_each(|seen| seen.has.clear());
        can_go.then_some(culprit)
    }

    /// For whom a slow one waits that holds up others.
    fn waits_for(&self, member: usize, now: Duration, routes: &Routes) -> Option<usize> {
        let seen = &self.seen[member];
        if seen.bypassed || !routes.lives(member) || !routes.has_behind(member) {
            return None;
        }
        let (first, _) = *seen.has.front()?;
        let rate = self.rate(member, now).filter(|_| now >= first + WINDOW)?;
        let slow = rate < self.best / 2.0 && seen.lacks as f64 > rate * LONG.as_secs_f64();
        let behind = |(part, has): (usize, &u64)| {
            let parent = routes.parent(part, member)?;
            let all = !routes.wants(part, parent);
            let there = if all { u64::MAX } else { *self.seen[parent].parts.get(part)? };
            (!routes.has(part, member) && there.saturating_sub(*has) >= BEHIND).then_some(parent)
        };
        seen.parts.iter().enumerate().find_map(behind).filter(|_| slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{Flow, Shape};

    const ALL: u64 = 1_000_000_000;

    /// Members in a ring, each of which gets so many octets per second at most, and those bypassed.
    fn run(rates: &[f64], out: &[f64]) -> Vec<usize> {
        let order: Vec<usize> = (0..rates.len()).collect();
        let mut routes = Routes::new(vec![Flow::along(&order, 0, Shape::Ring)], 1);
        let mut pace = Pace::new(rates.len());
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
                pace.tell(member, now, &[has[member] as u64], ALL - has[member] as u64);
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
}

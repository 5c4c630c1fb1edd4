//! Members that are gone, that tell nothing, or that are too slow.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::state::{Loss, Member, Members};

/// A member that tells nothing for so long is gone: one that lives tells every second what it has.
pub const SILENT: Duration = Duration::from_secs(20);
/// Who told something not longer ago than that lives.
const FRESH: Duration = Duration::from_secs(3);
/// Connections that may be lost at one member that lives.
const TRIES: usize = 2;
/// So long one counts.
const LATELY: Duration = Duration::from_secs(60);
/// Octets that came since the last one of these, for it not to count any more.
const ENOUGH: u64 = 64 << 20;
/// So many times as long as those that are too slow get, nothing at all may move.
const STILL: u32 = 30;

impl Members<'_> {
    /// A member could not send to another one.
    pub fn lost(&mut self, from: usize, number: u32, words: &str) {
        let Some(to) = self.all[from].told.get(number as usize).copied() else { return };
        let latest = self.all[from].told.iter().rposition(|it| *it == to);
        let open = self.all[to].outcome.is_none() && self.routes.lives(to);
        if latest != Some(number as usize) || !open || !self.routes.needs(to, from) {
            return;
        }
        let words = format!("what {} sends it is lost: {words}", self.party.name(from));
        self.routes.lost(from, to);
        self.active.retain(|stage| (stage.from, stage.to) != (from, to));
        let lives = self.all[to].silence() < FRESH;
        let member = &mut self.all[to];
        if member.has.0 >= member.missed_at + ENOUGH {
            // What was long ago does not count.
            member.missed = 0;
        }
        (member.missed, member.missed_at) = (member.missed + 1, member.has.0);
        self.all[from].lost += 1;
        self.losses.retain(|loss| loss.when.elapsed() < LATELY);
        self.losses.push(Loss { from, to, when: Instant::now(), reached: false });
        // One end of all stages is the hub, which is not to blame.
        let (hub_gets, hub_sends) = (self.job.hub == Some(to), self.job.hub == Some(from));
        let source = self.routes.parents(from).is_empty();
        let blamed = !hub_sends && !source && self.alone(from) > TRIES;
        if hub_gets || blamed {
            if blamed || self.all[from].lost > 1 {
                self.fail(from, format!("it reaches {} no more: {words}", self.party.name(to)));
            }
            self.tell_changes();
        } else if !lives || self.all[to].missed > TRIES {
            self.fail(to, words);
        } else {
            self.routes.bypass(to);
            if self.losses.iter().filter(|loss| (loss.from, loss.to) == (from, to)).count() > 1 {
                self.routes.avoid(from, to);
            }
            self.tell_changes();
        }
    }

    /// To how many it could not send of late whom others reached since.
    fn alone(&self, from: usize) -> usize {
        let own = self.losses.iter().filter(|loss| loss.from == from && loss.reached);
        own.map(|loss| loss.to).collect::<BTreeSet<_>>().len()
    }

    /// A member is connected to another one.
    pub fn linked(&mut self, from: usize, number: u32) {
        self.unlinked = self.unlinked.saturating_sub(1);
        let to = self.all[from].told.get(number as usize).copied();
        let others = |loss: &&mut Loss| Some(loss.to) == to && loss.from != from;
        self.losses.iter_mut().filter(others).for_each(|loss| loss.reached = true);
    }

    /// What nobody tells.
    pub fn look_after(&mut self) {
        let open = |m: &Member| m.outcome.is_none();
        // Who has all may have to send it yet.
        let needed = |at: usize, m: &Member| open(m) || self.routes.has_behind(at);
        let late = |(at, m): (usize, &Member)| {
            self.routes.lives(at) && needed(at, m) && m.silence() > FRESH
        };
        let late: Vec<usize> =
            self.all.iter().enumerate().filter(|it| late(*it)).map(|(at, _)| at).collect();
        for at in &late {
            if self.all[*at].silence() > SILENT {
                self.progress.say(&format!("{} tells nothing any more", self.party.name(*at)));
                self.fail(*at, "it tells nothing any more".into());
                // What the others did until now is not their fault.
                self.pace.forget();
                self.last_done = self.started.elapsed();
            }
        }
        let now = self.started.elapsed();
        if self.job.hub.is_none()
            && late.is_empty()
            && let Some(slow) = self.pace.slow(now, &self.routes)
        {
            self.progress.say(&format!("{} is slow: it comes last", self.party.name(slow)));
            self.routes.bypass(slow);
            self.tell_changes();
        }
        let waiting: Vec<usize> = (0..self.all.len()).filter(|at| open(&self.all[*at])).collect();
        if late.is_empty() && self.are_too_slow(&waiting, now) {
            for at in waiting {
                self.fail(at, "it is too slow".into());
            }
        } else if let Some(still) = self.all_stands_still() {
            for at in waiting {
                self.fail(at, format!("nothing has moved for {} s", still.as_secs()));
            }
        }
    }

    /// Those that nobody waits for, bypassed ones and the last ones: have they had their time?
    fn are_too_slow(&self, waiting: &[usize], now: Duration) -> bool {
        let last = |at: &usize| self.pace.was_bypassed(*at) || !self.routes.has_behind(*at);
        // Those that had something to get, and got it, say how long that takes.
        let got = |member: &&Member| {
            member.outcome.as_ref().is_some_and(|it| it.error.is_none()) && member.has.1 > 0
        };
        let got = self.all.iter().filter(got).count();
        let over = self.job.hub.is_none() && got > 0 && waiting.len() <= got;
        let patience = self.last_done.max(Duration::from_secs(self.ring.patience));
        over && waiting.iter().all(last) && now > self.last_done.saturating_add(patience)
    }

    /// For how long, where that is too long: somebody waits for a disk that does not answer any more.
    fn all_stands_still(&mut self) -> Option<Duration> {
        let moved = |m: &Member| m.has.0.saturating_add(m.read).saturating_add(m.done.len() as u64);
        let moved = self.all.iter().map(moved).fold(0, u64::saturating_add);
        if self.input || moved != self.moved.0 {
            // Whoever writes to standard input may take as long as they like.
            self.moved = (moved, Instant::now());
        }
        let most =
            Duration::from_secs(self.ring.patience.max(SILENT.as_secs())).saturating_mul(STILL);
        Some(self.moved.1.elapsed()).filter(|still| *still > most)
    }
}

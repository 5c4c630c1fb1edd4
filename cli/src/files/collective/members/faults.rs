//! Handles members (nodes that take part in moving files) that are gone, silent or too slow, and
//! routes the data around them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::state::{Loss, Member, Members};

/// A member (the process on a node) that has reported nothing for this long counts as gone. Members
/// report their progress every second.
pub const SILENT: Duration = Duration::from_secs(20);
/// A member that reported something within this time is alive.
const FRESH: Duration = Duration::from_secs(3);
/// How many connections a live member may lose before it is left out.
const TRIES: usize = 2;
/// How long a lost connection counts.
const LATELY: Duration = Duration::from_secs(60);
/// A member that got this many bytes since its last lost connection starts to count anew.
const ENOUGH: u64 = 64 << 20;
/// A run fails if no byte moves for this many times the patience.
const STILL: u32 = 30;

impl Members<'_> {
    /// Handles the report of a member that it could not send to another one, and decides which of the two is at fault.
    pub fn lost(&mut self, from: usize, number: u32, words: &str) {
        let Some(to) = self.all[from].receivers.get(number as usize).copied() else { return };
        let latest = self.all[from].receivers.iter().rposition(|it| *it == to);
        let open = self.all[to].outcome.is_none() && self.routes.lives(to);
        if latest != Some(number as usize) || !open || !self.routes.needs(to, from) {
            return;
        }
        let lost = format!("data from {} does not reach it: {words}", self.party.name(from));
        self.routes.lost(from, to);
        self.active.retain(|stage| (stage.from, stage.to) != (from, to));
        let lives = self.all[to].silence() < FRESH;
        let member = &mut self.all[to];
        if member.has.0 >= member.missed_at + ENOUGH {
            // The member got much since then: count anew.
            member.missed = 0;
        }
        (member.missed, member.missed_at) = (member.missed + 1, member.has.0);
        self.all[from].lost += 1;
        self.losses.retain(|loss| loss.when.elapsed() < LATELY);
        self.losses.push(Loss { from, to, when: Instant::now(), reached: false });
        // The hub is one end of every stage, so its losses are not its fault.
        let (hub_gets, hub_sends) = (self.job.hub == Some(to), self.job.hub == Some(from));
        let source = self.routes.parents(from).is_empty();
        let blamed = !hub_sends && !source && self.alone(from) > TRIES;
        let unreached = format!("it does not reach {} any more: {words}", self.party.name(to));
        if hub_gets {
            if blamed || self.all[from].lost > 1 {
                self.fail(from, unreached);
            }
            self.tell_changes();
        } else if blamed {
            // It sends nothing from now on. It leaves the run only if others need what it alone has.
            self.routes.bypass(from);
            if self.routes.has_behind(from) {
                self.fail(from, unreached);
            }
            self.tell_changes();
        } else if !lives || self.all[to].missed > TRIES {
            self.fail(to, lost);
        } else {
            self.routes.bypass(to);
            if self.losses.iter().filter(|loss| (loss.from, loss.to) == (from, to)).count() > 1 {
                self.routes.avoid(from, to);
            }
            self.tell_changes();
        }
    }

    /// To how many members it could not send lately that others have reached since.
    fn alone(&self, from: usize) -> usize {
        let own = self.losses.iter().filter(|loss| loss.from == from && loss.reached);
        own.map(|loss| loss.to).collect::<BTreeSet<_>>().len()
    }

    /// Handles the report of a member that it is connected to another one.
    pub fn linked(&mut self, from: usize, number: u32) {
        self.unlinked = self.unlinked.saturating_sub(1);
        let to = self.all[from].receivers.get(number as usize).copied();
        let others = |loss: &&mut Loss| Some(loss.to) == to && loss.from != from;
        self.losses.iter_mut().filter(others).for_each(|loss| loss.reached = true);
    }

    /// Looks for what no member reports: silence, slowness, and a run that stands still.
    pub fn look_after(&mut self) {
        let open = |m: &Member| m.outcome.is_none();
        // A member that has everything may still have to send it on.
        let needed = |at: usize, m: &Member| open(m) || self.routes.has_behind(at);
        let late = |(at, m): (usize, &Member)| {
            self.routes.lives(at) && needed(at, m) && m.silence() > FRESH
        };
        let late: Vec<usize> =
            self.all.iter().enumerate().filter(|it| late(*it)).map(|(at, _)| at).collect();
        for at in &late {
            if self.all[*at].silence() > SILENT {
                self.progress.say(&format!("{} does not report any more", self.party.name(*at)));
                self.fail(*at, "it does not report any more".into());
                // The others were held up by it: measure their pace anew.
                self.pace.forget();
                self.last_done = self.started.elapsed();
            }
        }
        let now = self.started.elapsed();
        if self.job.hub.is_none()
            && late.is_empty()
            && let Some(slow) = self.pace.slow(now, &self.routes)
        {
            self.progress.say(&format!(
                "{} is slow: it is moved to the end of the ring",
                self.party.name(slow)
            ));
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

    /// Whether all unfinished members are ones that no other waits for, and have had their time.
    fn are_too_slow(&self, waiting: &[usize], now: Duration) -> bool {
        let last = |at: &usize| self.pace.was_bypassed(*at) || !self.routes.has_behind(*at);
        // Members that got something show how long that takes.
        let got = |member: &&Member| {
            member.outcome.as_ref().is_some_and(|it| it.error.is_none()) && member.has.1 > 0
        };
        let got = self.all.iter().filter(got).count();
        let over = self.job.hub.is_none() && got > 0 && waiting.len() <= got;
        let patience = self.last_done.max(Duration::from_secs(self.ring.patience));
        over && waiting.iter().all(last) && now > self.last_done.saturating_add(patience)
    }

    /// How long no byte has moved, if that is too long; a disk may have stopped answering, for example.
    fn all_stands_still(&mut self) -> Option<Duration> {
        let moved = |m: &Member| m.has.0.saturating_add(m.read).saturating_add(m.done.len() as u64);
        let moved = self.all.iter().map(moved).fold(0, u64::saturating_add);
        if self.input || moved != self.moved.0 {
            // The program that writes to standard input may take as long as it likes.
            self.moved = (moved, Instant::now());
        }
        let most =
            Duration::from_secs(self.ring.patience.max(SILENT.as_secs())).saturating_mul(STILL);
        Some(self.moved.1.elapsed()).filter(|still| *still > most)
    }
}

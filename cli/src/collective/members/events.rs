//! What members tell, what nobody tells, and what is told them because of it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tresse_ring::routes::Stage;
use tresse_ring::talk::{Ask, Part, Send, Tell};

use super::super::Moved;
use super::super::launch::Event;
use super::{Member, Members, Outcome};

/// A member that tells nothing for so long is gone: one that lives tells every second what it has.
const SILENT: Duration = Duration::from_secs(20);
/// Who told something not longer ago than that lives.
const FRESH: Duration = Duration::from_secs(3);
/// Connections that may be lost at one member that lives.
const TRIES: usize = 2;
/// Octets that came since the last one of these, for it not to count any more.
const ENOUGH: u64 = 64 << 20;
/// Stages at once from or to a node where everything comes from or goes to.
const AT_ONCE: usize = 8;

impl Members<'_> {
    /// Takes what they tell, for so long where they tell nothing.
    pub(super) fn attend(&mut self, most: Duration) {
        let Ok(first) = self.events.recv_timeout(most) else { return };
        let mut next = Some(first);
        // All that is there, before somebody is said to be silent.
        while let Some((at, event)) = next {
            self.all[at].heard = Instant::now();
            self.happens(at, event);
            next = self.events.try_recv().ok();
        }
    }

    fn happens(&mut self, at: usize, event: Event) {
        match event {
            Event::Connected(_) | Event::Told(Tell::Listens { .. }) | Event::Input(Ok(())) => {}
            Event::Told(Tell::Linked { .. }) => self.unlinked = self.unlinked.saturating_sub(1),
            Event::Told(Tell::Has { octets, of, streams, complete }) => {
                self.all[at].has = (octets, of);
                let mut new = false;
                for part in complete {
                    new |= self.routes.complete(part as usize, at);
                }
                if new {
                    self.turn();
                }
                if of > 0 {
                    self.pace.tell(at, self.started.elapsed(), &streams, of - octets.min(of));
                }
                if self.all[at].outcome.is_none() {
                    let rate = self.pace.rate(at, self.started.elapsed());
                    self.progress.has(at, octets, of, rate);
                }
            }
            Event::Told(Tell::Done { part, octets, hash }) => {
                let Some(moved) = self.job.parts.get(part as usize) else { return };
                self.all[at].done.push((part, octets, hash));
                if matches!(moved.places[at], Part::Target { .. }) {
                    self.last_done = self.started.elapsed();
                    self.routes.done(part as usize, at);
                }
                self.judge(at);
                self.turn();
            }
            Event::Told(Tell::Lost { number, words }) => self.lost(at, number, &words),
            Event::Told(Tell::Failed { words }) => {
                // It has removed what it had.
                self.all[at].has = (0, 0);
                self.fail(at, words);
            }
            Event::Gone(words) | Event::Input(Err(words)) => self.fail(at, words),
        }
    }

    /// To or from one node only some send at once: others wait for their turn.
    fn turn(&mut self) {
        if self.job.hub.is_some() {
            self.tell_changes();
        }
    }

    /// Has it all that it is to have?
    pub(super) fn judge(&mut self, at: usize) {
        let own = |part: &&Moved| {
            let input = matches!(part.places[at], Part::Target { input: true, .. });
            input || matches!(part.places[at], Part::Source { .. })
        };
        let own = self.job.parts.iter().enumerate().filter(|(_, part)| own(part));
        let done = |(part, _): (usize, &Moved)| {
            self.all[at].done.iter().any(|(it, _, _)| *it as usize == part)
        };
        let member = &self.all[at];
        if member.outcome.is_some() || !self.routes.is_whole(at) || !own.clone().all(done) {
            return;
        }
        match member.lacks.first() {
            Some(part) => {
                let from = self.party.name(self.job.parts[*part].from);
                self.out(at, format!("it lacks what {from} has: that is gone"));
            }
            None => {
                self.progress.done(at);
                let has = member.done.clone();
                self.all[at].outcome = Some(Outcome { has, error: None, left: None });
            }
        }
    }

    /// A member could not send to another one.
    fn lost(&mut self, from: usize, number: u32, words: &str) {
        let Some(to) = self.all[from].told.get(number as usize).copied() else { return };
        let latest = self.all[from].told.iter().rposition(|it| *it == to);
        let open = self.all[to].outcome.is_none() && self.routes.lives(to);
        if latest != Some(number as usize) || !open || !self.routes.needs(to, from) {
            return;
        }
        let words = format!("what {} sends it is lost: {words}", self.party.name(from));
        self.routes.lost(from, to);
        self.active.retain(|stage| (stage.from, stage.to) != (from, to));
        let lives = self.all[to].heard.elapsed() < FRESH;
        let member = &mut self.all[to];
        if member.has.0 >= member.missed_at + ENOUGH {
            // What was long ago does not count.
            member.missed = 0;
        }
        (member.missed, member.missed_at) = (member.missed + 1, member.has.0);
        self.all[from].lost += 1;
        // One end of all stages is the hub, which is not to blame. Nor is one that many do not reach, if many are
        // not reached by the same one.
        let (hub_gets, hub_sends) = (self.job.hub == Some(to), self.job.hub == Some(from));
        let source = self.routes.parents(from).is_empty();
        if hub_gets || (!hub_sends && !source && self.all[from].lost > TRIES) {
            if self.all[from].lost > 1 {
                self.fail(from, format!("it reaches {} no more: {words}", self.party.name(to)));
            }
            self.tell_changes();
        } else if !lives || self.all[to].missed > TRIES {
            self.fail(to, words);
        } else {
            self.routes.bypass(to);
            self.tell_changes();
        }
    }

    /// Leaves a member out: the one before it sends to those behind it.
    fn fail(&mut self, at: usize, words: String) {
        if self.all[at].outcome.is_none() {
            self.out(at, words);
        }
        // What it is not done with it keeps for another run.
        self.all[at].link.close();
        if self.routes.lives(at) {
            self.leave(at);
            self.tell_changes();
        }
    }

    /// It has not got all.
    pub(super) fn out(&mut self, at: usize, words: String) {
        let member = &mut self.all[at];
        let places = |part: u32| &self.job.parts[part as usize].places[at];
        let whole = member.done.iter().filter(|it| matches!(places(it.0), Part::Target { .. }));
        let whole: u64 = whole.map(|(_, octets, _)| octets).sum();
        let left = (member.has.0.saturating_sub(whole), member.has.1.saturating_sub(whole));
        let left = Some(left).filter(|(octets, of)| *octets > 0 && octets < of);
        let has = member.done.clone();
        member.outcome.get_or_insert(Outcome { has, error: Some(words), left });
        self.progress.done(at);
    }

    pub(super) fn leave(&mut self, at: usize) {
        let orphans = self.routes.leave(at);
        for (part, orphan) in &orphans {
            self.all[*orphan].lacks.push(*part);
        }
        for (_, orphan) in orphans {
            self.judge(orphan);
        }
    }

    /// Tells members what has changed, as far as they are not too many at once.
    pub(super) fn tell_changes(&mut self) {
        self.waiting.extend(self.routes.changes());
        let (job, routes) = (self.job, &self.routes);
        let stripes = self.stripes() as u32;
        let open = |stage: &Stage| {
            let open = |stream: &u32| !routes.has((stream / stripes) as usize, stage.to);
            routes.lives(stage.from) && routes.lives(stage.to) && stage.streams.iter().any(open)
        };
        self.active.retain(open);
        while job.hub.is_none() || self.active.len() < AT_ONCE {
            let Some(stage) = self.waiting.pop_front() else { break };
            let told = stage.streams.is_empty() || self.routes.lives(stage.to);
            if !told || !self.routes.lives(stage.from) {
                continue;
            }
            let to = &self.all[stage.to];
            let Some(port) = to.port else { continue };
            let address = SocketAddr::from((to.address, port));
            let from = &mut self.all[stage.from];
            let number = from.told.len() as u32;
            from.told.push(stage.to);
            let streams = stage.streams.clone();
            self.unlinked += usize::from(!streams.is_empty());
            from.link.ask(Ask::Send(Send { to: stage.to as u32, number, address, streams }));
            if !stage.streams.is_empty() {
                self.active.push(stage);
            }
        }
    }

    /// What nobody tells.
    pub(super) fn look_after(&mut self) {
        let open = |m: &Member| m.outcome.is_none();
        let late = |m: &Member| open(m) && m.heard.elapsed() > SILENT;
        while let Some(at) = self.all.iter().position(late) {
            self.fail(at, "it tells nothing any more".into());
        }
        let now = self.started.elapsed();
        if self.job.hub.is_none()
            && let Some(slow) = self.pace.slow(now, &self.routes)
        {
            self.progress.say(&format!("{} is slow: it comes last", self.party.name(slow)));
            self.routes.bypass(slow);
            self.tell_changes();
        }
        // Those that nobody waits for: bypassed ones, and the last ones.
        let waiting: Vec<usize> = (0..self.all.len()).filter(|at| open(&self.all[*at])).collect();
        let last = |at: &usize| self.pace.was_bypassed(*at) || !self.routes.has_behind(*at);
        let patience = self.last_done.max(Duration::from_secs(self.ring.patience));
        // Those that had something to get, and got it, say how long that takes.
        let got = |member: &&Member| {
            member.outcome.as_ref().is_some_and(|it| it.error.is_none()) && member.has.1 > 0
        };
        let got = self.all.iter().filter(got).count();
        let over = self.job.hub.is_none() && got > 0 && waiting.len() <= got;
        if over && waiting.iter().all(last) && now > self.last_done.saturating_add(patience) {
            for at in waiting {
                self.fail(at, "it is too slow".into());
            }
        }
    }
}

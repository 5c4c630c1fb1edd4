//! What members tell, and what is told them because of it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tresse_ring::routes::Stage;
use tresse_ring::talk::{Ask, Part, Send, Tell};

use super::super::Moved;
use super::super::launch::Event;
use super::{Members, Outcome};

/// Stages at once from or to a node where everything comes from or goes to.
const AT_ONCE: usize = 8;

impl Members<'_> {
    /// Takes what they tell, for so long where they tell nothing.
    pub(super) fn attend(&mut self, most: Duration) {
        let Ok(first) = self.events.recv_timeout(most) else { return };
        let mut next = Some(first);
        // All that is there, before somebody is said to be silent.
        while let Some((at, event)) = next {
            self.all[at].heard = Some(Instant::now());
            self.happens(at, event);
            next = self.events.try_recv().ok();
        }
    }

    fn happens(&mut self, at: usize, event: Event) {
        match event {
            Event::Connected(_) | Event::Told(Tell::Listens { .. }) => {}
            Event::Input(Ok(())) => self.input = false,
            Event::Told(Tell::Linked { number }) => self.linked(at, number),
            Event::Told(Tell::Has { octets, of, streams, complete, read }) => {
                self.all[at].has = (octets, of);
                self.all[at].read = read;
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
        let mut from: Vec<usize> =
            member.lacks.iter().map(|part| self.job.parts[*part].from).collect();
        // As in the cluster file, not as they went.
        from.sort_by_key(|from| self.job.nodes[*from]);
        let from: Vec<&str> = from.into_iter().map(|from| self.party.name(from)).collect();
        match &from[..] {
            [from] => self.out(at, format!("it lacks what {from} has: that is gone")),
            [_, ..] => {
                self.out(at, format!("it lacks what {} have: they are gone", from.join(", ")));
            }
            [] => {
                self.progress.done(at);
                let has = member.done.clone();
                self.all[at].outcome = Some(Outcome { has, error: None, left: None });
            }
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
}

//! Handles what members (the processes on the nodes) report while files are moved: progress,
//! finished parts, lost connections, failures.

use std::time::{Duration, Instant};

use tresse_ring::talk::{MemberReport, PartRole};

use super::state::Members;
use crate::files::collective::link::Event;

impl Members<'_> {
    /// Handles the events of members; waits at most this long for the first one.
    pub fn attend(&mut self, most: Duration) {
        let Ok(first) = self.events.recv_timeout(most) else { return };
        let mut next = Some(first);
        // Handle all events that are queued before a member counts as silent.
        while let Some((at, event)) = next {
            self.all[at].heard = Some(Instant::now());
            self.happens(at, event);
            next = self.events.try_recv().ok();
        }
    }

    fn happens(&mut self, at: usize, event: Event) {
        match event {
            Event::Connected(_) | Event::Report(MemberReport::Listens { .. }) => {}
            Event::Input(Ok(())) => self.input = false,
            Event::Report(MemberReport::Linked { number }) => self.linked(at, number),
            Event::Report(MemberReport::Has { bytes, of, streams, complete, read }) => {
                self.all[at].has = (bytes, of);
                self.all[at].read = read;
                let mut new = false;
                for part in complete {
                    new |= self.routes.complete(part as usize, at);
                }
                if new {
                    self.start_next();
                }
                if of > 0 {
                    self.pace.report(at, self.started.elapsed(), &streams, of - bytes.min(of));
                }
                if self.all[at].outcome.is_none() {
                    let rate = self.pace.rate(at, self.started.elapsed());
                    self.progress.has(at, bytes, of, rate);
                }
            }
            Event::Report(MemberReport::Done { part, bytes, hash }) => {
                let Some(moved) = self.job.parts.get(part as usize) else { return };
                self.all[at].done.push((part, bytes, hash));
                if matches!(moved.places[at], PartRole::Target { .. }) {
                    self.last_done = self.started.elapsed();
                    self.routes.done(part as usize, at);
                }
                self.judge(at);
                self.start_next();
            }
            Event::Report(MemberReport::Lost { number, words }) => self.lost(at, number, &words),
            Event::Report(MemberReport::Failed { words }) => {
                // A member that fails removes what it had.
                self.all[at].has = (0, 0);
                self.fail(at, words);
            }
            Event::Gone(words) | Event::Input(Err(words)) => self.fail(at, words),
        }
    }

    /// With a hub only some members send at once: lets the next ones start.
    fn start_next(&mut self) {
        if self.job.hub.is_some() {
            self.tell_changes();
        }
    }
}

//! Changes the state of a run of moving files: records that a member (node) has everything or has
//! failed, and requests members to send to other receivers.

use std::net::SocketAddr;

use tresse_ring::routes::Stage;
use tresse_ring::talk::{MemberRequest, PartRole, Send};

use super::state::Members;
use crate::files::collective::job::Moved;
use crate::files::collective::outcome::Outcome;

/// How many stages to or from a hub run at once.
const AT_ONCE: usize = 8;

impl Members<'_> {
    /// Ends a member's part in the run if it has everything that it can still get.
    pub fn judge(&mut self, at: usize) {
        let own = |part: &&Moved| {
            let input = matches!(part.places[at], PartRole::Target { input: true, .. });
            input || matches!(part.places[at], PartRole::Source { .. })
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
        // Name them in the order of the cluster file.
        from.sort_by_key(|from| self.job.nodes[*from]);
        let from: Vec<&str> = from.into_iter().map(|from| self.party.name(from)).collect();
        match &from[..] {
            [from] => self.out(at, format!("it lacks the file of {from}, which is gone")),
            [_, ..] => {
                self.out(at, format!("it lacks the files of {}, which are gone", from.join(", ")));
            }
            [] => {
                self.progress.done(at);
                let has = member.done.clone();
                self.all[at].outcome = Some(Outcome { has, error: None, left: None });
            }
        }
    }

    /// Records that a member does not have everything, and why.
    pub fn out(&mut self, at: usize, words: String) {
        let member = &mut self.all[at];
        let places = |part: u32| &self.job.parts[part as usize].places[at];
        let whole = member.done.iter().filter(|it| matches!(places(it.0), PartRole::Target { .. }));
        let whole: u64 = whole.map(|(_, bytes, _)| bytes).sum();
        let left = (member.has.0.saturating_sub(whole), member.has.1.saturating_sub(whole));
        let left = Some(left).filter(|(bytes, of)| *bytes > 0 && bytes < of);
        let has = member.done.clone();
        member.outcome.get_or_insert(Outcome { has, error: Some(words), left });
        self.progress.done(at);
    }

    /// Takes a member out of the routes. Returns whether others lack a part because of that.
    pub fn leave(&mut self, at: usize) -> bool {
        let orphans = self.routes.leave(at);
        let some = !orphans.is_empty();
        for (part, orphan) in &orphans {
            self.all[*orphan].lacks.push(*part);
        }
        for (_, orphan) in orphans {
            self.judge(orphan);
        }
        some
    }

    /// Leaves a member out: the member before it sends to those behind it.
    pub fn fail(&mut self, at: usize, words: String) {
        if self.all[at].outcome.is_none() {
            self.out(at, words.clone());
        }
        // The member keeps its incomplete parts for another run.
        self.all[at].link.close();
        if self.routes.lives(at) {
            if self.leave(at) {
                // It had everything itself, but others lack a part because it is gone.
                let outcome = self.all[at].outcome.as_mut();
                outcome.map(|outcome| outcome.error.get_or_insert(words));
            }
            self.tell_changes();
        }
    }

    /// Asks members to send as the routes now say; with a hub only some at once.
    pub fn tell_changes(&mut self) {
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
            let stops_or_reaches = stage.streams.is_empty() || self.routes.lives(stage.to);
            if !stops_or_reaches || !self.routes.lives(stage.from) {
                continue;
            }
            let to = &self.all[stage.to];
            let Some(port) = to.port else { continue };
            let address = SocketAddr::from((to.address, port));
            let from = &mut self.all[stage.from];
            let number = from.receivers.len() as u32;
            from.receivers.push(stage.to);
            let streams = stage.streams.clone();
            self.unlinked += usize::from(!streams.is_empty());
            from.link.ask(MemberRequest::Send(Send {
                to: stage.to as u32,
                number,
                address,
                streams,
            }));
            if !stage.streams.is_empty() {
                self.active.push(stage);
            }
        }
    }
}

//! Runs a job of moving files: starts the member process on each node, waits until all are ready,
//! lets them move the data, and ends them.

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use tresse_ring::pace::Pace;
use tresse_ring::proof::{self, Token};
use tresse_ring::routes::StreamRoutes;
use tresse_ring::talk::{Join, MemberReport, MemberRequest, PartRole};

use super::faults;
use super::state::{Member, Members};
use crate::fail::{Code, Failure};
use crate::files::collective::arguments::{CollectiveArgs, RingArgs};
use crate::files::collective::job::{Job, Moved};
use crate::files::collective::link::{Event, Link};
use crate::files::collective::outcome::Outcome;
use crate::files::collective::party::Party;
use crate::files::collective::progress::Progress;
use crate::files::collective::{manual, predict};
use crate::fleet::remedy;

/// The longest time until a member answers after its launch.
const LAUNCH: Duration = Duration::from_secs(60);
/// The same for a member that another program starts.
const MANUAL: Duration = Duration::from_secs(600);
/// The time that a source may take in addition to list its files.
const SOURCE: Duration = Duration::from_secs(600);
/// The longest time that a member's process may take to end by itself.
const ENDING: Duration = Duration::from_secs(5);
/// How often members are checked for silence.
const LOOK: Duration = Duration::from_millis(500);
/// How long the start waits for connections between members that do not come up.
const LINKING: Duration = Duration::from_secs(2);

impl<'a> Members<'a> {
    /// Starts all members and waits until they are ready. A member that fails is left out; if no source is left, the run
    /// fails.
    pub fn start(
        args: &'a CollectiveArgs,
        ring: &'a RingArgs,
        party: &'a Party,
        job: &'a Job,
        json: bool,
    ) -> Result<Self, Failure> {
        let launched = Instant::now();
        let token = proof::number()?;
        let names: Vec<String> = (0..job.nodes.len()).map(|at| party.name(at).into()).collect();
        let (send, events) = channel();
        if args.launcher().is_none() {
            manual::wait_for(args.listen, &names, token, send.clone())?;
        }
        let mut all = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let machine = party.plan.cluster().machine(job.nodes[at]);
            let address = party.plan.addresses().node[job.nodes[at].index()].first().copied();
            let address = address.ok_or_else(|| {
                Failure::new(Code::Fault, format!("{name} has no address of its own"))
            })?;
            let link = match args.launcher() {
                None => Link::awaited(),
                Some(by) => Link::start(by, args.fleet.lab(), machine, at, send.clone())?,
            };
            all.push(Member::new(link, address));
        }
        let stripes = if job.hub.is_some() { 1 } else { party.rings.len() };
        let (routes, pace) = (StreamRoutes::new(Vec::new(), 1), Pace::new(all.len(), stripes));
        let mut members = Self {
            job,
            party,
            args,
            ring,
            all,
            send,
            events,
            routes,
            pace,
            waiting: VecDeque::new(),
            active: Vec::new(),
            unlinked: 0,
            losses: Vec::new(),
            input: job.input,
            moved: (0, launched),
            progress: Progress::new(&names, json),
            launched,
            started: launched,
            last_done: Duration::ZERO,
            ended: Duration::ZERO,
        };
        if args.launcher().is_some() {
            (0..members.all.len()).for_each(|at| members.join(at, &token));
        }
        members.wait_until_ready(&token)?;
        Ok(members)
    }

    fn join(&self, at: usize, token: &Token) {
        let parts = self.job.parts.iter().map(|part| part.places[at].clone()).collect();
        self.all[at].link.ask(MemberRequest::Join(Join {
            // A member that another program started has the token already.
            token: if self.args.launcher().is_none() { String::new() } else { proof::text(token) },
            address: self.all[at].address,
            parts,
            stripes: self.stripes() as u32,
            keep: self.args.keep,
        }));
    }

    fn wait_until_ready(&mut self, token: &Token) -> Result<(), Failure> {
        let launch = if self.args.launcher().is_none() { MANUAL } else { LAUNCH };
        while self.all.iter().any(|member| member.outcome.is_none() && member.port.is_none()) {
            let event = self.events.recv_timeout(LOOK);
            if let Ok((at, _)) = event {
                self.all[at].heard = Some(Instant::now());
            }
            match event {
                // The first connection that names a node is its member.
                Ok((at, Event::Connected(stream))) if !self.all[at].link.is_open() => {
                    self.all[at].link.connect(stream, at, self.send.clone());
                    self.join(at, token);
                }
                Ok((at, Event::Report(MemberReport::Listens { port, bytes }))) => {
                    self.all[at].port = Some(port);
                    self.all[at].bytes = bytes;
                }
                Ok((at, Event::Report(MemberReport::Failed { words }))) => self.out(at, words),
                Ok((at, Event::Gone(words))) => {
                    let found_nothing = self.all[at].link.found_nothing();
                    let known =
                        || remedy::known(&words, self.args.launcher()?, self.party.name(at));
                    let words = match found_nothing {
                        true => no_tresse(&words),
                        false => known().map_or(words.clone(), |help| format!("{words}: {help}")),
                    };
                    self.out(at, words);
                }
                _ => {}
            }
            for at in 0..self.all.len() {
                let member = &self.all[at];
                let open = member.outcome.is_none() && member.port.is_none();
                let waited = self.launched.elapsed();
                let late = match member.heard {
                    None => waited > launch,
                    Some(heard) => heard.elapsed() > faults::SILENT || waited > launch + SOURCE,
                };
                if open && late {
                    self.out(at, "it does not answer".into());
                    self.all[at].link.close();
                }
            }
        }
        let sources: Vec<usize> = self.job.parts.iter().map(|part| part.from).collect();
        let gone = |at: &&usize| self.all[**at].outcome.is_some();
        match sources.iter().find(gone) {
            // As long as one source is left, there is something to do.
            Some(at) if sources.iter().all(|source| gone(&source)) => {
                let error = self.all[*at].outcome.as_ref().and_then(|it| it.error.clone());
                let words = format!("{}: {}", self.party.name(*at), error.unwrap_or_default());
                Err(Failure::new(Code::Fault, words))
            }
            _ => Ok(()),
        }
    }

    /// Lets the members copy until each has everything or has failed.
    pub fn finish(&mut self) -> Vec<Outcome> {
        let alive: Vec<bool> = self.all.iter().map(|member| member.outcome.is_none()).collect();
        let lives = |at: usize| alive[at];
        let bytes = self.job.parts.iter().map(|part| self.all[part.from].bytes);
        let bytes: Vec<Option<u64>> = bytes.collect();
        let shape = predict::shape(self.ring, self.party, self.job, &bytes, lives);
        let flows = self.job.flows(&self.party.orders(), shape, lives);
        self.routes = StreamRoutes::new(flows, self.stripes());
        let now = Instant::now();
        self.all.iter_mut().for_each(|member| member.heard = Some(now));
        for at in (0..self.all.len()).filter(|at| !alive[*at]) {
            self.leave(at);
        }
        for part in 0..self.job.parts.len() {
            if !lives(self.job.parts[part].from) {
                for at in self.job.wants(part).filter(|at| lives(*at)) {
                    self.all[at].lacks.push(part);
                }
            }
        }
        (0..self.all.len()).for_each(|at| self.judge(at));
        self.tell_changes();
        let linking = Instant::now();
        while self.unlinked > 0 && linking.elapsed() < LINKING {
            self.attend(LINKING.saturating_sub(linking.elapsed()));
        }
        self.started = Instant::now();
        self.moved.1 = self.started;
        for (at, member) in self.all.iter().enumerate() {
            let starts = |part: &Moved| {
                matches!(
                    part.places[at],
                    PartRole::Source { .. } | PartRole::Target { input: true, .. }
                )
            };
            if self.job.parts.iter().any(starts) {
                member.link.ask(MemberRequest::Start);
            }
        }
        if self.job.input {
            self.all[0].link.pump(0, self.send.clone());
        }
        while self.all.iter().any(|member| member.outcome.is_none()) {
            self.attend(LOOK);
            self.look_after();
        }
        self.ended = self.started.elapsed();
        self.progress.end();
        for member in &mut self.all {
            member.link.ask(MemberRequest::Quit);
            member.link.close();
        }
        let until = Instant::now() + ENDING;
        for member in &mut self.all {
            member.link.wait(until);
        }
        self.all.iter().filter_map(|member| member.outcome.clone()).collect()
    }

    /// The time since the launch, and the time that the transfer took.
    pub fn took(&self) -> (Duration, Duration) {
        (self.launched.elapsed(), self.ended)
    }
}

fn no_tresse(words: &str) -> String {
    format!("there is no `tresse` on it: install the package there ({words})")
}

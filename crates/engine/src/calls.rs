//! Starts, queues or refuses the control calls that need a transaction, such as Apply. A
//! transaction is one change of the kernel or one comparison with it; only one runs at a time.

use std::sync::Arc;

use tresse_control::NodeError;

use super::job::{Job, Purpose};
use super::prepared::Prepared;
use super::schedule::Cause;
use super::{Effect, Engine, Input, Intent, Reply, Unsaved, WAITING_CALLS};

impl Engine {
    /// Queues a call, or refuses it if an operator's change is under way.
    pub(super) fn call(&mut self, input: Input, out: &mut Vec<Effect>) {
        let busy = self.job.as_ref().and_then(|job| job.purpose.doing());
        let reads = matches!(input, Input::Diff { .. });
        let full = self.waiting.len() >= WAITING_CALLS;
        match (caller(&input), busy) {
            (Some(call), Some(doing)) if !reads => busy_reply(out, call, doing),
            (Some(call), _) if full => busy_reply(out, call, "answering others"),
            _ => self.waiting.push_back(input),
        }
    }

    /// Compares the kernel with the plan at once, as a path has broken or come back.
    pub(super) fn go_round(&mut self) {
        self.schedule.request(self.now, Cause::Path);
    }

    /// Starts the next transaction that is due, if none is under way.
    pub(super) fn next_job(&mut self, now: u64, out: &mut Vec<Effect>) {
        while self.job.is_none() {
            // Where nothing is to be done, it has ended as it began.
            self.schedule.ended(now);
            if self.confirm_at.is_some_and(|at| at <= now) {
                self.rollback(None, out);
            } else if let Some(input) = self.waiting.pop_front() {
                self.begin(now, input, out);
            } else if let Some(cause) = self.schedule.begin(now) {
                let mut job = match self.stored.intent {
                    Some(Intent::Withdraw) => {
                        let mut job = Job::new(Purpose::Withdraw { call: None }, None);
                        job.options.force = self.stored.force;
                        job
                    }
                    _ => Job::new(Purpose::Converge, self.stored.current.clone()),
                };
                job.cause = cause;
                match cause {
                    Cause::Path => self.recall(job, out),
                    _ => self.observe(job, out),
                }
            } else if let Some(again) = self.again.take_if(|again| again.at <= now) {
                let mut job = Job::new(Purpose::Apply { call: None }, Some(again.prepared));
                job.options = again.options;
                self.observe(job, out);
            } else {
                return;
            }
        }
    }

    fn begin(&mut self, now: u64, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Apply { call, prepared, options } => {
                let refusal = self.refuses_apply(&prepared, options.dry_run);
                match (call, refusal) {
                    (Some(call), Some(error)) => out.push(Effect::Reply(call, Err(error))),
                    (None, Some(error)) => {
                        super::publish(
                            out,
                            tresse_control::Alert::Warning,
                            "failed",
                            "",
                            &error.to_string(),
                        );
                    }
                    (call, None) => {
                        let target = Some(Arc::from(prepared));
                        let mut job = Job::new(Purpose::Apply { call }, target);
                        job.options = options;
                        self.observe(job, out);
                    }
                }
            }
            Input::Diff { call } => {
                let target = self.stored.current.clone();
                self.observe(Job::new(Purpose::Diff { call }, target), out);
            }
            Input::Confirm { call, generation } => {
                let current = self.stored.current.as_ref().map(|current| &current.generation);
                let another = generation.is_some_and(|meant| current != Some(&meant));
                if self.stored.unconfirmed.is_none() || another {
                    out.push(Effect::Reply(call, Err(NodeError::NothingToConfirm)));
                } else {
                    // Not confirmed unless it is on the disk: else a restart would roll back alone.
                    let before = Box::new(self.stored.clone());
                    self.stored.unconfirmed = None;
                    self.stored.withdrawn = false;
                    self.drop_pins(out);
                    let mut job = Job::new(Purpose::Note { call, reply: Reply::Done }, None);
                    job.uncommitted = Some(before);
                    self.unsaved = Unsaved::Journal;
                    self.commit(job, out);
                }
            }
            Input::Unfuse { call, vid } => {
                if self.stored.fused.remove(&vid).is_none() {
                    out.push(Effect::Reply(call, Err(NodeError::NotFused { vid: vid.0 })));
                } else {
                    self.stored.proven.remove(&vid);
                    self.canaries.remove(&vid);
                    self.sync_vlans();
                    if let Some(canary) = self.canaries.get_mut(&vid) {
                        canary.drain(now);
                    }
                    self.schedule.request(now, Cause::Target);
                    super::publish(
                        out,
                        tresse_control::Alert::Info,
                        "unfused",
                        &vid.to_string(),
                        "taken into use again after a new canary",
                    );
                    self.note(call, out);
                }
            }
            Input::Detours { call, used } => {
                self.use_detours(used);
                self.note(call, out);
            }
            Input::Steer { call, steer, force, dry_run } => {
                self.steer(call, &steer, force, dry_run, out);
            }
            Input::Rollback { call } => {
                let none = self.stored.previous.is_none() || self.stored.discard;
                if none && self.stored.unconfirmed.is_none() {
                    out.push(Effect::Reply(call, Err(NodeError::NothingToRollBack)));
                } else {
                    self.rollback(Some(call), out);
                }
            }
            Input::Withdraw { call, force } => {
                // Tries once more after a withdrawal: objects that could not be removed may be free
                // now.
                let some = self.stored.current.is_some() || self.stored.intent.is_some();
                if !some && self.again.is_none() && !self.withdrawn() {
                    out.push(Effect::Reply(call, Err(NodeError::NoPlan)));
                } else {
                    let mut job = Job::new(Purpose::Withdraw { call: Some(call) }, None);
                    self.stored.force |= force;
                    job.options.force = self.stored.force;
                    self.observe(job, out);
                }
            }
            _ => {}
        }
    }

    fn refuses_apply(&self, new: &Prepared, dry_run: bool) -> Option<NodeError> {
        if self.stored.unconfirmed.is_some() && !dry_run {
            return Some(NodeError::Busy { doing: "waiting for the last apply's confirm".into() });
        }
        let moved = |c: &&Arc<Prepared>| c.node != new.node && c.machine() != new.machine();
        let current = self.stored.current.as_ref().filter(moved)?;
        Some(NodeError::WrongNode {
            message: format!(
                "this host is node {}, the slice is for node {}: withdraw first if it moved",
                current.node, new.node
            ),
        })
    }

    /// Makes the previous plan the current one. Convergence on it is retried and never undone.
    fn rollback(&mut self, call: Option<super::CallId>, out: &mut Vec<Effect>) {
        self.go_back();
        self.stored.intent = Some(Intent::Converge);
        self.confirm_at = None;
        self.unsaved = Unsaved::Journal;
        self.drop_pins(out);
        self.sync_vlans();
        let target = self.stored.current.clone();
        self.observe(Job::new(Purpose::Rollback { call }, target), out);
    }

    fn note(&mut self, call: super::CallId, out: &mut Vec<Effect>) {
        self.unsaved = Unsaved::Journal;
        self.commit(Job::new(Purpose::Note { call, reply: Reply::Done }, None), out);
    }
}

fn busy_reply(out: &mut Vec<Effect>, call: super::CallId, doing: &str) {
    out.push(Effect::Reply(call, Err(NodeError::Busy { doing: doing.into() })));
}

const fn caller(input: &Input) -> Option<super::CallId> {
    match input {
        Input::Apply { call, .. } => *call,
        Input::Confirm { call, .. }
        | Input::Rollback { call }
        | Input::Withdraw { call, .. }
        | Input::Unfuse { call, .. }
        | Input::Detours { call, .. }
        | Input::Steer { call, .. }
        | Input::Diff { call } => Some(*call),
        _ => None,
    }
}

//! Runs transactions: one change of the kernel at a time, in these phases.
//!
//! ```text
//! observe -> journal -> execute -> verify -+-> commit -> answer
//!    ^                     |         |     |
//!    |                     v failed  |     +-> execute (what became possible; a few rounds)
//!    |                   undo <------+ not converged, or management moved
//!    +--- tried again later <-- (convergence, rollback, withdraw: forward only)
//! ```
//!
//! Before the first operation the journal is on the disk, in the state file: it holds what withdraw
//! must restore, and that a transaction is under way. Which paths are broken is written in the commit alone:
//! routes round a failure do not wait for the disk. A daemon that finds it at start makes the
//! kernel equal to `current`, the plan in force, again, or completes a withdrawal. An apply changes
//! `current` only in its commit.

use std::collections::BTreeSet;

use tresse_control::{Alert, Difference, NodeError, PendingLine};
use tresse_reconcile::{GuardRule, Operation, Planned, inverse};

use super::job::{Job, Phase, Purpose};
use super::schedule::Cause;
use super::target::{also_observed, engine_sysctls, join_sysctls};
use super::{
    Effect, Engine, Execution, Intent, Reply, Stored, Unconfirmed, Unsaved, View, guard, line,
    publish,
};

/// Rounds of execute and verify after which a transaction has failed to converge.
const ROUNDS: u32 = 4;

/// Does an operation say by which of its paths a destination is reached, or whether any, and nothing else?
const fn moves_path(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::AddNexthop { .. }
            | Operation::AddGroup { .. }
            | Operation::DeleteNexthop { .. }
            | Operation::AddRoute { .. }
            | Operation::DeleteRoute { .. }
            | Operation::AddTableRoute { .. }
            | Operation::DeleteTableRoute { .. }
            | Operation::AddGuardRule { rule: GuardRule::Icmp { .. } }
            | Operation::DeleteGuardRule { rule: GuardRule::Icmp { .. } }
    )
}

impl Engine {
    /// Starts a transaction with what was last seen of the kernel, if it is as it was then: what is urgent does not wait
    /// for an observation. Where that was wrong an operation may fail, and the kernel is observed after all; else
    /// it is when all is done, as always.
    pub(super) fn recall(&mut self, mut job: Job, out: &mut Vec<Effect>) {
        let is_known = self.is_as_seen && self.held_plan().is_none();
        let Some(view) = self.view.clone().filter(|_| is_known) else {
            return self.observe(job, out);
        };
        job.recalls = true;
        self.job = Some(job);
        self.observed(Ok(Box::new(view)), out);
    }

    /// Starts a transaction with an observation of the kernel.
    pub(super) fn observe(&mut self, mut job: Job, out: &mut Vec<Effect>) {
        let plans = [&job.target, &self.stored.current, &self.stored.previous];
        let (mut sysctls, mut joining) = (BTreeSet::new(), BTreeSet::new());
        for plan in plans.into_iter().flatten() {
            sysctls.extend(plan.wanted.sysctls.keys().cloned());
            sysctls.extend(engine_sysctls(plan, self.settings.engines).into_keys());
            joining.extend(join_sysctls(plan, &self.settings).into_keys());
        }
        sysctls.extend(self.stored.saved.sysctls.keys().cloned());
        also_observed(&mut sysctls);
        sysctls.extend(joining);
        if !matches!(job.phase, Phase::Verify) {
            job.phase = Phase::Observe;
        }
        self.job = Some(job);
        out.push(Effect::Observe { sysctls });
    }

    pub(super) fn observed(&mut self, result: Result<Box<View>, String>, out: &mut Vec<Effect>) {
        let Some(mut job) = self.job.take() else { return };
        let view = match result {
            Ok(view) => {
                self.is_as_seen = true;
                self.dark.clear();
                if !job.recalls {
                    self.see_links(&view, out);
                }
                *view
            }
            Err(message) if job.undoes() && !job.inverses.is_empty() => {
                return self.undo(job, NodeError::Internal { message }, out);
            }
            Err(message) => return self.give_up(job, NodeError::Internal { message }, out),
        };
        let target = self.target(&job, &view);
        let comparison = self.compare(&job, &target, &view);
        job.pushing = target.pushing;
        job.pending = target.pending;
        job.pending.extend(comparison.pending.iter().map(|p| PendingLine {
            kind: p.object.kind().into(),
            object: p.object.to_string(),
            why: p.why.to_string(),
        }));
        let verifying = matches!(job.phase, Phase::Verify);
        if !verifying {
            job.management = self.others(&job, &view.management);
            if let Some(error) = self.stops(&job, &comparison, &view) {
                self.view = Some(view);
                return self.give_up(job, error, out);
            }
        } else if let Err(error) = guard::unchanged(&job.management, &view.management) {
            if job.undoes() && !job.options.force {
                self.view = Some(view);
                return self.undo(job, error, out);
            }
            publish(out, Alert::Critical, "failed", "", &error.to_string());
        }
        if let Purpose::Diff { call } = job.purpose {
            self.view = Some(view);
            let reply = Reply::Difference(Difference {
                generation: job.target.as_ref().map(|t| t.generation.clone()),
                operations: comparison.operations.iter().map(line).collect(),
                pending: job.pending,
            });
            out.push(Effect::Reply(call, Ok(reply)));
            return;
        }
        if job.options.dry_run {
            job.lines = comparison.operations.iter().map(line).collect();
            self.view = Some(view);
            return self.answer(&job, out);
        }
        let moves_paths =
            comparison.operations.iter().all(|planned| moves_path(&planned.operation));
        if job.recalls && !moves_paths {
            job.recalls = false;
            self.view = Some(view);
            return self.observe(job, out);
        }
        if !verifying
            && job.purpose == Purpose::Converge
            && let Some(at) = self.delays_repair(&job, &comparison, &view, out)
        {
            self.view = Some(view);
            self.schedule.postpone(at, Cause::Kernel);
            return;
        }
        self.report(&comparison, &job);
        let operations = comparison.operations;
        if operations.is_empty() {
            if matches!(job.purpose, Purpose::Withdraw { .. }) {
                for refusal in &comparison.refused {
                    publish(out, Alert::Warning, "withdrawn", "", &refusal.to_string());
                }
            }
            self.settle(&job, &view);
            self.pushes(&job, out);
            self.view = Some(view);
            return self.commit(job, out);
        }
        job.rounds += 1;
        if job.rounds > ROUNDS {
            let first = Box::new(line(&operations[0]));
            self.view = Some(view);
            let message = format!("does not converge: still {} after {ROUNDS} rounds", first.op);
            let failure = NodeError::Failed { failed: first, message, undone: 0 };
            return if job.undoes() {
                self.undo(job, failure, out)
            } else {
                self.give_up(job, failure, out)
            };
        }
        for planned in &operations {
            job.inverses.push(inverse(&planned.operation, &view.observed));
        }
        let saved = self.stored.saved.before(&operations, &view.observed);
        if job.saved.is_none() {
            job.saved = Some(self.stored.saved.clone());
        }
        let journal = match &job.purpose {
            Purpose::Apply { .. } => Some(Intent::Apply {
                generation: job.target.as_ref().map(|t| t.generation.clone()).unwrap_or_default(),
            }),
            Purpose::Withdraw { .. } => Some(Intent::Withdraw),
            _ => self.stored.intent.clone(),
        };
        let changes = saved != self.stored.saved || journal != self.stored.intent;
        self.unsaved.add(Unsaved::journal_if(changes));
        self.stored.saved = saved;
        self.stored.intent = journal;
        self.view = Some(view);
        if self.unsaved == Unsaved::Journal {
            job.phase = Phase::Journal(operations);
            self.persist(job, out);
        } else {
            self.execute(job, operations, out);
        }
    }

    pub(super) fn persisted(&mut self, result: Result<(), String>, out: &mut Vec<Effect>) {
        let Some(mut job) = self.job.take() else { return };
        if result.is_err() {
            self.unsaved.add(self.saving);
        }
        let phase = std::mem::replace(&mut job.phase, Phase::Observe);
        match (phase, result) {
            (Phase::Journal(operations), Ok(())) => self.execute(job, operations, out),
            (Phase::Journal(operations), Err(message)) => {
                let kept = job.inverses.len() - operations.len();
                job.inverses.truncate(kept);
                let failure = NodeError::Internal { message };
                if job.undoes() {
                    self.undo(job, failure, out);
                } else {
                    self.give_up(job, failure, out);
                }
            }
            (Phase::Commit, Ok(())) => self.answer(&job, out),
            (Phase::Commit, Err(message)) => {
                let error = NodeError::Internal { message };
                match job.uncommitted.take() {
                    Some(before) => {
                        self.stored = *before;
                        self.sync_vlans();
                        if job.undoes() {
                            self.undo(job, error, out);
                        } else {
                            self.give_up(job, error, out);
                        }
                    }
                    None => self.give_up(job, error, out),
                }
            }
            (Phase::UndoCommit { answer }, _) => {
                if self.stored.current.is_some() || self.stored.intent.is_some() {
                    self.schedule.request(self.now, Cause::Kernel);
                } else {
                    self.in_sync = true;
                    self.pending.clear();
                    self.drift.clear();
                }
                self.give_up(job, answer, out);
            }
            _ => {}
        }
    }

    pub(super) fn executed(&mut self, execution: Execution, out: &mut Vec<Effect>) {
        self.is_as_seen = false;
        let Some(mut job) = self.job.take() else { return };
        let recalls = std::mem::take(&mut job.recalls);
        match std::mem::replace(&mut job.phase, Phase::Observe) {
            Phase::Execute(operations) => {
                let from = job.inverses.len() - operations.len();
                let round = job.inverses.split_off(from);
                for &index in &execution.done {
                    job.lines.push(line(&operations[index]));
                    job.inverses.push(round[index].clone());
                }
                *self.counters.entry("kernel_operations_total").or_default() +=
                    execution.done.len() as u64;
                if recalls && !execution.errors.is_empty() {
                    self.observe(job, out);
                } else if let Some((index, message)) = execution.errors.into_iter().next() {
                    self.count("kernel_failures_total");
                    let failed = Box::new(line(&operations[index]));
                    let failure = NodeError::Failed { failed, message, undone: 0 };
                    if job.undoes() {
                        self.undo(job, failure, out);
                    } else {
                        self.give_up(job, failure, out);
                    }
                } else {
                    job.phase = Phase::Verify;
                    self.observe(job, out);
                }
            }
            Phase::Undo { operations, failure } => {
                self.undone(job, &operations, &execution, failure, out);
            }
            _ => {}
        }
    }

    /// Writes the state file, then replies.
    pub(super) fn commit(&mut self, mut job: Job, out: &mut Vec<Effect>) {
        job.phase = Phase::Commit;
        match &job.purpose {
            Purpose::Apply { .. } => {
                self.again = None;
                let same = self.stored.current == job.target;
                job.uncommitted = Some(Box::new(self.stored.clone()));
                if !same {
                    self.end_transition();
                    self.stored.previous = self.stored.current.take();
                    self.stored.current.clone_from(&job.target);
                    self.stored.in_transition =
                        self.stored.previous.is_some() && self.settings.canary;
                }
                self.stored.unconfirmed = job
                    .options
                    .confirm_seconds
                    .filter(|_| !same)
                    .map(|seconds| Unconfirmed { seconds });
                self.stored.withdrawn &= self.stored.unconfirmed.is_some();
                self.stored.force = job.options.force;
                self.stored.force_interfaces.clone_from(&job.options.force_interfaces);
                self.stored.intent = None;
                self.unsaved.add(Unsaved::journal_if(!same || job.rounds > 0));
                if self.stored.unconfirmed.is_none() {
                    self.drop_pins(out);
                }
                self.sync_vlans();
            }
            Purpose::Withdraw { .. } => {
                self.again = None;
                self.stored = Stored { withdrawn: true, ..Stored::default() };
                self.unsaved = Unsaved::Journal;
                self.confirm_at = None;
                self.sync_vlans();
            }
            Purpose::Rollback { .. } | Purpose::Converge | Purpose::Steer(_) => {
                let ended = self.stored.intent.take().is_some();
                self.unsaved.add(Unsaved::journal_if(ended));
            }
            Purpose::Diff { .. } | Purpose::Note { .. } => {}
        }
        let saved = job.rounds > 0 && job.saved.as_ref() != Some(&self.stored.saved);
        self.unsaved.add(Unsaved::journal_if(saved));
        self.persist(job, out);
    }

    /// Writes the state file if the state changed; otherwise continues as if it had been written.
    pub(super) fn persist(&mut self, job: Job, out: &mut Vec<Effect>) {
        self.saving = std::mem::take(&mut self.unsaved);
        self.job = Some(job);
        if self.saving > Unsaved::Nothing {
            out.push(Effect::Persist(Box::new(self.stored.clone())));
        } else {
            self.persisted(Ok(()), out);
        }
    }

    fn execute(&mut self, mut job: Job, operations: Vec<Planned>, out: &mut Vec<Effect>) {
        self.pushes_both(&job, out);
        out.push(Effect::Execute(operations.iter().map(|p| p.operation.clone()).collect()));
        job.phase = Phase::Execute(operations);
        self.job = Some(job);
    }
}

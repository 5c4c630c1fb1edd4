//! Ends a transaction (one change of the kernel): replies to its control call, postpones the rest
//! of it, or undoes the operations that were done.

use std::collections::BTreeSet;

use tresse_control::{Alert, Applied, NodeError, OperationLine, Withdrawn};
use tresse_reconcile::Operation;

use super::job::{Again, Job, Phase, Purpose};
use super::schedule::Cause;
use super::{Effect, Engine, Execution, Intent, Reply, Unsaved, publish};

impl Engine {
    /// Undoes the operations done, last first.
    pub(super) fn undo(&mut self, mut job: Job, failure: NodeError, out: &mut Vec<Effect>) {
        let operations: Vec<Operation> = job.inverses.drain(..).rev().flatten().collect();
        job.phase = Phase::Undo { operations: operations.clone(), failure };
        self.pushes_again(&job, out);
        self.job = Some(job);
        out.push(Effect::Execute(operations));
    }

    pub(super) fn undone(
        &mut self,
        mut job: Job,
        operations: &[Operation],
        execution: &Execution,
        failure: NodeError,
        out: &mut Vec<Effect>,
    ) {
        let answer = match (failure, execution.errors.first()) {
            (NodeError::Failed { failed, message, .. }, None) => {
                NodeError::Failed { failed, message, undone: execution.done.len() as u32 }
            }
            (NodeError::Internal { message }, None) => NodeError::Internal {
                message: match execution.done.len() {
                    0 => format!("{message}; nothing was changed"),
                    undone => format!("{message}; the {undone} operations before it were undone"),
                },
            },
            (other, None) => other,
            (failure, Some(_)) => {
                let (failed, message) = match failure {
                    NodeError::Failed { failed, message, .. } => (failed, message),
                    other => (Box::new(line_of(&operations[0])), other.to_string()),
                };
                let done: BTreeSet<usize> = execution.done.iter().copied().collect();
                let left = operations
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| !done.contains(i))
                    .map(|(_, o)| line_of(o))
                    .collect();
                NodeError::PartlyInstalled { failed, message, left }
            }
        };
        if matches!(answer, NodeError::PartlyInstalled { .. }) {
            self.stored.intent = Some(Intent::Converge);
        } else {
            self.stored.intent = None;
            if let Some(saved) = job.saved.take() {
                self.stored.saved = saved;
            }
        }
        self.unsaved = Unsaved::Journal;
        job.phase = Phase::UndoCommit { answer };
        self.persist(job, out);
    }

    /// Ends a transaction that did not succeed; convergence is tried again later.
    pub(super) fn give_up(&mut self, job: Job, error: NodeError, out: &mut Vec<Effect>) {
        let answer = match (&job.purpose, error) {
            (
                Purpose::Rollback { .. } | Purpose::Withdraw { .. },
                NodeError::Failed { failed, message, .. },
            ) => NodeError::PartlyInstalled { failed, message, left: Vec::new() },
            (_, error) => error,
        };
        let text = answer.to_string();
        let partly = matches!(answer, NodeError::PartlyInstalled { .. });
        let call = match &job.purpose {
            Purpose::Apply { call } | Purpose::Rollback { call } | Purpose::Withdraw { call } => {
                *call
            }
            Purpose::Diff { call } | Purpose::Note { call, .. } => Some(*call),
            Purpose::Steer(steered) => Some(steered.call),
            Purpose::Converge => None,
        };
        if let Some(call) = call {
            out.push(Effect::Reply(call, Err(answer)));
        }
        if let Purpose::Steer(steered) = &job.purpose {
            // A refused change is not carried out later.
            self.stored.steering.clone_from(&steered.before);
            self.unsaved = Unsaved::Journal;
            self.resteer();
        }
        let forward = !job.undoes() && !matches!(job.purpose, Purpose::Diff { .. });
        if forward || partly || self.stored.intent.is_some() {
            self.in_sync = false;
            self.fault = Some(text.clone());
            let at = self.schedule.retry(self.now);
            self.schedule.postpone(at, job.cause.min(Cause::Target));
        }
        if let (Purpose::Apply { call: None }, None, Some(prepared)) =
            (&job.purpose, &self.stored.current, &job.target)
        {
            // No client waits for the reply and there is no other plan: `status` shows the error,
            // and the cause may be gone soon.
            self.fault = Some(text.clone());
            self.again = Some(Again {
                at: self.schedule.retry(self.now),
                prepared: prepared.clone(),
                options: job.options.clone(),
            });
        }
        if !job.options.dry_run && !matches!(job.purpose, Purpose::Diff { .. }) {
            let alert = if partly { Alert::Critical } else { Alert::Warning };
            publish(out, alert, "failed", "", &text);
        }
    }

    /// Replies to the call of a successful transaction.
    pub(super) fn answer(&mut self, job: &Job, out: &mut Vec<Effect>) {
        if !job.options.dry_run {
            self.fault = None;
            self.schedule.succeeded();
        }
        let generation = job.target.as_ref().map(|t| t.generation.clone());
        let applied = || {
            Reply::Applied(Applied {
                generation: generation.clone(),
                operations: job.lines.clone(),
                pending: job.pending.clone(),
                confirm_seconds: self.stored.unconfirmed.as_ref().map(|u| u.seconds),
            })
        };
        let name = generation.as_deref().unwrap_or("none");
        let done = format!("{} operations", job.lines.len());
        let (call, reply) = match &job.purpose {
            Purpose::Apply { call } => (*call, applied()),
            Purpose::Rollback { call } => (*call, applied()),
            Purpose::Withdraw { call } => {
                let (operations, left) = (job.lines.clone(), self.drift.clone());
                (*call, Reply::Withdrawn(Withdrawn { operations, left }))
            }
            Purpose::Note { call, reply } => (Some(*call), reply.clone()),
            Purpose::Steer(steered) => (Some(steered.call), Reply::Steered(steered.reply.clone())),
            Purpose::Converge | Purpose::Diff { .. } => (None, Reply::Done),
        };
        let kind = match &job.purpose {
            _ if job.options.dry_run => None,
            Purpose::Apply { .. } => Some("applied"),
            Purpose::Rollback { .. } => Some("rolled-back"),
            Purpose::Withdraw { .. } => Some("withdrawn"),
            _ => None,
        };
        if let Some(kind) = kind {
            publish(out, Alert::Info, kind, name, &done);
        }
        if let Purpose::Note { .. } = &job.purpose
            && self.stored.unconfirmed.is_none()
            && self.confirm_at.take().is_some()
        {
            let generation = self.stored.current.as_ref().map(|c| c.generation.clone());
            let name = generation.unwrap_or_default();
            publish(out, Alert::Info, "confirmed", &name, "the plan stays");
        }
        if let Purpose::Steer(steered) = &job.purpose {
            let (kind, message) = steered.steer.words();
            publish(out, Alert::Info, kind, steered.steer.object(), message);
        }
        if matches!(job.purpose, Purpose::Apply { .. }) && !job.options.dry_run {
            self.confirm_at =
                self.stored.unconfirmed.as_ref().map(|u| self.now + u64::from(u.seconds) * 1000);
        }
        if let Some(call) = call {
            out.push(Effect::Reply(call, Ok(reply)));
        }
    }
}

fn line_of(operation: &Operation) -> OperationLine {
    let object = operation.object();
    OperationLine {
        op: operation.verb().into(),
        kind: object.kind().into(),
        object: object.to_string(),
        why: "takes back an operation".into(),
    }
}

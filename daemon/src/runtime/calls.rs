//! Dispatches control calls: some are answered at once, all others become inputs of the decision
//! engine.

use tokio::sync::oneshot;
use tresse_base::id::Vid;
use tresse_control::{Applied, Call, Counters, Introduced, NodeError, Reply, Status};
use tresse_engine::{ApplyOptions, CallId, Input, Prepared, Steer};
use tresse_frame::keys::Keys;

use super::{Daemon, RunError, chain, not_persisted, tried};
use crate::control::{Request, unix_ms};

/// Channel for the reply to a call.
type Sender = oneshot::Sender<Result<Reply, NodeError>>;

impl Daemon {
    /// Answers a call, now or when the engine replies.
    pub(super) fn answer(&mut self, Request { call, answer }: Request) {
        let reply = match call {
            Call::GetStatus => Ok(Reply::Status(Box::new(self.status()))),
            Call::ListPaths { to } => self.engine.paths(to.as_deref()).map(Reply::Paths),
            Call::ListFailures => self.engine.failures(self.now(), unix_ms()).map(Reply::Failures),
            Call::ListNeighbours => {
                Ok(Reply::Neighbours(self.neighbours.list(&self.engine, &self.announcers)))
            }
            Call::Introduce => {
                Ok(Reply::Introduced(Introduced { nics: self.neighbours.introduce() }))
            }
            Call::GetCounters => Ok(Reply::Counters(Counters { counters: self.counters() })),
            Call::Reload => return self.reload(Some(answer)),
            other => {
                self.next_call += 1;
                // A plan that cannot be stored is not installed: a dry run finds a directory that takes none.
                let storable = match &other {
                    Call::Apply { dry_run: Some(true), .. } => self.storable(),
                    _ => Ok(()),
                };
                let mut tried = self.tried.take();
                let ordered = storable.and_then(|()| {
                    order(other, self.next_call, |texts, keep| {
                        tried::prepared(&mut tried, texts, self.identity()?, keep)
                    })
                });
                self.tried = tried;
                match ordered {
                    Ok(input) => {
                        self.calls.insert(self.next_call, answer);
                        return self.step(input);
                    }
                    Err(error) => Err(error),
                }
            }
        };
        let _ = answer.send(reply);
    }

    /// Could a plan be stored now?
    fn storable(&self) -> Result<(), NodeError> {
        let probed = self.state.probe();
        probed.map_err(|error| NodeError::Internal { message: not_persisted(&error) })
    }

    fn counters(&self) -> Vec<tresse_control::CounterLine> {
        let mut counters = self.engine.counters();
        counters.extend(self.announcers.counters());
        counters.extend(self.neighbours.counters());
        counters.extend(self.forwarder.counters());
        counters.extend(self.source.counters());
        counters.extend(self.detector.counters());
        counters.extend(self.flood.counters());
        counters
    }

    /// Signs by these keys, and takes what is signed by them, from now on.
    fn set_keys(&mut self, keys: Keys) {
        if keys == self.keys {
            return;
        }
        tracing::info!(
            ?keys,
            "signs by the first of these keys (their public numbers), and takes all of them"
        );
        self.detector.set_keys(&keys);
        self.announcers.set_keys(keys.clone());
        self.flood.set_keys(keys.clone());
        self.keys = keys;
    }

    /// Reads the keys, and applies the configured files. If one of them has errors, the keys and the plan stay.
    pub(super) fn reload(&mut self, answer: Option<Sender>) {
        let internal = |message| NodeError::Internal { message };
        let keys = self.config.keys().map_err(|error| internal(format!("key_file: {error}")));
        let planned = keys.and_then(|keys| match self.configured() {
            Ok(planned) => Ok((keys, planned)),
            Err(RunError::Plan(error)) => Err(error),
            Err(other) => Err(internal(chain(&other))),
        });
        let prepared = match planned {
            Ok((keys, Some(prepared))) => {
                self.set_keys(keys);
                Ok(prepared)
            }
            // All that is configured has been read.
            Ok((keys, None)) if self.config.key_file.is_some() => {
                self.set_keys(keys);
                let Status { generation, pending, confirm_seconds, .. } = self.status();
                let operations = Vec::new();
                let applied = Applied { generation, operations, pending, confirm_seconds };
                if let Some(answer) = answer {
                    let _ = answer.send(Ok(Reply::Applied(applied)));
                }
                return;
            }
            Ok((_, None)) => {
                Err(internal("tressed.toml names no cluster file: set `cluster`".into()))
            }
            Err(error) => Err(error),
        };
        match (prepared, answer) {
            (Ok(prepared), answer) => {
                let call = answer.map(|answer| {
                    self.next_call += 1;
                    self.calls.insert(self.next_call, answer);
                    self.next_call
                });
                let options = ApplyOptions::default();
                self.step(Input::Apply { call, prepared: Box::new(prepared), options });
            }
            (Err(error), Some(answer)) => {
                let _ = answer.send(Err(error));
            }
            (Err(error), None) => {
                tracing::error!(%error, "reload failed: the old plan and the old keys are kept")
            }
        }
    }
}

/// Converts a call to an input of the engine. `prepare` computes this node's part of the plan of a
/// cluster file and a lock; the flag says whether this is a dry run.
///
/// # Errors
/// The errors of the plan, or that the engine does not handle this call.
pub(crate) fn order(
    asked: Call,
    call: CallId,
    prepare: impl FnOnce((&str, Option<&str>), bool) -> Result<Prepared, NodeError>,
) -> Result<Input, NodeError> {
    let steer = |steer, force, dry_run: Option<bool>| Input::Steer {
        call,
        steer,
        force,
        dry_run: dry_run == Some(true),
    };
    Ok(match asked {
        Call::Apply { cluster, lock, dry_run, confirm_seconds, force, force_interfaces } => {
            let dry_run = dry_run == Some(true);
            let prepared = prepare((&cluster, lock.as_deref()), dry_run)?;
            let options = ApplyOptions {
                dry_run,
                confirm_seconds,
                force: force == Some(true),
                force_interfaces: force_interfaces.into_iter().flatten().collect(),
            };
            Input::Apply { call: Some(call), prepared: Box::new(prepared), options }
        }
        Call::Diff => Input::Diff { call },
        Call::Confirm => Input::Confirm { call, generation: None },
        Call::ConfirmPlan { generation } => Input::Confirm { call, generation: Some(generation) },
        Call::Rollback => Input::Rollback { call },
        Call::Withdraw { force } => Input::Withdraw { call, force: force == Some(true) },
        Call::Unfuse { vid } => Input::Unfuse { call, vid: Vid(vid) },
        Call::Drain { object, dry_run, force } => {
            steer(Steer::Drain(object), force == Some(true), dry_run)
        }
        Call::Undrain { object, dry_run } => steer(Steer::Undrain(object), true, dry_run),
        Call::Pin { to, rank, dry_run } => steer(Steer::Pin { to, rank }, true, dry_run),
        Call::Weight { to, weights, dry_run } => {
            let weights = weights.into_iter().map(|line| (line.rank, line.weight)).collect();
            steer(Steer::Weight { to, weights }, true, dry_run)
        }
        Call::Unpin { to, dry_run } => steer(Steer::Unpin(to), true, dry_run),
        other => {
            let message = format!("{} is no call for the engine", other.method());
            return Err(NodeError::Internal { message });
        }
    })
}

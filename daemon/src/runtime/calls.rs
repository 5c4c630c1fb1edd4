//! Dispatches control calls: some are answered at once, all others become inputs of the decision
//! engine.

use tresse_base::id::Vid;
use tresse_control::{Access, Applied, Call, Counters, Introduced, NodeError, Reply, Status};
use tresse_engine::{ApplyOptions, CallId, Input, Prepared, Steer};
use tresse_frame::keys::Keys;

use super::management;
use super::planning::{Asked, Computed, Purpose, Sender, Turn};
use super::{Daemon, RunError, chain, not_persisted, notify};
use crate::control::{Request, unix_ms};

impl Daemon {
    /// Answers a call, now or when the engine replies; one that changes something after those before it, whose plans
    /// may still be computed.
    pub(super) fn answer(&mut self, request: Request) {
        let plans = matches!(request.call, Call::Apply { .. } | Call::Reload);
        match request.call.access() == Access::Group && !plans && self.planning.is_busy() {
            true => self.planning.follow(request),
            false => self.answer_now(request),
        }
    }

    /// Does what has its turn.
    pub(super) fn take_turn(&mut self, turn: Turn) {
        match turn {
            Turn::Computed(purpose, computed) => self.hear_plan(purpose, *computed),
            Turn::Call(request) => self.answer_now(request),
        }
    }

    fn answer_now(&mut self, Request { call, answer }: Request) {
        let reply = match call {
            Call::GetStatus => Ok(Reply::Status(Box::new(self.status()))),
            Call::GetPlan => Ok(Reply::Plan(self.engine.files())),
            Call::ListPaths { to } => self.engine.paths(to.as_deref()).map(Reply::Paths),
            Call::ListFailures => self.engine.failures(self.now(), unix_ms()).map(Reply::Failures),
            Call::ListDetours => self.engine.detours().map(Reply::Detours),
            Call::ListNeighbours => {
                let mut list = self.neighbours.list(&self.engine, &self.announcers);
                let mut used = management::interfaces(&self.config.management);
                list.nics.iter_mut().for_each(|nic| nic.management = used.remove(&nic.name));
                Ok(Reply::Neighbours(list))
            }
            Call::Introduce => {
                Ok(Reply::Introduced(Introduced { nics: self.neighbours.introduce() }))
            }
            Call::GetCounters => Ok(Reply::Counters(Counters { counters: self.counters() })),
            Call::GetEvents { last } => Ok(Reply::Events(self.history.last(last))),
            Call::Reload => return self.reload(Some(answer)),
            Call::Apply { .. } => return self.plan(call, answer),
            other => {
                let none = NodeError::Internal { message: "this call has no plan".into() };
                return self.order(other, answer, Err(none));
            }
        };
        let _ = answer.send(reply);
    }

    /// Feeds a call to the engine, which replies; `computed`: the plan of an `Apply`.
    fn order(&mut self, call: Call, answer: Sender, computed: Computed) {
        self.next_call += 1;
        match order(call, self.next_call, |_| computed) {
            Ok(input) => {
                self.calls.insert(self.next_call, answer);
                self.step(input);
            }
            Err(error) => drop(answer.send(Err(error))),
        }
    }

    /// Computes the plan of an `Apply`; [`hear_plan`](Self::hear_plan) goes on when it is there.
    fn plan(&mut self, call: Call, answer: Sender) {
        let Call::Apply { cluster, lock, dry_run, .. } = &call else { return };
        // A plan that cannot be stored is not installed: a dry run finds a directory that takes none.
        let storable = if *dry_run == Some(true) { self.storable() } else { Ok(()) };
        match storable.and_then(|()| self.identity()) {
            Ok(identity) => {
                let texts = (cluster.clone(), lock.clone());
                let purpose = Purpose::Apply { call, answer };
                self.planning.ask(Asked { texts, identity, purpose });
            }
            Err(error) => drop(answer.send(Err(error))),
        }
    }

    /// Does with a plan that was computed what it was asked for.
    fn hear_plan(&mut self, purpose: Purpose, computed: Computed) {
        match purpose {
            Purpose::Apply { call, answer } => self.order(call, answer, computed),
            Purpose::Reload { keys, answer } => {
                let computed = computed.inspect(|_| self.set_keys(keys));
                self.reloaded(computed, answer);
            }
        }
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
        let read = keys.and_then(|keys| match self.configured_texts() {
            Ok(None) => Ok((keys, None)),
            Ok(Some(texts)) => Ok((keys, Some((texts, self.identity()?)))),
            Err(RunError::Plan(error)) => Err(error),
            // The plan came by `tresse up` or a rollout: it stays, and the keys are read.
            Err(error) if self.lacks_cluster_file(&error) && self.engine.current().is_some() => {
                Ok((keys, None))
            }
            Err(other) => Err(internal(chain(&other))),
        });
        match read {
            Ok((keys, Some((texts, identity)))) => {
                let purpose = Purpose::Reload { keys, answer };
                self.planning.ask(Asked { texts, identity, purpose });
            }
            // All that is configured has been read.
            Ok((keys, None)) if self.config.key_file.is_some() => {
                self.set_keys(keys);
                let Status { generation, pending, confirm_seconds, .. } = self.status();
                let operations = Vec::new();
                let applied = Applied { generation, operations, pending, confirm_seconds };
                match answer {
                    Some(answer) => drop(answer.send(Ok(Reply::Applied(applied)))),
                    None => notify::ready(),
                }
            }
            Ok((_, None)) => {
                let none = "tressed.toml names no cluster file that exists: set `cluster`";
                self.reloaded(Err(internal(none.into())), answer);
            }
            Err(error) => self.reloaded(Err(error), answer),
        }
    }

    /// Ends a reload: applies the plan, or says why there is none.
    fn reloaded(&mut self, computed: Computed, answer: Option<Sender>) {
        let by_signal = answer.is_none();
        match (computed, answer) {
            (Ok(prepared), answer) => {
                let call = answer.map(|answer| {
                    self.next_call += 1;
                    self.calls.insert(self.next_call, answer);
                    self.next_call
                });
                let options = ApplyOptions::default();
                self.step(Input::Apply { call, prepared: Box::new(prepared), options });
            }
            (Err(error), Some(answer)) => drop(answer.send(Err(error))),
            (Err(error), None) => {
                tracing::error!(%error, "reload failed: the old plan and the old keys are kept")
            }
        }
        if by_signal {
            notify::ready();
        }
    }
}

/// Converts a call to an input of the engine. `prepare` computes this node's part of the plan of a
/// cluster file and a lock.
///
/// # Errors
/// The errors of the plan, or that the engine does not handle this call.
pub(crate) fn order(
    asked: Call,
    call: CallId,
    prepare: impl FnOnce((&str, Option<&str>)) -> Result<Prepared, NodeError>,
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
            let prepared = prepare((&cluster, lock.as_deref()))?;
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
        Call::SetDetours { used } => Input::Detours { call, used },
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

//! The main loop: turns packets, signals and timers into inputs of the decision engine, and carries
//! out the actions (effects) that the engine asks for. It decides nothing itself. It is one thread:
//! tokio's current-thread runtime with a `LocalSet`.

mod alarm;
mod announce;
mod broadcasts;
mod calls;
mod catalogue;
mod causes;
#[cfg(debug_assertions)]
mod crash;
mod detect;
mod flood;
mod forward;
mod management;
mod neighbours;
mod notify;
mod planning;
mod prepare;
mod push;
mod run;
mod sampling;

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use tokio::sync::{broadcast, oneshot};
use tokio::time::Instant;
use tresse_control::{Alert, Event, NodeError, Reply, Status};

use self::announce::Announcers;

pub(crate) use self::calls::order;
use self::catalogue::message_id;
pub use self::causes::{chain, not_persisted};
use self::detect::Detector;
use self::flood::Flood;
use self::forward::Forwarder;
use self::neighbours::Neighbours;
use self::planning::{Planning, Texts};
pub use self::prepare::{Identity, prepare};
use self::push::Source;
use self::sampling::Sampling;
use crate::config::{Config, ConfigError, KeyFileError};
use crate::control::{BindError, unix_ms};
use crate::history::History;
use crate::state::{Hold, HoldError, StateError, StateFile};
use tresse_engine::{CallId, Effect, Engine, Engines, Execution, Input, Prepared, Settings, View};
use tresse_frame::keys::Keys;
use tresse_linux::kernel;

/// Largest number of events that a slow client may lag behind.
const EVENTS: usize = 1024;
/// How long after what takes much memory that memory is returned.
const TIDY: Duration = Duration::from_secs(1);

/// Why the daemon stopped or did not start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration file has errors.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file of keys cannot be used.
    #[error("key_file: {0}")]
    Keys(#[from] KeyFileError),
    /// `strict` demands what this kernel cannot do.
    #[error("engine = \"kernel\": {0}")]
    Engine(#[from] kernel::NoKernelEngine),
    /// Another daemon uses the state directory, or it cannot be written.
    #[error(transparent)]
    Hold(#[from] HoldError),
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// The control socket cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The configured plan has errors.
    #[error("{0}")]
    Plan(NodeError),
    /// The plan could not be installed.
    #[error("{0}")]
    Failed(String),
    /// The plan is installed, except objects that must wait; returned by `--once` only.
    #[error("partly installed: {}", .0.join("; "))]
    Partly(Vec<String>),
    /// A system call failed that the daemon cannot do without.
    #[error("{action}: {source} (CAP_NET_ADMIN and CAP_NET_RAW are needed)")]
    System {
        /// The step that failed.
        action: &'static str,
        /// The error.
        #[source]
        source: std::io::Error,
    },
}

/// The daemon: the decision engine, and the sockets, files and threads by which its effects are
/// carried out.
pub struct Daemon {
    config: Config,
    state: StateFile,
    _hold: Hold,
    engine: Engine,
    epoch: Instant,
    calls: BTreeMap<CallId, oneshot::Sender<Result<Reply, NodeError>>>,
    next_call: CallId,
    events: broadcast::Sender<Event>,
    event_seq: u64,
    history: History,
    announcers: Announcers,
    neighbours: Neighbours,
    forwarder: Forwarder,
    source: Source,
    keys: Keys,
    detector: Detector,
    flood: Flood,
    sampling: Sampling,
    planning: Planning,
    /// The failure of an apply that no client waits for.
    failure: Option<String>,
    /// When freed memory is returned: soon after what takes much of it, and not once for each of many such things.
    tidy_at: Option<Instant>,
    /// Does the log go to the journal?
    journal: bool,
}

impl Daemon {
    /// Locks the state directory and loads the state.
    ///
    /// # Errors
    /// [`RunError::Keys`], [`RunError::Hold`], [`RunError::State`], [`RunError::Engine`].
    pub fn new(config: Config) -> Result<Self, RunError> {
        let keys = config.keys()?;
        let hold = Hold::take(&config.state_dir)?;
        if hold.is_full() {
            tracing::warn!(
                state_dir = %config.state_dir.display(),
                "no room for new state: the plan in force stays, and no other is taken until there is"
            );
        }
        let state = StateFile::new(&config.state_dir);
        let mut stored = state.load()?;
        prepare::complete(&mut stored);
        let support = LazyCell::new(kernel::label_support);
        let engines = Engines {
            labels: forward::choose(config.engine, config.strict, || *support)?,
            sources: push::choose(config.source, || *support),
        };
        let settings = Settings {
            engines,
            canary: config.canary,
            announce_ms: config.announce_seconds.map(|s| u64::from(s) * 1000),
            // Nanoseconds, so that no two starts of a node use the same number.
            sequence: unix_ms() * 1_000_000,
            bfd: config.bfd.enabled,
            forward_to: config.forward_to.clone(),
            isolate: config.isolate,
        };
        let buffer = config.transit_buffer.buffer();
        Ok(Self {
            engine: Engine::new(settings, stored),
            state,
            _hold: hold,
            history: History::open(&config.state_dir),
            config,
            epoch: Instant::now(),
            calls: BTreeMap::new(),
            next_call: 0,
            events: broadcast::Sender::new(EVENTS),
            event_seq: 0,
            announcers: Announcers::new(keys.clone()),
            neighbours: Neighbours::default(),
            forwarder: Forwarder::new(buffer),
            source: Source::default(),
            detector: Detector::default(),
            flood: Flood::new(unix_ms(), keys.clone()),
            sampling: Sampling::default(),
            keys,
            planning: Planning::default(),
            failure: None,
            tidy_at: None,
            journal: std::env::var_os("JOURNAL_STREAM").is_some(),
        })
    }

    fn status(&self) -> Status {
        let (sessions, sessions_up) = self.detector.sessions();
        let authentication = match (self.keys.signs(), self.keys.takes_unsigned()) {
            (true, false) => "required",
            (false, true) if self.keys == Keys::default() => "none",
            _ => "optional",
        };
        let status = self.engine.status(self.now());
        let fault = status.fault.or_else(|| self.detector.fault());
        let mut status = Status {
            sessions,
            sessions_up,
            authentication: authentication.into(),
            in_sync: status.in_sync && fault.is_none(),
            fault,
            ..status
        };
        status.foreign = self.neighbours.foreign(&self.engine);
        self.history.date(&mut status, unix_ms());
        status
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Feeds one input to the engine and carries out all effects that follow.
    fn step(&mut self, input: Input) {
        // Both may have it compute routes to all nodes.
        let mut worked = matches!(input, Input::Reports(_) | Input::PathEvent { .. });
        let mut told = false;
        let mut effects = VecDeque::from(self.engine.step(self.now(), input));
        while let Some(effect) = effects.pop_front() {
            worked |= matches!(effect, Effect::Persist(_) | Effect::Execute(_));
            told |= matches!(effect, Effect::Publish { .. });
            if let Some(answer) = self.act(effect) {
                effects.extend(self.engine.step(self.now(), answer));
            }
        }
        if told && notify::is_heard() {
            notify::status(&self.status());
        }
        if worked {
            self.tidy_at.get_or_insert_with(|| Instant::now() + TIDY);
        }
    }

    fn act(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Observe { sysctls } => Some(Input::Observed(self.look(&sysctls))),
            Effect::Persist(stored) => {
                let saved = self.state.save(&stored);
                let saved = saved.map_err(|error| not_persisted(&error));
                #[cfg(debug_assertions)]
                crash::step();
                Some(Input::Persisted(saved))
            }
            Effect::Execute(operations) => {
                #[cfg(not(debug_assertions))]
                let outcome = kernel::execute(&operations);
                #[cfg(debug_assertions)]
                let outcome = crash::execute(&operations);
                let done = outcome.done().collect();
                self.source.hold(outcome.tuns);
                Some(Input::Executed(Execution {
                    done,
                    errors: outcome.errors.iter().map(|(i, e)| (*i, e.to_string())).collect(),
                }))
            }
            Effect::Reply(call, reply) => {
                if let Some(waiting) = self.calls.remove(&call) {
                    let _ = waiting.send(reply);
                }
                None
            }
            Effect::Publish { alert, kind, object, message } => {
                self.publish(alert, kind, object, message);
                None
            }
            Effect::Listen(interfaces) => {
                self.announcers.set(&interfaces);
                None
            }
            Effect::Forward(forwarding) => {
                self.forwarder.set(*forwarding);
                None
            }
            Effect::Push(pushing) => {
                self.source.set(*pushing);
                None
            }
            Effect::Watch(watching) => {
                self.flood.set(&watching);
                self.detector.set(*watching);
                None
            }
            Effect::Sample(sampled) => {
                self.sampling.set(sampled);
                None
            }
            Effect::Originate { fabric, node, report } => {
                self.flood.originate(fabric, node, &report);
                None
            }
            Effect::Announce { interface, source, announcement } => {
                self.announcers.send(&interface, source, &announcement);
                None
            }
        }
    }

    fn look(&self, sysctls: &BTreeSet<String>) -> Result<Box<View>, String> {
        let observed =
            kernel::observe(sysctls.iter().map(String::as_str)).map_err(|e| chain(&e))?;
        let (guarded, management) = management::look(&observed, &self.config.management);
        Ok(Box::new(View { observed, guarded, management }))
    }

    /// The configured plan, if it may be needed at start.
    fn planned(&self) -> Result<Option<Box<Prepared>>, RunError> {
        if self.engine.withdrawn() {
            return Ok(None);
        }
        match self.configured() {
            Ok(configured) => Ok(configured.map(Box::new)),
            Err(error) if self.engine.current().is_some() => {
                // As after `tresse up`, or a rollout from another machine.
                if self.lacks_cluster_file(&error) {
                    tracing::info!("there is no cluster file: the stored plan is used");
                    return Ok(None);
                }
                tracing::warn!(%error, "the configured plan has errors: the stored plan is used");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Is the error that the configured cluster file does not exist?
    fn lacks_cluster_file(&self, error: &RunError) -> bool {
        let RunError::Config(ConfigError::Read { path, error }) = error else { return false };
        error.kind() == ErrorKind::NotFound && Some(path) == self.config.cluster.as_ref()
    }

    /// The configured plan, if the configuration names a cluster file.
    fn configured(&self) -> Result<Option<Prepared>, RunError> {
        let Some((cluster, lock)) = self.configured_texts()? else { return Ok(None) };
        let identity = self.identity().map_err(RunError::Plan)?;
        let prepared = prepare(&cluster, lock.as_deref(), &identity);
        prepared.map(Some).map_err(RunError::Plan)
    }

    /// The texts of the configured files, if the configuration names a cluster file.
    fn configured_texts(&self) -> Result<Option<Texts>, RunError> {
        let Some(path) = &self.config.cluster else { return Ok(None) };
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| ConfigError::Read { path: path.to_path_buf(), error })
        };
        let beside = |wiring: &str| read(&path.with_file_name(wiring));
        let cluster = tresse_cluster::with_wiring(read(path)?, beside)?;
        let lock = match self.config.lock_path() {
            Some(path) if self.config.lock.is_some() || path.exists() => Some(read(&path)?),
            _ => None,
        };
        Ok(Some((cluster, lock)))
    }

    fn identity(&self) -> Result<Identity, NodeError> {
        if let Some(name) = &self.config.node {
            return Ok(Identity::Named(name.clone()));
        }
        let observed =
            kernel::observe([]).map_err(|error| NodeError::Internal { message: chain(&error) })?;
        let physical = observed.links.values().filter(|link| !link.is_ours());
        Ok(Identity::Macs(physical.filter_map(|link| link.mac).collect()))
    }

    fn publish(&mut self, alert: Alert, kind: String, object: String, message: String) {
        // On a terminal the identifier is of no use.
        let message_id = if self.journal { message_id(&kind) } else { None };
        match alert {
            Alert::Info => tracing::info!(message_id, kind, object, "{message}"),
            Alert::Warning => tracing::warn!(message_id, kind, object, "{message}"),
            Alert::Critical => tracing::error!(message_id, kind, object, "{message}"),
        }
        if kind == "failed" {
            self.failure = Some(message.clone());
        }
        self.event_seq += 1;
        let event = Event { seq: self.event_seq, time_ms: unix_ms(), kind, object, message, alert };
        self.history.keep(&event);
        let _ = self.events.send(event);
    }
}

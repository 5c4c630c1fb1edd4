//! Decides what the daemon installs on its node, when, and what to do when that fails. The only
//! owner of the daemon's state: [`Engine::step`] takes an input and returns effects, the actions to
//! carry out; no I/O and no await (house style, boundary 3).
//!
//! - `transaction` runs one change of the kernel at a time: observe, journal, execute, verify,
//!   commit; an apply that fails is undone operation by operation.
//! - `ending` ends a transaction: replies, postpones it, or undoes it.
//! - `target` computes what this node should hold now, as a pure function of plan, gates and
//!   kernel.
//! - `judge` compares an observation of the kernel with the target.
//! - `watch` sends failure detection the paths to watch and records which are broken.
//! - `vlans` tests each VLAN for loops and sends announcements (K5, K17); `gate` decides which
//!   VLANs and paths may be used.
//! - `transition` and `advance` keep the old plan until every peer has moved to the new one, and `waits` says
//!   whom for; `exchanged` refuses plans that give a node's address to another.
//! - `steer` carries out drains, pins and weights; `steering` holds them, `chosen` names their paths,
//!   `kept_free` says what they do to a plan's paths, and `moves` which traffic moves.
//! - `healing` goes round failures that the plan's backups do not answer, where nodes route; `healed` holds what is
//!   known of them, and `failures` tells it. `gateways` puts gateways without a way out last.
//! - `adaptive` decides when traffic goes by detours through third nodes, while the own paths are full, and `balancing`
//!   moves it; `sent` is what it is told of the traffic.
//! - `elsewhere` knows which plans other nodes announce, and `links` which NICs can be used; `notice` tells what
//!   changes in both.
//! - `guard` protects the management connection (K19).
//! - `transit` makes the table of what is forwarded for other nodes.
//! - `source` keeps the table of labels pushed onto this node's own packets.
//! - `report` answers `status` and counters; `index` holds answers about the plan.

#![forbid(unsafe_code)]

mod adaptive;
mod advance;
mod balancing;
mod calls;
mod canary;
mod chosen;
mod elsewhere;
mod ending;
mod engines;
mod exchanged;
mod failures;
mod forwarding;
mod gate;
mod gateways;
mod guard;
mod healed;
mod healing;
mod index;
mod input;
mod job;
mod judge;
mod kept_free;
mod known;
mod links;
mod moves;
mod notice;
mod paths;
mod prepared;
mod pushing;
mod refresh;
mod report;
mod schedule;
mod sent;
mod source;
mod steer;
mod steering;
mod stored;
mod target;
#[cfg(test)]
mod tests;
mod transaction;
mod transit;
mod transition;
mod vlans;
mod waits;
mod watch;
mod watched;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tresse_base::bucket::Bucket;
use tresse_base::id::Vid;
use tresse_base::units::Prefix;
use tresse_control::{Alert, OperationLine, PendingLine, PlanFiles, Reply};
use tresse_reconcile::Planned;

use self::adaptive::Adaptive;
use self::canary::Canary;
use self::elsewhere::Elsewhere;
use self::healed::Healing;
use self::job::{Again, Job};
use self::kept_free::KeptFree;
use self::links::Links;
use self::refresh::Refresh;
use self::schedule::{Cause, Schedule};
use self::transition::Transition;
use self::watched::Paths;

pub use self::chosen::{ChosenPath, WeightedPath};
pub use self::engines::{Engines, LabelEngine, SourceEngine};
pub use self::forwarding::{Forwarding, ForwardingNic};
pub use self::index::Index;
pub use self::input::{ApplyOptions, CallId, Changes, Effect, Execution, Input, View};
pub use self::prepared::{PlannedInterface, Prepared, digest};
pub use self::pushing::{PushPath, Pushing};
pub use self::sent::{Sampled, Sent, Traffic};
pub use self::steering::{Steer, Steering};
pub use self::stored::{FORMAT, Intent, Stored, Unconfirmed};

/// Number of repairs of drift that are made at once; after that one per [`REPAIR_MS`].
const REPAIR_BURST: u64 = 5;
const REPAIR_MS: u64 = 2000;
/// How long after its start a daemon believes what its state file has of other nodes' failures, unless they say so.
const RECALLED_MS: u64 = 300_000;
/// Largest number of control calls that wait for a running transaction.
const WAITING_CALLS: usize = 32;

/// Log message of a daemon that starts after a withdrawal.
const WITHDRAWN: &str = "the plan was withdrawn: nothing is installed until `tresse apply FILE`, or \
    `tresse reload` for the configured file";

/// Settings of the decision engine, which stay the same as long as it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Prove VLANs before use (K5); false for fabrics under test.
    pub canary: bool,
    /// Period of announcements, if not a third of the switches' ageing time.
    pub announce_ms: Option<u64>,
    /// First sequence number of announcements, never used before by this node.
    pub sequence: u64,
    /// What handles labels on this node.
    pub engines: Engines,
    /// Watch paths by BFD.
    pub bfd: bool,
    /// Networks behind this node that packets of the fabric may be forwarded to.
    pub forward_to: Vec<Prefix>,
    /// Hide this node's other addresses from the fabric.
    pub isolate: bool,
}

/// The decision engine of one node's daemon: [`Engine::step`] takes one input and returns the
/// effects, which are the actions that the daemon must carry out.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    /// The time of the present step.
    now: u64,
    stored: Stored,
    /// What the state file lacks of `stored`, and what of that is being written.
    unsaved: Unsaved,
    saving: Unsaved,
    /// Is the kernel as it was when it was last looked at, as far as its events tell?
    is_as_seen: bool,
    /// Interfaces that have lost their carrier since then.
    dark: BTreeSet<String>,
    links: Links,
    job: Option<Job>,
    waiting: VecDeque<Input>,
    view: Option<View>,
    canaries: BTreeMap<Vid, Canary>,
    refresh: BTreeMap<String, Refresh>,
    paths: Paths,
    healing: Healing,
    adaptive: Adaptive,
    /// What was last ordered to be sampled.
    sampled: Sampled,
    /// First nexthops that are kept free, of the plan in force.
    free: Arc<KeptFree>,
    transition: Transition,
    elsewhere: Elsewhere,
    listening: BTreeSet<(String, u32)>,
    forwarding: Forwarding,
    /// What the source engine was last ordered to push.
    pushing: Pushing,
    /// The same, at the time when the kernel last equalled the target.
    pushed: Pushing,
    pending: Vec<PendingLine>,
    drift: Vec<OperationLine>,
    in_sync: bool,
    fault: Option<String>,
    confirm_at: Option<u64>,
    schedule: Schedule,
    repairs: Bucket,
    /// The configured plan, while its first apply has not succeeded.
    again: Option<Again>,
    counters: BTreeMap<&'static str, u64>,
}

impl Engine {
    /// An engine with the stored state. [`Input::Start`] makes it begin.
    #[must_use]
    pub fn new(settings: Settings, mut stored: Stored) -> Self {
        if !settings.bfd {
            stored.broken.clear();
            stored.reports.clear();
        }
        Self {
            settings,
            now: 0,
            healing: Healing::recall(&stored.reports),
            stored,
            unsaved: Unsaved::default(),
            saving: Unsaved::default(),
            is_as_seen: false,
            dark: BTreeSet::new(),
            links: Links::default(),
            job: None,
            waiting: VecDeque::new(),
            view: None,
            canaries: BTreeMap::new(),
            refresh: BTreeMap::new(),
            paths: Paths::default(),
            adaptive: Adaptive::default(),
            sampled: Sampled::default(),
            free: Arc::default(),
            transition: Transition::default(),
            elsewhere: Elsewhere::default(),
            listening: BTreeSet::new(),
            forwarding: Forwarding::default(),
            pushing: Pushing::default(),
            pushed: Pushing::default(),
            pending: Vec::new(),
            drift: Vec::new(),
            in_sync: false,
            fault: None,
            confirm_at: None,
            schedule: Schedule::default(),
            repairs: Bucket::new(REPAIR_BURST, REPAIR_MS),
            again: None,
            counters: BTreeMap::new(),
        }
    }

    /// Takes one input at `now` (milliseconds of a monotonic clock) and returns what to do.
    pub fn step(&mut self, now: u64, input: Input) -> Vec<Effect> {
        self.now = now;
        let mut effects = Vec::new();
        let out = &mut effects;
        match input {
            Input::Start { configured } => self.start(now, configured, out),
            Input::Observed(result) => self.observed(result, out),
            Input::Persisted(result) => self.persisted(result, out),
            Input::Executed(execution) => self.executed(execution, out),
            Input::Changed(changes) => self.changed(now, &changes, out),
            Input::Frame { interface, source, announcement } => {
                let news = self.frame(now, &interface, source, &announcement, out);
                self.compare_plans(now, out);
                if !news && self.deadline().is_none_or(|at| at > now) {
                    return effects;
                }
            }
            Input::PathEvent { generation, down, held, up, silent } => {
                self.seen(generation, [&down, &up, &silent], out);
                self.doubt(generation, &down, &held, out);
            }
            Input::Reports(reports) => {
                self.reported(reports);
                self.hear_dark(out);
                self.ask_unheard(out);
            }
            Input::Sent(sent) => self.sent(&sent),
            Input::Tick if self.dark_until().is_some_and(|at| at <= now) => self.hear_dark(out),
            Input::Tick if self.unheard_until().is_some_and(|at| at <= now) => {
                self.ask_unheard(out);
            }
            Input::Tick => self.compare_plans(now, out),
            call => self.call(call, out),
        }
        self.vlans(now, out);
        self.heal(out);
        self.next_job(now, out);
        self.sample(out);
        effects
    }

    /// When to send [`Input::Tick`]; `None` if nothing is due.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        let idle = self.job.is_none();
        let again = self.again.as_ref().map(|again| again.at);
        let jobs = [self.confirm_at, self.schedule.due(), again];
        let jobs = jobs.into_iter().flatten().filter(|_| idle);
        let canaries = self.canaries.values().filter_map(Canary::deadline);
        let transition = self.transition.deadline().filter(|_| self.stored.in_transition);
        jobs.chain(canaries)
            .chain(self.healing.recalled_until)
            .chain(self.dark_until())
            .chain(self.unheard_until())
            .chain(self.way_out_at())
            .chain(transition)
            .chain(self.refresh.values().map(|r| r.due))
            .min()
    }

    /// The plan in force.
    #[must_use]
    pub fn current(&self) -> Option<&Arc<Prepared>> {
        self.stored.current.as_ref()
    }

    /// The reply to GetPlan: the files of the plan in force.
    #[must_use]
    pub fn files(&self) -> PlanFiles {
        let current = self.current();
        PlanFiles {
            generation: current.map(|plan| plan.generation.clone()),
            cluster: current.map(|plan| plan.cluster.clone()),
            lock: current.and_then(|plan| plan.lock.clone()),
        }
    }

    fn start(&mut self, now: u64, configured: Option<Box<Prepared>>, out: &mut Vec<Effect>) {
        self.healing.recalled_until =
            (!self.healing.recalled.is_empty()).then_some(now + RECALLED_MS);
        if self.stored.unconfirmed.is_some() {
            self.unsaved = Unsaved::Journal;
            self.go_back();
            self.drop_pins(out);
            self.stored.intent = Some(Intent::Converge);
            publish(
                out,
                Alert::Warning,
                "rolled-back",
                "",
                "the last apply was not confirmed before the daemon stopped",
            );
        } else if let Some(intent) = &self.stored.intent {
            publish(out, Alert::Warning, "resync", "", &format!("was interrupted: {intent:?}"));
        }
        let withdrawn = self.withdrawn();
        match (&self.stored.current, &self.stored.intent, configured) {
            (None, None | Some(Intent::Apply { .. }), _) if withdrawn => {
                publish(out, Alert::Warning, "withdrawn", "", WITHDRAWN);
                // An apply after the withdrawal may have been interrupted.
                self.in_sync = self.stored.intent.is_none();
                if !self.in_sync {
                    self.schedule.request(now, Cause::Kernel);
                }
            }
            (None, None | Some(Intent::Apply { .. }), Some(prepared)) => {
                let options = ApplyOptions::default();
                self.waiting.push_back(Input::Apply { call: None, prepared, options });
            }
            (None, None, None) => self.in_sync = true,
            _ => self.schedule.request(now, Cause::Kernel),
        }
        self.sync_vlans();
    }

    /// Did an operator withdraw the plan, and was none applied since?
    #[must_use]
    pub fn withdrawn(&self) -> bool {
        self.stored.withdrawn && self.stored.current.is_none()
    }

    fn changed(&mut self, now: u64, changes: &Changes, out: &mut Vec<Effect>) {
        self.count("kernel_changes_total");
        self.is_as_seen = false;
        // What others are to know of it is said before the kernel is looked at.
        for (interface, has_carrier) in &changes.carriers {
            match has_carrier {
                true => self.dark.remove(interface),
                false => {
                    self.lose_carrier(interface, out);
                    self.dark.insert(interface.clone())
                }
            };
        }
        if changes.overrun {
            self.count("kernel_overruns_total");
            publish(
                out,
                Alert::Warning,
                "resync",
                "",
                "kernel events were lost: looking at everything",
            );
        }
        if self.stored.current.is_some() || self.stored.intent.is_some() {
            self.schedule.request(now, Cause::Kernel);
        }
    }

    fn count(&mut self, name: &'static str) {
        *self.counters.entry(name).or_default() += 1;
    }
}

/// What the state file lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Unsaved {
    #[default]
    Nothing,
    /// What spares a daemon that starts a detection time. It is written after the kernel was changed, as that is
    /// urgent.
    Failures,
    /// What has to be on the disk before the kernel is changed.
    Journal,
}

impl Unsaved {
    /// This, too, is lacking.
    fn add(&mut self, more: Self) {
        *self = (*self).max(more);
    }

    /// The journal, if this is so.
    const fn journal_if(lacking: bool) -> Self {
        if lacking { Self::Journal } else { Self::Nothing }
    }
}

fn publish(out: &mut Vec<Effect>, alert: Alert, kind: &str, object: &str, message: &str) {
    out.push(Effect::Publish {
        alert,
        kind: kind.into(),
        object: object.into(),
        message: message.into(),
    });
}

fn line(planned: &Planned) -> OperationLine {
    let line = planned.line();
    OperationLine { op: line.op, kind: line.kind, object: line.object, why: line.why }
}

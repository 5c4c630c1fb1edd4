//! The engine against a fake kernel, a fake disk and a fake clock.

mod advance;
mod canary;
mod detours;
mod healing;
mod index;
mod join;
mod labels;
mod returning;
mod routed;
mod shares;
mod source;
mod steer;
mod transactions;
mod watch;

use std::collections::BTreeMap;

use tresse_base::id::NodeId;
use tresse_control::NodeError;
use tresse_frame::announce::Announcement;
use tresse_liveness::Watching;
use tresse_liveness::records::Report;
use tresse_plan::Plan;
use tresse_reconcile::model::KernelModel;
use tresse_reconcile::{GuardRule, METRIC_PRIMARY, Observed, ObservedLink, ObservedRoute};
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

use super::*;

/// A kernel that forwards labels and pushes none.
pub(super) const ENGINES: Engines =
    Engines { labels: LabelEngine::Kernel, sources: SourceEngine::Tun };

/// One host: kernel, disk, clock and engine.
pub(super) struct Host {
    pub kernel: KernelModel,
    pub disk: Stored,
    pub engine: Engine,
    pub now: u64,
    /// What is not stored with a plan, and made again where it is loaded: by generation.
    indexes: BTreeMap<String, Arc<Index>>,
    /// The configured plan, as restarts find it.
    pub configured: Option<Box<Prepared>>,
    pub canary: bool,
    pub replies: BTreeMap<CallId, Result<Reply, NodeError>>,
    pub published: Vec<(String, String)>,
    /// Every input as JSON with its time, and the effects it had.
    pub recording: Vec<(u64, String, Vec<Effect>)>,
    pub announced: Vec<(String, Announcement)>,
    pub guarded: BTreeMap<String, String>,
    pub management: BTreeMap<String, String>,
    /// What the TUN interface pushes.
    pub pushing: Pushing,
    /// What is to be watched.
    pub watching: Watching,
    /// The n-th kernel operation or disk write from now fails.
    pub fail_at: Option<usize>,
    /// The daemon dies before the n-th effect from now.
    pub crash_at: Option<usize>,
    /// Set once it has died.
    pub dead: bool,
    /// What the node said last of its hops.
    pub said: Option<Report>,
    calls: CallId,
    starts: u64,
}

/// A confirm of whatever waits for one.
pub(super) const fn keep(call: CallId) -> Input {
    Input::Confirm { call, generation: None }
}

pub(super) fn prepared(strategy: Strategy, dims: &[u32]) -> Prepared {
    let cluster =
        Cluster::generated(TopologyShape::Torus { dims: dims.to_vec() }, 1, 2, strategy, 2);
    let plan = Plan::build(cluster).unwrap();
    Prepared::new(&plan, NodeId(1), format!("{strategy:?} {dims:?}"), None)
}

impl Host {
    pub fn new(canary: bool) -> Self {
        let mut host = Self {
            kernel: bare(),
            disk: Stored::default(),
            engine: Engine::new(settings(canary, 0), Stored::default()),
            now: 1_000_000,
            indexes: BTreeMap::new(),
            configured: None,
            canary,
            replies: BTreeMap::new(),
            published: Vec::new(),
            recording: Vec::new(),
            announced: Vec::new(),
            guarded: BTreeMap::new(),
            management: BTreeMap::new(),
            pushing: Pushing::default(),
            watching: Watching::default(),
            fail_at: None,
            crash_at: None,
            dead: false,
            said: None,
            calls: 0,
            starts: 0,
        };
        host.input(Input::Start { configured: None });
        host
    }

    /// The daemon is started again from what is on the disk.
    pub fn restart(&mut self) {
        self.starts += 1;
        self.dead = false;
        self.crash_at = None;
        self.fail_at = None;
        let mut stored = self.disk.clone();
        for plan in [&mut stored.current, &mut stored.previous].into_iter().flatten() {
            if let Some(index) = self.indexes.get(&plan.generation) {
                Arc::make_mut(plan).index = index.clone();
            }
        }
        self.engine = Engine::new(settings(self.canary, self.starts << 32), stored);
        self.input(Input::Start { configured: self.configured.clone() });
        self.settle();
    }

    pub fn input(&mut self, input: Input) {
        let mut effects = VecDeque::from(self.feed(input));
        while let Some(effect) = effects.pop_front() {
            if let Some(left) = &mut self.crash_at {
                if *left == 0 {
                    self.dead = true;
                    return;
                }
                *left -= 1;
            }
            if let Some(answer) = self.act(effect) {
                effects.extend(self.feed(answer));
            }
            if self.dead {
                return;
            }
        }
    }

    fn feed(&mut self, input: Input) -> Vec<Effect> {
        let json = serde_json::to_string(&input).unwrap();
        let effects = self.engine.step(self.now, input);
        self.recording.push((self.now, json, effects.clone()));
        effects
    }

    /// Lets time pass until nothing is due within a minute.
    pub fn settle(&mut self) {
        let end = self.now + 60_000;
        self.run_until(end);
    }

    pub fn run_until(&mut self, end: u64) {
        while let Some(at) = self.engine.deadline().filter(|at| *at <= end && !self.dead) {
            self.now = self.now.max(at);
            self.input(Input::Tick);
        }
        self.now = self.now.max(end);
    }

    pub fn call(&mut self, make: impl FnOnce(CallId) -> Input) -> Option<Result<Reply, NodeError>> {
        self.calls += 1;
        let call = self.calls;
        self.input(make(call));
        self.replies.remove(&call)
    }

    pub fn apply(&mut self, prepared: &Prepared) -> Option<Result<Reply, NodeError>> {
        self.apply_with(prepared, ApplyOptions::default())
    }

    pub fn apply_with(
        &mut self,
        prepared: &Prepared,
        options: ApplyOptions,
    ) -> Option<Result<Reply, NodeError>> {
        let prepared = Box::new(prepared.clone());
        self.indexes.insert(prepared.generation.clone(), prepared.index.clone());
        self.call(|call| Input::Apply { call: Some(call), prepared, options })
    }

    pub fn primaries(&self) -> usize {
        self.kernel.observed.routes.keys().filter(|(_, m)| *m == METRIC_PRIMARY).count()
    }

    fn act(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Originate { report, .. } => {
                self.said = Some(*report);
                None
            }
            Effect::Sample(_) => None,
            Effect::Observe { sysctls } => {
                let mut observed = self.kernel.observed.clone();
                observed.sysctls.retain(|key, _| sysctls.contains(key));
                Some(Input::Observed(Ok(Box::new(View {
                    observed,
                    guarded: self.guarded.clone(),
                    management: self.management.clone(),
                }))))
            }
            Effect::Persist(stored) => {
                if self.fails() {
                    return Some(Input::Persisted(Err("no space left on device".into())));
                }
                let bytes = serde_json::to_vec(&stored).unwrap();
                self.disk = serde_json::from_slice(&bytes).unwrap();
                Some(Input::Persisted(Ok(())))
            }
            Effect::Execute(operations) => {
                let mut execution = Execution::default();
                for (index, operation) in operations.iter().enumerate() {
                    if let Some(left) = &mut self.crash_at {
                        if *left == 0 {
                            self.dead = true;
                            return None;
                        }
                        *left -= 1;
                    }
                    let result = if self.fails() {
                        Err("injected".to_owned())
                    } else {
                        self.kernel.apply(operation).map_err(|e| e.to_string())
                    };
                    match result {
                        Ok(()) => execution.done.push(index),
                        Err(message) => {
                            execution.errors.push((index, message));
                            break;
                        }
                    }
                }
                Some(Input::Executed(execution))
            }
            Effect::Reply(call, reply) => {
                self.replies.insert(call, reply);
                None
            }
            Effect::Publish { kind, message, .. } => {
                self.published.push((kind, message));
                None
            }
            Effect::Announce { interface, announcement, .. } => {
                self.announced.push((interface, announcement));
                None
            }
            Effect::Forward(_) | Effect::Listen(_) => None,
            Effect::Watch(watching) => {
                self.watching = *watching;
                None
            }
            Effect::Push(pushing) => {
                self.pushing = *pushing;
                None
            }
        }
    }

    fn fails(&mut self) -> bool {
        let Some(left) = &mut self.fail_at else { return false };
        if *left == 0 {
            self.fail_at = None;
            return true;
        }
        *left -= 1;
        false
    }
}

/// What is seen of a kernel without management traffic.
pub(super) fn seen(observed: Observed) -> View {
    View { observed, ..View::default() }
}

pub(super) fn settings(canary: bool, sequence: u64) -> Settings {
    Settings {
        canary,
        announce_ms: Some(3_600_000),
        sequence,
        engines: ENGINES,
        bfd: true,
        forward_to: Vec::new(),
        isolate: false,
    }
}

/// A route of somebody else.
pub(super) fn foreign(interface: &str) -> ObservedRoute {
    ObservedRoute {
        protocol: 4,
        nexthop: None,
        interface: Some(interface.into()),
        src: None,
        mtu: None,
        advmss: None,
    }
}

/// Two NICs of node 1 and a foreign default route.
fn bare() -> KernelModel {
    let mut kernel = KernelModel { ifa_proto: true, ..KernelModel::default() };
    let nics = prepared(Strategy::Dor, &[3, 3]).wanted.nics;
    for (index, (name, (mac, _))) in nics.into_iter().enumerate() {
        let link = ObservedLink {
            index: index as u32 + 2,
            kind: None,
            mac: Some(mac),
            mtu: 1500,
            up: true,
            carrier: true,
            alias: None,
            master: None,
            lower: None,
        };
        kernel.observed.links.insert(name, link);
    }
    kernel.observed.routes.insert(("192.0.2.0/24".parse().unwrap(), 0), foreign("mgmt"));
    for (key, value) in [
        ("net/ipv4/conf/*/rp_filter", "0"),
        ("net/ipv4/conf/*/arp_ignore", "0"),
        ("net/ipv4/conf/*/forwarding", "0"),
        ("net/ipv4/conf/*/arp_announce", "0"),
        ("net/ipv4/conf/*/accept_redirects", "1"),
        ("net/ipv4/conf/*/send_redirects", "1"),
        ("net/ipv4/neigh/*/mcast_solicit", "3"),
        ("net/ipv6/conf/*/disable_ipv6", "0"),
    ] {
        kernel.sysctls.push((key.into(), value.into()));
    }
    kernel.observed.sysctls.insert("net/ipv4/fib_multipath_hash_policy".into(), "0".into());
    kernel
}

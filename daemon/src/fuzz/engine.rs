//! Fuzz test of the decision engine against a fake kernel and disk, in virtual time: plans come and go, paths break,
//! other nodes say this and that, somebody deletes what is ours and adds what is not, operations fail, and the daemon
//! dies at any step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::LazyLock;

use tresse_base::id::{Label, NodeId, PathId};
use tresse_control::{NodeError, Reply, Status};
use tresse_engine::{
    ApplyOptions, Changes, Effect, Engine, Engines, Execution, Input, LabelEngine, Prepared, Sent,
    Settings, SourceEngine, Steer, Stored, Traffic, View, digest,
};
use tresse_frame::announce::{Announcement, AnnouncementKind};
use tresse_frame::records::Origin;
use tresse_liveness::Watching;
use tresse_liveness::records::{LoadKind, PathState, Rate, Report, WireLoad};
use tresse_reconcile::model::KernelModel;
use tresse_reconcile::{
    GuardRule, ObservedAddress, ObservedLink, ObservedRoute, Operation, PROTOCOL,
};

use crate::runtime::{Identity, prepare};

/// Plans of the first node, by fabric and routing: any of them may follow any other.
const PLANS: [(&str, &str); 9] = [
    ("kind = \"torus\", dims = [3, 3]", "strategy = \"dor\"\npaths = 2"),
    ("kind = \"torus\", dims = [3, 3]", "strategy = \"pdor\"\npaths = 1"),
    ("kind = \"torus\", dims = [3, 3], nics_per_node = 2", "strategy = \"stp\""),
    ("kind = \"direct-torus\", dims = [3, 3]", ""),
    ("kind = \"direct-mesh\", dims = [3, 3]", ""),
    ("kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"", "paths = 2"),
    ("kind = \"pmesh\", dims = [3, 3]", ""),
    (
        "kind = \"irregular\", switches = 8, ports = 6, seed = 1",
        "strategy = \"transit\"\npaths = 2",
    ),
    (
        "kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 2 3 4\\n2: 4 5 0\\n3: 1 3 5\\n\"",
        "paths = 3\nreflect = \"adaptive\"",
    ),
];
/// How long the engine is left in peace at the end, ms: longer than all that it waits for by itself.
const QUIET_MS: u64 = 1_800_000;
/// Effects after which an input counts as endless.
const EFFECTS: usize = 10_000;
/// The call whose reply is judged; all others are answered anyhow.
const CALL: u64 = 1;

static PREPARED: LazyLock<Vec<Prepared>> = LazyLock::new(|| {
    let names = ["n0", "n00"].map(|name| Identity::Named(name.into()));
    let plan = |(topology, routing): &(&str, &str)| {
        let fabric = format!("name = \"fuzz\"\ntopology = {{ {topology} }}");
        let text = format!("[fabric]\n{fabric}\n[routing]\n{routing}\n");
        let [first, second] = &names;
        prepare(&text, None, first).or_else(|_| prepare(&text, None, second)).expect("a plan")
    };
    PLANS.iter().map(plan).collect()
});

/// Fuzz test of the decision engine: each byte of `bytes` chooses something that happens, the bytes after it what exactly.
///
/// # Panics
/// If an operation harms what is not ours, if one step asks for two transactions, if the last call gets no answer, if a fault is
/// left once all is sound again and quiet, or if the kernel then differs from the plan.
pub fn engine(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let mut host = Host::new(bytes.next().unwrap_or(0));
    while let Some(act) = bytes.next() {
        host.act(act, &mut bytes);
        assert!(host.kernel.damage.is_empty(), "harmed: {:?}", host.kernel.damage);
    }
    host.quiet();
}

/// The bytes that are left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// One of so many; the first if no bytes are left.
    fn below(&mut self, count: usize) -> usize {
        usize::from(self.next().unwrap_or(0)) % count.max(1)
    }
}

/// What a node says of a wire.
fn load(bytes: &mut Bytes<'_>) -> WireLoad {
    let kinds = [LoadKind::Planned, LoadKind::Detour, LoadKind::Counted];
    WireLoad {
        wire: (bytes.below(6) << 10 | bytes.below(3) << 2 | bytes.below(4)) as u32,
        kind: kinds[bytes.below(3)],
        rate: Rate::of(1 << bytes.below(64)),
    }
}

/// One host: kernel, disk, clock and engine.
struct Host {
    settings: Settings,
    engine: Engine,
    kernel: KernelModel,
    foreign: Vec<(String, IpAddr)>,
    disk: Stored,
    now: u64,
    watching: Watching,
    replies: BTreeMap<u64, Result<Reply, NodeError>>,
    /// The n-th operation or disk write from now fails.
    fail_at: Option<u8>,
    /// The daemon dies before the n-th effect from now.
    crash_at: Option<u8>,
}

impl Host {
    fn new(choice: u8) -> Self {
        let settings = Settings {
            canary: choice & 1 == 1,
            announce_ms: Some(3_600_000),
            sequence: 0,
            engines: Engines { labels: LabelEngine::Packet, sources: SourceEngine::Tun },
            bfd: choice & 2 == 0,
            forward_to: Vec::new(),
            isolate: choice & 4 == 4,
        };
        let mut host = Self {
            engine: Engine::new(settings.clone(), Stored::default()),
            settings,
            kernel: kernel(),
            foreign: Vec::new(),
            disk: Stored::default(),
            now: 1_000_000,
            watching: Watching::default(),
            replies: BTreeMap::new(),
            fail_at: None,
            crash_at: None,
        };
        host.input(Input::Start { configured: None });
        host
    }

    fn act(&mut self, act: u8, bytes: &mut Bytes<'_>) {
        match act % 14 {
            0 | 1 => self.apply(bytes),
            2 => self.input(Input::Confirm { call: CALL, generation: None }),
            3 => self.input(Input::Rollback { call: CALL }),
            4 => self.input(Input::Withdraw { call: CALL, force: bytes.below(2) == 0 }),
            5 => self.steer(bytes),
            6 => self.run_until(self.now + (1 << bytes.below(18))),
            7 => self.paths(bytes),
            8 => self.input(Input::Changed(Changes {
                overrun: bytes.below(2) == 0,
                ..Changes::default()
            })),
            9 => self.lose_ours(bytes),
            10 => self.links(bytes),
            11 => self.fail_at = bytes.next(),
            12 => self.crash_at = bytes.next(),
            _ if act & 0x80 != 0 => self.sent(bytes),
            _ => self.hear(bytes),
        }
    }

    fn apply(&mut self, bytes: &mut Bytes<'_>) {
        let prepared = Box::new(PREPARED[bytes.below(PREPARED.len())].clone());
        let how = bytes.next().unwrap_or(0);
        let options = ApplyOptions {
            dry_run: how & 1 == 1,
            confirm_seconds: (how & 2 == 2).then_some(u32::from(how >> 4) + 1),
            force: how & 4 == 4,
            force_interfaces: BTreeSet::new(),
        };
        self.input(Input::Apply { call: Some(CALL), prepared, options });
    }

    fn steer(&mut self, bytes: &mut Bytes<'_>) {
        let Some(current) = self.engine.current() else { return };
        let nodes = current.nodes as usize;
        let nic = || current.wanted.nics.keys().next().cloned().unwrap_or_default();
        let drained = ["s0", "s1", "s4", "n1"][bytes.below(4)].to_owned();
        let drained =
            if bytes.below(2) == 0 { drained } else { format!("{}:{}", current.node, nic()) };
        let to = current.index.node(NodeId::from(bytes.below(nodes))).to_owned();
        let rank = bytes.below(3) as u32;
        let steer = match bytes.below(5) {
            0 => Steer::Drain(drained),
            1 => Steer::Undrain(drained),
            2 => Steer::Pin { to, rank },
            3 => Steer::Weight { to, weights: [(rank, 1 + bytes.below(8) as u32)].into() },
            _ => Steer::Unpin(to),
        };
        let (force, dry_run) = (bytes.below(2) == 0, bytes.below(8) == 1);
        self.input(Input::Steer { call: CALL, steer, force, dry_run });
    }

    /// Some paths break, others come back.
    fn paths(&mut self, bytes: &mut Bytes<'_>) {
        let (mut down, mut held, mut up, mut silent) = <[BTreeSet<PathId>; 4]>::default().into();
        for path in self.watching.paths.iter().map(|path| path.id) {
            match bytes.next().unwrap_or(2) % 8 {
                0 => drop(down.insert(path)),
                1 => drop((down.insert(path), held.insert(path))),
                2..=5 => drop(up.insert(path)),
                6 => drop((up.insert(path), silent.insert(path))),
                _ => {}
            }
        }
        let generation = self.watching.generation;
        self.input(Input::PathEvent { generation, down, held, up, silent });
    }

    /// Somebody deletes an object of ours, or a link falls away.
    fn lose_ours(&mut self, bytes: &mut Bytes<'_>) {
        let observed = &self.kernel.observed;
        let mut ours: Vec<Operation> = Vec::new();
        let routes = observed.routes.iter().filter(|(_, route)| route.protocol == PROTOCOL);
        ours.extend(routes.map(|(&(dst, metric), _)| Operation::DeleteRoute { dst, metric }));
        let nexthops = observed.nexthops.iter().filter(|(_, found)| found.protocol == PROTOCOL);
        ours.extend(nexthops.map(|(&id, _)| Operation::DeleteNexthop { id }));
        let links = observed.links.iter().filter(|(_, link)| link.is_ours());
        ours.extend(links.map(|(name, _)| Operation::DeleteLink { name: name.clone() }));
        let rules = observed.guard.iter().cloned();
        ours.extend(rules.map(|rule| Operation::DeleteGuardRule { rule }));
        let rules = observed.rules.iter().cloned();
        ours.extend(rules.map(|rule| Operation::DeleteRule { rule }));
        let neighbours = observed.neighbours.keys().cloned();
        ours.extend(
            neighbours
                .map(|(interface, address)| Operation::DeleteNeighbour { interface, address }),
        );
        if ours.is_empty() {
            return;
        }
        let operation = &ours[(bytes.below(256) << 8 | bytes.below(256)) % ours.len()];
        self.kernel.apply(operation).expect("what is there can be deleted");
        self.input(Input::Changed(Changes::default()));
    }

    /// A NIC loses its carrier or gets it back, or somebody adds an address.
    fn links(&mut self, bytes: &mut Bytes<'_>) {
        let nic = format!("eth{}", bytes.below(4));
        let what = bytes.next().unwrap_or(0);
        if what & 7 == 7 {
            let key =
                ("mgmt0".to_owned(), format!("198.51.100.{what}").parse().expect("an address"));
            let found = ObservedAddress { len: 24, protocol: 0 };
            if self.kernel.observed.addresses.insert(key.clone(), found).is_none() {
                self.foreign.push(key);
            }
        } else if let Some(link) = self.kernel.observed.links.get_mut(&nic) {
            (link.carrier, link.up) = (what & 1 == 1, what & 6 != 0);
        }
        let link = self.kernel.observed.links.get(&nic);
        let carriers = link.map(|link| (nic, !link.up || link.carrier)).into_iter().collect();
        self.input(Input::Changed(Changes { carriers, ..Changes::default() }));
    }

    /// This node has sent something, or an operator switches detours on or off.
    fn sent(&mut self, bytes: &mut Bytes<'_>) {
        if bytes.below(16) == 15 {
            return self.input(Input::Detours { call: CALL, used: bytes.below(2) == 0 });
        }
        let Some(current) = self.engine.current() else { return };
        let nics: Vec<String> = current.wanted.nics.keys().cloned().collect();
        let routes: Vec<IpAddr> = current.wanted.routes.keys().map(|(to, _)| to.address).collect();
        let much = |bytes: &mut Bytes<'_>| 1_u64 << bytes.below(64);
        let traffic = (0..bytes.below(6)).map(|_| Traffic {
            destination: routes
                .get(bytes.below(routes.len()))
                .copied()
                .unwrap_or(IpAddr::from([9; 4])),
            nic: nics[bytes.below(nics.len())].clone(),
            vid: None,
            labels: (0..bytes.below(2)).map(|_| Label(16 + bytes.below(8) as u32)).collect(),
            bytes: much(bytes),
        });
        let traffic = traffic.collect();
        let carried = nics.iter().map(|nic| (nic.clone(), (much(bytes), much(bytes)))).collect();
        let elapsed_ms = bytes.below(4) as u64 * 500;
        self.input(Input::Sent(Box::new(Sent { elapsed_ms, traffic, carried })));
    }

    /// A node announces itself, or says something of its paths.
    fn hear(&mut self, bytes: &mut Bytes<'_>) {
        let Some(current) = self.engine.current().cloned() else { return };
        let node = bytes.below(current.nodes as usize + 1);
        if bytes.below(2) == 0 {
            let interfaces: Vec<&String> = current.interfaces.keys().collect();
            let interface = interfaces[bytes.below(interfaces.len())].clone();
            let kinds = [AnnouncementKind::Canary, AnnouncementKind::Refresh];
            let announcement = Announcement {
                kind: kinds[bytes.below(2)],
                vid: current.interfaces[&interface].vid,
                node: NodeId::from(node),
                fabric: current.fabric,
                sequence: bytes.below(64) as u64,
                plan: current.digest(),
            };
            let source = "02:54:00:00:00:01".parse().expect("a MAC address");
            return self.input(Input::Frame { interface, source, announcement });
        }
        if node >= current.nodes as usize {
            return;
        }
        let states = [PathState::Unknown, PathState::Sound, PathState::Broken, PathState::Held];
        let (paths, hops) = (bytes.below(40), bytes.below(12));
        let mut some = |count| (0..count).map(|_| states[bytes.below(4)]).collect();
        let (paths, hops) = (some(paths), some(hops));
        let report = Report {
            generation: self.watching.generation,
            dark: (0..4).filter(|_| bytes.below(4) == 3).collect(),
            ranks: 2,
            paths,
            hops,
            loads: (0..bytes.below(4)).map(|_| load(bytes)).collect(),
            ..Report::default()
        };
        let origin = Origin(u64::from_be_bytes(digest(current.index.node(NodeId::from(node)))));
        self.input(Input::Reports([(origin, Some(report))].into()));
    }

    /// Feeds an input, and carries out what follows from it. A daemon that dies on the way is started again.
    fn input(&mut self, input: Input) {
        let mut effects = VecDeque::from(self.step(input));
        for _ in 0..EFFECTS {
            let Some(effect) = effects.pop_front() else { return };
            if let Some(left) = &mut self.crash_at {
                if *left == 0 {
                    return self.restart();
                }
                *left -= 1;
            }
            if let Some(answer) = self.carry_out(effect) {
                effects.extend(self.step(answer));
            }
        }
        panic!("an input without an end");
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let effects = self.engine.step(self.now, input);
        let transactions = effects.iter().filter(|effect| matches!(effect, Effect::Execute(_)));
        assert!(transactions.count() <= 1, "two transactions at once");
        effects
    }

    fn carry_out(&mut self, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Observe { sysctls } => {
                let mut observed = self.kernel.observed.clone();
                observed.sysctls.retain(|key, _| sysctls.contains(key));
                Some(Input::Observed(Ok(Box::new(View { observed, ..View::default() }))))
            }
            Effect::Persist(_) if self.fails() => {
                Some(Input::Persisted(Err("no space left on device".into())))
            }
            Effect::Persist(stored) => {
                self.disk = *stored;
                Some(Input::Persisted(Ok(())))
            }
            Effect::Execute(operations) => {
                let mut execution = Execution::default();
                for (index, operation) in operations.iter().enumerate() {
                    let result = match self.fails() {
                        true => Err("injected".to_owned()),
                        false => self.kernel.apply(operation).map_err(|e| e.to_string()),
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
            Effect::Watch(watching) => {
                self.watching = *watching;
                None
            }
            _ => None,
        }
    }

    fn fails(&mut self) -> bool {
        match &mut self.fail_at {
            Some(0) => {
                self.fail_at = None;
                true
            }
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        }
    }

    /// The daemon is started again from what is on the disk.
    fn restart(&mut self) {
        (self.crash_at, self.fail_at) = (None, None);
        self.settings.sequence += 1 << 32;
        self.engine = Engine::new(self.settings.clone(), self.disk.clone());
        self.input(Input::Start { configured: None });
    }

    fn run_until(&mut self, end: u64) {
        while let Some(at) = self.engine.deadline().filter(|at| *at <= end) {
            // What is due at once again and again does not end.
            self.now = self.now.max(at) + 1;
            self.input(Input::Tick);
        }
        self.now = self.now.max(end);
    }

    /// All becomes sound, nothing fails any more, and after a while the kernel holds what it should.
    fn quiet(&mut self) {
        (self.crash_at, self.fail_at) = (None, None);
        for link in self.kernel.observed.links.values_mut() {
            (link.up, link.carrier) = (true, true);
        }
        self.input(Input::Changed(Changes { overrun: true, ..Changes::default() }));
        let end = self.now + QUIET_MS;
        while self.now < end {
            let up = self.watching.paths.iter().map(|path| path.id).collect();
            let generation = self.watching.generation;
            let (down, held, silent) = Default::default();
            self.input(Input::PathEvent { generation, down, held, up, silent });
            self.run_until(self.now + QUIET_MS / 8);
        }
        self.replies.clear();
        self.input(Input::Diff { call: CALL });
        let Status { fault, in_sync, .. } = self.engine.status(self.now);
        assert!(fault.is_none() && in_sync, "{fault:?}, in sync: {in_sync}");
        match self.replies.remove(&CALL) {
            Some(Ok(Reply::Difference(found))) => {
                assert!(found.operations.is_empty(), "{:?}", found.operations);
            }
            other => panic!("no answer to a call: {other:?}"),
        }
        assert!(self.kernel.damage.is_empty(), "harmed: {:?}", self.kernel.damage);
        let observed = &self.kernel.observed;
        for ipv4 in [true, false] {
            let ours = observed.guard.contains(&GuardRule::Local { ipv4 });
            assert!(ours || observed.local_rules.contains(&ipv4), "no rule for own addresses");
        }
        for key in &self.foreign {
            assert!(self.kernel.observed.addresses.contains_key(key), "{key:?} is gone");
        }
    }
}

/// A kernel with the NICs of all plans, a management NIC and what others have made.
fn kernel() -> KernelModel {
    let mut kernel = KernelModel { ifa_proto: true, ..KernelModel::default() };
    let physical = |index: usize, mac| ObservedLink {
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
    let nics = PREPARED.iter().flat_map(|plan| &plan.wanted.nics);
    let nics: BTreeMap<&String, _> = nics.map(|(name, (mac, _))| (name, *mac)).collect();
    for (index, (name, mac)) in nics.iter().enumerate() {
        kernel.observed.links.insert((*name).clone(), physical(index, *mac));
    }
    let management = "02:00:00:00:00:fe".parse().expect("a MAC address");
    kernel.observed.links.insert("mgmt0".into(), physical(nics.len(), management));
    let route = ObservedRoute {
        protocol: 4,
        nexthop: None,
        interface: Some("mgmt0".into()),
        src: None,
        mtu: None,
        advmss: None,
    };
    for dst in ["0.0.0.0/0", "192.0.2.0/24"] {
        kernel.observed.routes.insert((dst.parse().expect("a prefix"), 0), route.clone());
    }
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
        for name in nics.keys() {
            kernel.observed.sysctls.insert(key.replace('*', name), value.into());
        }
        kernel.sysctls.push((key.into(), value.into()));
    }
    kernel.observed.sysctls.insert("net/ipv4/fib_multipath_hash_policy".into(), "0".into());
    kernel.observed.local_rules = [true, false].into();
    kernel
}

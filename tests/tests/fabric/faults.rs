//! Failures that the nodes' own kernels see (K1), and healing.
//!
//! A node whose NIC loses its carrier sends by its backup. Its peers do not see that, so a pair
//! answers exactly if both ways, as each end sees them, avoid what has failed.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_control::Status;
use tresse_plan::Plan;
use tresse_tests::load;
use tresse_topology::path::{Path, Segment};

use super::datagrams::Traffic;
use super::lab::{Lab, eventually, file};

pub const TESTS: &[(&str, fn())] = &[
    ("k1_sender_goes_on_by_its_second_nic_and_heals", cut_cable),
    ("failed_switch_leaves_the_pairs_that_the_plan_leaves", failed_switch),
    ("any_one_failure_leaves_the_pairs_that_the_plan_leaves", || any_failure(11, 1)),
    ("long_any_one_failure_leaves_the_pairs_that_the_plan_leaves", || any_failure(12, 4)),
    ("k10_a_cable_between_switches_that_fails_silently_is_found", silent_link),
    ("k10_each_direction_is_judged_by_itself", || cables_one_by_one([3, 3], &["s0-s1", "s4-s7"])),
    ("long_k10_each_direction_is_judged_by_itself", || cables_one_by_one([4, 4], &[])),
];

const QUICK: &[&str] = &["--announce-seconds", "3"];
/// How long sixteen nodes may take to find their ways in an emulated machine that has other work beside; a quiet
/// one takes ten seconds (docs/trials.md).
const EMULATED_SECONDS: u64 = 120;
const TWO_NICS: &str = "kind = \"torus\", dims = [2, 2], nics_per_node = 2";

/// One thing that fails: a switch, the cable of a NIC, or a cable between switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Switch(u32),
    Nic(NodeId, usize),
    Link(usize),
}

impl Fault {
    fn all(plan: &Plan) -> Vec<Self> {
        let cluster = plan.cluster();
        let switches = (0..cluster.switches.len() as u32).map(Self::Switch);
        let nodes = (0..cluster.nodes.len()).map(NodeId::from);
        let nics =
            nodes.flat_map(|n| (0..cluster.node(n).nics.len()).map(move |nic| Self::Nic(n, nic)));
        switches.chain(nics).chain((0..cluster.links.len()).map(Self::Link)).collect()
    }

    /// As `tresse lab fail` names it.
    fn object(self, plan: &Plan) -> String {
        let cluster = plan.cluster();
        let port = |port: tresse_topology::cluster::Port| {
            format!("{}:{}", cluster.switch(port.switch).name, port.port)
        };
        match self {
            Self::Switch(k) => cluster.switches[k as usize].name.clone(),
            Self::Nic(node, nic) => {
                let node = cluster.node(node);
                format!("{}:{}", node.name, node.nics[nic].name)
            }
            Self::Link(k) => port(cluster.links[k].a),
        }
    }

    fn cuts_nic(self, plan: &Plan, node: NodeId, nic: usize) -> bool {
        match self {
            Self::Switch(k) => plan.cluster().node(node).nics[nic].switch.0 == k,
            other => other == Self::Nic(node, nic),
        }
    }

    fn cuts(self, plan: &Plan, segment: &Segment) -> bool {
        let mut channels = Vec::new();
        plan.walk(segment, &mut channels);
        let crosses = |channel| match self {
            Self::Switch(k) => plan.graph().tail(channel) == k || plan.graph().head(channel) == k,
            Self::Link(k) => plan.graph().link(channel).index() == k,
            Self::Nic(..) => false,
        };
        self.cuts_nic(plan, segment.from, segment.nic)
            || self.cuts_nic(plan, segment.to, segment.to_nic)
            || channels.into_iter().any(crosses)
    }

    /// Does what `from` sends still arrive? Its kernel takes the backup on another NIC where the
    /// primary's NIC has no carrier.
    fn leaves(self, plan: &Plan, (from, to): (NodeId, NodeId)) -> bool {
        let segments: Vec<Segment> = plan.paths(from, to).iter().map(|p| p.segments[0]).collect();
        let primary = segments[0];
        let way = if self.cuts_nic(plan, from, primary.nic) {
            segments[1..].iter().find(|s| s.nic != primary.nic)
        } else {
            Some(&primary)
        };
        way.is_some_and(|way| !self.cuts(plan, way))
    }
}

/// The pairs that answer are those that the plan leaves; after healing all do.
fn judge(lab: &Lab, fault: Fault) -> usize {
    let plan = &lab.now.plan;
    let pairs: Vec<_> = plan.pairs().collect();
    let object = fault.object(plan);
    assert!(lab.verb(&["fail", &object]).1);
    let gone: BTreeSet<_> = pairs
        .iter()
        .copied()
        .filter(|&(a, b)| !(fault.leaves(plan, (a, b)) && fault.leaves(plan, (b, a))))
        .collect();
    eventually(&format!("{object} failed: these pairs do not answer: {gone:?}"), 20, || {
        let silent: BTreeSet<_> = lab.ping_briefly(&pairs).into_iter().collect();
        if silent == gone { Ok(()) } else { Err(silent) }
    });
    assert!(lab.verb(&["heal", &object]).1);
    eventually(&format!("{object} healed: every node is in sync"), 60, || lab.in_sync());
    assert_eq!(lab.ping(&pairs), [], "{object} healed");
    // What switches forgot with their ports comes back with the next announcements.
    eventually(&format!("{object} healed: frames take the planned ways"), 30, || {
        lab.reset_counters();
        assert_eq!(lab.ping(&pairs), [], "{object} healed");
        let differences = lab.differences(&pairs);
        if differences.is_empty() { Ok(()) } else { Err(differences) }
    });
    gone.len()
}

fn cut_cable() {
    let lab = Lab::up(&file(TWO_NICS, "dor", 2, ""), QUICK);
    let plan = &lab.now.plan;
    // A pair that loses its way out and whose backup is whole.
    let (pair, fault) = plan
        .pairs()
        .map(|pair| (pair, Fault::Nic(pair.0, plan.primary(pair.0, pair.1)[0].nic)))
        .find(|(pair, fault)| fault.leaves(plan, *pair))
        .expect("two NICs");
    let traffic = Traffic::start(&lab, &[pair]);
    let object = fault.object(plan);
    assert!(lab.verb(&["fail", &object]).1);
    eventually("the node knows", 30, || {
        let status = lab.status(pair.0)?;
        if status.backup.is_empty() { Err(format!("{status:?}")) } else { Ok(()) }
    });
    assert!(lab.verb(&["heal", &object]).1);
    eventually("the nodes are in sync", 30, || lab.in_sync());
    assert_eq!(lab.status(pair.0).unwrap().backup, [""; 0]);
    let (_, misses) = traffic.finish();
    let count = |fault| misses.iter().filter(|miss| miss.fault == fault).count();
    assert_eq!(count(load::Fault::Twice), 0, "{misses:?}");
    assert!(count(load::Fault::Lost) <= 25, "more than half a second lost: {misses:?}");
}

/// Whoever has a path that avoids it answers, and all do when it is back.
fn silent_link() {
    let lab =
        Lab::up(&file(TWO_NICS, "dor", 2, ""), &["--announce-seconds", "3", "--bfd-ms", "300"]);
    let plan = &lab.now.plan;
    let crossed = |k: &usize| {
        let pairs = plan.pairs();
        let mut primaries = pairs.flat_map(|(a, b)| plan.primary(a, b));
        primaries.any(|segment| Fault::Link(*k).cuts(plan, &segment))
    };
    let mut links = 0..plan.cluster().links.len();
    let fault = Fault::Link(links.find(crossed).expect("some link carries something"));
    let cuts = |path: &Path| path.segments.iter().any(|segment| fault.cuts(plan, segment));
    let left = |(from, to)| plan.paths(from, to).iter().any(|path| !cuts(path));
    let pairs: Vec<_> = plan.pairs().collect();
    let gone: Vec<_> =
        pairs.iter().copied().filter(|&(a, b)| !(left((a, b)) && left((b, a)))).collect();
    let object = fault.object(plan);
    let whole = || {
        lab.in_sync()?;
        let status: Result<Vec<_>, _> = lab.now.nodes().map(|node| lab.status(node)).collect();
        let is_open = |s: &&Status| s.sessions_up < s.sessions || !s.broken.is_empty();
        let open = status?.iter().filter(is_open).count();
        if open == 0 { Ok(()) } else { Err(format!("{open} nodes with sessions down")) }
    };
    eventually("all sessions are up", 60, whole);
    assert!(lab.verb(&["fail", "--silent", &object]).1);
    eventually(&format!("{object} failed: these pairs do not answer: {gone:?}"), 60, || {
        let silent = lab.ping_briefly(&pairs);
        if silent == gone { Ok(()) } else { Err(silent) }
    });
    assert!(lab.verb(&["heal", &object]).1);
    eventually("all sessions are up again", 120, whole);
    assert_eq!(lab.ping(&pairs), []);
}

/// Whichever cable of a torus is cut, all pairs answer: rank 0 of one node and rank 1 of the other may both
/// cross it. No cables named: each of them.
fn cables_one_by_one(dims: [u32; 2], named: &[&str]) {
    let topology = &format!("kind = \"torus\", dims = {dims:?}, nics_per_node = 1");
    let lab =
        Lab::up(&file(topology, "dor", 2, ""), &["--announce-seconds", "3", "--bfd-ms", "1000"]);
    let plan = &lab.now.plan;
    let cluster = plan.cluster();
    let pairs: Vec<_> = plan.pairs().collect();
    let switch = |port: tresse_topology::cluster::Port| &cluster.switch(port.switch).name;
    let cable =
        |link: &tresse_topology::cluster::Link| format!("{}-{}", switch(link.a), switch(link.b));
    let all: Vec<String> = cluster.links.iter().map(cable).collect();
    let chosen = all.iter().filter(|cable| named.is_empty() || named.contains(&cable.as_str()));
    let answers = || match lab.ping_briefly(&pairs) {
        silent if silent.is_empty() => Ok(()),
        silent => Err(silent),
    };
    eventually("all pairs answer", EMULATED_SECONDS, answers);
    let mut cut = 0;
    for object in chosen {
        assert!(lab.verb(&["fail", "--silent", object]).1);
        eventually(&format!("all pairs answer without {object}"), EMULATED_SECONDS, answers);
        assert!(lab.verb(&["heal", object]).1);
        eventually(&format!("all pairs answer with {object} again"), EMULATED_SECONDS, answers);
        cut += 1;
    }
    assert_eq!(cut, if named.is_empty() { all.len() } else { named.len() });
}

fn failed_switch() {
    let lab = Lab::up(&file(TWO_NICS, "dor", 2, ""), QUICK);
    assert!(judge(&lab, Fault::Switch(0)) > 0);
}

fn any_failure(seed: u64, labs: usize) {
    let mut random = Random::new(seed);
    for _ in 0..labs {
        let kind = ["mesh", "torus"][random.below(2)];
        let dims = [2 + random.below(2), 2 + random.below(2)];
        let nics = 1 + random.below(2);
        let strategy = ["dor", "pdor", "stp"][random.below(3)];
        let topology = format!("kind = \"{kind}\", dims = {dims:?}, nics_per_node = {nics}");
        let lab = Lab::up(&file(&topology, strategy, 2, ""), QUICK);
        let faults = Fault::all(&lab.now.plan);
        let fault = faults[random.below(faults.len())];
        eprintln!("{topology} {strategy}: {fault:?}");
        judge(&lab, fault);
    }
}

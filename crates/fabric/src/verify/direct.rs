//! Proofs about flat neighbourhoods: every path of every pair is walked.
//!
//! Nothing here asks the planner what is shared: two nodes share what NICs of both are on. No channel
//! leads to another, for none joins two switches, and in between a node takes what it can hold and drops
//! the rest: there is no cycle to find.

use rayon::prelude::*;

use super::failures::Worst;
use super::{Failures, Finding, Report, Transit, limits, not_used, pair_name};
use crate::id::NodeId;
use crate::path::Path;
use crate::plan::Plan;

/// Proves or refutes everything about a plan of a flat neighbourhood.
pub(super) fn check(plan: &Plan) -> Report {
    let seen = Fabric::of(plan).survey();
    let mut report = Report::of_plan(plan);
    report.spare_vids = 0;
    report.reachable = seen.reached as usize;
    report.minimal = seen.longer.is_none();
    report.deadlock_free = true;
    report.primaries_deadlock_free = true;
    let pairs = report.pairs.max(1) as f64;
    report.ideal_throughput = ideal_throughput(plan, &seen);
    report.transit = Transit {
        paths: seen.relayed,
        max: u32::from(seen.relayed > 0),
        mean: seen.relayed as f64 / pairs,
    };
    for (kind, found, message) in [
        (
            "broken-path",
            seen.broken,
            "a path leaves a switch for another that no cable joins to it",
        ),
        ("not-minimal", seen.longer, "a third node is in between, and the two share a switch"),
    ] {
        report.violations.extend(found.map(|(s, d)| Finding {
            kind,
            object: pair_name(plan, s, d),
            message: message.into(),
        }));
    }
    report.violations.extend(limits::of_switches(plan));
    let fabric = Fabric::of(plan);
    report.failures = Failures {
        link: Worst::of(&seen.nics, |nic| fabric.name(nic)),
        switch: Worst::of(&seen.switches, |s| plan.cluster().switches[s].name.clone()),
        node: Worst::of(&seen.nodes, |n| plan.cluster().nodes[n].name.clone()),
        pairs_without_disjoint_backup: seen.sharing,
    };
    report.notes.extend(seen.first_sharing.map(|(s, d)| Finding {
        kind: "no-disjoint-backup",
        object: pair_name(plan, s, d),
        message: format!(
            "{} ordered pairs, this one first, have no second path that avoids every switch and NIC of \
             the first",
            seen.sharing
        ),
    }));
    report.notes.extend(undetected(plan));
    report.notes.extend(not_used(plan));
    report
}

/// A node sees only its own carrier (K1).
fn undetected(plan: &Plan) -> Option<Finding> {
    (plan.cluster().routing.paths > 1).then(|| Finding {
        kind: "undetected-failures",
        object: "NICs of other nodes".into(),
        message: "what a failure leaves is by the paths of the plan, and this version moves to others \
                  only where the sender's own NIC loses its carrier, as it does where a switch is dead: \
                  what goes to a NIC that others have lost, is lost until that is mended"
            .into(),
    })
}

/// What the paths of all pairs do.
#[derive(Debug, Clone, Default)]
struct Seen {
    reached: u64,
    relayed: u64,
    broken: Option<(NodeId, NodeId)>,
    longer: Option<(NodeId, NodeId)>,
    /// Primaries that leave and that enter each NIC.
    sent: Vec<u64>,
    received: Vec<u64>,
    /// Pairs that are lost with each NIC, switch and node.
    nics: Vec<u64>,
    switches: Vec<u64>,
    nodes: Vec<u64>,
    sharing: u64,
    first_sharing: Option<(NodeId, NodeId)>,
}

struct Fabric<'a> {
    plan: &'a Plan,
    /// First NIC number of each node.
    first: Vec<usize>,
    nics: usize,
}

impl<'a> Fabric<'a> {
    fn of(plan: &'a Plan) -> Self {
        let mut nics = 0;
        let count = |node: &crate::cluster::Node| {
            nics += node.nics.len();
            nics - node.nics.len()
        };
        let first = plan.cluster().nodes.iter().map(count).collect();
        Self { plan, first, nics }
    }

    fn name(&self, nic: usize) -> String {
        let node = self.first.partition_point(|first| *first <= nic) - 1;
        let of = &self.plan.cluster().nodes[node];
        format!("{} {}", of.name, of.nics[nic - self.first[node]].name)
    }

    fn survey(&self) -> Seen {
        let cluster = self.plan.cluster();
        let empty = || Seen {
            sent: vec![0; self.nics],
            received: vec![0; self.nics],
            nics: vec![0; self.nics],
            switches: vec![0; cluster.switches.len()],
            nodes: vec![0; cluster.nodes.len()],
            ..Seen::default()
        };
        let nodes = cluster.nodes.len();
        (0..nodes)
            .into_par_iter()
            .fold(empty, |mut seen, s| {
                for d in (0..nodes).filter(|d| *d != s) {
                    self.pair(&self.plan.paths(s.into(), d.into()), &mut seen);
                }
                seen
            })
            .reduce(empty, Seen::merge)
    }

    fn pair(&self, paths: &[Path], seen: &mut Seen) {
        let Some(primary) = paths.first() else { return };
        let pair = (primary.src, primary.dst);
        if !paths.iter().all(|path| self.is_whole(path)) {
            seen.broken.get_or_insert(pair);
            return;
        }
        seen.reached += 1;
        for segment in &primary.segments {
            seen.sent[self.first[segment.from.index()] + segment.nic] += 1;
            seen.received[self.first[segment.to.index()] + segment.to_nic] += 1;
        }
        if primary.segments.len() > 1 {
            seen.relayed += 1;
            let of = |node| self.plan.cluster().node(node).nics.iter().map(|nic| nic.switch);
            if of(pair.0).any(|s| of(pair.1).any(|d| s == d)) {
                seen.longer.get_or_insert(pair);
            }
        }
        // What every path of the pair needs.
        let mut parts = Parts::of(self, primary);
        for path in &paths[1..] {
            let other = Parts::of(self, path);
            parts.nics.retain(|nic| other.nics.contains(nic));
            parts.switches.retain(|switch| other.switches.contains(switch));
            parts.nodes.retain(|node| other.nodes.contains(node));
        }
        if self.plan.cluster().routing.paths > 1
            && !(parts.nics.is_empty() && parts.switches.is_empty())
        {
            seen.sharing += 1;
            seen.first_sharing.get_or_insert(pair);
        }
        parts.nics.iter().for_each(|nic| seen.nics[*nic] += 1);
        parts.switches.iter().for_each(|switch| seen.switches[*switch] += 1);
        parts.nodes.iter().for_each(|node| seen.nodes[*node] += 1);
    }

    /// Does every segment stay on one switch, and begin where the one before ended?
    fn is_whole(&self, path: &Path) -> bool {
        let mut at = path.src;
        let good = path.segments.iter().all(|segment| {
            let from = std::mem::replace(&mut at, segment.to);
            let relay = segment.to == path.dst || self.plan.cluster().node(segment.to).transit;
            let one = self.plan.sender(segment).switch == self.plan.receiver(segment).switch;
            from == segment.from && one && relay
        });
        good && at == path.dst
    }
}

/// What a path needs; nodes are those in between.
struct Parts {
    nics: Vec<usize>,
    switches: Vec<usize>,
    nodes: Vec<usize>,
}

impl Parts {
    fn of(fabric: &Fabric<'_>, path: &Path) -> Self {
        let ends = path.segments.iter().flat_map(|s| [(s.from, s.nic), (s.to, s.to_nic)]);
        let between = path.segments[1..].iter().map(|segment| segment.from.index());
        let switch = |segment| fabric.plan.sender(segment).switch.index();
        Self {
            nics: ends.map(|(node, nic)| fabric.first[node.index()] + nic).collect(),
            switches: path.segments.iter().map(switch).collect(),
            nodes: between.collect(),
        }
    }
}

impl Seen {
    fn merge(mut self, other: Self) -> Self {
        let add = |into: &mut Vec<u64>, from: Vec<u64>| {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        };
        add(&mut self.sent, other.sent);
        add(&mut self.received, other.received);
        add(&mut self.nics, other.nics);
        add(&mut self.switches, other.switches);
        add(&mut self.nodes, other.nodes);
        let first = |a: Option<(NodeId, NodeId)>, b| a.into_iter().chain(b).min();
        Self {
            reached: self.reached + other.reached,
            relayed: self.relayed + other.relayed,
            broken: first(self.broken, other.broken),
            longer: first(self.longer, other.longer),
            sharing: self.sharing + other.sharing,
            first_sharing: first(self.first_sharing, other.first_sharing),
            ..self
        }
    }
}

/// (nodes - 1) / the largest load of a NIC, scaled by the slowest NIC's rate over its own.
fn ideal_throughput(plan: &Plan, seen: &Seen) -> f64 {
    let nodes = &plan.cluster().nodes;
    let rates = || nodes.iter().flat_map(|n| &n.nics).map(|nic| nic.rate.0);
    let Some(unit) = rates().min() else { return 0.0 };
    let loads = seen.sent.iter().zip(&seen.received).map(|(sent, received)| sent.max(received));
    let scaled = loads.zip(rates()).map(|(load, rate)| *load as f64 * unit as f64 / rate as f64);
    let worst = scaled.fold(0.0, f64::max);
    if worst > 0.0 { (nodes.len() - 1) as f64 / worst } else { 0.0 }
}

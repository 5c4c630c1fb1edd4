//! Checks plans of node-routed fabrics, whose nodes forward plain IP: follows the path of every pair,
//! and again for every single failure.
//!
//! Reachability, loops, minimality and loads are exact for all ordered pairs, whatever the size of the
//! fabric. There is one pass per destination over the next hops of all nodes: O(nodes^2 x dimensions) in
//! all. Distances come from breadth-first searches over the cables, not from coordinates. Such plans
//! cannot deadlock: the node at the end of a segment accepts what it can hold and drops the rest, so no
//! segment waits for the next.
//!
//! Up to [`WALKED`] nodes, failures are checked for every destination. In larger fabrics they are
//! checked for a sample of destinations spread evenly, and the report says so.

mod fabric;
mod reach;
mod switches;
#[cfg(test)]
mod tests;

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_plan::Xy;
use tresse_topology::Hop;
use tresse_topology::cluster::NicEnd;

use fabric::{Fabric, WALKED};
use reach::Reach;

use super::failures::Worst;
use super::judged::{not_used, silent};
use super::names::{nic_name, of_pair};
use super::{Failures, Finding, Report, TransitSummary, limits};

/// Most (node, destination) pairs that are walked for failures in a larger one.
const SAMPLED: usize = 1 << 19;

/// Proves or refutes everything about a plan whose nodes route.
pub(super) fn check(plan: &Plan, xy: &Xy) -> Report {
    let fabric = Fabric::of(plan, xy);
    let seen = fabric.survey();
    let mut report = Report::of_plan(plan);
    if plan.line_vid(NodeId(0), 0).is_none() {
        report.spare_vids = 0;
    }
    report.reachable = seen.reached as usize;
    report.loop_free = seen.looping.is_none();
    report.minimal = seen.longer.is_none();
    report.deadlock_free = true;
    report.primaries_deadlock_free = true;
    let pairs = report.pairs.max(1) as f64;
    report.mean_hops = seen.hops as f64 / pairs;
    report.max_link_load = seen.loads.iter().copied().max().unwrap_or(0);
    report.mean_link_load =
        seen.loads.iter().sum::<u64>() as f64 / (seen.loads.len().max(1)) as f64;
    report.ideal_throughput = fabric.ideal_throughput(&seen.loads);
    report.transit = TransitSummary {
        paths: seen.transit,
        max: seen.most,
        mean: report.mean_hops - seen.reached as f64 / pairs,
    };
    let longer = "the primary path is longer than the shortest one";
    report.violations.extend(of_pair(plan, "routing-loop", seen.looping, "packets go round"));
    report.violations.extend(of_pair(plan, "not-minimal", seen.longer, longer));
    report.violations.extend(limits::of_switches(plan));
    limits::of_nics(plan, &mut report.violations, &mut report.notes);
    report.failures = fabric.failures(&mut report.notes);
    if xy.layout().has_switches() {
        report.notes.extend(silent(plan, "NICs of other nodes"));
    }
    report.notes.extend(switches::few_per_line(plan));
    report.notes.extend(not_used(plan));
    report
}

/// Result of walking the primaries of all pairs.
#[derive(Debug, Clone, Default)]
struct Seen {
    reached: u64,
    hops: u64,
    transit: u64,
    most: u32,
    looping: Option<(NodeId, NodeId)>,
    longer: Option<(NodeId, NodeId)>,
    /// Number of primaries that leave each NIC; with switches followed by the number that enter it.
    loads: Vec<u64>,
}

impl Fabric<'_> {
    fn survey(&self) -> Seen {
        let empty = || self.unseen();
        (0..self.nodes.div_ceil(64))
            .into_par_iter()
            .fold(
                || (empty(), Walk::of(self), Reach::of(self)),
                |(mut seen, mut walk, mut reach), batch| {
                    let first = batch * 64;
                    reach.search(first..(first + 64).min(self.nodes));
                    for d in first..(first + 64).min(self.nodes) {
                        walk.destination(self, d.into(), &mut seen);
                        walk.judge(d.into(), &reach, d - first, &mut seen);
                    }
                    (seen, walk, reach)
                },
            )
            .map(|(seen, ..)| seen)
            .reduce(empty, Seen::merge)
    }

    fn unseen(&self) -> Seen {
        let directions = if self.xy.layout().has_switches() { 2 } else { 1 };
        Seen { loads: vec![0; directions * self.nics], ..Seen::default() }
    }

    fn ideal_throughput(&self, loads: &[u64]) -> f64 {
        let cluster = self.plan.cluster();
        let rates: Vec<u64> = cluster
            .nodes
            .iter()
            .flat_map(|n| &n.nics)
            .map(|nic| {
                let far = nic.peer.map(|end| cluster.node(end.node).nics[end.nic].rate.0);
                far.map_or(nic.rate.0, |far| far.min(nic.rate.0))
            })
            .collect();
        let Some(unit) = rates.iter().copied().min() else { return 0.0 };
        let scaled = loads.iter().zip(rates.iter().cycle());
        let worst = scaled
            .map(|(load, rate)| *load as f64 * unit as f64 / *rate as f64)
            .fold(0.0, f64::max);
        if worst > 0.0 { (self.nodes - 1) as f64 / worst } else { 0.0 }
    }

    /// Returns the effect of every single failure under the routes that nodes hold: pairs whose
    /// packets no longer arrive, if every node knows which neighbours it has lost.
    fn failures(&self, notes: &mut Vec<Finding>) -> Failures {
        let cluster = self.plan.cluster();
        let layout = self.xy.layout();
        let step =
            if self.nodes <= WALKED { 1 } else { (self.nodes * self.nodes).div_ceil(SAMPLED) };
        let lost = self.walk_failures(step);
        if step > 1 {
            let walked = self.nodes.div_ceil(step);
            notes.push(Finding {
                kind: "sampled-failures",
                object: format!("{} nodes", self.nodes),
                message: format!(
                    "what single failures leave was walked for {walked} destinations, spread evenly; \
                     all else of this report is of all pairs"
                ),
            });
        }
        let nic_name = |nic| nic_name(self.plan, &self.first, nic);
        let switches = match layout.shares_switches() {
            true => switches::lost(self, step),
            false => lost.switches,
        };
        if layout.shares_switches() {
            let pairs = self.nodes.div_ceil(step) * (self.nodes - 1);
            notes.extend(switches::shared(self.plan, &switches, pairs));
        }
        let link = if layout.has_switches() {
            Worst::of(&lost.nics, nic_name)
        } else {
            // A cable is lost with either of its NICs.
            let ends: Vec<_> =
                cluster.direct_cables().map(|(a, b)| (self.nic(a), self.nic(b))).collect();
            let both: Vec<u64> = ends.iter().map(|(a, b)| lost.nics[*a] + lost.nics[*b]).collect();
            Worst::of(&both, |c| format!("{} - {}", nic_name(ends[c].0), nic_name(ends[c].1)))
        };
        Failures {
            link,
            switch: Worst::of(&switches, |s| cluster.switches[s].name.clone()),
            node: Worst::of(&lost.nodes, |n| cluster.nodes[n].name.clone()),
            pairs_without_disjoint_backup: 0,
        }
    }

    /// Walks every (node, destination) whose next hop fails, for one destination in `step`. The
    /// path before the failure is intact, so all sources behind the node share its fate and are
    /// counted with it.
    fn walk_failures(&self, step: usize) -> Lost {
        let lost = || Lost {
            nics: vec![0; self.nics],
            switches: vec![0; self.xy.layout().switches()],
            nodes: vec![0; self.nodes],
        };
        (0..self.nodes.div_ceil(step))
            .into_par_iter()
            .fold(
                || (lost(), Walk::of(self), self.unseen()),
                |(mut lost, mut walk, mut seen), d| {
                    let to = NodeId::from(d * step);
                    walk.destination(self, to, &mut seen);
                    for at in (0..self.nodes).filter(|at| *at != to.index()) {
                        self.fail_at(at.into(), to, walk.count[at], &mut lost);
                    }
                    (lost, walk, seen)
                },
            )
            .map(|(lost, ..)| lost)
            .reduce(lost, Lost::merge)
    }

    /// Fails, one by one, everything that the next hop from `at` needs, for the `pairs` that pass
    /// here.
    fn fail_at(&self, at: NodeId, to: NodeId, pairs: u64, lost: &mut Lost) {
        let hop = self.xy.hop(at, to);
        let (own, far) =
            (NicEnd { node: at, nic: hop.nic }, NicEnd { node: hop.to, nic: hop.to_nic });
        let there = |hop: &Hop| NicEnd { node: hop.to, nic: hop.to_nic };
        let lines = self.xy.layout().has_switches();
        let line_of = |end: NicEnd| self.xy.layout().line(end.node, end.nic);
        let line = if lines { line_of(own) } else { 0 };
        // If the path through the spare needs no failed part, packets take it: by its own NIC, the
        // far NIC, line and node.
        let mut met = [self.plan.cluster().routing.paths < 2; 4];
        let (mut here, mut next, mut hops) = (at, self.xy.spare(at, to), 0);
        while let Some(way) = next.filter(|_| !met[0] && hops <= self.nodes) {
            let end = NicEnd { node: here, nic: way.nic };
            met[0] |= end == own || there(&way) == own;
            met[1] |= end == far || there(&way) == far;
            met[2] |= lines && line_of(end) == line;
            met[3] |= here == hop.to || way.to == hop.to;
            hops += 1;
            here = way.to;
            if here == to {
                break;
            }
            next = self.xy.next(here, Some(way.to_nic), to);
        }
        if here != to {
            met = [true; 4];
        }
        let backups = self.plan.cluster().routing.paths > 1;
        let stops = |met: bool, alive: &dyn Fn(NicEnd, &Hop) -> bool| {
            met && !(backups && self.arrives(at, to, alive))
        };
        if stops(met[0], &|end, hop| end != own && there(hop) != own) {
            lost.nics[self.nic(own)] += pairs;
        }
        if hop.to != to && stops(met[3], &|end, next| end.node != hop.to && next.to != hop.to) {
            lost.nodes[hop.to.index()] += pairs;
        }
        // A cable between nodes has failed with the first of its NICs.
        if !lines {
            return;
        }
        if stops(met[1], &|end, hop| end != far && there(hop) != far) {
            lost.nics[self.nic(far)] += pairs;
        }
        // A switch holds one line; several are handled by `switches`.
        if !self.xy.layout().shares_switches() && stops(met[2], &|end, _| line_of(end) != line) {
            lost.switches[line] += pairs;
        }
    }
}

/// Ordered pairs lost to each failure.
#[derive(Debug, Clone)]
struct Lost {
    nics: Vec<u64>,
    switches: Vec<u64>,
    nodes: Vec<u64>,
}

impl Lost {
    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.nics, &other.nics);
        add(&mut self.switches, &other.switches);
        add(&mut self.nodes, &other.nodes);
        self
    }
}

impl Seen {
    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.loads, &other.loads);
        self.reached += other.reached;
        self.hops += other.hops;
        self.transit += other.transit;
        self.most = self.most.max(other.most);
        let least = |a: Option<(NodeId, NodeId)>, b: Option<(NodeId, NodeId)>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.looping = least(self.looping, other.looping);
        self.longer = least(self.longer, other.longer);
        self
    }
}

/// Buffers for one destination after another. The next hops form a tree that leads to the
/// destination, or there is a loop.
struct Walk {
    hops: Vec<Hop>,
    /// Nodes whose next hop this one is and that are not yet counted.
    waiting: Vec<u32>,
    /// Sources at or behind each node.
    count: Vec<u64>,
    depth: Vec<u32>,
    order: Vec<u32>,
}

impl Walk {
    fn of(fabric: &Fabric<'_>) -> Self {
        let n = fabric.nodes;
        Self {
            hops: Vec::with_capacity(n),
            waiting: vec![0; n],
            count: vec![0; n],
            depth: vec![0; n],
            order: Vec::with_capacity(n),
        }
    }

    /// Counts the paths to a destination, each node after all nodes behind it.
    fn destination(&mut self, fabric: &Fabric<'_>, to: NodeId, seen: &mut Seen) {
        let (n, d) = (fabric.nodes, to.index());
        fabric.xy.hops_to(to, &mut self.hops);
        self.waiting.fill(0);
        self.hops.iter().for_each(|hop| self.waiting[hop.to.index()] += 1);
        self.order.clear();
        self.order.extend((0..n as u32).filter(|at| self.waiting[*at as usize] == 0));
        self.count.fill(1);
        let switched = seen.loads.len() > fabric.nics;
        let mut done = 0;
        while let Some(&at) = self.order.get(done) {
            done += 1;
            let (at, hop) = (at as usize, self.hops[at as usize]);
            let (load, next) = (self.count[at], hop.to.index());
            seen.loads[fabric.first[at] + hop.nic] += load;
            if switched {
                seen.loads[fabric.nics + fabric.first[next] + hop.to_nic] += load;
            }
            seen.hops += load;
            self.count[next] += load;
            self.waiting[next] -= 1;
            if self.waiting[next] == 0 && next != d {
                self.order.push(next as u32);
            }
        }
        if done + 1 < n {
            let stuck = (0..n).find(|at| *at != d && self.waiting[*at] > 0);
            seen.looping = least(seen.looping, (stuck.unwrap_or(0).into(), to));
        }
        seen.reached += done as u64;
    }

    /// Compares the hops of each path with the fewest possible; `bit` stands for the destination in
    /// `reach`.
    fn judge(&mut self, to: NodeId, reach: &Reach, bit: usize, seen: &mut Seen) {
        self.depth[to.index()] = 0;
        for &at in self.order.iter().rev() {
            let depth = self.depth[self.hops[at as usize].to.index()] + 1;
            self.depth[at as usize] = depth;
            seen.transit += u64::from(depth > 1);
            seen.most = seen.most.max(depth - 1);
            if !reach.is_at(at as usize, depth as usize, bit) {
                seen.longer = least(seen.longer, (NodeId(at), to));
            }
        }
    }
}

fn least(found: Option<(NodeId, NodeId)>, new: (NodeId, NodeId)) -> Option<(NodeId, NodeId)> {
    Some(found.map_or(new, |old| old.min(new)))
}

//! Checks plans of node-routed fabrics, whose nodes forward plain IP: follows the path of every pair,
//! and again for every single failure.
//!
//! The routes of single nodes are taken from the plan, as values to judge ([`Lookup`]). How packets move by them, where
//! a NIC's cable or line leads, and how many hops are the fewest is computed here.
//!
//! Reachability, loops, minimality and loads are exact for all ordered pairs, whatever the size of the
//! fabric. There is one pass per destination over the next hops of all nodes: O(nodes^2 x dimensions) in
//! all. Distances come from breadth-first searches over the cables, not from coordinates. Such plans
//! cannot deadlock: the node at the end of a segment accepts what it can hold and drops the rest, so no
//! segment waits for the next.
//!
//! Where routes are installed to prefixes, these are compared with the routes to single nodes (`prefixes`).
//!
//! Up to 1,024 nodes, failures are checked for every destination. In larger fabrics they are
//! checked for a sample of destinations spread evenly, and the report says so.

mod fabric;
mod failing;
mod faults;
pub(super) mod prefixes;
mod reach;
mod switches;
#[cfg(test)]
mod tests;
mod walk;
mod wires;
#[cfg(test)]
mod wrong;

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_plan::Plan;

use fabric::{Fabric, Lookup};
use reach::Reach;
use walk::{Seen, Walk};

use super::judged::{lags, renumbered, sequential, silent};
use super::report::line_rate;
use super::{Report, TransitSummary, limits};

/// Proves or refutes everything about a plan whose nodes route.
pub(super) fn check(plan: &Plan, routes: &dyn Lookup) -> Report {
    let fabric = Fabric::of(plan, routes);
    let seen = fabric.survey();
    let mut report = Report::of_plan(plan);
    if plan.line_vid(NodeId(0), 0).is_none() {
        report.spare_vids = 0;
    }
    report.reachable = seen.reached as usize;
    report.loop_free = seen.faults.looping.is_none();
    report.minimal = seen.faults.longer.is_none();
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
    report.violations.extend(seen.faults.of_primaries(plan));
    report.violations.extend(limits::of_switches(plan));
    limits::of_nics(plan, &mut report.violations, &mut report.notes);
    fabric.failures(&mut report);
    if fabric.wires.switched {
        report.notes.extend(silent(plan, "NICs of other nodes"));
    }
    report.notes.extend(switches::few_per_line(&fabric));
    report.notes.extend(lags(plan));
    report.notes.extend(renumbered(plan));
    report.notes.extend(sequential(plan));
    report
}

impl Fabric<'_> {
    fn survey(&self) -> Seen {
        let empty = || Seen::none(self);
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

    fn ideal_throughput(&self, loads: &[u64]) -> f64 {
        let cluster = self.plan.cluster();
        let rates: Vec<u64> = cluster
            .nodes
            .iter()
            .flat_map(|n| &n.nics)
            .map(|nic| line_rate(cluster, nic).0)
            .collect();
        let Some(unit) = rates.iter().copied().min() else { return 0.0 };
        let scaled = loads.iter().zip(rates.iter().cycle());
        let worst = scaled
            .map(|(load, rate)| *load as f64 * unit as f64 / *rate as f64)
            .fold(0.0, f64::max);
        if worst > 0.0 { (self.nodes - 1) as f64 / worst } else { 0.0 }
    }
}

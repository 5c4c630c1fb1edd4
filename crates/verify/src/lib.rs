//! Checks a plan: proves or refutes that every node reaches every other, that VLANs have no loops, that
//! paths are minimal and cannot deadlock, and that switches can hold what the plan needs. For each
//! failed proof the report names a witness, such as a pair of nodes or a cycle (DESIGN section 4).
//!
//! The module `survey` walks every pair of nodes once; the other modules evaluate what it collected.
//! Nothing here trusts the planner's searches: trees that are lists of links are checked link by link,
//! and distances come from breadth-first search.
#![forbid(unsafe_code)]

mod behind;
mod below;
mod bisection;
mod cut;
mod direct;
mod failures;
mod finding;
mod judged;
pub mod lfts;
mod limits;
mod mptcp;
mod names;
mod planes;
mod reflect;
mod report;
mod routed;
mod shared;
mod slow;
mod survey;
#[cfg(test)]
mod tests;
mod trees;
mod uplink;

pub use bisection::Bisection;
pub use cut::Cut;
pub use failures::{Failures, Worst};
pub use finding::Finding;
pub use reflect::Reflect;
pub use report::{Report, TransitSummary};
pub use shared::{Routed, Shared, SharedParts};
pub use survey::Survey;
pub use tresse_topology::Dependencies;

use judged::Judged;
use trees::broken_trees;
use tresse_plan::Plan;
use tresse_topology::cluster::Strategy;

/// Runs all checks on `plan` and returns the report of `tresse check`.
///
/// Costs O(pairs + sources x trees per source x switches) with `paths = 1`. If the plan has more paths
/// per pair, these are walked pair by pair.
#[must_use]
pub fn check(plan: &Plan) -> Report {
    let mut report = by_kind(plan);
    report.notes.extend(mptcp::beyond_the_kernel(plan));
    report.notes.extend(behind::notes(plan));
    report.notes.extend(planes::note(plan));
    report.notes.extend(slow::note(plan, report.ideal_throughput, |plan| {
        let report = by_kind(plan);
        report.violations.is_empty().then_some(report.ideal_throughput)
    }));
    report
}

fn by_kind(plan: &Plan) -> Report {
    if let Some(routes) = plan.node_routes() {
        let mut report = routed::check(plan, &routes);
        let (violations, notes) = routed::prefixes::check(plan);
        report.violations.extend(violations);
        report.notes.extend(notes);
        return report;
    }
    if plan.cluster().routing.strategy == Strategy::Direct {
        return direct::check(plan);
    }
    let broken = broken_trees(plan);
    if !broken.is_empty() {
        return Report::broken(plan, broken);
    }
    let mut judged = Judged::of(plan);
    let failures = Failures::of(plan, &judged.survey, &mut judged.notes);
    judged.notes.extend(below::below_updown(plan, &judged.survey));
    let reflect = Reflect::of(plan);
    judged.notes.extend(reflect::adaptive_notes(plan));
    judged.notes.extend(reflect.iter().flat_map(|reflect| reflect.notes(plan)));
    Report { reflect, ..Report::new(plan, judged, failures) }
}

/// Checks `plan` as [`check`] does, except for the effect of failures, and returns the [`Survey`] of its
/// paths if there is no violation. A plan with violations must not be installed.
///
/// # Errors
/// All violations.
pub fn accept(plan: &Plan) -> Result<Survey, Vec<Finding>> {
    if plan.cluster().is_untagged() {
        let violations = check(plan).violations;
        return if violations.is_empty() { Ok(Survey::empty(plan)) } else { Err(violations) };
    }
    let broken = broken_trees(plan);
    if !broken.is_empty() {
        return Err(broken);
    }
    let judged = Judged::of(plan);
    if judged.violations.is_empty() { Ok(judged.survey) } else { Err(judged.violations) }
}

/// Checks the part of [`accept`] that a node can check without walking the paths of all other nodes:
/// whether every switch can hold its VLANs and pass large enough frames. O(switches + trees + lines). If
/// a plan with VLANs must be lossless, everything that [`accept`] checks is checked, in O(pairs).
///
/// # Errors
/// All violations found.
pub fn accept_quickly(plan: &Plan) -> Result<(), Vec<Finding>> {
    if plan.cluster().routing.lossless && !plan.cluster().is_untagged() {
        return accept(plan).map(drop);
    }
    let violations = limits::of_switches(plan);
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

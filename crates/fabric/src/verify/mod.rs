//! Proofs about a plan, each with a witness where it fails (DESIGN section 4).
//!
//! `survey` walks every pair once; the other files judge what it saw. Nothing here trusts the
//! planner: trees are checked link by link, distances come from breadth-first search.

mod deadlock;
mod failures;
mod limits;
mod report;
mod survey;
#[cfg(test)]
mod tests;

pub use deadlock::Dependencies;
pub use failures::{Failures, Worst};
pub use report::{Finding, Report, Transit};
pub use survey::Survey;

use crate::export::base_vlan;
use crate::id::{NodeId, TreeId};
use crate::plan::Plan;
use crate::topology::Channel;
use crate::vlan::Tree;

/// Proves or refutes everything about `plan`.
///
/// O(pairs + sources x trees per source x switches) with `paths = 1`; further ranks are walked
/// pair by pair.
#[must_use]
pub fn check(plan: &Plan) -> Report {
    let mut violations = Vec::new();
    let mut notes = Vec::new();
    let broken = broken_trees(plan);
    let nodes = plan.cluster().nodes.len();
    let pairs = nodes * nodes.saturating_sub(1);
    if !broken.is_empty() {
        return Report::broken(plan, pairs, broken);
    }
    let survey = Survey::of(plan);
    let cycle = survey.dependencies.cycle(plan.graph()).map(|cycle| {
        let name = |s: u32| plan.cluster().switches[s as usize].name.clone();
        let ends = |c: &Channel| [name(plan.graph().tail(*c)), name(plan.graph().head(*c))];
        cycle.iter().map(ends).collect::<Vec<_>>()
    });
    if let Some(cycle) = &cycle {
        let finding = Finding {
            kind: "deadlock",
            object: format!("{} -> {}", cycle[0][0], cycle[0][1]),
            message: format!(
                "the channel dependency graph has a cycle of {} channels: switches that send \
                 PAUSE can deadlock; export switches flow control off",
                cycle.len()
            ),
        };
        if plan.cluster().routing.lossless { violations.push(finding) } else { notes.push(finding) }
    }
    if let Some((s, d)) = survey.not_minimal {
        notes.push(Finding {
            kind: "not-minimal",
            object: pair_name(plan, s, d),
            message: "the primary path is longer than the shortest one".into(),
        });
    }
    limits::check(plan, &survey, &mut violations, &mut notes);
    let failures = Failures::of(plan, &survey, &mut notes);
    Report::new(plan, &survey, cycle, failures, violations, notes)
}

fn pair_name(plan: &Plan, s: NodeId, d: NodeId) -> String {
    format!("{} {}", plan.cluster().node(s).name, plan.cluster().node(d).name)
}

fn broken_trees(plan: &Plan) -> Vec<Finding> {
    let try_tree = |id: TreeId| {
        let error = plan.try_tree(id).err()?;
        Some(Finding {
            kind: "not-a-spanning-tree",
            object: plan.specs()[id.index()].name.clone(),
            message: error.to_string(),
        })
    };
    let planned = (0..plan.specs().len()).filter_map(|t| try_tree(t.into()));
    planned.chain(broken_base(plan)).collect()
}

/// The untagged VLAN exists on the switches too: without a tree it is the first storm (K3).
fn broken_base(plan: &Plan) -> Option<Finding> {
    let vid = plan.cluster().vlans.base?;
    let finding = |message: String| Finding {
        kind: "not-a-spanning-tree",
        object: format!("base VLAN {vid}"),
        message,
    };
    let Some((_, links)) = base_vlan(plan) else {
        return Some(finding("the switches are not connected".into()));
    };
    let ends: Vec<_> = links
        .iter()
        .map(|&id| {
            let link = plan.cluster().link(id);
            (id, link.a.switch.0, link.b.switch.0)
        })
        .collect();
    Tree::of_links(plan.graph(), &ends).err().map(|e| finding(e.to_string()))
}

//! Proofs about a plan, each with a witness where it fails (DESIGN section 4).
//!
//! `survey` walks every pair once; the other files judge what it saw. Nothing here trusts the
//! planner: trees are checked link by link, distances come from breadth-first search.
#![forbid(unsafe_code)]

mod below;
mod cut;
mod direct;
mod failures;
pub mod lfts;
mod limits;
mod mptcp;
mod reflect;
mod report;
mod routed;
mod survey;
#[cfg(test)]
mod tests;
mod uplink;

pub use cut::Cut;
pub use failures::{Failures, Worst};
pub use reflect::Reflect;
pub use report::{Finding, Report, Transit};
pub use survey::Survey;
pub use tresse_topology::Dependencies;

use tresse_base::id::{NodeId, TreeId};
use tresse_plan::base_vlan;
use tresse_plan::{Longer, Plan};
use tresse_topology::Channel;
use tresse_topology::cluster::Kind;
use tresse_topology::vlan::Tree;

/// Proves or refutes everything about `plan`.
///
/// O(pairs + sources x trees per source x switches) with `paths = 1`; further ranks are walked
/// pair by pair.
#[must_use]
pub fn check(plan: &Plan) -> Report {
    let mut report = by_kind(plan);
    report.notes.extend(mptcp::beyond_the_kernel(plan));
    report
}

fn by_kind(plan: &Plan) -> Report {
    if let Some(xy) = plan.xy() {
        return routed::check(plan, xy);
    }
    if plan.direct().is_some() {
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
    judged.notes.extend(reflect.iter().flat_map(|reflect| reflect.notes(plan)));
    Report { reflect, ..Report::new(plan, judged, failures) }
}

/// The violations that [`check`] finds, without what failures leave, and the survey that they were
/// found by. A plan that has any must not be installed.
///
/// # Errors
/// The violations.
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

/// The violations that a node can find without walking the paths of all others: what [`accept`]
/// finds but for forwarding entries and shared learning. O(switches + trees + lines), and O(pairs) where the
/// plan is to be lossless.
///
/// # Errors
/// The violations.
pub fn accept_quickly(plan: &Plan) -> Result<(), Vec<Finding>> {
    if plan.cluster().routing.lossless && !plan.cluster().is_untagged() {
        return accept(plan).map(drop);
    }
    let violations = limits::of_switches(plan);
    if violations.is_empty() { Ok(()) } else { Err(violations) }
}

/// All but what failures leave.
struct Judged {
    survey: Survey,
    cycle: Option<Vec<[String; 2]>>,
    primaries_deadlock_free: bool,
    violations: Vec<Finding>,
    notes: Vec<Finding>,
}

impl Judged {
    /// Walks every path of a plan whose VLANs are trees.
    fn of(plan: &Plan) -> Self {
        let survey = Survey::of(plan);
        let cycle = survey.dependencies.cycle(plan.graph()).map(|cycle| named(plan, &cycle));
        let primaries_deadlock_free = cycle.is_none()
            || plan.cluster().routing.paths > 1
                && Survey::of_primaries(plan).dependencies.cycle(plan.graph()).is_none();
        let (mut violations, mut notes) = (Vec::new(), Vec::new());
        if let Some(cycle) = &cycle {
            let lossless = plan.cluster().routing.lossless;
            let found = deadlock(plan, cycle, lossless, primaries_deadlock_free);
            if lossless { &mut violations } else { &mut notes }.push(found);
        }
        if let Some((s, d)) = survey.not_minimal {
            notes.push(Finding {
                kind: "not-minimal",
                object: pair_name(plan, s, d),
                message: longer(plan, &survey.longer),
            });
        }
        violations.extend(limits::of_switches(plan));
        limits::of_paths(plan, &survey, &mut violations, &mut notes);
        notes.extend(not_used(plan));
        if !plan.cluster().links.is_empty() {
            notes.extend(silent(plan, "cables between switches, switches"));
        }
        Self { survey, cycle, primaries_deadlock_free, violations, notes }
    }
}

/// How many primaries are longer than the shortest way, and why.
fn longer(plan: &Plan, longer: &[u64; Longer::ALL.len()]) -> String {
    let each = Longer::ALL.into_iter().zip(longer).filter(|(_, pairs)| **pairs > 0);
    let each =
        each.map(|(cause, pairs)| format!("{pairs} because {}", cause.words(plan.cluster())));
    format!(
        "{} ordered pairs, this one first, have a primary that is longer than the shortest way: {}",
        longer.iter().sum::<u64>(),
        each.collect::<Vec<_>>().join("; ")
    )
}

/// Failures that no carrier shows to those whose paths they cut (K1), of such objects.
fn silent(plan: &Plan, objects: &str) -> Option<Finding> {
    (plan.cluster().routing.paths > 1).then(|| Finding {
        kind: "silent-failures",
        object: objects.into(),
        message: "what these leave is by the paths of the plan, to which nodes move when BFD has found the \
                  failure: in 900 ms unless `bfd` in tressed.toml says otherwise, never where that is off"
            .into(),
    })
}

/// What the cluster file says and this version does nothing about.
fn not_used(plan: &Plan) -> Vec<Finding> {
    let cluster = plan.cluster();
    let find = |objects: Vec<&str>, message: &str| {
        let (first, more) = (*objects.first()?, objects.len() - 1);
        let object = if more == 0 { first.into() } else { format!("{first} and {more} more") };
        Some(Finding { kind: "not-used", object, message: message.into() })
    };
    let lags = cluster.switches.iter().filter(|s| s.lag).map(|s| s.name.as_str());
    let gateways = cluster.nodes.iter().filter(|n| n.gateway).map(|n| n.name.as_str());
    let lag = "lag = true does nothing in this version: of parallel cables a VLAN uses one";
    let gateway = "gateway = true does nothing in this version: route to other networks by hand";
    [find(lags.collect(), lag), find(gateways.collect(), gateway)].into_iter().flatten().collect()
}

fn deadlock(plan: &Plan, cycle: &[[String; 2]], lossless: bool, primaries_free: bool) -> Finding {
    let mut message =
        format!("the channel dependency graph has a cycle of {} channels", cycle.len());
    message += &match (lossless, primaries_free) {
        (true, _) => {
            let way: Vec<_> = cycle.iter().map(|[from, _]| from.as_str()).collect();
            let mesh = matches!(plan.cluster().kind, Kind::Mesh { .. });
            let dor = if mesh { "dor, " } else { "" };
            let way = way.join(" -> ");
            format!(" ({way}), and lossless = true: use {dor}transit, updown or stp")
        }
        (false, true) => ", made by backup paths: switches that send PAUSE can deadlock; export \
                          switches flow control off, lossless = true takes other backups"
            .into(),
        (false, false) => {
            ": switches that send PAUSE can deadlock; export switches flow control off".into()
        }
    };
    Finding { kind: "deadlock", object: format!("{} -> {}", cycle[0][0], cycle[0][1]), message }
}

fn named(plan: &Plan, cycle: &[Channel]) -> Vec<[String; 2]> {
    let name = |s: u32| plan.cluster().switches[s as usize].name.clone();
    let ends = |c: &Channel| [name(plan.graph().tail(*c)), name(plan.graph().head(*c))];
    cycle.iter().map(ends).collect()
}

/// What is said of a pair, if one was found.
fn of_pair(
    plan: &Plan,
    kind: &'static str,
    found: Option<(NodeId, NodeId)>,
    message: &str,
) -> Option<Finding> {
    let (s, d) = found?;
    Some(Finding { kind, object: pair_name(plan, s, d), message: message.into() })
}

/// The node and name of the NIC with this number, where each node's first has the given one.
fn nic_name(plan: &Plan, first_nic: &[usize], nic: usize) -> String {
    let node = first_nic.partition_point(|first| *first <= nic) - 1;
    let of = &plan.cluster().nodes[node];
    format!("{} {}", of.name, of.nics[nic - first_nic[node]].name)
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

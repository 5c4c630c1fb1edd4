//! The report of `tresse check` (DESIGN section 8).

use serde::Serialize;
use tresse_base::units::Rate;
use tresse_plan::{LoadBound, Plan};
use tresse_topology::cluster::{Cluster, Nic};
use tresse_topology::vlan::Role;

use super::judged::Judged;
use super::{Bisection, Cut, Failures, Finding, Reflect, Survey, planes};

/// How many primary paths go through transit nodes (nodes that forward frames for others), and the mean
/// and largest number of transit nodes on a primary path.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct TransitSummary {
    /// How many primaries have one or more transit nodes.
    pub paths: u64,
    /// Most transit nodes on one primary.
    pub max: u32,
    /// Mean transit nodes per primary.
    pub mean: f64,
}

/// The report of `tresse check`: the results of all checks of a plan, its violations and its notes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Format of this object: 1.
    pub format: u32,
    /// The plan's generation.
    pub generation: String,
    /// Ordered pairs of different nodes.
    pub pairs: usize,
    /// Pairs with a path.
    pub reachable: usize,
    /// Whether every primary is as short as the fabric allows.
    pub minimal: bool,
    /// Whether every VLAN is a tree.
    pub loop_free: bool,
    /// Whether the channel dependency graph of all paths of any rank is acyclic.
    pub deadlock_free: bool,
    /// Whether the channel dependency graph of the primaries alone is acyclic.
    pub primaries_deadlock_free: bool,
    /// A cycle of directed channels `[from, to]`.
    pub cycle: Option<Vec<[String; 2]>>,
    /// VLANs in the plan, backups and lines on shared switches included.
    pub vlans: usize,
    /// Of these, VLANs that carry backups only.
    pub backup_vlans: usize,
    /// VIDs that `[vlans] range` has left for trees that change (K4).
    pub spare_vids: usize,
    /// Mean switch-to-switch links per primary.
    pub mean_hops: f64,
    /// Most primaries over one directed switch-to-switch link.
    pub max_link_load: u64,
    /// Mean over all directed switch-to-switch links.
    pub mean_link_load: f64,
    /// (nodes - 1) / maximum load over all directed links, node links included, each load scaled
    /// by the node link's rate over its own.
    pub ideal_throughput: f64,
    /// What the best choice of the strategy's paths could reach, where it was sought.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<LoadBound>,
    /// Paths through transit nodes.
    pub transit: TransitSummary,
    /// For a clique: its cut into halves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// For a flat neighbourhood: bandwidth between two halves of its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bisection: Option<Bisection>,
    /// Gain of reflectors for the demand, if the cluster file asks for them or lists a demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflect: Option<Reflect>,
    /// Effect of single failures.
    pub failures: Failures,
    /// Violations, which break the plan: exit code 1.
    pub violations: Vec<Finding>,
    /// Notes for the operator.
    pub notes: Vec<Finding>,
}

impl Report {
    pub(super) fn new(plan: &Plan, judged: Judged, failures: Failures) -> Self {
        let survey = &judged.survey;
        let mut report = Self::of_plan(plan);
        let pairs = report.pairs.max(1) as f64;
        report.reachable = report.pairs;
        report.minimal = survey.not_minimal.is_none();
        report.deadlock_free = judged.cycle.is_none();
        report.primaries_deadlock_free = judged.primaries_deadlock_free;
        report.cycle = judged.cycle;
        report.mean_hops = survey.hops as f64 / pairs;
        report.max_link_load = survey.loads.iter().copied().max().unwrap_or(0);
        if !survey.loads.is_empty() {
            let sum: u64 = survey.loads.iter().sum();
            report.mean_link_load = sum as f64 / survey.loads.len() as f64;
        }
        report.ideal_throughput =
            planes::ideal_throughput(plan).unwrap_or_else(|| ideal_throughput(plan, survey));
        report.bound = plan.load_bound();
        report.transit = TransitSummary {
            paths: survey.transit.paths,
            max: survey.transit.most,
            mean: survey.transit.nodes as f64 / pairs,
        };
        report.failures = failures;
        report.violations = judged.violations;
        report.notes = judged.notes;
        report
    }

    /// Returns the report of a plan with a VLAN that is no tree: nothing else can be proved.
    pub(super) fn broken(plan: &Plan, violations: Vec<Finding>) -> Self {
        Self { loop_free: false, violations, ..Self::of_plan(plan) }
    }

    pub(super) fn of_plan(plan: &Plan) -> Self {
        let nodes = plan.cluster().nodes.len();
        let ranges = &plan.cluster().vlans.ranges;
        let room: usize = ranges.iter().map(|(a, b)| usize::from(b - a) + 1).sum();
        let vlans = plan.specs().len() + plan.lines().len();
        Self {
            format: 1,
            generation: plan.generation().into(),
            pairs: nodes * nodes.saturating_sub(1),
            reachable: 0,
            minimal: false,
            loop_free: true,
            deadlock_free: false,
            primaries_deadlock_free: false,
            cycle: None,
            vlans,
            backup_vlans: plan.count(Role::Backup),
            spare_vids: room - vlans,
            mean_hops: 0.0,
            max_link_load: 0,
            mean_link_load: 0.0,
            ideal_throughput: 0.0,
            bound: None,
            transit: TransitSummary::default(),
            cut: Cut::of(plan),
            bisection: Bisection::of(plan),
            reflect: None,
            failures: Failures::default(),
            violations: Vec::new(),
            notes: Vec::new(),
        }
    }
}

pub(super) fn ideal_throughput(plan: &Plan, survey: &Survey) -> f64 {
    let cluster = plan.cluster();
    let nics = || cluster.nodes.iter().flat_map(|n| &n.nics);
    let Some(unit) = nics().map(|n| n.rate.0).min() else { return 0.0 };
    let scaled = |load: u64, rate: u64| load as f64 * unit as f64 / rate as f64;
    let trunks = (0u32..)
        .zip(&survey.loads)
        .map(|(c, load)| scaled(*load, cluster.link(plan.graph().link(c)).rate.0));
    let edges = nics()
        .zip(survey.sent.iter().zip(&survey.received))
        .map(|(nic, (sent, received))| scaled(*sent.max(received), nic.rate.0));
    let worst = trunks.chain(edges).fold(0.0, f64::max);
    if worst > 0.0 { (cluster.nodes.len() - 1) as f64 / worst } else { 0.0 }
}

/// The rate of the cable of a NIC: that of the slower end, if the other one is a NIC too.
pub(super) fn line_rate(cluster: &Cluster, nic: &Nic) -> Rate {
    let far = nic.peer.map(|end| cluster.node(end.node).nics[end.nic].rate);
    far.map_or(nic.rate, |far| far.min(nic.rate))
}

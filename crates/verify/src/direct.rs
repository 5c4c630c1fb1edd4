//! Checks plans of flat neighbourhoods (fabrics whose switches have no cables between them) by following
//! every path of every pair.
//!
//! Nothing here relies on the planner: two nodes share a neighbourhood if NICs of both are on one
//! switch. Such plans cannot deadlock. Paths cross no cable between switches, and a transit node (a node
//! that forwards frames for others) accepts what its buffer can hold and drops the rest, so no channel
//! ever waits for another.

use rayon::prelude::*;
use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_topology::Channel;
use tresse_topology::path::Path;

use super::failures::Worst;
use super::judged::Judged;
use super::judged::{lags, silent};
use super::names::{nic_name, of_pair};
use super::reflect::adaptive_notes;
use super::{Failures, Finding, Reflect, Report, Survey};
use super::{limits, uplink};

/// Proves or refutes everything about a plan of a flat neighbourhood.
pub(super) fn check(plan: &Plan) -> Report {
    let seen = Seen::of(plan);
    let (switches, nodes) = (&plan.cluster().switches, &plan.cluster().nodes);
    let cables = [&seen.nics[..], &seen.links].concat();
    let failures = Failures {
        link: Worst::of(&cables, |nic| nic_name(plan, &seen.survey.first_nic, nic)),
        switch: Worst::of(&seen.switches, |s| switches[s].name.clone()),
        node: Worst::of(&seen.nodes, |n| nodes[n].name.clone()),
        pairs_without_disjoint_backup: seen.sharing,
    };
    let broken = match plan.cluster().uplink() {
        None => "a path leaves a switch for another that no cable joins to it",
        Some(_) => "a path leaves a switch for another by the uplink, which is for multicast",
    };
    let longer = "a third node is in between, and the two share a switch";
    let found = [
        of_pair(plan, "broken-path", seen.broken, broken),
        of_pair(plan, "not-minimal", seen.survey.not_minimal, longer),
    ];
    let sharing = format!(
        "{} ordered pairs, this one first, have no second path that avoids every switch and NIC of the first (`tresse \
         paths --shared` names them)",
        seen.sharing
    );
    let sharing = of_pair(plan, "no-disjoint-backup", seen.first_sharing, &sharing);
    let (of_uplink, mut notes) = uplink::findings(plan, &seen.survey);
    let found = found.into_iter().flatten();
    let loop_free = of_uplink.iter().all(|finding| finding.kind != "loop");
    let mut violations: Vec<Finding> =
        found.chain(limits::of_switches(plan)).chain(of_uplink).collect();
    limits::of_nics(plan, &mut violations, &mut notes);
    let silent = silent(plan, "NICs of other nodes");
    let reflect = Reflect::of(plan);
    let of_detours = reflect.iter().flat_map(|reflect| reflect.notes(plan));
    let notes = sharing.into_iter().chain(silent).chain(lags(plan)).chain(notes).chain(of_detours);
    let notes = notes.chain(adaptive_notes(plan));
    let judged = Judged {
        cycle: None,
        primaries_deadlock_free: true,
        violations,
        notes: notes.collect(),
        survey: seen.survey,
    };
    let report = Report::new(plan, judged, failures);
    Report { reachable: seen.reached as usize, spare_vids: 0, loop_free, reflect, ..report }
}

/// Result of walking the paths of all pairs.
struct Seen {
    /// Survey of the primaries.
    survey: Survey,
    reached: u64,
    broken: Option<(NodeId, NodeId)>,
    /// Pairs that are lost with each NIC, cable of the uplink, switch and node.
    nics: Vec<u64>,
    links: Vec<u64>,
    switches: Vec<u64>,
    nodes: Vec<u64>,
    sharing: u64,
    first_sharing: Option<(NodeId, NodeId)>,
}

impl Seen {
    fn of(plan: &Plan) -> Self {
        let nodes = plan.cluster().nodes.len();
        (0..nodes)
            .into_par_iter()
            .fold(
                || Self::nothing(plan),
                |mut seen, s| {
                    for d in (0..nodes).filter(|d| *d != s) {
                        seen.add(plan, &plan.paths(s.into(), d.into()));
                    }
                    seen
                },
            )
            .reduce(|| Self::nothing(plan), Self::merge)
    }

    fn nothing(plan: &Plan) -> Self {
        let survey = Survey::empty(plan);
        Self {
            reached: 0,
            broken: None,
            nics: vec![0; survey.sent.len()],
            links: vec![0; plan.cluster().links.len()],
            switches: vec![0; plan.cluster().switches.len()],
            nodes: vec![0; plan.cluster().nodes.len()],
            sharing: 0,
            first_sharing: None,
            survey,
        }
    }

    fn add(&mut self, plan: &Plan, paths: &[Path]) {
        let Some(primary) = paths.first() else { return };
        let pair = (primary.id.src, primary.id.dst);
        if !paths.iter().all(|path| self.is_whole(plan, path)) {
            self.broken.get_or_insert(pair);
            return;
        }
        self.reached += 1;
        for segment in &primary.segments {
            self.survey.add_ends(segment);
            let channels = uplink::crossed(plan, segment);
            self.survey.hops += channels.len() as u64;
            channels.into_iter().for_each(|channel| self.survey.loads[channel as usize] += 1);
        }
        self.survey.transit.add(primary.segments.len() as u32 - 1);
        if primary.segments.len() > 1 {
            let of = |node| plan.cluster().node(node).nics.iter().map(|nic| nic.switch);
            if of(pair.0).any(|s| of(pair.1).any(|d| s == d)) {
                self.survey.not_minimal.get_or_insert(pair);
            }
        }
        let parts = Parts::common(plan, &self.survey.first_nic, paths);
        if plan.cluster().routing.paths > 1 && parts.are_shared() {
            self.sharing += 1;
            self.first_sharing.get_or_insert(pair);
        }
        parts.nics.iter().for_each(|nic| self.nics[*nic] += 1);
        parts.links.iter().for_each(|link| self.links[*link] += 1);
        parts.switches.iter().for_each(|switch| self.switches[*switch] += 1);
        parts.nodes.iter().for_each(|node| self.nodes[*node] += 1);
    }

    /// Returns whether every segment goes where it may and begins where the one before ended.
    fn is_whole(&mut self, plan: &Plan, path: &Path) -> bool {
        let mut at = path.id.src;
        let good = path.segments.iter().all(|segment| {
            let from = std::mem::replace(&mut at, segment.to);
            let relay = segment.to == path.id.dst || plan.cluster().node(segment.to).transit;
            uplink::is_whole(plan, path, segment, &mut self.survey) && from == segment.from && relay
        });
        good && at == path.id.dst
    }

    fn merge(mut self, other: Self) -> Self {
        let add = |into: &mut [u64], from: &[u64]| {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        };
        add(&mut self.nics, &other.nics);
        add(&mut self.links, &other.links);
        add(&mut self.switches, &other.switches);
        add(&mut self.nodes, &other.nodes);
        let first = |a: Option<(NodeId, NodeId)>, b| a.into_iter().chain(b).min();
        Self {
            survey: self.survey.merge(other.survey),
            reached: self.reached + other.reached,
            broken: first(self.broken, other.broken),
            sharing: self.sharing + other.sharing,
            first_sharing: first(self.first_sharing, other.first_sharing),
            ..self
        }
    }
}

/// NICs, cables of the uplink, switches and intermediate nodes that a path needs.
pub(super) struct Parts {
    pub(super) nics: Vec<usize>,
    links: Vec<usize>,
    pub(super) switches: Vec<usize>,
    nodes: Vec<usize>,
}

impl Parts {
    /// What all paths of a pair need, of which there is at least one.
    pub(super) fn common(plan: &Plan, first_nic: &[usize], paths: &[Path]) -> Self {
        let mut parts = Self::of(plan, first_nic, &paths[0]);
        for path in &paths[1..] {
            let other = Self::of(plan, first_nic, path);
            parts.nics.retain(|nic| other.nics.contains(nic));
            parts.links.retain(|link| other.links.contains(link));
            parts.switches.retain(|switch| other.switches.contains(switch));
            parts.nodes.retain(|node| other.nodes.contains(node));
        }
        parts
    }

    /// Has the pair no path that avoids every NIC and switch of another?
    pub(super) fn are_shared(&self) -> bool {
        !(self.nics.is_empty() && self.switches.is_empty())
    }

    fn of(plan: &Plan, first_nic: &[usize], path: &Path) -> Self {
        let ends = path.segments.iter().flat_map(|s| [(s.from, s.nic), (s.to, s.to_nic)]);
        let between = path.segments[1..].iter().map(|segment| segment.from.index());
        let channels: Vec<Channel> =
            path.segments.iter().flat_map(|segment| uplink::crossed(plan, segment)).collect();
        let first = |segment| plan.sender(segment).switch.index();
        let further = channels.iter().map(|channel| plan.graph().head(*channel) as usize);
        Self {
            nics: ends.map(|(node, nic)| first_nic[node.index()] + nic).collect(),
            links: channels.iter().map(|channel| plan.graph().link(*channel).index()).collect(),
            switches: path.segments.iter().map(first).chain(further).collect(),
            nodes: between.collect(),
        }
    }
}

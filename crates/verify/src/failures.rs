//! Finds the effect of every single failure of a link, switch or node: the pairs of nodes that are lost
//! because all their planned paths need the failed object.

mod backups;
mod common;
mod cuts;

use rayon::prelude::*;
use serde::Serialize;
use tresse_base::id::NodeId;
use tresse_plan::Plan;

use super::names::link_name;
use super::{Finding, Survey};
use backups::Sharing;
pub(crate) use common::Common;
pub(crate) use cuts::Cuts;

/// How many ordered pairs of nodes are lost if one link, one switch or one node fails. A pair is lost if
/// both its nodes still work but every planned path between them is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Failures {
    /// Failures of switch-to-switch links.
    pub link: Worst,
    /// Failures of switches. Nodes that are connected to the failed switch alone count as lost.
    pub switch: Worst,
    /// Failures of nodes: pairs of other nodes whose paths need the node.
    pub node: Worst,
    /// Pairs whose planned paths share a link, switch or NIC although more than one path was asked
    /// for: they have no disjoint backup.
    pub pairs_without_disjoint_backup: u64,
}

/// The effect of single failures of one kind of object (links, switches or nodes): how many of these
/// objects can fail without the loss of a pair of nodes, and whose failure loses the most pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Worst {
    /// How many objects of the kind there are.
    pub objects: usize,
    /// How many of them can fail without losing a pair.
    pub harmless: usize,
    /// Most pairs lost to one of them.
    pub most_lost: u64,
    /// Name of the first object that loses this many; `None` if none loses any.
    pub worst: Option<String>,
}

impl Worst {
    /// Returns the worst of several failures, given the pairs that each loses.
    pub(super) fn of(lost: &[u64], name: impl Fn(usize) -> String) -> Self {
        let most_lost = lost.iter().copied().max().unwrap_or(0);
        Self {
            objects: lost.len(),
            harmless: lost.iter().filter(|l| **l == 0).count(),
            most_lost,
            worst: (most_lost > 0)
                .then(|| lost.iter().position(|l| *l == most_lost).map(name))
                .flatten(),
        }
    }
}

impl Failures {
    /// Computes the effect of every single failure. With `paths = 1` and one NIC per node it
    /// follows from the loads; else pair by pair.
    pub fn of(plan: &Plan, survey: &Survey, notes: &mut Vec<Finding>) -> Self {
        let cluster = plan.cluster();
        let one_nic = cluster.nodes.iter().all(|n| n.nics.len() == 1);
        let tally = if cluster.routing.paths == 1 && one_nic && !plan.has_transit() {
            Tally::from_loads(plan, survey)
        } else {
            Tally::from_pairs(plan)
        };
        notes.extend(tally.sharing.notes(plan));
        Self {
            link: Worst::of(&tally.links, |link| link_name(plan, link.into())),
            switch: Worst::of(&tally.switches, |s| cluster.switches[s].name.clone()),
            node: Worst::of(&tally.nodes, |n| cluster.nodes[n].name.clone()),
            pairs_without_disjoint_backup: tally.sharing.pairs(),
        }
    }
}

#[derive(Clone)]
struct Tally {
    links: Vec<u64>,
    switches: Vec<u64>,
    nodes: Vec<u64>,
    sharing: Sharing,
}

impl Tally {
    fn empty(plan: &Plan) -> Self {
        Self {
            links: vec![0; plan.cluster().links.len()],
            switches: vec![0; plan.graph().switches()],
            nodes: vec![0; plan.cluster().nodes.len()],
            sharing: Sharing::default(),
        }
    }

    fn from_loads(plan: &Plan, survey: &Survey) -> Self {
        let mut tally = Self::empty(plan);
        for (c, load) in (0u32..).zip(&survey.loads) {
            tally.links[plan.graph().link(c).index()] += load;
        }
        tally.switches.clone_from(&survey.through);
        let mut home = vec![0u64; tally.switches.len()];
        for (k, node) in plan.cluster().nodes.iter().enumerate() {
            let switch = node.nics[0].switch.index();
            tally.switches[switch] += survey.sent[k] + survey.received[k];
            home[switch] += 1;
        }
        // A pair with both ends on the switch was counted at both.
        for (lost, h) in tally.switches.iter_mut().zip(home) {
            *lost -= h * h.saturating_sub(1);
        }
        tally
    }

    fn from_pairs(plan: &Plan) -> Self {
        let n = plan.cluster().nodes.len();
        let cuts = Cuts::new(plan.graph());
        (0..n)
            .into_par_iter()
            .fold(
                || Self::empty(plan),
                |mut tally, s| {
                    for d in (0..n).filter(|d| *d != s) {
                        tally.add_pair(plan, &cuts, s.into(), d.into());
                    }
                    tally
                },
            )
            .reduce(|| Self::empty(plan), Self::merge)
    }

    fn merge(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.links, &other.links);
        add(&mut self.switches, &other.switches);
        add(&mut self.nodes, &other.nodes);
        self.sharing.merge(&other.sharing);
        self
    }

    /// Counts a pair for every link, switch and other node that all its paths need.
    fn add_pair(&mut self, plan: &Plan, cuts: &Cuts<'_>, s: NodeId, d: NodeId) {
        let common = Common::of(plan, s, d);
        if plan.cluster().routing.paths > 1 && common.is_shared() {
            self.sharing.add((s, d), common.is_alone(), common.how_forced(plan, cuts));
        }
        for node in common.nodes {
            self.nodes[node.index()] += 1;
        }
        for link in common.links {
            self.links[link.index()] += 1;
        }
        for switch in common.switches {
            self.switches[switch as usize] += 1;
        }
    }
}

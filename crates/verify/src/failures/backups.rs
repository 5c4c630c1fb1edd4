//! Counts pairs of nodes that have no backup of their own although several paths are asked for, and says why.

use tresse_base::id::NodeId;
use tresse_plan::{MOST_PATHS, Plan};
use tresse_topology::cluster::Strategy;

use super::common::Forced;
use crate::Finding;
use crate::names::of_pair;

/// Ordered pairs of nodes that all have the same in common.
#[derive(Debug, Clone, Default)]
struct Pairs {
    count: u64,
    first: Option<(NodeId, NodeId)>,
}

impl Pairs {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.first = match (self.first, other.first) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// The pairs whose paths all need some link or switch between their own. In each array first those that no other choice of paths
/// gives one, then others.
#[derive(Debug, Clone, Default)]
pub(super) struct Sharing {
    all: [Pairs; 2],
    /// Those of them with one path.
    alone: [Pairs; 2],
}

impl Sharing {
    pub(super) fn add(&mut self, pair: (NodeId, NodeId), alone: bool, forced: Forced) {
        let one = Pairs { count: 1, first: Some(pair) };
        self.all[usize::from(!forced.some)].add(&one);
        if alone {
            self.alone[usize::from(!forced.all)].add(&one);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let pairs = [(&mut self.all, &other.all), (&mut self.alone, &other.alone)];
        for (own, other) in pairs {
            own.iter_mut().zip(other).for_each(|(own, other)| own.add(other));
        }
    }

    /// The number of pairs.
    pub(super) fn pairs(&self) -> u64 {
        self.all.iter().map(|pairs| pairs.count).sum()
    }

    /// A note for each reason.
    pub(super) fn notes(&self, plan: &Plan) -> Vec<Finding> {
        let reasons = [FORCED.to_owned(), why_not(plan)];
        let kinds = [
            (
                "no-disjoint-backup",
                &self.all,
                "have no second path that avoids every link and switch between their own",
            ),
            ("no-backup", &self.alone, "have one path, and whatever fails on it cuts them off"),
        ];
        let note = |kind, pairs: &Pairs, what, reason| {
            let message = format!(
                "{} ordered pairs, this one first, {what} (`tresse paths --shared` names them): {reason}",
                pairs.count
            );
            of_pair(plan, kind, pairs.first, &message)
        };
        let notes = kinds.into_iter().flat_map(|(kind, all, what)| {
            all.iter().zip(&reasons).filter_map(move |(pairs, why)| note(kind, pairs, what, why))
        });
        notes.collect()
    }
}

const FORCED: &str = "every way along cables crosses some of what their paths share; a cable round it gives them one";

/// Why pairs are left without a backup that cables would allow, and what changes it.
fn why_not(plan: &Plan) -> String {
    let cluster = plan.cluster();
    if !cluster.kind.is_routed() && plan.specs().len() >= cluster.most_trees() {
        "no VLAN is left for one; raise `max_vlans` of the switches, or `range` in [vlans]".into()
    } else if matches!(cluster.routing.strategy, Strategy::Updown { .. } | Strategy::Transit { .. })
    {
        "up*/down* routing allows none; with another `root` it may".into()
    } else if !plan.seeks_detours() {
        "lossless = true, and on so many switches and cables only the trees of the strategy are looked at; without \
         `lossless`, or with `strategy = \"updown\"`, others are too"
            .into()
    } else if cluster.routing.lossless {
        "lossless = true leaves out those with which channels could wait for each other in a circle"
            .into()
    } else if plan.backup_stride() > 1 {
        format!(
            "above {MOST_PATHS} paths between switches with nodes, trees for backups are woven round those from one of {} \
             switches, which serve others too, but not these; with nodes on fewer switches all are looked at",
            plan.backup_stride()
        )
    } else {
        "there are no cables for one that the strategy may take".into()
    }
}

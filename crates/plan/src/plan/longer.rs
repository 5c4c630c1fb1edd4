//! Why a primary is longer than the shortest way of the fabric.

use tresse_base::id::SwitchId;
use tresse_routing::Assignment;
use tresse_topology::cluster::{Cluster, Strategy};

use super::Plan;

/// What makes a primary longer than the shortest way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Longer {
    /// One tree for all pairs.
    OneTree,
    /// Every shortest way goes up after down.
    Illegal,
    /// Every shortest way turns where no node may be in transit.
    NoTransit,
    /// The way that was chosen fits into no tree, and there is room for no more.
    NoRoom,
}

impl Longer {
    /// In the order of the variants.
    pub const ALL: [Self; 4] = [Self::OneTree, Self::Illegal, Self::NoTransit, Self::NoRoom];

    /// In words, as what comes after "because".
    #[must_use]
    pub fn words(self, cluster: &Cluster) -> String {
        match self {
            Self::OneTree => "all pairs use one tree".into(),
            Self::Illegal => "their shortest ways go up after down".into(),
            Self::NoTransit => {
                "their shortest ways turn from down to up where no node may be in transit".into()
            }
            Self::NoRoom => format!("{}, and their ways fit into none of these", room(cluster)),
        }
    }
}

impl Plan {
    /// Why a primary between two switches is longer than the shortest way, where it is.
    #[must_use]
    pub fn why_longer(&self, s: SwitchId, d: SwitchId) -> Longer {
        match (&self.assignment, self.cluster.routing.strategy) {
            _ if self.is_crowded(s, d) => Longer::NoRoom,
            (Assignment::Updown(_), Strategy::Updown { .. }) => Longer::Illegal,
            (Assignment::Updown(_), _) => Longer::NoTransit,
            _ => Longer::OneTree,
        }
    }

    /// Has the way that was chosen for two switches found no tree?
    pub(super) fn is_crowded(&self, s: SwitchId, d: SwitchId) -> bool {
        match &self.assignment {
            Assignment::Updown(updown) => updown.is_crowded(s, d),
            Assignment::Minimal(minimal) => minimal.is_crowded(s, d),
            _ => false,
        }
    }
}

/// What leaves room for how many trees.
pub(super) fn room(cluster: &Cluster) -> String {
    let most = cluster.most_trees();
    let trees = if most == 1 { "1 tree".into() } else { format!("{most} trees") };
    let least = cluster.switches.iter().min_by_key(|switch| switch.max_vlans);
    let base = u32::from(cluster.vlans.base.is_some());
    match least.filter(|switch| switch.max_vlans.saturating_sub(base) as usize <= most) {
        Some(switch) => {
            format!("max_vlans = {} of {} leaves room for {trees}", switch.max_vlans, switch.name)
        }
        None => format!("`[vlans] range` has room for {trees}"),
    }
}

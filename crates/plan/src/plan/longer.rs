//! Determines why a primary path has more hops than the shortest path of the fabric, and puts the reason into words.

use tresse_base::id::SwitchId;
use tresse_routing::Assignment;
use tresse_topology::cluster::{Cluster, Strategy};

use super::Plan;

/// The reason why the primary path between two switches has more hops than the shortest path between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Longer {
    /// One tree for all pairs.
    OneTree,
    /// Every shortest path goes up after down.
    Illegal,
    /// Every shortest path goes up after down at a switch without transit nodes.
    NoTransit,
    /// The chosen path fits into no tree, and there is no room for more trees.
    NoRoom,
    /// Some planes have longer paths than others, or longer ones than shortest in each.
    Planes,
}

impl Longer {
    /// In the order of the variants.
    pub const ALL: [Self; 5] =
        [Self::OneTree, Self::Illegal, Self::NoTransit, Self::NoRoom, Self::Planes];

    /// Returns the reason in words, to follow "because".
    #[must_use]
    pub fn words(self, cluster: &Cluster) -> String {
        match self {
            Self::OneTree => "all pairs use one tree".into(),
            Self::Illegal => "their shortest paths go up after down".into(),
            Self::NoTransit => {
                "their shortest paths go up after down where there is no transit node".into()
            }
            Self::Planes => {
                "their planes are used by turns, and the shortest path is in another, or not taken by the strategy".into()
            }
            Self::NoRoom => format!("{}, and their paths fit into none of these", room(cluster)),
        }
    }
}

impl Plan {
    /// Returns why a primary between two switches is longer than the shortest path. Call it only if it is.
    #[must_use]
    pub fn why_longer(&self, s: SwitchId, d: SwitchId) -> Longer {
        let Some(one) = self.assignment.one() else { return Longer::Planes };
        match (one, self.cluster.routing.strategy) {
            (of, _) if (0..of.lanes()).any(|lane| of.is_crowded(s, d, lane)) => Longer::NoRoom,
            (Assignment::Updown(_), Strategy::Updown { .. }) => Longer::Illegal,
            (Assignment::Updown(_), _) => Longer::NoTransit,
            _ => Longer::OneTree,
        }
    }

    /// How many routes between switches are not those that were chosen, as these fit into no tree, the ends of the first one,
    /// and the limit in words; `None` where all fit.
    #[must_use]
    pub fn without_room(&self) -> Option<(usize, [SwitchId; 2], String)> {
        let (routes, ends) = self.assignment.crowded()?;
        Some((routes, ends, room(&self.cluster)))
    }
}

/// Names the limit on the number of trees, in words.
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

//! The faults that the walks of a node-routed fabric find, each with one pair of nodes as its witness.

use tresse_base::id::NodeId;
use tresse_plan::Plan;

use crate::Finding;
use crate::names::of_pair;

/// The first pair, by number, of each fault: the node where it begins, and the destination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// A nexthop is not on the wire of the NIC that its route leaves by.
    pub misled: Option<(NodeId, NodeId)>,
    /// Packets go round, or are sent back.
    pub looping: Option<(NodeId, NodeId)>,
    /// The path is longer than it may be.
    pub longer: Option<(NodeId, NodeId)>,
    /// The node at the end of a primary's first hop has a table route that takes its packets elsewhere.
    pub redirected: Option<(NodeId, NodeId)>,
}

impl Faults {
    pub fn merge(self, other: Self) -> Self {
        let both = |a: Option<_>, b: Option<_>| b.map_or(a, |b| least(a, b));
        Self {
            misled: both(self.misled, other.misled),
            looping: both(self.looping, other.looping),
            longer: both(self.longer, other.longer),
            redirected: both(self.redirected, other.redirected),
        }
    }

    /// Returns violations, if these are faults of primaries.
    pub fn of_primaries(self, plan: &Plan) -> impl Iterator<Item = Finding> {
        let misled = "no cable or line joins the NIC that the route leaves by with its nexthop";
        let longer = "the primary path is longer than the shortest one";
        self.violations(plan, [misled, "packets go round", longer])
    }

    /// Returns violations, if these are faults of backups.
    pub fn of_backups(self, plan: &Plan) -> impl Iterator<Item = Finding> {
        let misled =
            "the backup is sent to a NIC that no cable or line joins with the one it leaves by";
        let looping = "packets on the backup go round, or use the NIC whose failure it is for";
        let longer = "the backup is more than two hops longer than the shortest path by other NICs";
        self.violations(plan, [misled, looping, longer])
    }

    fn violations(
        self,
        plan: &Plan,
        [misled, looping, longer]: [&str; 3],
    ) -> impl Iterator<Item = Finding> {
        let redirected = "a table route at the next node takes packets off the primary path";
        let found = [
            of_pair(plan, "redirected", self.redirected, redirected),
            of_pair(plan, "unreachable", self.misled, misled),
            of_pair(plan, "routing-loop", self.looping, looping),
            of_pair(plan, "not-minimal", self.longer, longer),
        ];
        found.into_iter().flatten()
    }
}

/// The lesser of two witnesses.
pub(super) fn least(
    found: Option<(NodeId, NodeId)>,
    new: (NodeId, NodeId),
) -> Option<(NodeId, NodeId)> {
    Some(found.map_or(new, |old| old.min(new)))
}

//! A slice while it is being computed, and the nexthop of a path.

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, TreeId};
use tresse_base::units::Prefix;
use tresse_plan::Plan;
use tresse_reconcile::{Nexthop, Wanted};
use tresse_topology::path::Path;

/// Returns the nexthop (interface, gateway, labels and weight) by which the source of `path` sends
/// along it. The gateway is an IPv4 address if `ipv4` is set, otherwise an IPv6 address. `None` if
/// the NIC at which the first segment ends has no address of that family.
#[must_use]
pub fn first_hop(plan: &Plan, path: &Path, ipv4: bool) -> Option<Nexthop> {
    let first = &path.segments[0];
    let via = plan.addresses().of_nic(first.to, first.to_nic, ipv4)?;
    let interface = plan.interface(first.from, first.nic, first.tree);
    let weight = u8::try_from(path.weight.max(1)).unwrap_or(u8::MAX);
    Some(Nexthop { interface, via, labels: plan.labels(&path.segments), weight })
}

/// A slice while it is being computed.
pub(super) struct Builder<'a> {
    pub(super) plan: &'a Plan,
    pub(super) node: NodeId,
    pub(super) wanted: Wanted,
    pub(super) alternatives: BTreeMap<Prefix, Vec<Nexthop>>,
}

impl Builder<'_> {
    /// As [`first_hop`].
    pub(super) fn nexthop(&self, path: &Path, ipv4: bool) -> Option<Nexthop> {
        first_hop(self.plan, path, ipv4)
    }

    /// The name of the interface of this node's NIC in a tree.
    pub(super) fn interface(&self, nic: usize, tree: TreeId) -> String {
        self.plan.interface(self.node, nic, tree)
    }
}

//! Computes the operations that make a node's kernel equal to its slice, the node's part of the
//! plan.
//!
//! [`Wanted`] is the state that a slice asks for, [`Observed`] the state of the kernel, and
//! [`reconcile`] compares the two and returns [`Operation`]s. No other crate compares these states,
//! and only the kernel module of `tresse-linux` executes operations. Interfaces are identified by
//! name. The ids of nexthop objects are chosen here, so that an existing object is kept as long as
//! its interface, gateway and labels are the same.
#![forbid(unsafe_code)]

mod behind;
mod diff;
mod folded;
mod forwarding;
mod guard;
mod kept;
pub mod model;
mod mptcp;
mod nexthop;
mod object;
mod observed;
mod operation;
mod pairs;
mod report;
mod routes;
mod rule;
mod saved;
mod sources;
#[cfg(test)]
mod tests;
mod undo;
mod wanted;

pub use tresse_base::kernel::{ALIAS_PREFIX, ENDPOINTS_MAX, NODE_INTERFACE, PUSH_INTERFACE};

pub use diff::{ReconcileOptions, reconcile, reconcile_with};
pub use forwarding::{
    ALL_FORWARDING, force_forwarding, is_accept_ra, is_force_forwarding, is_from_router,
};
pub use guard::{GuardAction, GuardParts, GuardRule};
pub use mptcp::{ENDPOINT_IDS, MPTCP_ENABLED, ObservedEndpoint, ObservedMptcp, WantedMptcp};
pub use nexthop::{Nexthop, no_gateway};
pub use object::Object;
pub use observed::{
    Observed, ObservedAddress, ObservedIngress, ObservedLabel, ObservedLink, ObservedNeighbour,
    ObservedNexthop, ObservedTableRoute, TableRouteKey,
};
pub use operation::Operation;
pub use report::{DiffLine, Pending, PendingReason, Planned, Reconciliation, Refusal, Why};
pub use routes::{ObservedRoute, ObservedRoutes, RouteKey, RouteList};
pub use rule::{Rule, SourceRule, TABLES};
pub use saved::{Saved, sysctl_interface};
pub use undo::inverse;
pub use wanted::{
    LinkKind, PLATFORM_LABELS, TunnelEnd, Wanted, WantedLabel, WantedLink, WantedNeighbour,
    WantedRoute, XyBackups, label_input, label_sysctls, no_label_sysctls,
};

/// Protocol number by which routes, policy rules, nexthops and neighbours in the kernel are marked
/// as ours (`rt_protos.d/tresse.conf` gives it a name).
pub const PROTOCOL: u8 = 78;
/// Lowest id of the kernel's nexthop objects and nexthop groups that are ours (K15).
pub const NEXTHOP_BASE: u32 = 0x5400_0000;
/// One more than the highest id of the kernel's nexthop objects and nexthop groups that are ours
/// (K15).
pub const NEXTHOP_END: u32 = 0x5500_0000;
/// Metric of our primary routes, which normally carry the traffic (K15).
pub const METRIC_PRIMARY: u32 = 7800;
/// Metric of our backup routes, which the kernel uses when it has no primary route to the
/// destination (K1, K15).
pub const METRIC_BACKUP: u32 = 7801;
/// Metric of our routes for ICMP alone, which are in a table of their own, [`GuardRule::ICMP_TABLE`]: the planned
/// routes of nodes that are known to be cut off. The main table has none to them.
pub const METRIC_ICMP: u32 = 7802;
/// Metric of our unreachable routes: any other route to the same prefix comes first.
pub const METRIC_UNREACHABLE: u32 = u32::MAX;
/// Preference (order) of our tc filters that pass MPLS frames from planned neighbours (K11).
pub const PREF_PASS: u16 = 7800;
/// Preference (order) of our tc filter that drops MPLS frames from all senders but planned
/// neighbours (K11).
pub const PREF_DROP: u16 = 7801;
/// The cookie on the action of each tc filter that we install. It marks the filter as ours.
pub const FILTER_COOKIE: &[u8] = b"tresse";

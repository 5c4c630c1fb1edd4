//! What a node knows of failures elsewhere, and the routes that go round them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::id::PathId;
use tresse_base::units::Prefix;
use tresse_frame::records::Origin;
use tresse_liveness::records::{PathState, Report};
use tresse_plan::remaining::HopState;
use tresse_reconcile::{METRIC_PRIMARY, Nexthop, WantedRoute};

use super::prepared::digest;

/// What this node knows of failures elsewhere.
#[derive(Debug, Default)]
pub(super) struct Healing {
    /// What other nodes say of their hops.
    pub(super) reports: BTreeMap<Origin, Report>,
    /// Does one of them name a failure, or what is drained?
    pub(super) failing: bool,
    /// The nodes whose reports are those of the state file, and until when these are believed.
    pub(super) recalled: BTreeSet<Origin>,
    pub(super) recalled_until: Option<u64>,
    /// Until when a way out of this node does not count, as a gateway, for IPv4 and IPv6; 0: it does.
    pub(super) shut_until: [u64; 2],
    /// What this node said last.
    pub(super) said: Option<Report>,
    /// What `since` and `healed` were made of.
    pub(super) seen: Seen,
    /// Since when each thing has been known to be broken, by its name.
    pub(super) since: BTreeMap<String, u64>,
    /// What is not as planned, of the plan in force.
    pub(super) healed: Healed,
}

impl Healing {
    /// What the state file has.
    pub(super) fn recall(reports: &BTreeMap<Origin, Report>) -> Self {
        let recalled = reports.keys().copied().collect();
        let failing = reports.values().any(names_failure);
        Self { reports: reports.clone(), failing, recalled, ..Self::default() }
    }
}

/// By node: the states of its hops, and whether they are known by its own word. Else its daemon does not answer, and they
/// are known by its neighbours'.
pub(super) type Words = Vec<(Vec<HopState>, bool)>;

/// What is known of failures.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Digest of the plan in force.
    pub(super) plan: [u8; 8],
    /// Of its hops, and of those of the old plan while plans change, if some are broken.
    pub(super) words: [Option<Words>; 2],
    /// The broken paths of this node.
    pub(super) broken: BTreeSet<PathId>,
}

/// What is not as planned, because something is broken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Healed {
    /// The destinations that are reached by other routes.
    pub routes: BTreeMap<Prefix, HealedRoute>,
    /// The nodes that join planned paths on the way of these. Not where nodes route.
    pub joins: BTreeSet<String>,
    /// Destinations without table routes: these would lead packets away that others send round a failure.
    pub straight: BTreeSet<Prefix>,
    /// Destinations that no planned path leads to, nor two of them joined. Not where nodes route.
    pub cut: BTreeSet<Prefix>,
    /// Gateways that have no way out, and are used after all others.
    pub shut: BTreeSet<IpAddr>,
}

/// How a destination is reached whose planned route is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealedRoute {
    /// The nexthop, with weight 1. `None`: nothing leads there.
    pub nexthop: Option<Nexthop>,
    /// A nexthop by another NIC, for when that one's carrier is lost.
    pub other: Option<Nexthop>,
    /// RTAX_MTU and RTAX_ADVMSS that are at most carried, where that may be less than the planned route has.
    pub mtu: Option<(u32, u32)>,
}

impl HealedRoute {
    /// The planned route of this metric, by this way; `None` if there is none.
    pub(super) fn route(&self, metric: u32, planned: &WantedRoute) -> Option<WantedRoute> {
        let nexthop = if metric == METRIC_PRIMARY { &self.nexthop } else { &self.other };
        let nexthops = vec![nexthop.clone()?];
        let (mtu, advmss) = self.mtu.unwrap_or((planned.mtu, planned.advmss));
        let (mtu, advmss) = (planned.mtu.min(mtu), planned.advmss.min(advmss));
        Some(WantedRoute { src: planned.src, mtu, advmss, nexthops })
    }
}

/// Does a node say that something is broken or drained?
pub(super) fn names_failure(report: &Report) -> bool {
    !report.drained.is_empty() || report.hops.iter().any(|state| hop_state(*state).was_broken())
}

/// The name of a node among those that say something.
pub(super) fn origin(node: &str) -> Origin {
    Origin(u64::from_be_bytes(digest(node)))
}

/// What a node says of a hop.
pub(super) const fn hop_state(state: PathState) -> HopState {
    match state {
        PathState::Unknown => HopState::Unknown,
        PathState::Sound => HopState::Sound,
        PathState::Held => HopState::Held,
        PathState::Broken => HopState::Broken,
    }
}

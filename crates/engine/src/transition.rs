//! State of a change from one plan to the next, in which no frame is lost: across all nodes,
//! additions happen before removals.
//!
//! During the change a node accepts frames on the VLANs of both plans. It sends to a peer on a VLAN
//! of the new plan only after it has heard the peer's announcement there, which shows that the peer
//! accepts frames there. A node has moved when it sends all its traffic by the new plan; its
//! announcements then carry the digest of the new plan. It removes the old plan when every peer
//! that is in both plans has moved. A peer that still sends by another plan delays the removal as
//! long as its announcements arrive; a silent peer delays it for a limited time. A node that has
//! not heard a peer on a VLAN sends a canary there, an announcement that every node on the VLAN
//! answers with its own.
//!
//! A rollback is such a change, too, in the other direction. Until it has moved, a node on its way
//! back announces neither plan: others that are on their way to the new plan keep the old one for
//! it, and others on their way back keep the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use tresse_base::id::Vid;
use tresse_base::units::Mac;
use tresse_reconcile::WantedRoute;

use super::prepared::Prepared;

/// The senders whose announcements this node has heard during a change of plans, or those that it
/// cannot hear: by the interface, as a NIC that is heard elsewhere is not where the plan says.
pub type Senders = BTreeMap<String, BTreeSet<Mac>>;

/// Is the sender among these on this interface?
pub(super) fn is_among(senders: &Senders, interface: &str, sender: Mac) -> bool {
    senders.get(interface).is_some_and(|senders| senders.contains(&sender))
}

/// Number of unanswered canaries after which a silent peer no longer delays the removal of the old
/// plan.
const PATIENCE: u64 = 40;
/// The same on the way back to the plan before.
const PATIENCE_BACK: u64 = 6;
/// The same for a peer of which failure detection knows that nothing arrives from it, or whose
/// interface is out of use.
const PATIENCE_CUT: u64 = 2;
/// What a node announces as its plan while it returns to the plan before: neither of the two.
pub(super) const BETWEEN: [u8; 8] = [0; 8];
/// How long frames of the old plan may be in flight after the last peer has moved.
pub(super) const LINGER_MS: u64 = 1000;
/// What is waited for so long is reported by an event.
pub(super) const REPORT_MS: u64 = 2000;
/// State of a change from one plan to the next on this node: which announcements it has heard, by
/// which plan each peer sends, and when the old plan can be removed.
#[derive(Debug, Default)]
pub struct Transition {
    pub(super) heard: Senders,
    /// When the change began on this node.
    pub(super) began: Option<u64>,
    /// The peers that are not heard, whatever plan they have; by interface.
    pub(super) cut_off: Senders,
    /// By peer: the plan that it sends by, and the time of its last announcement.
    pub(super) peers: BTreeMap<Mac, ([u8; 8], u64)>,
    /// Interfaces on which a peer is missing, and when to send the next canary.
    pub(super) asks: BTreeMap<String, u64>,
    /// Since when every VLAN has been proven.
    pub(super) proven_at: Option<u64>,
    /// When this node moved.
    pub(super) moved_at: Option<u64>,
    /// Since when the peers know that this node has moved.
    pub(super) announced_at: Option<u64>,
    /// When the last peer moved or was given up.
    pub(super) all_at: Option<u64>,
    /// Are the gateways of the new plan used? From the middle of the time that the old plan lingers: earlier they may not let
    /// anything through yet, later the old ones may not any more.
    pub(super) by_new_gateways: bool,
    /// When the next silent peer will be given up.
    pub(super) silent_at: Option<u64>,
    /// The nodes whose absence was reported by an event, with what they were waited for.
    pub(super) reported: Vec<(Option<String>, String)>,
    /// When to report what is waited for.
    pub(super) report_at: Option<u64>,
    /// Milliseconds between canaries on a VLAN of this fabric.
    pub(super) every: u64,
    /// Is it a return to the plan before?
    pub(super) returns: bool,
    /// The peers of the two plans.
    pub(super) sides: Option<Arc<Sides>>,
}

/// The peers of the two plans of a change. Every announcement of a peer is compared with them, so
/// they are found once and not for each of the many routes again.
#[derive(Debug)]
pub struct Sides {
    old: Arc<Prepared>,
    new: Arc<Prepared>,
    /// VID, interface and peer of the nexthops of the plan before.
    pub(super) old_peers: BTreeSet<Talk>,
    /// VID, interface and peer of the nexthops of the new plan.
    pub(super) new_peers: BTreeSet<Talk>,
    /// The peers that are in both plans.
    both: BTreeSet<Mac>,
}

/// A peer that is sent to: the VID, the interface and the peer's MAC address.
pub type Talk = (Option<Vid>, String, Mac);

impl Sides {
    pub(super) fn new(old: Arc<Prepared>, new: Arc<Prepared>) -> Self {
        let both = old.peers().intersection(&new.peers()).copied().collect();
        let (old_peers, new_peers) = (talks(&old), talks(&new));
        Self { old, new, old_peers, new_peers, both }
    }

    /// Are these the two plans?
    pub(super) fn are(&self, old: &Arc<Prepared>, new: &Arc<Prepared>) -> bool {
        Arc::ptr_eq(&self.old, old) && Arc::ptr_eq(&self.new, new)
    }

    /// The peers in both plans that have not announced that they have moved.
    pub(super) fn holders(&self, transition: &Transition) -> BTreeSet<Mac> {
        let digest = self.new.digest();
        self.both.iter().copied().filter(|peer| !transition.moved(*peer, digest)).collect()
    }

    /// The peers of the plan before that some interface in use is not cut off from.
    pub(super) fn reachable(
        &self,
        cut_off: &Senders,
        usable: impl Fn(&str) -> bool,
    ) -> BTreeSet<Mac> {
        let heard = |(_, name, mac): &&Talk| usable(name) && !is_among(cut_off, name, *mac);
        self.old_peers.iter().filter(heard).map(|(_, _, mac)| *mac).collect()
    }
}

fn talks(plan: &Prepared) -> BTreeSet<Talk> {
    let mut hops = BTreeSet::new();
    for nexthop in plan.wanted.routes.values().flat_map(|route| &route.nexthops) {
        hops.insert((nexthop.interface.as_str(), nexthop.via));
    }
    let talk = |(interface, via)| {
        let (vid, interface, peer) = plan.peer(interface, via)?;
        Some((vid, interface.to_owned(), peer))
    };
    hops.into_iter().filter_map(talk).collect()
}

impl Transition {
    /// The announcements heard since the plan in force was committed.
    pub const fn heard(&self) -> &Senders {
        &self.heard
    }

    /// The next time at which a canary is due, a peer is given up, a wait is reported, other gateways are used, or the
    /// old plan can be removed.
    pub fn deadline(&self) -> Option<u64> {
        let left = if self.by_new_gateways { LINGER_MS } else { LINGER_MS / 2 };
        let end = self.all_at.map(|at| at + left);
        self.asks.values().copied().chain(self.silent_at).chain(self.report_at).chain(end).min()
    }

    /// Since when this node has waited for what it waits for now.
    pub(super) fn since(&self, now: u64) -> u64 {
        let latest = [self.all_at, self.announced_at, self.moved_at, self.proven_at, self.began];
        now.saturating_sub(latest.into_iter().flatten().next().unwrap_or(now))
    }

    /// Does the peer announce that it sends by this plan?
    pub(super) fn moved(&self, peer: Mac, plan: [u8; 8]) -> bool {
        self.peers.get(&peer).is_some_and(|(by, _)| *by == plan)
    }

    /// Until when a silent peer delays the change; `None` if that time has not begun. Little if the
    /// peer is known to be `cut_off`.
    pub(super) fn patience(&self, peer: Mac, cut_off: bool) -> Option<u64> {
        let last = self.peers.get(&peer).map_or(0, |(_, at)| *at);
        let patience = match (cut_off, self.returns) {
            (true, _) => PATIENCE_CUT,
            (false, true) => PATIENCE_BACK,
            (false, false) => PATIENCE,
        };
        Some(self.proven_at?.max(last) + patience * self.every)
    }
}

impl Prepared {
    /// The VIDs on which the peer of a route was not heard.
    pub(super) fn unheard<'a>(
        &'a self,
        heard: &'a Senders,
        route: &'a WantedRoute,
    ) -> impl Iterator<Item = Option<Vid>> + 'a {
        let peers = self.nexthop_peers(route);
        peers.filter_map(|(vid, name, mac)| (!is_among(heard, name, mac)).then_some(vid))
    }

    /// VID, interface and peer of each nexthop of a route.
    pub(super) fn nexthop_peers<'a>(
        &'a self,
        route: &'a WantedRoute,
    ) -> impl Iterator<Item = (Option<Vid>, &'a str, Mac)> + 'a {
        route.nexthops.iter().filter_map(move |nexthop| self.peer(&nexthop.interface, nexthop.via))
    }

    /// VID, interface and peer of a nexthop by its interface and gateway.
    pub(super) fn peer<'a>(
        &self,
        interface: &'a str,
        via: IpAddr,
    ) -> Option<(Option<Vid>, &'a str, Mac)> {
        let vid = self.interfaces.get(interface)?.vid;
        let peer = self.wanted.neighbours.get(&(interface.to_owned(), via))?.mac;
        Some((vid, interface, peer))
    }

    /// The MAC addresses to which frames are sent.
    pub(super) fn peers(&self) -> BTreeSet<Mac> {
        self.wanted.neighbours.values().map(|n| n.mac).collect()
    }
}

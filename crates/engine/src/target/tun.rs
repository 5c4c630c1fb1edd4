//! Handles paths with MPLS labels on a node whose kernel cannot push labels: they are routed to a
//! TUN interface, from which the daemon reads the packets and sends them with their labels.
//!
//! ```text
//! wanted by the slice      10.77.0.3 -> eth0.100 via A, labels 17/21    metric 7800
//! wanted of the kernel     10.77.0.3 -> tresse-push via A               metric 7800
//! sent to the daemon       10.77.0.3 -> eth0, VID 100, MAC of A, labels 17/21
//! ```
//!
//! The kernel still chooses between the routes to a destination and between the members of a
//! nexthop group. Of several labelled paths to one destination the daemon chooses one by flow and
//! weight. If the NIC of a labelled path has no carrier, the daemon does not get the path, and the
//! path's route is not wanted. The TUN interface exists only while the daemon runs. So if a primary
//! route uses it, the backup route takes a path without labels, if the plan has one: the kernel
//! falls back to that by itself (K1).

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Prefix;
use tresse_control::PendingLine;
use tresse_reconcile::{
    ALIAS_PREFIX, LinkKind, METRIC_BACKUP, METRIC_PRIMARY, Nexthop, Object, Observed,
    PUSH_INTERFACE, PendingReason, Wanted, WantedLink, WantedRoute,
};

use super::plans::Plans;
use crate::gate::Gate;
use crate::prepared::{PlannedInterface, Prepared};
use crate::pushing::{PushPath, Pushing};

/// The TUN interface and its sysctls, if the plan's paths need it.
pub(super) fn interface(prepared: &Prepared) -> Option<(WantedLink, BTreeMap<String, String>)> {
    if !prepared.pushes() {
        return None;
    }
    let mtu = prepared.wanted.nics.values().map(|(_, mtu)| *mtu).max().unwrap_or(1500);
    let alias = format!("{ALIAS_PREFIX}push");
    // Only routed packets are sent there.
    let ipv6 = prepared.wanted.routes.keys().any(|(dst, _)| dst.address.is_ipv6());
    let (name, value) = if ipv6 { ("router_solicitations", "0") } else { ("disable_ipv6", "1") };
    let sysctl = (format!("net/ipv6/conf/{PUSH_INTERFACE}/{name}"), value.to_owned());
    Some((WantedLink { kind: LinkKind::Tun, mtu, alias, up: true, mac: None }, [sysctl].into()))
}

/// Routes labelled paths through the TUN interface and returns the table of labels to push. Paths
/// that wait for a carrier are added to `pending`.
pub(super) fn through(
    wanted: &mut Wanted,
    plans: &Plans<'_>,
    observed: &Observed,
    pending: &mut Vec<PendingLine>,
) -> Pushing {
    let new = plans.new;
    let plans = [Some(new), plans.old];
    let before = std::mem::take(&mut wanted.routes);
    let source = Source {
        interface: |name: &str| {
            plans.into_iter().flatten().find_map(|plan| plan.prepared.interfaces.get(name))
        },
        wanted,
        observed,
    };
    let mut pushing = Pushing::default();
    let mut waiting: BTreeSet<Nexthop> = BTreeSet::new();
    let mut routes = BTreeMap::new();
    let mut through: BTreeSet<Prefix> = BTreeSet::new();
    for ((dst, metric), route) in before {
        let (labelled, mut nexthops): (Vec<Nexthop>, Vec<Nexthop>) =
            route.nexthops.iter().cloned().partition(|nexthop| !nexthop.labels.is_empty());
        let mut paths = Vec::new();
        let mut weight = 0_u8;
        let mut via = None;
        for nexthop in &labelled {
            match source.path(nexthop) {
                Ok(path) => {
                    weight = weight.saturating_add(nexthop.weight.max(1));
                    via.get_or_insert(nexthop.via);
                    let nic = source.wanted.nics.get(&path.nic);
                    pushing.nics.extend(nic.map(|nic| (path.nic.clone(), *nic)));
                    paths.push(path);
                }
                Err(why) if waiting.insert(nexthop.clone()) => {
                    let object = Object::PlannedNexthop(nexthop.clone());
                    let (kind, object) = (object.kind().into(), object.to_string());
                    pending.push(PendingLine { kind, object, why: why.to_string() });
                }
                Err(_) => {}
            }
        }
        if let Some(via) = via {
            if metric == METRIC_PRIMARY && nexthops.is_empty() {
                through.insert(dst);
            }
            let interface = PUSH_INTERFACE.to_owned();
            nexthops.push(Nexthop { interface, via, labels: Vec::new(), weight });
            nexthops.sort();
            // If a primary and a backup both use the TUN interface, the primary wins: it comes
            // first.
            pushing.routes.entry(dst.address).or_insert(paths);
        }
        if !nexthops.is_empty() {
            routes.insert((dst, metric), WantedRoute { nexthops, ..route });
        }
    }
    for dst in through {
        let plain = |nexthop: &Nexthop| nexthop.interface != PUSH_INTERFACE;
        let key = (dst, METRIC_BACKUP);
        if routes.get(&key).is_some_and(|route| route.nexthops.iter().any(plain)) {
            continue;
        }
        let others = new.others(dst).iter();
        let open = |nexthop: &&Nexthop| {
            let closed = new.closed(&nexthop.interface);
            nexthop.labels.is_empty() && !matches!(closed, Some((_, Gate::Unproven | Gate::Fused)))
        };
        let others: Vec<&Nexthop> = others.filter(open).collect();
        if let (Some(nexthop), Some(primary)) =
            (new.best(&others), routes.get(&(dst, METRIC_PRIMARY)))
        {
            let route = WantedRoute { nexthops: vec![nexthop.clone()], ..primary.clone() };
            routes.insert(key, route);
        }
    }
    wanted.routes = routes;
    pushing
}

/// What is known of the outgoing interfaces.
struct Source<'a, F> {
    interface: F,
    wanted: &'a Wanted,
    observed: &'a Observed,
}

impl<'a, F: Fn(&str) -> Option<&'a PlannedInterface>> Source<'a, F> {
    /// A nexthop in the form that the daemon sends by, if it can.
    fn path(&self, nexthop: &Nexthop) -> Result<PushPath, PendingReason> {
        let absent = || PendingReason::Absent(nexthop.interface.clone());
        let vlan = (self.interface)(&nexthop.interface).ok_or_else(absent)?;
        let key = (nexthop.interface.clone(), nexthop.via);
        let mac = self.wanted.neighbours.get(&key).ok_or_else(absent)?.mac;
        let (planned, _) = self.wanted.nics.get(&vlan.parent).ok_or_else(absent)?;
        let links = &self.observed.links;
        let nic =
            links.get(&vlan.parent).ok_or_else(|| PendingReason::Absent(vlan.parent.clone()))?;
        if nic.mac != Some(*planned) {
            return Err(PendingReason::Refused(vlan.parent.clone()));
        }
        if !nic.up {
            return Err(PendingReason::Down(vlan.parent.clone()));
        }
        // An interface that is down will be set up; its carrier is that of the NIC.
        let carrier = links.get(&nexthop.interface).is_none_or(|link| !link.up || link.carrier);
        if !nic.carrier || !carrier {
            return Err(PendingReason::NoCarrier(nexthop.interface.clone()));
        }
        Ok(PushPath {
            nic: vlan.parent.clone(),
            vid: vlan.vid,
            mac,
            labels: nexthop.labels.clone(),
            weight: nexthop.weight.max(1),
        })
    }
}

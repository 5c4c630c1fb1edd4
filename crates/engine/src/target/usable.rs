//! Computes the kernel objects of a plan that may be used now: without routes over VLANs that are
//! not proven free of loops, and during a change of plans with the old routes where the new ones
//! must wait.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::{Label, Vid};
use tresse_base::units::Prefix;
use tresse_control::PendingLine;
use tresse_reconcile::{
    GuardRule, METRIC_BACKUP, METRIC_ICMP, METRIC_PRIMARY, Object, Wanted, WantedLabel, WantedRoute,
};

use super::complete::all;
use super::plans::Plans;
use crate::engines::{Engines, LabelEngine};
use crate::gate::{Gate, Gated};
use crate::healed::Healed;
use crate::kept_free::KeptFree;

/// The part of the new plan that its gates allow, and the objects that must wait.
///
/// A destination whose new route must wait keeps its route of the old plan, with all objects that
/// this needs, so that changing plans loses no frame.
pub(super) fn usable(plans: &Plans<'_>, engines: Engines) -> (Wanted, Vec<PendingLine>) {
    let Plans { new, old, .. } = *plans;
    let mut wanted = all(new.prepared, engines);
    let mut pending = Vec::new();
    let untouched = new.dead.is_empty()
        && new.free.rested.is_empty()
        && new.free.shares.is_empty()
        && *new.healed == Healed::default();
    let whole = untouched && new.gates.values().all(|g| *g == Gate::Open);
    if old.is_none() && whole {
        return (wanted, pending);
    }
    let kept;
    (wanted.routes, kept) = routes(plans, &new.prepared.wanted.routes, &mut pending);
    let for_icmp = wanted.routes.keys().filter(|(_, metric)| *metric == METRIC_ICMP);
    let families = for_icmp.map(|(dst, _)| GuardRule::Icmp { ipv4: dst.address.is_ipv4() });
    wanted.guard.extend(families);
    if let Some(old) = old {
        keep_tables(&mut wanted, &old.prepared.wanted, &kept);
    }
    let straight = |dst: &Prefix| {
        [Some(new), old].into_iter().flatten().any(|g| g.healed.straight.contains(dst))
    };
    wanted.xy.tables.retain(|(_, destination), _| !straight(destination));
    if new.prepared.routes_for_others() {
        for_others(&mut wanted, plans);
    }
    if engines.labels == LabelEngine::Kernel {
        wanted.labels = labels(new, old, &mut pending);
    }
    wanted
        .mptcp
        .tables
        .retain(|_, nexthop| new.is_fit(nexthop) && new.closed(&nexthop.interface).is_none());
    if let Some(old) = old {
        wanted.keep(all(old.prepared, engines), plans.by_new_gateways);
    }
    let fused = |interface: &str| matches!(new.closed(interface), Some((_, Gate::Fused)));
    for (name, link) in &mut wanted.links {
        link.up &= !fused(name);
    }
    wanted.neighbours.retain(|(interface, _), _| !fused(interface));
    // Those without a way out come last.
    for (_, gateways) in wanted.behind.iter_mut().filter(|(dst, _)| dst.len == 0) {
        gateways.sort_by_key(|gateway| new.healed.shut.contains(gateway));
    }
    (wanted, pending)
}

/// Keeps what an operator chose for this node's own packets from those that it forwards. Where nodes
/// route, the main table serves both; but a packet that came in by a NIC is looked up in that NIC's
/// table first. So that table gets the route that the main table would have without the operator's
/// choice, and pins of several nodes can never send a packet round in circles.
fn for_others(wanted: &mut Wanted, plans: &Plans<'_>) {
    let Plans { new, old, heard, .. } = *plans;
    let planned = new.prepared.wanted.routes.iter();
    let shared: BTreeMap<(Prefix, u32), WantedRoute> = planned
        .filter(|((dst, metric), _)| *metric == METRIC_PRIMARY && new.free.shares.contains_key(dst))
        .map(|(key, route)| (*key, route.clone()))
        .collect();
    if shared.is_empty() {
        return;
    }
    let unshared = |free: &KeptFree| KeptFree { shares: BTreeMap::new(), ..free.clone() };
    let (free, old_free) = (unshared(new.free), old.map(|old| unshared(old.free)));
    let old = old.zip(old_free.as_ref()).map(|(old, free)| Gated { free, ..old });
    let plain = Plans { new: Gated { free: &free, ..new }, old, heard, ..*plans };
    let nics: Vec<String> = new.prepared.wanted.nics.keys().cloned().collect();
    let (routes, _) = routes(&plain, &shared, &mut Vec::new());
    for (key, route) in routes.into_iter().filter(|((_, metric), _)| *metric == METRIC_PRIMARY) {
        let Some(nexthop) =
            route.nexthops.first().filter(|_| wanted.routes.get(&key) != Some(&route))
        else {
            continue;
        };
        for nic in &nics {
            let at = (nic.clone(), key.0);
            wanted.xy.tables.entry(at).or_insert_with(|| nexthop.clone());
        }
    }
}

/// The routes of the new plan, or of some of its destinations; replacements for those that must
/// wait. Returns also the destinations whose packets still go by the old plan.
fn routes(
    plans: &Plans<'_>,
    planned: &BTreeMap<(Prefix, u32), WantedRoute>,
    pending: &mut Vec<PendingLine>,
) -> (BTreeMap<(Prefix, u32), WantedRoute>, BTreeSet<Prefix>) {
    let Plans { new, old, heard, .. } = *plans;
    let mut routes = BTreeMap::new();
    let mut by_old = BTreeSet::new();
    let mut old_backups = BTreeSet::new();
    for (key, route) in planned {
        let route = &*new.shared(*key, route);
        // The kernel answers echo requests by the planned route, and programs get an error.
        if old.is_none() && new.is_cut(key.0) {
            let open = new.route(route).ok().or_else(|| new.alternative(key.0, route));
            let open = open.filter(|_| key.1 == METRIC_PRIMARY);
            routes.extend(open.map(|route| ((key.0, METRIC_ICMP), route)));
            continue;
        }
        let kept = || kept(old?, *key);
        let (why, route) = match new.route(route) {
            Ok(open) => {
                let Some(open) = new.live(*key, open) else {
                    // It goes by its other route, but not before that one's peer is heard.
                    let by_other = waiting(plans, planned, *key).zip(kept().flatten());
                    if let Some((vid, kept)) = by_other {
                        by_old.insert(key.0);
                        pending.push(line(&Object::Route(key.0, key.1), unheard(vid)));
                        routes.insert(*key, kept);
                    }
                    continue;
                };
                let silent = heard.and_then(|heard| new.prepared.unheard(heard, &open).next());
                match (silent, kept()) {
                    (Some(vid), Some(kept)) if kept.as_ref() != Some(&open) => {
                        if key.1 == METRIC_PRIMARY {
                            by_old.insert(key.0);
                        }
                        let backup = (key.0, METRIC_BACKUP);
                        if kept.is_none() || !new.prepared.wanted.routes.contains_key(&backup) {
                            old_backups.insert(backup);
                        }
                        (unheard(vid), kept)
                    }
                    _ => {
                        routes.insert(*key, open);
                        continue;
                    }
                }
            }
            // It is reached over a third node, by VLANs that are open.
            Err(_) if new.healed.routes.contains_key(&key.0) => {
                routes.extend(new.live(*key, route.clone()).map(|route| (*key, route)));
                continue;
            }
            Err((vid, Gate::Fused)) => {
                let alternative = new.alternative(key.0, route).or_else(|| kept()?);
                (waits(vid, Gate::Fused), alternative)
            }
            Err((vid, gate)) => {
                let alternative = kept().flatten().or_else(|| new.alternative(key.0, route));
                (waits(vid, gate), alternative)
            }
        };
        pending.push(line(&Object::Route(key.0, key.1), why));
        if let Some(route) = route {
            routes.insert(*key, route);
        }
    }
    for key in old_backups {
        let backup = old.and_then(|old| kept(old, key)).flatten();
        routes.extend(backup.map(|route| (key, route)));
    }
    (routes, by_old)
}

/// The VID on which the peer was not heard of the backup route that stands for a primary one.
fn waiting(
    plans: &Plans<'_>,
    planned: &BTreeMap<(Prefix, u32), WantedRoute>,
    (destination, metric): (Prefix, u32),
) -> Option<Option<Vid>> {
    let backup = (destination, METRIC_BACKUP);
    let route = planned.get(&backup).filter(|_| metric == METRIC_PRIMARY)?;
    let open = plans.new.route(&plans.new.shared(backup, route)).ok()?;
    let open = plans.new.live(backup, open)?;
    plans.new.prepared.unheard(plans.heard?, &open).next()
}

/// The route of the old plan, if it has one that is open. Within: `None` if packets go by its backup route,
/// as the paths of the primary one are broken or kept free.
fn kept(old: Gated<'_>, key: (Prefix, u32)) -> Option<Option<WantedRoute>> {
    let open = old.shared(key, old.prepared.wanted.routes.get(&key)?);
    let open = old.route(&open).ok()?;
    Some(old.live(key, open))
}

/// Replaces the table routes for destinations whose packets still go by the old plan: a packet that
/// this node's main table would send back is sent on as the old plan has it.
fn keep_tables(wanted: &mut Wanted, old: &Wanted, kept: &BTreeSet<Prefix>) {
    let tables = &mut wanted.xy.tables;
    tables.retain(|(_, destination), _| !kept.contains(destination));
    let kept = old.xy.tables.iter().filter(|((_, destination), _)| kept.contains(destination));
    tables.extend(kept.map(|(key, nexthop)| (key.clone(), nexthop.clone())));
}

/// The label routes into open VLANs. Those of `old` stay: labels keep their meaning over one change
/// of plans (K4), and sources that have not changed yet use them.
fn labels(
    new: Gated<'_>,
    old: Option<Gated<'_>>,
    pending: &mut Vec<PendingLine>,
) -> BTreeMap<Label, WantedLabel> {
    let mut labels = BTreeMap::new();
    for (label, nexthop) in &new.prepared.labels {
        if let Some((vid, gate)) = new.closed(&nexthop.interface) {
            pending.push(line(&Object::Label(*label, Some(nexthop.clone())), waits(vid, gate)));
        } else {
            labels.insert(*label, nexthop.clone());
        }
    }
    if let Some(old) = old {
        for (label, nexthop) in &old.prepared.labels {
            if old.closed(&nexthop.interface).is_none() {
                labels.entry(*label).or_insert_with(|| nexthop.clone());
            }
        }
    }
    labels
}

/// Why a route waits for its peer.
fn unheard(vid: Option<Vid>) -> String {
    match vid {
        Some(vid) => format!("the peer was not heard on VLAN {vid} yet"),
        None => "the peer was not heard yet".into(),
    }
}

/// The reason why an object waits for a VLAN.
fn waits(vid: Vid, gate: Gate) -> String {
    match gate {
        Gate::Fused => format!("VLAN {vid} is fused: run `tresse unfuse {vid}` once repaired"),
        _ => format!("VLAN {vid} is not proven yet"),
    }
}

fn line(object: &Object, why: String) -> PendingLine {
    PendingLine { kind: object.kind().into(), object: object.to_string(), why }
}

//! What of a slice may be installed now: VLANs that are not proven carry no routes, fused ones are
//! down (K5); paths that are broken are not used while another way is there (K10).

use std::collections::{BTreeMap, BTreeSet};

use tresse_control::PendingLine;
use tresse_fabric::id::Label;
use tresse_fabric::reconcile::{
    Leg, METRIC_BACKUP, METRIC_PRIMARY, Object, Wanted, WantedLabel, WantedRoute,
};
use tresse_fabric::units::Prefix;

use super::bridge::Heard;
use super::prepared::Prepared;
use super::steer::KeptFree;

/// How far a VLAN may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// In full.
    Open,
    /// Interface, addresses and neighbours, but no routes.
    Unproven,
    /// Nothing; the interface stays, down.
    Fused,
}

/// A plan and the gates of its VLANs.
#[derive(Debug, Clone, Copy)]
pub struct Gated<'a> {
    /// The plan.
    pub prepared: &'a Prepared,
    /// By VID; open where absent.
    pub gates: &'a BTreeMap<u16, Gate>,
    /// First hops of paths that are broken.
    pub dead: &'a BTreeSet<Leg>,
    /// First hops of paths that an operator keeps free.
    pub free: &'a KeptFree,
    /// Interfaces without carrier.
    pub out: &'a BTreeSet<&'a str>,
}

impl Gated<'_> {
    pub(super) fn closed(&self, interface: &str) -> Option<(u16, Gate)> {
        let vid = self.prepared.interfaces.get(interface)?.vid;
        self.gates.get(&vid).filter(|g| **g != Gate::Open).map(|g| (vid, *g))
    }

    /// The same route over the first other path whose VLAN is open.
    fn alternative(&self, destination: Prefix, route: &WantedRoute) -> Option<WantedRoute> {
        let all = || self.alternatives(destination, route);
        let best = Self::FITNESS.iter().find_map(|fits| all().find(|way| fits(self, &way.legs[0])));
        best.or_else(|| all().next())
    }

    /// The same route over each other path whose VLAN is open.
    fn alternatives<'b>(
        &'b self,
        destination: Prefix,
        route: &'b WantedRoute,
    ) -> impl Iterator<Item = WantedRoute> + 'b {
        let legs = self.prepared.alternatives.get(&destination).into_iter().flatten();
        let open = legs.filter(move |leg| self.closed(&leg.interface).is_none());
        open.map(|leg| WantedRoute { legs: vec![leg.clone()], ..route.clone() })
    }

    /// Is this the first hop of no path that is broken?
    pub(super) fn lives(&self, leg: &Leg) -> bool {
        !holds(self.dead, leg)
    }

    /// What is asked of a leg: the most first, then what is left where nothing has it.
    const FITNESS: [fn(&Self, &Leg) -> bool; 3] = [Self::is_fit, Self::is_undrained, Self::lives];

    /// The leg of these to use first.
    pub(super) fn best<'b>(&self, legs: &[&'b Leg]) -> Option<&'b Leg> {
        let first = |fits: fn(&Self, &Leg) -> bool| legs.iter().find(|leg| fits(self, leg));
        Self::FITNESS.into_iter().find_map(first).copied()
    }

    fn is_undrained(&self, leg: &Leg) -> bool {
        self.lives(leg) && !holds(&self.free.drained, leg)
    }

    /// Is this the first hop of a path that is neither broken nor kept free?
    pub(super) fn is_fit(&self, leg: &Leg) -> bool {
        self.lives(leg) && !holds(&self.free.rested, leg)
    }

    /// The part of an open route that is to be used, or another way; none where the kernel has one at
    /// another metric. Where all ways are kept free they are used all the same, and where all are broken the
    /// route stays as it is: better a doubtful way than none.
    fn live(&self, key: (Prefix, u32), open: WantedRoute) -> Option<WantedRoute> {
        match key.1 {
            METRIC_PRIMARY => self.live_primary(key.0, open),
            _ => Some(self.live_backup(key.0, open)),
        }
    }

    fn live_primary(&self, destination: Prefix, open: WantedRoute) -> Option<WantedRoute> {
        let backup = self.prepared.wanted.routes.get(&(destination, METRIC_BACKUP));
        for fits in Self::FITNESS {
            let carries = |leg: &Leg| fits(self, leg) && !self.out.contains(leg.interface.as_str());
            let part = part(&open, |leg| fits(self, leg));
            let way = || self.alternatives(destination, &open).find(|way| carries(&way.legs[0]));
            if let Some(route) = part.or_else(way) {
                return Some(route);
            }
            let usable = |leg: &Leg| carries(leg) && self.closed(&leg.interface).is_none();
            if backup.is_some_and(|backup| backup.legs.iter().any(usable)) {
                return None;
            }
        }
        Some(open)
    }

    /// What the kernel falls back to: by another NIC than what is used first.
    fn live_backup(&self, destination: Prefix, open: WantedRoute) -> WantedRoute {
        let planned = self.prepared.wanted.routes.get(&(destination, METRIC_PRIMARY));
        let planned = planned.and_then(|route| self.route(route).ok());
        let first = planned.clone().and_then(|route| self.live_primary(destination, route));
        if first == planned && open.legs.iter().all(|leg| self.is_fit(leg)) {
            return open;
        }
        let used = first.map(|route| route.legs).unwrap_or_default();
        let nic = |leg: &Leg| self.prepared.interfaces.get(&leg.interface).map(|i| &i.parent);
        let apart = |leg: &Leg| used.iter().all(|used| nic(used) != nic(leg));
        for fits in Self::FITNESS {
            let carries = |leg: &Leg| {
                fits(self, leg) && apart(leg) && !self.out.contains(leg.interface.as_str())
            };
            let planned = planned.iter().flat_map(|route| &route.legs);
            let planned =
                planned.map(|leg| WantedRoute { legs: vec![leg.alone()], ..open.clone() });
            let mut ways = self.alternatives(destination, &open).chain(planned);
            let part = part(&open, |leg| fits(self, leg) && apart(leg));
            if let Some(way) = part.or_else(|| ways.find(|way| carries(&way.legs[0]))) {
                return way;
            }
        }
        part(&open, |leg| self.lives(leg)).unwrap_or(open)
    }

    /// The part of a route that may be used, or the VLAN that closes it.
    fn route(&self, route: &WantedRoute) -> Result<WantedRoute, (u16, Gate)> {
        let mut closed = None;
        let mut open = route.clone();
        open.legs.retain(|leg| {
            let gate = self.closed(&leg.interface);
            closed = closed.or(gate);
            gate.is_none()
        });
        match closed {
            Some(closed) if open.legs.is_empty() => Err(closed),
            _ => Ok(open),
        }
    }
}

/// Is a leg among these, whatever its weight?
fn holds(legs: &BTreeSet<Leg>, leg: &Leg) -> bool {
    !legs.is_empty() && legs.contains(&leg.alone())
}

/// The legs of a route that are such, if any.
fn part(route: &WantedRoute, is: impl Fn(&Leg) -> bool) -> Option<WantedRoute> {
    let legs: Vec<Leg> = route.legs.iter().filter(|leg| is(leg)).cloned().collect();
    (!legs.is_empty()).then(|| WantedRoute { legs, ..route.clone() })
}

/// Why something waits for a VLAN.
fn waits(vid: u16, gate: Gate) -> String {
    match gate {
        Gate::Fused => format!("VLAN {vid} is fused: run `tresse unfuse {vid}` once repaired"),
        _ => format!("VLAN {vid} is not proven yet"),
    }
}

fn line(object: &Object, why: String) -> PendingLine {
    PendingLine { kind: object.kind().into(), object: object.to_string(), why }
}

/// The label routes out of VLANs that are open. Those of `old` stay: labels keep their meaning
/// over one change of plans (K4), and sources that have not changed yet use them.
fn labels(
    new: Gated<'_>,
    old: Option<Gated<'_>>,
    pending: &mut Vec<PendingLine>,
) -> BTreeMap<Label, WantedLabel> {
    let mut labels = BTreeMap::new();
    for (label, way) in &new.prepared.wanted.labels {
        if let Some((vid, gate)) = new.closed(&way.interface) {
            pending.push(line(&Object::Label(*label, Some(way.clone())), waits(vid, gate)));
        } else {
            labels.insert(*label, way.clone());
        }
    }
    if let Some(old) = old {
        for (label, way) in &old.prepared.wanted.labels {
            if old.closed(&way.interface).is_none() {
                labels.entry(*label).or_insert_with(|| way.clone());
            }
        }
    }
    labels
}

/// The part of `new` that its gates let through, and what waits for them.
///
/// `old` is the plan before, kept while the change is under way: a destination whose new route
/// waits keeps its old one, with all that this needs, so that changing plans loses no frame. A
/// changed route also waits until its peer is among `heard`, where that is given.
pub fn effective(
    new: Gated<'_>,
    old: Option<Gated<'_>>,
    heard: Option<&Heard>,
) -> (Wanted, Vec<PendingLine>) {
    let mut wanted = new.prepared.wanted.clone();
    let mut pending = Vec::new();
    let untouched = new.dead.is_empty() && new.free.rested.is_empty();
    let whole = untouched && new.gates.values().all(|g| *g == Gate::Open);
    if old.is_none() && whole {
        return (wanted, pending);
    }
    let mut routes = BTreeMap::new();
    for (key, route) in &new.prepared.wanted.routes {
        let kept = || {
            let old = old?;
            let open = old.route(old.prepared.wanted.routes.get(key)?).ok()?;
            old.live(*key, open)
        };
        let (why, route) = match new.route(route) {
            Ok(open) => {
                let Some(open) = new.live(*key, open) else { continue };
                let silent = heard.and_then(|heard| new.prepared.unheard(heard, &open).next());
                match (silent, kept()) {
                    (Some(vid), Some(kept)) if kept != open => {
                        (format!("the peer was not heard on VLAN {vid} yet"), Some(kept))
                    }
                    _ => {
                        routes.insert(*key, open);
                        continue;
                    }
                }
            }
            Err((vid, Gate::Fused)) => {
                let way = new.alternative(key.0, route).or_else(kept);
                (waits(vid, Gate::Fused), way)
            }
            Err((vid, gate)) => {
                let way = kept().or_else(|| new.alternative(key.0, route));
                (waits(vid, gate), way)
            }
        };
        pending.push(line(&Object::Route(key.0, key.1), why));
        if let Some(route) = route {
            routes.insert(*key, route);
        }
    }
    wanted.labels = labels(new, old, &mut pending);
    wanted.mptcp.tables.retain(|_, leg| new.is_fit(leg) && new.closed(&leg.interface).is_none());
    if let Some(old) = old.map(|old| &old.prepared.wanted) {
        for (name, link) in &old.links {
            wanted.links.entry(name.clone()).or_insert_with(|| link.clone());
        }
        wanted.addresses.extend(old.addresses.iter().cloned());
        for (key, neighbour) in &old.neighbours {
            wanted.neighbours.entry(key.clone()).or_insert_with(|| neighbour.clone());
        }
        for (key, value) in &old.sysctls {
            wanted.sysctls.entry(key.clone()).or_insert_with(|| value.clone());
        }
        for (name, nic) in &old.nics {
            wanted.nics.entry(name.clone()).or_insert(*nic);
        }
        for (name, sources) in &old.label_sources {
            wanted.label_sources.entry(name.clone()).or_default().extend(sources);
        }
    }
    let fused = |interface: &str| matches!(new.closed(interface), Some((_, Gate::Fused)));
    for (name, link) in &mut wanted.links {
        link.up &= !fused(name);
    }
    wanted.neighbours.retain(|(interface, _), _| !fused(interface));
    wanted.routes = routes;
    (wanted, pending)
}

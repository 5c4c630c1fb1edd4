//! Decides which VLANs and paths of a plan may be used now. No route uses a VLAN that is not yet
//! proven to be free of loops; a VLAN with a loop is fused, and its interface is down (K5). A
//! broken path is not used while another path exists (K10).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::{PathId, Vid};
use tresse_base::units::Prefix;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, Nexthop, WantedRoute};

use super::healed::Healed;
use super::kept_free::{KeptFree, Shares};
use super::prepared::Prepared;

/// Whether a VLAN may be used now: fully, only for the proof that it has no loop, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// It may be used fully.
    Open,
    /// Its interface, addresses and neighbours exist, but no routes use it.
    Unproven,
    /// It is not used; its interface exists and is down.
    Fused,
}

impl Gate {
    /// The gate of a VLAN among `gates`. Open where it is not among them; what is untagged is open always.
    pub(super) fn of(gates: &BTreeMap<Vid, Self>, vid: Option<Vid>) -> Self {
        vid.and_then(|vid| gates.get(&vid)).copied().unwrap_or(Self::Open)
    }
}

/// A plan with the present state of its VLANs, paths and interfaces. The state decides which of
/// them may be used.
#[derive(Debug, Clone, Copy)]
pub struct Gated<'a> {
    /// The plan.
    pub prepared: &'a Prepared,
    /// By VID; VLANs that are not listed are open.
    pub gates: &'a BTreeMap<Vid, Gate>,
    /// Paths that are broken.
    pub dead: &'a BTreeSet<PathId>,
    /// Those of them that are better than none, the best first: shown to be sound again but not trusted
    /// yet, and only suspected.
    pub doubtful: &'a [BTreeSet<PathId>; 2],
    /// Paths that an operator keeps free.
    pub free: &'a KeptFree,
    /// Routes that are not as planned, as something is broken elsewhere.
    pub healed: &'a Healed,
    /// Interfaces without carrier.
    pub out: &'a BTreeSet<&'a str>,
}

impl Gated<'_> {
    pub(super) fn closed(&self, interface: &str) -> Option<(Vid, Gate)> {
        let vid = self.prepared.interfaces.get(interface)?.vid?;
        self.gates.get(&vid).filter(|g| **g != Gate::Open).map(|g| (vid, *g))
    }

    /// The same route over the first other path whose VLAN is open.
    pub(super) fn alternative(
        &self,
        destination: Prefix,
        route: &WantedRoute,
    ) -> Option<WantedRoute> {
        let all = || self.alternatives(destination, route);
        let best = Self::FITNESS
            .iter()
            .find_map(|fits| all().find(|alternative| fits(self, &alternative.nexthops[0])));
        best.or_else(|| all().next())
    }

    /// The same route over each other path whose VLAN is open.
    fn alternatives<'b>(
        &'b self,
        destination: Prefix,
        route: &'b WantedRoute,
    ) -> impl Iterator<Item = WantedRoute> + 'b {
        let nexthops = self.others(destination).iter();
        let open = nexthops.filter(move |nexthop| self.closed(&nexthop.interface).is_none());
        open.map(|nexthop| WantedRoute { nexthops: vec![nexthop.clone()], ..route.clone() })
    }

    /// The nexthops of a destination's paths that may replace the route's own, by rank.
    pub(super) fn others(&self, destination: Prefix) -> &[Nexthop] {
        let planned = self.prepared.alternatives.get(&destination);
        match self.free.shares.get(&destination) {
            // Where nodes route there is the backup route alone.
            Some(shares) if planned.is_some() => &shares.others,
            _ => planned.map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// A planned route as operators want it: with their shares.
    pub(super) fn shared<'b>(
        &self,
        (destination, metric): (Prefix, u32),
        route: &'b WantedRoute,
    ) -> Cow<'b, WantedRoute> {
        let nexthops = match (self.free.shares.get(&destination), metric) {
            (Some(shares), METRIC_PRIMARY) => shares.carriers.clone(),
            (Some(Shares { backup: Some(backup), .. }), METRIC_BACKUP) => vec![backup.clone()],
            _ => return Cow::Borrowed(route),
        };
        Cow::Owned(WantedRoute { nexthops, ..route.clone() })
    }

    /// The route that the plan has, as operators want it.
    fn planned(&self, key: (Prefix, u32)) -> Option<Cow<'_, WantedRoute>> {
        self.prepared.wanted.routes.get(&key).map(|route| self.shared(key, route))
    }

    /// Is this the first nexthop of a path that is not broken?
    pub(super) fn lives(&self, nexthop: &Nexthop) -> bool {
        !self.begins(nexthop, self.dead)
    }

    fn begins(&self, nexthop: &Nexthop, of: &BTreeSet<PathId>) -> bool {
        self.prepared.watches.is_first_hop(nexthop, of)
    }

    /// Conditions on a nexthop, the strictest first. If no nexthop meets one, the next is tried.
    const FITNESS: [fn(&Self, &Nexthop) -> bool; 5] = [
        Self::is_fit,
        Self::is_undrained,
        Self::lives,
        |gated, nexthop| gated.begins(nexthop, &gated.doubtful[0]),
        |gated, nexthop| gated.begins(nexthop, &gated.doubtful[1]),
    ];

    /// The nexthop to use first.
    pub(super) fn best<'b>(&self, nexthops: &[&'b Nexthop]) -> Option<&'b Nexthop> {
        let first =
            |fits: fn(&Self, &Nexthop) -> bool| nexthops.iter().find(|nexthop| fits(self, nexthop));
        Self::FITNESS.into_iter().find_map(first).copied()
    }

    fn is_undrained(&self, nexthop: &Nexthop) -> bool {
        self.lives(nexthop) && !self.begins(nexthop, &self.free.drained)
    }

    /// Is this the first nexthop of a path that is neither broken nor kept free?
    pub(super) fn is_fit(&self, nexthop: &Nexthop) -> bool {
        self.lives(nexthop) && !self.begins(nexthop, &self.free.rested)
    }

    /// The usable part of an open route, or a replacement; `None` if the kernel has one at another
    /// metric, or where nothing leads there. If all paths are kept free, they are used nevertheless; if all are
    /// broken, the route stays as it is, because a doubtful path is better than none.
    pub(super) fn live(&self, key: (Prefix, u32), open: WantedRoute) -> Option<WantedRoute> {
        if let Some(healed) = self.healed.routes.get(&key.0) {
            return healed.route(key.1, &open);
        }
        match key.1 {
            METRIC_PRIMARY => self.live_primary(key.0, open),
            _ => Some(self.live_backup(key.0, open)),
        }
    }

    /// Does no path lead to this destination, not even a doubtful one? For all that is known of failures.
    pub(super) fn is_cut(&self, destination: Prefix) -> bool {
        let planned = [METRIC_PRIMARY, METRIC_BACKUP].map(|m| self.planned((destination, m)));
        let planned = planned.iter().flatten().flat_map(|route| &route.nexthops);
        let mut nexthops = planned.chain(self.others(destination));
        let is_doubtful =
            |nexthop: &Nexthop| self.doubtful.iter().any(|of| self.begins(nexthop, of));
        self.healed.cut.contains(&destination)
            && !nexthops.any(|nexthop| self.lives(nexthop) || is_doubtful(nexthop))
    }

    fn live_primary(&self, destination: Prefix, open: WantedRoute) -> Option<WantedRoute> {
        let backup = self.planned((destination, METRIC_BACKUP));
        for fits in Self::FITNESS {
            let carries = |nexthop: &Nexthop| {
                fits(self, nexthop) && !self.out.contains(nexthop.interface.as_str())
            };
            let part = part(&open, |nexthop| fits(self, nexthop));
            let alternative = || {
                self.alternatives(destination, &open)
                    .find(|alternative| carries(&alternative.nexthops[0]))
            };
            if let Some(route) = part.or_else(alternative) {
                return Some(route);
            }
            let usable =
                |nexthop: &Nexthop| carries(nexthop) && self.closed(&nexthop.interface).is_none();
            if backup.as_ref().is_some_and(|backup| backup.nexthops.iter().any(usable)) {
                return None;
            }
        }
        Some(open)
    }

    /// The route that the kernel falls back to: by another NIC than the path used first.
    fn live_backup(&self, destination: Prefix, open: WantedRoute) -> WantedRoute {
        let planned = self.planned((destination, METRIC_PRIMARY));
        let planned = planned.and_then(|route| self.route(&route).ok());
        let first = planned.clone().and_then(|route| self.live_primary(destination, route));
        if first == planned && open.nexthops.iter().all(|nexthop| self.is_fit(nexthop)) {
            return open;
        }
        let used = first.map(|route| route.nexthops).unwrap_or_default();
        let nic =
            |nexthop: &Nexthop| self.prepared.interfaces.get(&nexthop.interface).map(|i| &i.parent);
        let apart = |nexthop: &Nexthop| used.iter().all(|used| nic(used) != nic(nexthop));
        for fits in Self::FITNESS {
            let carries = |nexthop: &Nexthop| {
                fits(self, nexthop)
                    && apart(nexthop)
                    && !self.out.contains(nexthop.interface.as_str())
            };
            let planned = planned.iter().flat_map(|route| &route.nexthops);
            let alone = |nexthop: &Nexthop| vec![Nexthop { weight: 1, ..nexthop.clone() }];
            let planned =
                planned.map(|nexthop| WantedRoute { nexthops: alone(nexthop), ..open.clone() });
            let mut alternatives = self.alternatives(destination, &open).chain(planned);
            let part = part(&open, |nexthop| fits(self, nexthop) && apart(nexthop));
            if let Some(alternative) =
                part.or_else(|| alternatives.find(|alternative| carries(&alternative.nexthops[0])))
            {
                return alternative;
            }
        }
        part(&open, |nexthop| self.lives(nexthop)).unwrap_or(open)
    }

    /// The usable part of a route, or the VLAN that closes it.
    pub(super) fn route(&self, route: &WantedRoute) -> Result<WantedRoute, (Vid, Gate)> {
        let mut closed = None;
        let mut open = route.clone();
        open.nexthops.retain(|nexthop| {
            let gate = self.closed(&nexthop.interface);
            closed = closed.or(gate);
            gate.is_none()
        });
        match closed {
            Some(closed) if open.nexthops.is_empty() => Err(closed),
            _ => Ok(open),
        }
    }
}

/// The route with only the nexthops for which `is` holds, if there are any.
fn part(route: &WantedRoute, is: impl Fn(&Nexthop) -> bool) -> Option<WantedRoute> {
    let nexthops: Vec<Nexthop> =
        route.nexthops.iter().filter(|nexthop| is(nexthop)).cloned().collect();
    (!nexthops.is_empty()).then(|| WantedRoute { nexthops, ..route.clone() })
}

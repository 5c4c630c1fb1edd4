//! How labels get onto what this node sends: by the encapsulation of the kernel's routes, or where the
//! kernel has none through a TUN interface, from which the daemon sends the packets behind their labels.
//!
//! ```text
//! wanted by the slice      10.77.0.3 -> eth0.100 via A, labels 17/21    metric 7800
//! wanted of the kernel     10.77.0.3 -> tresse-push via A               metric 7800
//! told to the daemon       10.77.0.3 -> eth0, VID 100, MAC of A, labels 17/21
//! ```
//!
//! The kernel keeps choosing between routes and between the members of a group; of several labelled
//! paths to one destination the daemon chooses by flow, by their weights. What the TUN carries leaves
//! with the carrier of the NIC beneath: its path is not told to the daemon, its route not wanted. And
//! the TUN is there only while the daemon runs: where a primary goes through it, the second route is
//! a path without labels if the plan has one, which the kernel falls back to by itself (K1).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_control::PendingLine;
use tresse_fabric::id::Label;
use tresse_fabric::reconcile::{
    ALIAS_PREFIX, Leg, LinkKind, METRIC_BACKUP, METRIC_PRIMARY, Object, Observed, PUSH_INTERFACE,
    Reason, Wanted, WantedLink, WantedRoute,
};
use tresse_fabric::units::{Mac, Prefix};

use super::gate::{Gate, Gated};
use super::prepared::PlannedInterface;
use super::transaction::Job;
use super::{Effect, Engine, Prepared};

/// Who pushes labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SourceEngine {
    /// The kernel's routes.
    Kernel,
    /// The daemon, through a TUN interface.
    Tun,
}

impl SourceEngine {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tun => "tun",
        }
    }
}

/// What the daemon pushes: nothing where there are no routes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pushing {
    /// The NICs that paths leave by, by name: MAC and octets of payload that a frame may have.
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// By destination: its labelled paths.
    pub routes: BTreeMap<IpAddr, Vec<PushPath>>,
}

/// A labelled path of [`Pushing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushPath {
    /// The NIC it leaves by.
    pub nic: String,
    /// The VLAN it leaves on; 0: untagged.
    pub vid: u16,
    /// The NIC of the first transit node.
    pub mac: Mac,
    /// The label stack, outermost first.
    pub labels: Vec<Label>,
    /// Its share beside other paths to the destination.
    pub weight: u8,
}

impl Pushing {
    /// These routes, and those of `other` for other destinations.
    fn over(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.nics.extend(self.nics.clone());
        both.routes.extend(self.routes.clone());
        both
    }
}

impl Prepared {
    /// Does a path of this node begin with labels?
    fn pushes(&self) -> bool {
        let routes = self.wanted.routes.values().flat_map(|route| &route.legs);
        routes.chain(self.alternatives.values().flatten()).any(|leg| !leg.labels.is_empty())
    }

    /// Wants the TUN interface where `engine` needs it.
    pub fn sourced_by(&mut self, engine: SourceEngine) {
        let tun = engine == SourceEngine::Tun && self.pushes();
        let wanted = &mut self.wanted;
        wanted.links.remove(PUSH_INTERFACE);
        let ipv6 = |family: &str| format!("net/ipv6/conf/{PUSH_INTERFACE}/{family}");
        let (disabled, solicitations) = (ipv6("disable_ipv6"), ipv6("router_solicitations"));
        wanted.sysctls.remove(&disabled);
        wanted.sysctls.remove(&solicitations);
        if !tun {
            return;
        }
        let mtu = wanted.nics.values().map(|(_, mtu)| *mtu).max().unwrap_or(1500);
        let alias = format!("{ALIAS_PREFIX}push");
        let link = WantedLink { kind: LinkKind::Tun, mtu, alias, up: true };
        wanted.links.insert(PUSH_INTERFACE.into(), link);
        // Nothing but what is routed there is sent there.
        if wanted.routes.keys().any(|(dst, _)| dst.address.is_ipv6()) {
            wanted.sysctls.insert(solicitations, "0".into());
        } else {
            wanted.sysctls.insert(disabled, "1".into());
        }
    }
}

impl Engine {
    /// What pushes labels here: none where no path needs any.
    pub(super) fn source_engine(&self) -> &'static str {
        let current = self.stored.current.as_ref();
        let pushes = current.is_some_and(|current| current.pushes());
        if pushes { self.settings.sources.word() } else { "none" }
    }

    /// The kernel holds what a job wants: the TUN has no other destinations any more.
    pub(super) fn pushes(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.pushed.clone_from(&job.pushing);
        self.push(job.pushing.clone(), out);
    }

    /// A job is about to change the kernel: destinations of before and of after lead somewhere.
    pub(super) fn pushes_both(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.push(job.pushing.over(&self.pushed), out);
    }

    /// A job is about to be undone.
    pub(super) fn pushes_again(&mut self, job: &Job, out: &mut Vec<Effect>) {
        self.push(self.pushed.over(&job.pushing), out);
    }

    fn push(&mut self, pushing: Pushing, out: &mut Vec<Effect>) {
        if self.pushing != pushing {
            self.pushing.clone_from(&pushing);
            out.push(Effect::Push(Box::new(pushing)));
        }
    }
}

/// Leads what begins with labels through the TUN interface; gives what is pushed there. What waits for
/// a carrier is added to `pending`.
pub(super) fn through_tun(
    wanted: &mut Wanted,
    new: Gated<'_>,
    old: Option<Gated<'_>>,
    observed: &Observed,
    pending: &mut Vec<PendingLine>,
) -> Pushing {
    let plans = [Some(new), old];
    let before = std::mem::take(&mut wanted.routes);
    let source = Source {
        interface: |name: &str| {
            plans.into_iter().flatten().find_map(|plan| plan.prepared.interfaces.get(name))
        },
        wanted,
        observed,
    };
    let mut pushing = Pushing::default();
    let mut waiting: BTreeSet<Leg> = BTreeSet::new();
    let mut routes = BTreeMap::new();
    let mut through: BTreeSet<Prefix> = BTreeSet::new();
    for ((dst, metric), route) in before {
        let (labelled, mut legs): (Vec<Leg>, Vec<Leg>) =
            route.legs.iter().cloned().partition(|leg| !leg.labels.is_empty());
        let mut paths = Vec::new();
        let mut weight = 0_u8;
        let mut via = None;
        for leg in &labelled {
            match source.path(leg) {
                Ok(path) => {
                    weight = weight.saturating_add(leg.weight.max(1));
                    via.get_or_insert(leg.via);
                    let nic = source.wanted.nics.get(&path.nic);
                    pushing.nics.extend(nic.map(|nic| (path.nic.clone(), *nic)));
                    paths.push(path);
                }
                Err(why) if waiting.insert(leg.clone()) => {
                    let object = Object::Leg(leg.clone());
                    let (kind, object) = (object.kind().into(), object.to_string());
                    pending.push(PendingLine { kind, object, why: why.to_string() });
                }
                Err(_) => {}
            }
        }
        if let Some(via) = via {
            if metric == METRIC_PRIMARY && legs.is_empty() {
                through.insert(dst);
            }
            let interface = PUSH_INTERFACE.to_owned();
            legs.push(Leg { interface, via, labels: Vec::new(), weight });
            legs.sort();
            // Of a primary and a backup through the TUN the primary counts: it comes first.
            pushing.routes.entry(dst.address).or_insert(paths);
        }
        if !legs.is_empty() {
            routes.insert((dst, metric), WantedRoute { legs, ..route });
        }
    }
    for dst in through {
        let plain = |leg: &Leg| leg.interface != PUSH_INTERFACE;
        let key = (dst, METRIC_BACKUP);
        if routes.get(&key).is_some_and(|route| route.legs.iter().any(plain)) {
            continue;
        }
        let others = new.prepared.alternatives.get(&dst).into_iter().flatten();
        let open = |leg: &&Leg| {
            let closed = new.closed(&leg.interface);
            leg.labels.is_empty() && !matches!(closed, Some((_, Gate::Unproven | Gate::Fused)))
        };
        let others: Vec<&Leg> = others.filter(open).collect();
        if let (Some(leg), Some(primary)) = (new.best(&others), routes.get(&(dst, METRIC_PRIMARY)))
        {
            let route = WantedRoute { legs: vec![leg.clone()], ..primary.clone() };
            routes.insert(key, route);
        }
    }
    wanted.routes = routes;
    pushing
}

/// What is known of the way out.
struct Source<'a, F> {
    interface: F,
    wanted: &'a Wanted,
    observed: &'a Observed,
}

impl<'a, F: Fn(&str) -> Option<&'a PlannedInterface>> Source<'a, F> {
    /// A leg as the daemon sends by it, if it can.
    fn path(&self, leg: &Leg) -> Result<PushPath, Reason> {
        let absent = || Reason::Absent(leg.interface.clone());
        let vlan = (self.interface)(&leg.interface).ok_or_else(absent)?;
        let key = (leg.interface.clone(), leg.via);
        let mac = self.wanted.neighbours.get(&key).ok_or_else(absent)?.mac;
        let (planned, _) = self.wanted.nics.get(&vlan.parent).ok_or_else(absent)?;
        let links = &self.observed.links;
        let nic = links.get(&vlan.parent).ok_or_else(|| Reason::Absent(vlan.parent.clone()))?;
        if nic.mac != Some(*planned) {
            return Err(Reason::Refused(vlan.parent.clone()));
        }
        if !nic.up {
            return Err(Reason::Down(vlan.parent.clone()));
        }
        // One that is down will be set up; its carrier is that of the NIC.
        let carrier = links.get(&leg.interface).is_none_or(|link| !link.up || link.carrier);
        if !nic.carrier || !carrier {
            return Err(Reason::NoCarrier(leg.interface.clone()));
        }
        Ok(PushPath {
            nic: vlan.parent.clone(),
            vid: vlan.vid,
            mac,
            labels: leg.labels.clone(),
            weight: leg.weight.max(1),
        })
    }
}

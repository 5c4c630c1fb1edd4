//! Goes round failures that the plan's backups do not answer, where nodes route (DESIGN section 7a): says to all nodes
//! what this node knows of the hops to its neighbours, hears the same of the others, and finds the destinations whose
//! planned route is broken somewhere on its way.
//!
//! What others say is kept in the state file as long as it names a failure, so that a daemon that starts does not
//! send into one that it knew.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_frame::records::Origin;
use tresse_liveness::records::{PathState, Report};
use tresse_plan::remaining::{HopState, Remaining, Way};
use tresse_slice::watch::Watch;
use tresse_topology::Hop;

use super::healed::{Healed, HealedRoute, Seen};
use super::prepared::{Prepared, digest};
use super::{Effect, Engine};

/// What is known of all hops of a plan.
pub(super) struct Known<'a> {
    pub(super) remaining: &'a Remaining,
    hops: Vec<Vec<HopState>>,
}

impl Known<'_> {
    pub(super) fn state(&self, node: NodeId, at: usize) -> HopState {
        self.hops[node.index()].get(at).copied().unwrap_or_default()
    }
}

impl Engine {
    /// Records what other nodes say; `None`: nothing more.
    pub(super) fn reported(&mut self, reports: BTreeMap<Origin, Option<Report>>) {
        for (origin, report) in reports {
            match report {
                Some(report) => drop(self.healing.reports.insert(origin, report)),
                None => drop(self.healing.reports.remove(&origin)),
            }
        }
        let failing = self.healing.reports.iter().filter(|(_, report)| names_failure(report));
        let failing: BTreeMap<_, _> = failing.map(|(of, report)| (*of, report.clone())).collect();
        if failing != self.stored.reports {
            self.stored.reports = failing;
            // Stored together with the next change.
            self.dirty = true;
        }
    }

    /// Says what this node knows of its hops, and converges if a destination is to be reached otherwise than
    /// before.
    pub(super) fn heal(&mut self, out: &mut Vec<Effect>) {
        let Some(current) = self.stored.current.clone().filter(|_| self.settings.bfd) else {
            (self.healing.healed, self.healing.seen) = Default::default();
            return;
        };
        let dark = self.dark();
        let dark = dark.iter().map(String::as_str).collect();
        if let Some(report) = self.report_of(&current, &dark)
            && self.healing.said.as_ref() != Some(&report)
        {
            self.healing.said = Some(report.clone());
            let (fabric, node) = (current.fabric, origin(&current.node));
            out.push(Effect::Originate { fabric, node, report: Box::new(report) });
        }
        let hops = |plan| self.known(plan, &dark).map(|known| known.hops);
        let old = self.held_plan();
        let plans = [Some(&current), old.as_ref()].into_iter().flatten();
        let seen = Seen {
            hops: plans.map(|plan| (plan.digest(), hops(plan))).collect(),
            broken: self.paths.broken.clone(),
        };
        if self.healing.seen == seen {
            return;
        }
        self.healing.seen = seen;
        self.note_broken(&current, &dark);
        let healed = self.healed(&current, &dark);
        if healed != self.healing.healed || old.is_some() {
            self.healing.healed = healed;
            self.converge_at = Some(self.now);
            self.urgent = true;
            self.moving = true;
        }
    }

    /// What is not as planned; `dark`: interfaces without carrier.
    pub(super) fn healed(&self, plan: &Prepared, dark: &BTreeSet<&str>) -> Healed {
        let Some(known) = self.known(plan, dark) else { return Healed::default() };
        let (remaining, me) = (known.remaining, plan.id);
        let watches: BTreeMap<NodeId, &Watch> =
            plan.watches.paths().iter().map(|watch| (watch.id.dst, watch)).collect();
        let state = |node, at| known.state(node, at);
        let mut healed = Healed::default();
        for pair in plan.index.pairs() {
            let dst = pair[0].id.dst;
            let keeps = |node| remaining.keeps(node, dst, state);
            if keeps(me) && remaining.beside(me, dst).all(|node| node == dst || keeps(node)) {
                continue;
            }
            let ways = remaining.ways(dst, state);
            let destinations = pair[0].nexthops.iter().map(|(prefix, _)| *prefix);
            let (hop, other) = match ways[me.index()] {
                Way::Around { hop, other } => (Some(hop), other),
                Way::Cut => (None, None),
                Way::Planned | Way::Backup | Way::Unproven => {
                    if remaining.leads_away(me, dst, &ways) {
                        healed.straight.extend(destinations);
                    }
                    continue;
                }
            };
            for prefix in destinations {
                let nexthop = |hop: Hop| {
                    let mut nexthops = watches.get(&hop.to)?.nexthops.iter();
                    let family = prefix.address.is_ipv4();
                    nexthops.find(|nexthop| nexthop.via.is_ipv4() == family).cloned()
                };
                let (nexthop, other) = (hop.and_then(nexthop), other.and_then(nexthop));
                healed.routes.insert(prefix, HealedRoute { nexthop, other });
                healed.straight.insert(prefix);
            }
        }
        healed
    }

    /// What is known of the hops of a plan; `None` if nothing is broken, or nodes do not route.
    pub(super) fn known<'a>(&self, plan: &'a Prepared, dark: &BTreeSet<&str>) -> Option<Known<'a>> {
        let remaining = plan.index.remaining.as_ref()?;
        let own = self.own_hops(plan, remaining, dark);
        let nodes = || (0..remaining.nodes()).map(NodeId::from);
        let fails = |states: &Vec<HopState>| {
            states.iter().any(|state| matches!(state, HopState::Held | HopState::Broken))
        };
        if !fails(&own) && self.stored.reports.is_empty() {
            return None;
        }
        let mut said: Vec<_> = nodes().map(|node| self.said(plan, remaining, node)).collect();
        *said.get_mut(plan.id.index())? = Some(own);
        if !said.iter().flatten().any(fails) {
            return None;
        }
        // Of a node that says nothing, its neighbours know the hops in the other direction.
        let word = |node: NodeId, hop: &Hop| {
            let back = Hop { nic: hop.to_nic, to: node, to_nic: hop.nic };
            let at = remaining.hops(hop.to).iter().position(|other| *other == back)?;
            said[hop.to.index()].as_ref()?.get(at).copied()
        };
        let of = |node: NodeId| match &said[node.index()] {
            Some(states) => states.clone(),
            None => {
                let hops = remaining.hops(node).iter();
                hops.map(|hop| word(node, hop).unwrap_or_default()).collect()
            }
        };
        Some(Known { remaining, hops: nodes().map(of).collect() })
    }

    /// What a node says of its hops; also while it has the other one of two plans.
    fn said(&self, plan: &Prepared, remaining: &Remaining, node: NodeId) -> Option<Vec<HopState>> {
        let name = plan.index.node(node);
        let report = self.healing.reports.get(&origin(name))?;
        let states = report.hops.iter().map(|state| hop_state(*state));
        if report.generation == plan.digest() {
            return Some(states.collect());
        }
        let plans = [&self.stored.current, &self.stored.previous].into_iter().flatten();
        let other = plans.into_iter().find(|other| other.digest() == report.generation)?;
        let there = other.index.remaining.as_ref()?;
        let id = (0..there.nodes()).map(NodeId::from).find(|id| other.index.node(*id) == name)?;
        let to = there.hops(id).iter().map(|hop| other.index.node(hop.to));
        let states: BTreeMap<&str, HopState> = to.zip(states).collect();
        let state = |hop: &Hop| states.get(plan.index.node(hop.to)).copied().unwrap_or_default();
        Some(remaining.hops(node).iter().map(state).collect())
    }

    /// What this node knows of its own hops.
    fn own_hops(
        &self,
        plan: &Prepared,
        remaining: &Remaining,
        dark: &BTreeSet<&str>,
    ) -> Vec<HopState> {
        let (dead, sound, [held, _]) = (self.dead(plan), self.sound(plan), self.doubtful(plan));
        let watches: BTreeMap<NodeId, &Watch> =
            plan.watches.paths().iter().map(|watch| (watch.id.dst, watch)).collect();
        let state = |hop: &Hop| match watches.get(&hop.to) {
            None => HopState::Unknown,
            Some(watch) if dark.contains(watch.nexthop.interface.as_str()) => HopState::Broken,
            Some(watch) if held.contains(&watch.id) => HopState::Held,
            Some(watch) if dead.contains(&watch.id) => HopState::Broken,
            Some(watch) if sound.contains(&watch.id) => HopState::Sound,
            Some(_) => HopState::Unknown,
        };
        remaining.hops(plan.id).iter().map(state).collect()
    }

    /// What this node has to say; `None` where nodes do not route.
    fn report_of(&self, plan: &Prepared, dark: &BTreeSet<&str>) -> Option<Report> {
        let remaining = plan.index.remaining.as_ref()?;
        let hops = self.own_hops(plan, remaining, dark);
        Some(Report {
            generation: plan.digest(),
            hops: hops.into_iter().map(path_state).collect(),
            ..Report::default()
        })
    }

    /// The interfaces without carrier.
    pub(super) fn dark(&self) -> BTreeSet<String> {
        let links = self.view.iter().flat_map(|view| &view.observed.links);
        let dark = links.filter(|(_, link)| link.up && !link.carrier);
        dark.map(|(name, _)| name.clone()).collect()
    }
}

fn names_failure(report: &Report) -> bool {
    report.hops.iter().any(|state| matches!(state, PathState::Held | PathState::Broken))
}

fn origin(node: &str) -> Origin {
    Origin(u64::from_be_bytes(digest(node)))
}

const fn hop_state(state: PathState) -> HopState {
    match state {
        PathState::Unknown => HopState::Unknown,
        PathState::Sound => HopState::Sound,
        PathState::Held => HopState::Held,
        PathState::Broken => HopState::Broken,
    }
}

const fn path_state(state: HopState) -> PathState {
    match state {
        HopState::Unknown => PathState::Unknown,
        HopState::Sound => PathState::Sound,
        HopState::Held => PathState::Held,
        HopState::Broken => PathState::Broken,
    }
}

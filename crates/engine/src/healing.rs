//! Goes round failures that the plan's backups do not answer (DESIGN section 7a): says to all nodes what this node knows
//! of its hops, hears the same of the others, and finds the destinations whose planned route is broken somewhere on its
//! way. Where nodes route a hop leads to a neighbour; elsewhere it is all planned paths to another node.
//!
//! What others say is kept in the state file as long as it names a failure, so that a daemon that starts does not
//! send into one that it knew. So is the word of a node that joins planned paths, without which it would not be used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tresse_base::id::NodeId;
use tresse_frame::records::Origin;
use tresse_liveness::records::{PathState, Report};
use tresse_plan::remaining::{HopState, Way};
use tresse_reconcile::{Nexthop, is_force_forwarding};
use tresse_topology::Hop;

use super::healed::{Healed, HealedRoute, Seen, names_failure, origin};
use super::known::{Known, Word, dark_places, key_of};
use super::prepared::Prepared;
use super::schedule::Cause;
use super::{Effect, Engine, Unsaved};

/// News of others that come within this time are acted on together.
const GATHER_MS: u64 = 100;

impl Engine {
    /// Records what other nodes say; `None`: nothing more.
    pub(super) fn reported(&mut self, reports: BTreeMap<Origin, Option<Report>>) {
        for (origin, report) in reports {
            self.healing.recalled.remove(&origin);
            match report {
                Some(report) => drop(self.healing.reports.insert(origin, report)),
                None => drop(self.healing.reports.remove(&origin)),
            }
        }
        self.keep_failures();
    }

    /// Keeps in the state file what others say of failures and drains, as far as one of the plans knows them, and what
    /// those say that join planned paths.
    fn keep_failures(&mut self) {
        let mut failing = BTreeMap::new();
        for plan in [&self.stored.current, &self.stored.previous].into_iter().flatten() {
            let Some(remaining) = &plan.index.remaining else { continue };
            let generation = plan.digest();
            for node in (0..remaining.nodes()).map(NodeId::from) {
                let of = origin(plan.index.node(node));
                let report = self.healing.reports.get(&of);
                let joins = self.healing.healed.joins.contains(plan.index.node(node));
                let is_kept = |said: &&Report| joins || names_failure(said);
                let said = report.filter(|said| said.generation == generation).filter(is_kept);
                failing.extend(said.map(|said| {
                    let places = remaining.hops(node).len();
                    let hops = said.hops.iter().take(places).copied().collect();
                    let drained = said.drained.range(..places).copied().collect();
                    (of, Report { generation, hops, drained, ..Report::default() })
                }));
            }
        }
        self.healing.failing = self.healing.reports.values().any(names_failure);
        if failing != self.stored.reports {
            self.stored.reports = failing;
            self.unsaved.add(Unsaved::Failures);
            self.schedule.request(self.now + GATHER_MS, Cause::Kernel);
        }
    }

    /// Forgets what the state file had of nodes that have said nothing since this daemon started.
    fn forget_recalled(&mut self) {
        if self.healing.recalled_until.is_some_and(|at| at <= self.now) {
            self.healing.recalled_until = None;
            for of in std::mem::take(&mut self.healing.recalled) {
                self.healing.reports.remove(&of);
            }
            self.keep_failures();
        }
    }

    /// Says what this node knows of its hops, and converges if a destination is to be reached otherwise than
    /// before.
    pub(super) fn heal(&mut self, out: &mut Vec<Effect>) {
        self.forget_recalled();
        let Some(current) = self.stored.current.clone() else {
            (self.healing.healed, self.healing.seen) = Default::default();
            return;
        };
        let dark = self.dark();
        let dark = dark.iter().map(String::as_str).collect();
        let own_dark = dark_places(&current, &dark);
        if !self.settings.bfd {
            (self.healing.healed, self.healing.seen) = Default::default();
            if !own_dark.is_empty() || !self.healing.since.is_empty() {
                self.note_broken(&current, self.known(&current, &dark).as_ref());
            }
            return;
        }
        let shut = self.shut(&current);
        let remaining = current.index.remaining.as_ref();
        let own = remaining.map(|remaining| self.own_words(&current, remaining, &dark));
        // Before the kernel was looked at nothing is known of carriers.
        let report = own.as_ref().map(|own| Report {
            loads: self.adaptive.said(&current).to_vec(),
            shut,
            ..report_of(&current, own, &own_dark)
        });
        if let Some(report) = report.filter(|_| self.view.is_some())
            && self.healing.said.as_ref() != Some(&report)
        {
            self.healing.said = Some(report.clone());
            let (fabric, node) = (current.fabric, origin(&current.node));
            out.push(Effect::Originate { fabric, node, report: Box::new(report) });
        }
        let old = self.held_plan();
        let known = own.and_then(|own| self.known_with(&current, own, &own_dark));
        let of_old = old.as_ref().and_then(|old| self.known(old, &dark));
        let words = |known: Option<&Known<'_>>| known.map(|known| known.words.clone());
        let seen = Seen {
            plan: current.digest(),
            words: [words(known.as_ref()), words(of_old.as_ref())],
            broken: self.paths.broken.clone(),
        };
        if self.healing.seen == seen && self.healing.healed.shut == self.shut_gateways(&current) {
            return;
        }
        self.healing.seen = seen;
        self.note_broken(&current, known.as_ref());
        let healed = self.healed_by(&current, known.as_ref(), &dark);
        if healed != self.healing.healed || old.is_some() {
            self.healing.healed = healed;
            self.keep_failures();
            self.go_round();
        }
    }

    /// What is not as planned; `dark`: interfaces without carrier.
    pub(super) fn healed(&self, plan: &Arc<Prepared>, dark: &BTreeSet<&str>) -> Healed {
        let known = self.known(plan, dark);
        let words = known.as_ref().map(|known| &known.words);
        let seen = &self.healing.seen;
        // Finding the routes takes long on many nodes: not twice for one failure.
        if seen.plan == plan.digest()
            && seen.words[0].as_ref() == words
            && self.healing.healed.shut == self.shut_gateways(plan)
        {
            return self.healing.healed.clone();
        }
        self.healed_by(plan, known.as_ref(), dark)
    }

    fn healed_by(
        &self,
        plan: &Arc<Prepared>,
        known: Option<&Known<'_>>,
        dark: &BTreeSet<&str>,
    ) -> Healed {
        Healed { shut: self.shut_gateways(plan), ..self.gone_round(plan, known, dark) }
    }

    fn gone_round(
        &self,
        plan: &Arc<Prepared>,
        known: Option<&Known<'_>>,
        dark: &BTreeSet<&str>,
    ) -> Healed {
        let Some(known) = known else { return Healed::default() };
        let (remaining, me) = (known.remaining, plan.id);
        let nexthops = self.used(plan, dark);
        let state = |node, at| known.state(node, at);
        let (joins, ipv6) = (remaining.joins_paths(), self.forwards_ipv6());
        let mut healed = Healed::default();
        for pair in plan.index.pairs() {
            let dst = pair[0].id.dst;
            let keeps = |node| remaining.keeps(node, dst, state);
            if keeps(me) && remaining.beside(me, dst).all(|node| node == dst || keeps(node)) {
                continue;
            }
            let ways = remaining.ways(dst, state, |node| known.speaks(node));
            let destinations = pair[0].nexthops.iter().map(|(prefix, _)| *prefix);
            let (hop, other) = match ways[me.index()] {
                // By its own paths, which are chosen where the plan's are.
                Way::Around { hop, .. } if joins && hop.to == dst => continue,
                Way::Around { hop, other } => (Some(hop), other),
                Way::Cut if joins => {
                    healed.cut.extend(destinations);
                    continue;
                }
                Way::Cut => (None, None),
                Way::Planned | Way::Backup | Way::Unproven => {
                    if remaining.leads_away(me, dst, &ways) {
                        healed.straight.extend(destinations);
                    }
                    continue;
                }
            };
            for prefix in destinations {
                // No node is sent through that does not forward it.
                if joins && !prefix.address.is_ipv4() && !ipv6 {
                    continue;
                }
                let nexthop = |hop: Hop| {
                    let watch = nexthops.get(&key_of(plan, hop))?.1;
                    let mut nexthops = watch.nexthops.iter();
                    let family = prefix.address.is_ipv4();
                    nexthops.find(|nexthop| nexthop.via.is_ipv4() == family).cloned()
                };
                let sent_by = [hop, other].into_iter().flatten().filter(|_| joins);
                let (nexthop, other) = (hop.and_then(nexthop), other.and_then(nexthop));
                if joins && nexthop.is_none() {
                    continue;
                }
                healed.joins.extend(sent_by.map(|hop| plan.index.node(hop.to).to_owned()));
                // What stands behind it is for when its NIC has lost its carrier.
                let nic = |of: &Nexthop| plan.interfaces.get(&of.interface).map(|i| &i.parent);
                let other = other.filter(|other| nexthop.as_ref().and_then(nic) != nic(other));
                // The first of the joined paths may carry less.
                let first = hop.filter(|_| joins).and_then(|hop| plan.route_to(hop.to, prefix));
                let mtu = first.map(|route| (route.mtu, route.advmss));
                healed.routes.insert(prefix, HealedRoute { nexthop, other, mtu });
                healed.straight.insert(prefix);
            }
        }
        healed
    }

    /// Does this node forward IPv6 where paths are joined? Others of the fabric are taken to be alike.
    fn forwards_ipv6(&self) -> bool {
        let mut sysctls = self.view.iter().flat_map(|view| view.observed.sysctls.keys());
        sysctls.any(|key| is_force_forwarding(key))
    }
}

/// What this node has to say, knowing this of its own hops and that these of its NICs have no carrier.
fn report_of(plan: &Prepared, own: &[Word], dark: &BTreeSet<usize>) -> Report {
    let places = |says: fn(&Word) -> bool| {
        let words = own.iter().enumerate().filter(move |(_, word)| says(word));
        words.map(|(at, _)| at).collect()
    };
    Report {
        generation: plan.digest(),
        dark: dark.clone(),
        silent: places(|(_, silent)| *silent),
        drained: places(|(state, _)| *state == HopState::Drained),
        hops: own.iter().map(|(state, _)| path_state(*state)).collect(),
        ..Report::default()
    }
}

const fn path_state(state: HopState) -> PathState {
    match state {
        HopState::Unknown => PathState::Unknown,
        HopState::Sound | HopState::Drained => PathState::Sound,
        HopState::Held => PathState::Held,
        HopState::Broken => PathState::Broken,
    }
}

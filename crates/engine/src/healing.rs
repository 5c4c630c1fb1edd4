//! Goes round failures that the plan's backups do not answer (DESIGN section 7a): says to all nodes what this node knows
//! of its hops, hears the same of the others, and finds the destinations whose planned route is broken somewhere on its
//! way. Where nodes route a hop leads to a neighbour; elsewhere it is all planned paths to another node.
//!
//! What others say is kept in the state file as long as it names a failure, so that a daemon that starts does not
//! send into one that it knew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tresse_base::id::{NodeId, PathId};
use tresse_frame::records::Origin;
use tresse_liveness::records::{PathState, Report};
use tresse_plan::remaining::{HopState, Remaining, Way};
use tresse_reconcile::{Nexthop, is_force_forwarding};
use tresse_slice::watch::{Crossing, Watch};
use tresse_topology::Hop;

use super::gate::Gate;
use super::healed::{Healed, HealedRoute, Seen, Words};
use super::prepared::{Prepared, digest};
use super::{Effect, Engine};

/// What a node says of a hop: its state, and whether its neighbour is there by echoes alone.
type Word = (HopState, bool);

/// News of others that come within this time are acted on together.
const GATHER_MS: u64 = 100;

/// What is known of all hops of a plan.
pub(super) struct Known<'a> {
    pub(super) remaining: &'a Remaining,
    words: Words,
}

impl Known<'_> {
    pub(super) fn state(&self, node: NodeId, at: usize) -> HopState {
        self.words[node.index()].0.get(at).copied().unwrap_or_default()
    }

    pub(super) fn speaks(&self, node: NodeId) -> bool {
        self.words[node.index()].1
    }
}

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

    /// Keeps in the state file what others say of failures and drains, as far as one of the plans knows them.
    fn keep_failures(&mut self) {
        let mut failing = BTreeMap::new();
        for plan in [&self.stored.current, &self.stored.previous].into_iter().flatten() {
            let Some(remaining) = &plan.index.remaining else { continue };
            let generation = plan.digest();
            for node in (0..remaining.nodes()).map(NodeId::from) {
                let of = origin(plan.index.node(node));
                let report = self.healing.reports.get(&of);
                let said =
                    report.filter(|said| said.generation == generation && names_failure(said));
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
            self.dirty = true;
            let at = self.now + GATHER_MS;
            self.converge_at = Some(self.converge_at.map_or(at, |due| due.min(at)));
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
        let old = self.held_plan();
        let known = self.known(&current, &dark);
        let of_old = old.as_ref().and_then(|old| self.known(old, &dark));
        let words = |known: Option<&Known<'_>>| known.map(|known| known.words.clone());
        let seen = Seen {
            plan: current.digest(),
            words: [words(known.as_ref()), words(of_old.as_ref())],
            broken: self.paths.broken.clone(),
        };
        if self.healing.seen == seen {
            return;
        }
        self.healing.seen = seen;
        self.note_broken(&current, known.as_ref());
        let healed = self.healed_by(&current, known.as_ref(), &dark);
        if healed != self.healing.healed || old.is_some() {
            self.healing.healed = healed;
            self.converge_at = Some(self.now);
            self.urgent = true;
            self.moving = true;
        }
    }

    /// What is not as planned; `dark`: interfaces without carrier.
    pub(super) fn healed(&self, plan: &Arc<Prepared>, dark: &BTreeSet<&str>) -> Healed {
        let known = self.known(plan, dark);
        let words = known.as_ref().map(|known| &known.words);
        let seen = &self.healing.seen;
        // Finding the routes takes long on many nodes: not twice for one failure.
        if seen.plan == plan.digest() && seen.words[0].as_ref() == words {
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
        let Some(known) = known else { return Healed::default() };
        let (remaining, me) = (known.remaining, plan.id);
        let nexthops = self.used(plan, dark);
        let state = |node, at| known.state(node, at);
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
                Way::Around { hop, other } => (Some(hop), other),
                // The planned route stays: without one the kernel would drop what comes back (K10).
                Way::Cut if remaining.joins_paths() => continue,
                Way::Cut => (None, None),
                Way::Planned | Way::Backup | Way::Unproven => {
                    if remaining.leads_away(me, dst, &ways) {
                        healed.straight.extend(destinations);
                    }
                    continue;
                }
            };
            let joins = remaining.joins_paths();
            for prefix in destinations {
                // No node is sent through that does not forward it.
                if joins && !prefix.address.is_ipv4() && !self.forwards_ipv6() {
                    continue;
                }
                let nexthop = |hop: Hop| {
                    let mut nexthops = nexthops.get(&hop.to)?.1.nexthops.iter();
                    let family = prefix.address.is_ipv4();
                    nexthops.find(|nexthop| nexthop.via.is_ipv4() == family).cloned()
                };
                let (nexthop, other) = (hop.and_then(nexthop), other.and_then(nexthop));
                if joins && nexthop.is_none() {
                    continue;
                }
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

    /// What is known of the hops of a plan; `None` if the planned routes answer it, as nothing is broken and one part is
    /// drained at most, or if nodes do not route.
    pub(super) fn known<'a>(&self, plan: &'a Prepared, dark: &BTreeSet<&str>) -> Option<Known<'a>> {
        let remaining = plan.index.remaining.as_ref()?;
        let own = self.own_words(plan, remaining, dark);
        if !own.iter().any(|(state, _)| state.is_avoided()) && !self.healing.failing {
            return None;
        }
        let nodes = || (0..remaining.nodes()).map(NodeId::from);
        let mut said: Vec<_> = nodes().map(|node| self.said(plan, remaining, node)).collect();
        *said.get_mut(plan.id.index())? = Some(own);
        // Who is there by echoes alone is not believed: its daemon may be dead.
        let silent: Vec<bool> = nodes().map(|node| is_silent(remaining, &said, node)).collect();
        for (node, said) in said.iter_mut().enumerate() {
            said.take_if(|_| silent[node] && node != plan.id.index());
        }
        let fails = |(state, _): &Word| state.was_broken();
        // Where paths are joined, a drained hop is a pair that has no other path.
        let planned = match remaining.joins_paths() {
            true => drained(&said).next().is_none(),
            false => remaining.are_of_one_part(drained(&said)),
        };
        if planned && !said.iter().flatten().flatten().any(fails) {
            return None;
        }
        // Of a node that says nothing, its neighbours know the hops in the other direction.
        let word = |node: NodeId, hop: &Hop| {
            let back = Hop { nic: hop.to_nic, to: node, to_nic: hop.nic };
            let at = remaining.place(hop.to, back)?;
            said[hop.to.index()].as_ref()?.get(at).map(|(state, _)| *state)
        };
        let drained = self.drained_nodes(plan);
        let of = |node: NodeId| match &said[node.index()] {
            // Where paths are joined, nothing is sent through a node that is drained here.
            Some(said) => {
                let speaks = !remaining.joins_paths() || !drained.contains(&node);
                (said.iter().map(|(state, _)| *state).collect(), speaks)
            }
            None => {
                let hops = remaining.hops(node).iter();
                (hops.map(|hop| word(node, hop).unwrap_or_default()).collect(), false)
            }
        };
        Some(Known { remaining, words: nodes().map(of).collect() })
    }

    /// What a node says of its hops; also while it has the other one of two plans.
    fn said(&self, plan: &Prepared, remaining: &Remaining, node: NodeId) -> Option<Vec<Word>> {
        let name = plan.index.node(node);
        let report = self.healing.reports.get(&origin(name))?;
        let state = |at, state| match hop_state(state) {
            HopState::Unknown | HopState::Sound if report.drained.contains(&at) => {
                HopState::Drained
            }
            state => state,
        };
        let words = report.hops.iter().enumerate();
        let words = words.map(|(at, said)| (state(at, *said), report.silent.contains(&at)));
        if report.generation == plan.digest() {
            let mut words: Vec<Word> = words.collect();
            words.resize(remaining.hops(node).len(), Word::default());
            return Some(words);
        }
        let plans = [&self.stored.current, &self.stored.previous].into_iter().flatten();
        let other = plans.into_iter().find(|other| other.digest() == report.generation)?;
        let there = other.index.remaining.as_ref()?;
        let id = (0..there.nodes()).map(NodeId::from).find(|id| other.index.node(*id) == name)?;
        let to = there.hops(id).iter().map(|hop| other.index.node(hop.to));
        let words: BTreeMap<&str, Word> = to.zip(words).collect();
        let word = |hop: &Hop| words.get(plan.index.node(hop.to)).copied().unwrap_or_default();
        Some(remaining.hops(node).iter().map(word).collect())
    }

    /// What this node knows of its own hops.
    fn own_words(
        &self,
        plan: &Prepared,
        remaining: &Remaining,
        dark: &BTreeSet<&str>,
    ) -> Vec<Word> {
        let silent = self.silent(plan);
        let used = self.used(plan, dark);
        let word = |(state, watch): &(HopState, &Watch)| (*state, silent.contains(&watch.id));
        let hops = remaining.hops(plan.id).iter();
        hops.map(|hop| used.get(&hop.to).map(word).unwrap_or_default()).collect()
    }

    /// By the node that they lead to: the watched path that this node sends by, and what is known of it. It is the first
    /// of those that are not avoided, else the one that is best nevertheless.
    fn used<'a>(
        &self,
        plan: &'a Prepared,
        dark: &BTreeSet<&str>,
    ) -> BTreeMap<NodeId, (HopState, &'a Watch)> {
        let (mut used, gates) = (BTreeMap::new(), self.gates(plan));
        for (watch, state) in plan.watches.paths().iter().zip(self.states(plan, dark)) {
            // No route uses a VLAN before it is proven.
            let vlan = plan.interfaces.get(&watch.nexthop.interface).and_then(|of| of.vid);
            if Gate::of(&gates, vlan) == Gate::Unproven {
                continue;
            }
            let best = used.entry(watch.id.dst).or_insert((state, watch));
            if state.comes_before(best.0) {
                *best = (state, watch);
            }
        }
        used
    }

    /// What is known of a watched path of this node.
    pub(super) fn state_of(
        &self,
        plan: &Prepared,
        path: PathId,
        dark: &BTreeSet<&str>,
    ) -> HopState {
        let mut all = plan.watches.paths().iter().zip(self.states(plan, dark));
        all.find(|(watch, _)| watch.id == path).map_or_else(HopState::default, |(_, state)| state)
    }

    /// What is known of the watched paths of this node, in their order.
    fn states(&self, plan: &Prepared, dark: &BTreeSet<&str>) -> Vec<HopState> {
        let (dead, sound, [held, _]) = (self.dead(plan), self.sound(plan), self.doubtful(plan));
        let drained = self.stored.steering.drained_paths(plan);
        let watches = plan.watches.paths().iter();
        let proven: BTreeSet<Crossing> = watches
            .clone()
            .filter(|watch| sound.contains(&watch.id))
            .flat_map(|watch| watch.wires.iter().copied())
            .collect();
        let gates = self.gates(plan);
        // With VLANs its interface is down while one is fused, and may be gone.
        let is_shut = |watch: &Watch| {
            let interface = &watch.nexthop.interface;
            let vlan = plan.interfaces.get(interface).and_then(|of| of.vid);
            vlan.is_some() && self.view.is_some() && !self.usable(interface)
                || Gate::of(&gates, vlan) == Gate::Fused
        };
        let state = |watch: &Watch| match watch.id {
            _ if self.is_dark(plan, &watch.nexthop, dark) || is_shut(watch) => HopState::Broken,
            id if held.contains(&id) => HopState::Held,
            id if dead.contains(&id) => HopState::Broken,
            // The kernel keeps it free, whatever is known of it.
            id if drained.contains(&id) => HopState::Drained,
            id if sound.contains(&id) => HopState::Sound,
            // Not watched, and others prove all that it crosses.
            _ if watch.wires.iter().all(|wire| proven.contains(wire)) => HopState::Sound,
            _ => HopState::Unknown,
        };
        watches.map(state).collect()
    }

    /// Has the interface of a nexthop no carrier, or the NIC below it?
    fn is_dark(&self, plan: &Prepared, nexthop: &Nexthop, dark: &BTreeSet<&str>) -> bool {
        let parent = plan.interfaces.get(&nexthop.interface).map(|of| of.parent.as_str());
        dark.contains(nexthop.interface.as_str()) || parent.is_some_and(|nic| dark.contains(nic))
    }

    /// Do nodes go round what is broken or drained anywhere, as they hear their neighbours and tell each other?
    pub(super) fn heals(&self, plan: &Prepared) -> bool {
        let dark = self.dark();
        let dark = dark.iter().map(String::as_str).collect();
        let words = |remaining| self.own_words(plan, remaining, &dark);
        let is_known = |words: Vec<Word>| words.iter().all(|word| word.0 != HopState::Unknown);
        let remaining = plan.index.remaining.as_ref().filter(|_| plan.index.goes_by_hops());
        self.settings.bfd && remaining.map(words).is_some_and(is_known)
    }

    /// What this node has to say; `None` where nodes do not route.
    fn report_of(&self, plan: &Prepared, dark: &BTreeSet<&str>) -> Option<Report> {
        let words = self.own_words(plan, plan.index.remaining.as_ref()?, dark);
        let places = |says: fn(&Word) -> bool| {
            let words = words.iter().enumerate().filter(move |(_, word)| says(word));
            words.map(|(at, _)| at).collect()
        };
        Some(Report {
            generation: plan.digest(),
            silent: places(|(_, silent)| *silent),
            drained: places(|(state, _)| *state == HopState::Drained),
            hops: words.iter().map(|(state, _)| path_state(*state)).collect(),
            ..Report::default()
        })
    }

    /// The nodes that are drained on this one.
    fn drained_nodes(&self, plan: &Prepared) -> BTreeSet<NodeId> {
        self.stored.steering.parts(plan).iter().filter_map(|part| part.node()).collect()
    }

    /// Does this node forward IPv6 where paths are joined? Others of the fabric are taken to be alike.
    fn forwards_ipv6(&self) -> bool {
        let mut sysctls = self.view.iter().flat_map(|view| view.observed.sysctls.keys());
        sysctls.any(|key| is_force_forwarding(key))
    }

    /// The interfaces without carrier.
    pub(super) fn dark(&self) -> BTreeSet<String> {
        let links = self.view.iter().flat_map(|view| &view.observed.links);
        let dark = links.filter(|(_, link)| link.up && !link.carrier);
        dark.map(|(name, _)| name.clone()).collect()
    }
}

/// Is a node there, but by echoes alone, as its neighbours say?
fn is_silent(remaining: &Remaining, said: &[Option<Vec<Word>>], node: NodeId) -> bool {
    let arriving = remaining.arriving(node).iter();
    let words = arriving.filter_map(|(from, at)| said[from.index()].as_ref()?.get(*at));
    let mut there = words.filter(|(state, _)| state.arrives());
    there.next().is_some_and(|(_, silent)| *silent) && there.all(|(_, silent)| *silent)
}

/// The drained hops, as the sender and the place among its hops.
fn drained(said: &[Option<Vec<Word>>]) -> impl Iterator<Item = (NodeId, usize)> {
    let of = |(node, said): (usize, &Option<Vec<Word>>)| {
        let words = said.iter().flatten().enumerate();
        let drained = words.filter(|(_, (state, _))| *state == HopState::Drained);
        drained.map(|(at, _)| (NodeId::from(node), at)).collect::<Vec<_>>()
    };
    said.iter().enumerate().flat_map(of)
}

fn names_failure(report: &Report) -> bool {
    !report.drained.is_empty() || report.hops.iter().any(|state| hop_state(*state).was_broken())
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
        HopState::Sound | HopState::Drained => PathState::Sound,
        HopState::Held => PathState::Held,
        HopState::Broken => PathState::Broken,
    }
}

//! What this node knows of the hops of a plan: of its own by the sessions that watch its paths, of those of others by what
//! they say, and of those that say nothing by the word of their neighbours.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_plan::remaining::{HopState, Remaining};
use tresse_reconcile::Nexthop;
use tresse_slice::watch::{Crossing, Watch};
use tresse_topology::Hop;

use super::Engine;
use super::gate::Gate;
use super::healed::{Words, hop_state, origin};
use super::prepared::Prepared;

/// What a node says of a hop: its state, and whether its neighbour is there by echoes alone.
pub(super) type Word = (HopState, bool);

/// What is known of all hops of a plan.
pub(super) struct Known<'a> {
    pub(super) remaining: &'a Remaining,
    pub(super) words: Words,
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
    /// What is known of the hops of a plan; `None` if the planned routes answer it, as nothing is broken and one part is
    /// drained at most, or if failures are not gone round.
    pub(super) fn known<'a>(&self, plan: &'a Prepared, dark: &BTreeSet<&str>) -> Option<Known<'a>> {
        let own = self.own_words(plan, plan.index.remaining.as_ref()?, dark);
        self.known_with(plan, own, &dark_places(plan, dark))
    }

    /// The same with what this node knows of its own hops, and the places of its NICs without carrier.
    pub(super) fn known_with<'a>(
        &self,
        plan: &'a Prepared,
        own: Vec<Word>,
        own_dark: &BTreeSet<usize>,
    ) -> Option<Known<'a>> {
        let remaining = plan.index.remaining.as_ref()?;
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
        // A cable that has no carrier at one end is dead in both directions: nobody waits for the word of the other end.
        let dark: Vec<Option<&BTreeSet<usize>>> = nodes()
            .map(|node| match node == plan.id {
                true => Some(own_dark),
                false => self.said_dark(plan, node).filter(|_| said[node.index()].is_some()),
            })
            .collect();
        let is_dark =
            |node: NodeId, nic| dark[node.index()].is_some_and(|dark| dark.contains(&nic));
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
        let mut words: Words = nodes().map(of).collect();
        if !remaining.joins_paths() {
            for node in nodes() {
                for (state, hop) in words[node.index()].0.iter_mut().zip(remaining.hops(node)) {
                    if is_dark(node, hop.nic) || is_dark(hop.to, hop.to_nic) {
                        *state = HopState::Broken;
                    }
                }
            }
        }
        Some(Known { remaining, words })
    }

    /// The places of NICs that another node says have no carrier.
    pub(super) fn said_dark(&self, plan: &Prepared, node: NodeId) -> Option<&BTreeSet<usize>> {
        let report = self.healing.reports.get(&origin(plan.index.node(node)))?;
        (report.generation == plan.digest()).then_some(&report.dark)
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
        // Of several cables to one node the worst word.
        let mut of: BTreeMap<&str, Word> = BTreeMap::new();
        for (name, word) in to.zip(words) {
            let worst = of.entry(name).or_insert(word);
            *worst = word.max(*worst);
        }
        let word = |hop: &Hop| of.get(plan.index.node(hop.to)).copied().unwrap_or_default();
        Some(remaining.hops(node).iter().map(word).collect())
    }

    /// What this node knows of its own hops.
    pub(super) fn own_words(
        &self,
        plan: &Prepared,
        remaining: &Remaining,
        dark: &BTreeSet<&str>,
    ) -> Vec<Word> {
        let silent = self.silent(plan);
        let used = self.used(plan, dark);
        let word = |(state, watch): &(HopState, &Watch)| (*state, silent.contains(&watch.id));
        let hops = remaining.hops(plan.id).iter();
        hops.map(|hop| used.get(&key_of(plan, *hop)).map(word).unwrap_or_default()).collect()
    }

    /// By the hop that they are ([`key_of`]): the watched path that this node sends by, and what is known of it. It is the first
    /// of those that are not avoided, else the one that is best nevertheless.
    pub(super) fn used<'a>(
        &self,
        plan: &'a Prepared,
        dark: &BTreeSet<&str>,
    ) -> BTreeMap<(NodeId, usize), (HopState, &'a Watch)> {
        let (mut used, gates) = (BTreeMap::new(), self.gates(plan));
        let by_hops = plan.index.goes_by_hops();
        for (watch, state) in plan.watches.paths().iter().zip(self.states(plan, dark)) {
            // No route uses a VLAN before it is proven.
            let vlan = plan.interfaces.get(&watch.nexthop.interface).and_then(|of| of.vid);
            if Gate::of(&gates, vlan) == Gate::Unproven {
                continue;
            }
            let nic = match watch.wires.first() {
                Some(Crossing::Out(_, nic)) if by_hops => *nic,
                _ => 0,
            };
            let best = used.entry((watch.id.dst, nic)).or_insert((state, watch));
            if state.comes_before(best.0) {
                *best = (state, watch);
            }
        }
        used
    }

    /// What is known of the watched paths of this node, in their order.
    pub(super) fn states(&self, plan: &Prepared, dark: &BTreeSet<&str>) -> Vec<HopState> {
        let (dead, sound, [held, _]) = (self.dead(plan), self.sound(plan), self.doubtful(plan));
        let drained = self.stored.steering.drained_paths(plan);
        let watches = plan.watches.paths().iter();
        // Seldom asked for: most paths have sessions.
        let proven = LazyCell::new(|| -> BTreeSet<Crossing> {
            let sound = watches.clone().filter(|watch| sound.contains(&watch.id));
            sound.flat_map(|watch| watch.wires.iter().copied()).collect()
        });
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
        watches.clone().map(state).collect()
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

    /// The nodes that are drained on this one.
    fn drained_nodes(&self, plan: &Prepared) -> BTreeSet<NodeId> {
        self.stored.steering.parts(plan).iter().filter_map(|part| part.node()).collect()
    }

    /// The interfaces without carrier.
    pub(super) fn dark(&self) -> BTreeSet<String> {
        let links = self.view.iter().flat_map(|view| &view.observed.links);
        let dark = links.filter(|(_, link)| link.up && !link.carrier);
        dark.map(|(name, _)| name).chain(&self.dark).cloned().collect()
    }
}

/// The places of this node's NICs without carrier; `dark`: their names.
pub(super) fn dark_places(plan: &Prepared, dark: &BTreeSet<&str>) -> BTreeSet<usize> {
    let nics = (0..).map_while(|at| plan.index.parts.nic(plan.id, at));
    nics.enumerate().filter(|(_, (_, nic))| dark.contains(nic)).map(|(at, _)| at).collect()
}

/// The key of a hop among the watched paths: the node that it leads to, and where nodes route the NIC, as several cables may
/// lead there.
pub(super) fn key_of(plan: &Prepared, hop: Hop) -> (NodeId, usize) {
    (hop.to, if plan.index.goes_by_hops() { hop.nic } else { 0 })
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

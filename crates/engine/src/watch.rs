//! Sends failure detection (BFD) the list of paths to watch, and records which paths are broken and
//! therefore not used (K10).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tresse_base::id::{NodeId, PathId};
use tresse_control::Alert;
use tresse_liveness::{SendingInterface, WatchedPath, Watching};
use tresse_reconcile::Nexthop;
use tresse_slice::watch::{Crossing, Watch};

use super::gate::Gate;
use super::healed::origin;
use super::vlans::mac_of;
use super::{Effect, Engine, Prepared, Unsaved, publish};

/// Number of path events that are reported one by one if many paths break or return at once.
const MAX_PUBLISHED: usize = 8;
/// How long paths over a NIC are not used for the word of its node that it has no carrier: longer than failure detection
/// takes, which alone decides from then on. The node may have stopped, and cannot take its word back.
const DARK_MS: u64 = 10_000;
/// How long they are still not used after its node has said that the carrier is back.
const BACK_MS: u64 = 1000;
/// How long the session of a path has for coming up before the path is probed: to a node that speaks, and to one of which
/// nothing was heard, which may be starting. Sessions begin with a packet a second, and need three.
const UNHEARD_MS: u64 = 5000;
const UNMET_MS: u64 = 30_000;

impl Engine {
    /// Gives failure detection the paths to watch, if they have changed.
    pub(super) fn watch(&mut self, current: Option<&Prepared>, out: &mut Vec<Effect>) {
        if !self.settings.bfd {
            return;
        }
        let watches = current.map(|current| current.watches.clone()).unwrap_or_default();
        let interfaces = current.map(|current| self.sendable(current)).unwrap_or_default();
        let known = self.paths.watches == watches;
        if known && self.paths.watching.interfaces == interfaces {
            return;
        }
        let paths = match known {
            true => self.paths.watching.paths.clone(),
            false => watches.paths().iter().map(watched).collect::<Vec<WatchedPath>>().into(),
        };
        let generation = current.map(Prepared::digest).unwrap_or_default();
        let broken = self.paths.broken.clone();
        let probed = match known {
            true => std::mem::take(&mut self.paths.watching.probed),
            false => {
                self.paths.unheard.clear();
                BTreeSet::new()
            }
        };
        self.paths.watches = watches;
        let senders = match (known, current) {
            (true, _) => self.paths.watching.senders.clone(),
            (false, Some(current)) => current.index.senders().into(),
            (false, None) => Arc::default(),
        };
        self.paths.watching = Watching { generation, paths, broken, probed, interfaces, senders };
        out.push(Effect::Watch(Box::new(self.paths.watching.clone())));
    }

    /// The paths of a plan that are not used, as they are broken.
    pub(super) fn dead(&self, plan: &Prepared) -> BTreeSet<PathId> {
        paths_by(plan, &self.stored.broken)
    }

    /// The paths of a plan that are shown to be sound.
    pub(super) fn sound(&self, plan: &Prepared) -> BTreeSet<PathId> {
        paths_by(plan, &self.paths.sound)
    }

    /// The paths of a plan whose sessions are not up.
    pub(super) fn silent(&self, plan: &Prepared) -> BTreeSet<PathId> {
        paths_by(plan, &self.paths.silent)
    }

    /// Those of the broken paths of a plan that are better than none, the best first: shown to be sound
    /// again, and only suspected.
    pub(super) fn doubtful(&self, plan: &Prepared) -> [BTreeSet<PathId>; 2] {
        [&self.paths.held, &self.paths.suspected].map(|of| paths_by(plan, of))
    }

    /// The interfaces of watched paths that may be used for sending: with carrier, on proven VLANs. A VLAN whose tree has
    /// changed is to be proven anew; until then the plan before goes on using it, and it is watched.
    fn sendable(&self, current: &Prepared) -> BTreeMap<String, SendingInterface> {
        let mut gates = self.gates(current);
        let before = self.held_plan().map(|old| self.gates(&old)).unwrap_or_default();
        gates.extend(before.into_iter().filter(|(_, gate)| *gate == Gate::Open));
        let paths = current.watches.paths().iter().filter(|watch| !watch.arrival.is_empty());
        let names: BTreeSet<&String> =
            paths.flat_map(|watch| [&watch.nexthop.interface, &watch.arrival]).collect();
        let interface = |name: &String| {
            let vid = current.interfaces.get(name)?.vid;
            let link = self.view.as_ref()?.observed.links.get(name)?;
            let mac = mac_of(current, name)?;
            let open = Gate::of(&gates, vid) == Gate::Open;
            (open && self.usable(name)).then_some(SendingInterface { ifindex: link.index, mac })
        };
        names.into_iter().filter_map(|name| Some((name.clone(), interface(name)?))).collect()
    }

    /// Records a path event: which paths are broken and which are sound, of the plan that was
    /// watched then.
    pub(super) fn seen(
        &mut self,
        generation: [u8; 8],
        event: [&BTreeSet<PathId>; 3],
        out: &mut Vec<Effect>,
    ) {
        if generation == self.paths.watching.generation {
            self.note_dark();
            self.paths.event = event.map(BTreeSet::clone);
            self.paths.event_of = generation;
            self.judge_paths(out);
        }
    }

    /// Judges the paths anew if the NICs have changed that other nodes say have no carrier, or if the time is over
    /// for which one of them is believed.
    pub(super) fn hear_dark(&mut self, out: &mut Vec<Effect>) {
        if self.note_dark() && self.paths.event_of == self.paths.watching.generation {
            self.judge_paths(out);
        }
    }

    /// Notes which NICs other nodes say have no carrier. Returns whether paths are to be judged anew.
    fn note_dark(&mut self) -> bool {
        let Some(current) = self.stored.current.clone().filter(|_| self.settings.bfd) else {
            self.paths.dark.clear();
            return false;
        };
        let of = |node: NodeId| {
            let dark = self.said_dark(&current, node).into_iter().flatten();
            dark.map(move |nic| (node, *nic))
        };
        let others = (0..current.nodes).map(NodeId).filter(|node| *node != current.id);
        let said: BTreeSet<(NodeId, usize)> = others.flat_map(of).collect();
        let (now, paths) = (self.now, &mut self.paths);
        let before: BTreeSet<(NodeId, usize)> = paths.dark.keys().copied().collect();
        if paths.dark_of != current.digest() {
            paths.dark_of = current.digest();
            (paths.said_dark, paths.dark) = Default::default();
        }
        for nic in paths.said_dark.difference(&said) {
            paths.dark.entry(*nic).and_modify(|until| *until = (*until).min(now + BACK_MS));
        }
        paths.dark.retain(|_, until| *until > now);
        paths.dark.extend(said.difference(&paths.said_dark).map(|nic| (*nic, now + DARK_MS)));
        paths.said_dark = said;
        !before.iter().eq(paths.dark.keys())
    }

    /// When [`hear_dark`](Self::hear_dark) has something to do without a report.
    pub(super) fn dark_until(&self) -> Option<u64> {
        self.paths.dark.values().min().copied()
    }

    /// Finds which of the watched paths are not used.
    fn judge_paths(&mut self, out: &mut Vec<Effect>) {
        let Some(current) = self.stored.current.clone() else { return };
        let watches = &current.watches;
        let [down, up, silent] = &self.paths.event;
        // A node whose kernel answers echoes while its daemon is silent: the word of its daemon is old.
        let is_proven = |watch: &Watch| up.contains(&watch.id) && silent.contains(&watch.id);
        let is_dark = |wire: &Crossing| match wire {
            Crossing::In(node, nic) | Crossing::Out(node, nic) => {
                self.paths.dark.contains_key(&(*node, *nic))
            }
            Crossing::Between(_) => false,
        };
        let is_dead = |watch: &&Watch| watch.wires.iter().any(is_dark) && !is_proven(watch);
        let dead: BTreeSet<PathId> =
            watches.paths().iter().filter(is_dead).map(|watch| watch.id).collect();
        let (up, silent) = (&(up - &dead), &silent.clone());
        let broken = watches.broken(&(down | &dead), up);
        let before = std::mem::replace(&mut self.paths.broken, broken);
        let broken = &self.paths.broken;
        let paths = |of: &BTreeSet<PathId>| -> Vec<&Watch> {
            watches.paths().iter().filter(|watch| of.contains(&watch.id)).collect()
        };
        let dead = paths(broken).into_iter().flat_map(|watch| &watch.nexthops);
        // Of paths that only the old plan has, nothing is heard any more: they stay as they were.
        let unknown = |nexthop: &&Nexthop| watches.path_of(nexthop).is_none();
        let old = self.stored.broken.iter().filter(unknown).filter(|_| self.held_plan().is_some());
        let dead: BTreeSet<Nexthop> = dead.chain(old).cloned().collect();
        let first_hops = |of| -> BTreeSet<Nexthop> {
            paths(of).into_iter().flat_map(|watch| watch.nexthops.iter().cloned()).collect()
        };
        (self.paths.sound, self.paths.silent) = (first_hops(up), first_hops(silent));
        let mut news = Vec::new();
        for (alert, kind, paths, message) in [
            (
                Alert::Warning,
                "path-down",
                paths(&(broken - &before)),
                "not used while it is broken",
            ),
            (Alert::Info, "path-up", paths(&(&before - broken)), "is used again"),
        ] {
            for watch in paths.iter().take(MAX_PUBLISHED) {
                publish(&mut news, alert, kind, &name(watch), message);
            }
            if paths.len() > MAX_PUBLISHED {
                publish(
                    &mut news,
                    alert,
                    kind,
                    "",
                    &format!("and {} more", paths.len() - MAX_PUBLISHED),
                );
            }
        }
        if dead != self.stored.broken {
            self.stored.broken = dead;
            self.unsaved.add(Unsaved::Failures);
            self.count("path_changes_total");
            self.go_round();
        }
        out.extend(news);
    }

    /// Records which of the broken paths are shown to be sound again, and which are only suspected: no session
    /// of their own is down. The latter are probed until nothing is broken any more. Both matter to peers
    /// that no other path leads to.
    pub(super) fn doubt(
        &mut self,
        generation: [u8; 8],
        down: &BTreeSet<PathId>,
        held: &BTreeSet<PathId>,
        out: &mut Vec<Effect>,
    ) {
        let Some(current) = self.stored.current.clone() else { return };
        if generation != self.paths.watching.generation {
            return;
        }
        let paths = current.watches.paths();
        let first_hops = |of: &BTreeSet<PathId>| -> BTreeSet<Nexthop> {
            let paths = paths.iter().filter(|watch| of.contains(&watch.id));
            paths.flat_map(|watch| watch.nexthops.iter().cloned()).collect()
        };
        let suspected = &self.paths.broken - down;
        self.note_unheard(&current);
        self.probe(&suspected, out);
        let (held, suspected) = (first_hops(held), first_hops(&suspected));
        let changed: BTreeSet<&Nexthop> = held
            .symmetric_difference(&self.paths.held)
            .chain(suspected.symmetric_difference(&self.paths.suspected))
            .collect();
        let peers = |of: &dyn Fn(&Watch) -> bool| -> BTreeSet<NodeId> {
            paths.iter().filter(|watch| of(watch)).map(|watch| watch.id.dst).collect()
        };
        let concerned =
            peers(&|watch| watch.nexthops.iter().any(|nexthop| changed.contains(nexthop)));
        let whole = peers(&|watch| !self.is_broken(watch.id));
        if !concerned.is_subset(&whole) {
            self.go_round();
        }
        (self.paths.held, self.paths.suspected) = (held, suspected);
    }

    /// Probes the paths that nothing was heard of for long enough: what broke before their sessions came up ends none.
    pub(super) fn ask_unheard(&mut self, out: &mut Vec<Effect>) {
        let Some(current) = self.stored.current.clone() else { return };
        if self.settings.bfd && self.paths.event_of == self.paths.watching.generation {
            self.note_unheard(&current);
            self.probe(&BTreeSet::new(), out);
        }
    }

    /// When [`ask_unheard`](Self::ask_unheard) has something to do without news.
    pub(super) fn unheard_until(&self) -> Option<u64> {
        let unheard = self.paths.unheard.iter();
        let waits = unheard.filter(|(id, _)| !self.paths.watching.probed.contains(id));
        waits.map(|(_, at)| *at).min()
    }

    /// Notes which paths nothing has been heard of, and until when that may be.
    fn note_unheard(&mut self, current: &Prepared) {
        let [down, up, silent] = &self.paths.event;
        let watches = current.watches.paths().iter();
        let met: BTreeSet<NodeId> = watches
            .clone()
            .filter(|watch| !silent.contains(&watch.id))
            .map(|watch| watch.id.dst)
            .collect();
        let patience = |node| {
            let of = origin(current.index.node(node));
            let is_new = !self.healing.recalled.contains(&of);
            match self.healing.reports.get(&of).filter(|_| is_new) {
                Some(report) if report.generation == current.digest() => Some(UNHEARD_MS),
                // It has another plan, and need not have the path yet.
                Some(_) => None,
                None if met.contains(&node) => Some(UNHEARD_MS),
                None => Some(UNMET_MS),
            }
        };
        let unheard = watches.filter(|watch| {
            watch.active
                && silent.contains(&watch.id)
                && !down.contains(&watch.id)
                && !up.contains(&watch.id)
                && self.paths.watching.interfaces.contains_key(&watch.nexthop.interface)
        });
        let at = |watch: &Watch| {
            let at = self.now + patience(watch.id.dst)?;
            Some((watch.id, self.paths.unheard.get(&watch.id).map_or(at, |before| at.min(*before))))
        };
        self.paths.unheard = unheard.filter_map(at).collect();
    }

    /// Has the paths probed that are suspected, until nothing is broken any more, and those that nothing was heard of.
    fn probe(&mut self, suspected: &BTreeSet<PathId>, out: &mut Vec<Effect>) {
        let mut probed = match self.paths.broken.is_empty() {
            true => BTreeSet::new(),
            false => &self.paths.watching.probed | suspected,
        };
        let unheard = self.paths.unheard.iter().filter(|(_, at)| **at <= self.now);
        probed.extend(unheard.map(|(id, _)| *id));
        if probed != self.paths.watching.probed {
            self.paths.watching.probed = probed;
            out.push(Effect::Watch(Box::new(self.paths.watching.clone())));
        }
    }

    /// Is a path of the plan in force not used, as it is broken?
    pub(super) fn is_broken(&self, path: PathId) -> bool {
        self.paths.broken.contains(&path)
    }

    /// The broken paths in words.
    pub(super) fn broken(&self) -> Vec<String> {
        let Some(current) = &self.stored.current else { return Vec::new() };
        let paths = current.watches.paths().iter().filter(|watch| self.is_broken(watch.id));
        paths.map(name).collect()
    }
}

/// The paths of a plan that begin with one of these nexthops.
fn paths_by(plan: &Prepared, nexthops: &BTreeSet<Nexthop>) -> BTreeSet<PathId> {
    if nexthops.is_empty() {
        return BTreeSet::new();
    }
    let begins = |watch: &&Watch| watch.nexthops.iter().any(|nexthop| nexthops.contains(nexthop));
    plan.watches.paths().iter().filter(begins).map(|watch| watch.id).collect()
}

/// A path as a session needs it.
fn watched(watch: &Watch) -> WatchedPath {
    WatchedPath {
        id: watch.id,
        source: watch.source,
        destination: watch.destination,
        interface: watch.nexthop.interface.clone(),
        mac: watch.mac,
        labels: watch.nexthop.labels.clone(),
        arrival: Some(watch.arrival.clone()).filter(|arrival| !arrival.is_empty()),
        shared: watch.shared,
        transits: watch.transits,
        active: watch.active,
        nodes: watch.nodes,
    }
}

/// A path in words.
fn name(watch: &Watch) -> String {
    format!("{} rank {} by {}", watch.peer, watch.id.rank, watch.nexthop.interface)
}

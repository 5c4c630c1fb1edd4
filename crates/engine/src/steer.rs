//! Carries out drains (paths keep off a part of the fabric), pins (only one path to a node is used)
//! and weights (paths share the traffic to a node), and reports which destinations they affect.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use tresse_base::id::{NodeId, PathId};
use tresse_base::units::Prefix;
use tresse_control::{Alert, NodeError};
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, Nexthop};
use tresse_topology::path::Crossing;

use super::chosen;
use super::gate::Gate;
use super::index::PathEntry;
use super::job::{Job, Purpose, Steered};
use super::kept_free::KeptFree;
use super::steering::{Steer, Steering};
use super::{CallId, Effect, Engine, Intent, Prepared, Reply, Unsaved, publish};

impl Engine {
    /// Starts a change of drains or pins, or refuses it.
    pub(super) fn steer(
        &mut self,
        call: CallId,
        steer: &Steer,
        force: bool,
        dry_run: bool,
        out: &mut Vec<Effect>,
    ) {
        let Some(current) = self.stored.current.clone() else {
            return out.push(Effect::Reply(call, Err(NodeError::NoPlan)));
        };
        if self.stored.intent == Some(Intent::Withdraw) {
            let busy = NodeError::Busy { doing: "withdrawing".into() };
            return out.push(Effect::Reply(call, Err(busy)));
        }
        let after = match self.stored.steering.after(steer, &current, self.heals(&current)) {
            Ok(after) => after,
            Err(error) => return out.push(Effect::Reply(call, Err(error))),
        };
        let reply = self.outcome(&current, &after);
        if dry_run {
            return out.push(Effect::Reply(call, Ok(Reply::Steered(reply))));
        }
        if !force && !reply.cut.is_empty() {
            let object = steer.object().to_owned();
            let error = NodeError::WouldCut { object, destinations: reply.cut };
            return out.push(Effect::Reply(call, Err(error)));
        }
        self.unsaved.add(Unsaved::journal_if(after != self.stored.steering));
        let before = std::mem::replace(&mut self.stored.steering, after);
        self.resteer();
        let steered = Steered { call, steer: steer.clone(), reply, before };
        self.observe(Job::new(Purpose::Steer(Box::new(steered)), Some(current)), out);
    }

    /// Finds again which paths of the plan in force are broken, and which are kept free.
    pub(super) fn resteer(&mut self) {
        let current = self.stored.current.as_ref();
        let broken = current.map(|current| self.dead(current));
        let free = current.map(|current| {
            let mut free = self.stored.steering.kept_free(current);
            self.adaptive.share(current, &mut free);
            free
        });
        self.paths.broken = broken.unwrap_or_default();
        self.free = Arc::new(free.unwrap_or_default());
    }

    /// The paths of a plan that are kept free.
    pub(super) fn kept_free(&self, plan: &Arc<Prepared>) -> Arc<KeptFree> {
        match &self.stored.current {
            Some(current) if Arc::ptr_eq(current, plan) => self.free.clone(),
            _ => Arc::new(self.stored.steering.kept_free(plan)),
        }
    }

    /// Drops pins and weights of paths that the plan in force does not have.
    pub(super) fn drop_pins(&mut self, out: &mut Vec<Effect>) {
        let Some(current) = &self.stored.current else { return };
        // A plan whose texts this version cannot read has no index: nothing is known of its paths.
        if current.index.pairs().next().is_none() {
            return;
        }
        let mut dropped = Vec::new();
        let steering = &mut self.stored.steering;
        steering.pinned.retain(|peer, pinned| {
            let kept = pinned.is_in(current, peer);
            if !kept {
                dropped.push((
                    peer.clone(),
                    "the plan has another path of that rank: not pinned any more",
                ));
            }
            kept
        });
        steering.weights.retain(|peer, weights| {
            let kept = chosen::fit(weights, current, peer);
            if !kept {
                dropped.push((
                    peer.clone(),
                    "the plan has other paths of these ranks: shared as the plan says",
                ));
            }
            kept
        });
        for (peer, message) in dropped {
            publish(out, Alert::Warning, "unpinned", &peer, message);
        }
    }

    /// Why a path is not used: `broken`, `drained`, or `standby` beside a path that its pair is pinned to.
    pub(super) fn unused(&self, path: PathId) -> Option<&'static str> {
        match () {
            () if self.is_broken(path) => Some("broken"),
            () if !self.free.rested.contains(&path) => None,
            () if self.free.drained.contains(&path) => Some("drained"),
            () => Some("standby"),
        }
    }

    /// The pinned pairs in words.
    pub(super) fn pinned(&self) -> Vec<String> {
        let pinned = self.stored.steering.pinned.iter();
        pinned.map(|(peer, pinned)| format!("{peer} rank {}", pinned.rank)).collect()
    }

    /// The weighted pairs in words.
    pub(super) fn weighted(&self) -> Vec<String> {
        let pair = |(peer, weights): (&String, &Vec<chosen::WeightedPath>)| {
            let ranks = weights.iter().map(|w| format!("rank {} weight {}", w.path.rank, w.weight));
            format!("{peer} {}", ranks.collect::<Vec<_>>().join(", "))
        };
        self.stored.steering.weights.iter().map(pair).collect()
    }

    /// The effect of new drains and pins on the destinations, according to the paths known to be
    /// sound.
    fn outcome(&self, current: &Prepared, after: &Steering) -> tresse_control::Steered {
        let watches = &current.watches;
        let free = after.kept_free(current);
        let (before, rested) = (&self.free.rested, &free.rested);
        let gates = self.gates(current);
        let carries = |nexthop: &Nexthop| {
            let vid =
                current.interfaces.get(&nexthop.interface).and_then(|interface| interface.vid);
            let open = Gate::of(&gates, vid) == Gate::Open;
            let broken = watches.is_first_hop(nexthop, &self.paths.broken);
            open && !broken && self.usable(&nexthop.interface)
        };
        let routes = &current.wanted.routes;
        let nodes: BTreeSet<IpAddr> =
            watches.paths().iter().map(|watch| watch.destination).collect();
        let backups = routes.keys().any(|(_, metric)| *metric == METRIC_BACKUP);
        let (mut steered, heals) = (tresse_control::Steered::default(), self.heals(current));
        for ((destination, _), primary) in routes.iter().filter(|((_, m), _)| *m == METRIC_PRIMARY)
        {
            let backup = routes.get(&(*destination, METRIC_BACKUP));
            let others = current.alternatives.get(destination);
            // A NIC's address has one path, because it names that NIC.
            let named = match current.routes_for_others() {
                true => backups && backup.is_none(),
                false => !nodes.contains(&destination.address),
            };
            if named {
                continue;
            }
            let nexthops =
                primary.nexthops.iter().chain(backup.iter().flat_map(|route| &route.nexthops));
            let nexthops =
                nexthops.chain(others.into_iter().flatten()).filter(|nexthop| carries(nexthop));
            let paths: BTreeSet<PathId> =
                nexthops.filter_map(|nexthop| watches.path_of(nexthop)).collect();
            // What is kept free beside a pin, or has no weight, is used if there is no other.
            let count = |drained: &BTreeSet<PathId>| paths.difference(drained).count();
            let list = match (count(&self.free.drained), count(&free.drained)) {
                // By another hop than the planned ones, if any: `cut_further_on` knows.
                (1.., 0) if heals => &mut steered.single,
                (1.., 0) => &mut steered.cut,
                (2.., 1) => &mut steered.single,
                _ => continue,
            };
            list.push(name(*destination));
        }
        let changes = |rested: &BTreeSet<PathId>| {
            let key = |(d, m): &(Prefix, u32)| (*m == METRIC_PRIMARY).then(|| name(*d));
            let is_rested = |nexthop: &Nexthop| watches.is_first_hop(nexthop, rested);
            let touched = routes.iter().filter(|(_, route)| route.nexthops.iter().any(is_rested));
            touched.filter_map(|(at, _)| key(at)).collect::<BTreeSet<String>>()
        };
        let moves = self.moves(current, &free);
        let mut moved: BTreeSet<String> =
            changes(before).symmetric_difference(&changes(rested)).cloned().collect();
        moved.extend(moves.iter().flat_map(|moved| moved.addresses.iter().cloned()));
        steered.moved = moved.into_iter().collect();
        steered.moves = moves.into_iter().map(|moved| moved.line).collect();
        self.cut_further_on(current, after, heals, &mut steered);
        steered.moved_nodes = current.index.owners(&steered.moved);
        steered.single_nodes = current.index.owners(&steered.single);
        steered.cut_nodes = current.index.owners(&steered.cut);
        steered
    }

    /// Where nodes route, adds the destinations that nothing would join to this node without what is
    /// drained, or that the plan has one path to and that crosses it, wherever it is: nodes further on
    /// send such traffic through it, unless they go round it (`heals`).
    fn cut_further_on(
        &self,
        current: &Prepared,
        after: &Steering,
        heals: bool,
        steered: &mut tresse_control::Steered,
    ) {
        if !current.routes_for_others() {
            return;
        }
        let index = &current.index;
        let dead: Vec<Crossing> = {
            let broken = current.watches.paths().iter();
            let broken = broken
                .filter(|watch| self.is_broken(watch.id) || !self.usable(&watch.nexthop.interface));
            broken.flat_map(|watch| watch.wires.iter().copied()).collect()
        };
        let without = |steering: &Steering| -> BTreeSet<Crossing> {
            let parts = steering.parts(current);
            let wires = parts.iter().flat_map(|part| part.wires().iter().copied());
            wires.chain(dead.iter().copied()).collect()
        };
        let [before, after] = [&self.stored.steering, after].map(without);
        if before == after {
            return;
        }
        let [joined, left] = [&before, &after].map(|without| match &index.remaining {
            Some(remaining) if index.goes_by_hops() => remaining.joined(current.id, |from, hop| {
                let crossed = [Crossing::Out(from, hop.nic), Crossing::In(hop.to, hop.to_nic)];
                !crossed.iter().any(|crossing| without.contains(crossing))
            }),
            _ => index.parts.joined(current.id, without),
        });
        let reaches = |pair: &[PathEntry],
                       without: &BTreeSet<Crossing>,
                       joined: &BTreeSet<NodeId>| {
            let whole = |entry: &PathEntry| !entry.wires.iter().any(|wire| without.contains(wire));
            joined.contains(&pair[0].id.dst) && (heals || pair.len() > 1 || whole(&pair[0]))
        };
        let cut: BTreeSet<String> = index
            .pairs()
            .filter(|pair| reaches(pair, &before, &joined) && !reaches(pair, &after, &left))
            .flat_map(|pair| pair[0].nexthops.iter().map(|(to, _)| name(*to)))
            .collect();
        steered.single.retain(|address| !cut.contains(address));
        let all: BTreeSet<String> = steered.cut.drain(..).chain(cut).collect();
        steered.cut = all.into_iter().collect();
    }
}

fn name(destination: Prefix) -> String {
    destination.address.to_string()
}

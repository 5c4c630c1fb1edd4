//! Detours that are used as they are needed (`reflect = "adaptive"`; big-fat-switches-ring-clique-reflector, section
//! 5): each node says to all others what it sends over the wires of the fabric, with the records of failures, and moves
//! the traffic of its pairs onto paths through third nodes while its own paths are full and those are not.
//!
//! `wires` adds up what all nodes say, `shares` decides. Any weights are safe: all these paths are in the plan, which was
//! verified with all of them.

mod shares;
#[cfg(test)]
mod tests;
mod wires;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, NodeId, PathId};
use tresse_liveness::records::WireLoad;

use self::shares::PathUse;
use self::wires::{Own, Wires};
use super::engines::SourceEngine;
use super::index::PathEntry;
use super::kept_free::KeptFree;
use super::prepared::Prepared;
use super::{Effect, Engine};

/// The weights of a pair change at most once in this time.
const REST_MS: u64 = 2000;
/// For so long a detour that was in the way of others gets no more.
const HELD_MS: u64 = 30_000;
/// What others are told of a wire is told again if it changes by this part of what the wire can carry, or after a while.
const NEWS: f64 = 0.05;
const AGAIN_MS: u64 = 10_000;

/// What is to be sampled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampled {
    /// What leaves by these NICs.
    pub nics: Vec<String>,
    /// Also with labels? Otherwise the daemon pushes these itself, and counts it.
    pub labelled: bool,
    /// What comes from these addresses, those of this node: it forwards for others, too.
    pub sources: BTreeSet<IpAddr>,
}

/// What a node has sent in a while, by sampling, and what its NICs have carried.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// How long the while was.
    pub elapsed_ms: u64,
    /// What went to each destination by each path.
    pub traffic: Vec<Traffic>,
    /// By NIC: bytes sent and received, of all traffic.
    pub carried: BTreeMap<String, (u64, u64)>,
}

/// What a node has sent to one destination by one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The destination.
    pub destination: IpAddr,
    /// The NIC that it left by.
    pub nic: String,
    /// The VLAN.
    pub vid: Option<u16>,
    /// The labels, outermost first.
    pub labels: Vec<Label>,
    /// About how many bytes.
    pub bytes: u64,
}

/// What the engine knows of detours that are used as they are needed.
#[derive(Debug, Default)]
pub(super) struct Adaptive {
    /// Digest of the plan that all of this is of.
    plan: [u8; 8],
    /// By destination: the weights of its paths, where they are not those of the plan.
    weights: BTreeMap<NodeId, Vec<u8>>,
    /// When they were last changed.
    changed: BTreeMap<NodeId, u64>,
    /// The detours that were in the way of others, and until when they get no more.
    held: BTreeMap<PathId, u64>,
    /// What this node says of its own traffic, and when it said so.
    said: Vec<WireLoad>,
    said_at: u64,
    sampled: Sampled,
}

impl Adaptive {
    /// What the own record says of wires.
    pub(super) fn said(&self, plan: &Prepared) -> &[WireLoad] {
        if self.plan == plan.digest() { &self.said } else { &[] }
    }

    /// Shares the traffic of pairs whose weights are not those of the plan, unless an operator says how.
    pub(super) fn share(&self, plan: &Prepared, free: &mut KeptFree) {
        if self.plan != plan.digest() {
            return;
        }
        for pair in plan.index.pairs() {
            let Some(weights) = self.weights.get(&pair[0].id.dst) else { continue };
            let is_shared = pair[0].nexthops.iter().any(|(to, _)| free.shares.contains_key(to));
            if !is_shared {
                free.share_by(pair, weights);
            }
        }
    }
}

impl Engine {
    /// Has the interfaces sampled by which traffic leaves whose detours are used as they are needed.
    pub(super) fn sample(&mut self, out: &mut Vec<Effect>) {
        let current = self.stored.current.as_ref().filter(|_| self.settings.bfd);
        let adaptive = current.filter(|current| !current.index.rates.is_empty());
        let mut wanted = Sampled::default();
        if let Some(current) = adaptive {
            wanted.nics.extend(current.wanted.nics.keys().cloned());
            wanted.labelled = self.settings.engines.sources == SourceEngine::Kernel;
            let own = current.wanted.addresses.iter().map(|(_, address)| *address);
            wanted.sources.extend(own);
        }
        if self.adaptive.sampled != wanted {
            self.adaptive.sampled.clone_from(&wanted);
            out.push(Effect::Sample(wanted));
        }
    }

    /// Records what this node has sent, says so to all others, and moves traffic.
    pub(super) fn sent(&mut self, sent: &Sent) {
        let Some(current) = self.stored.current.clone() else { return };
        if current.index.rates.is_empty() || sent.elapsed_ms == 0 {
            return;
        }
        if self.adaptive.plan != current.digest() {
            let sampled = std::mem::take(&mut self.adaptive.sampled);
            self.adaptive = Adaptive { plan: current.digest(), sampled, ..Adaptive::default() };
        }
        let wires = Wires::of(&current);
        let by_path = Self::by_path(&current, sent);
        let own = Own::of(&current, &wires, &by_path, sent);
        self.say(&wires, &own);
        let reports = self.healing.reports.values();
        let reports = reports.filter(|report| report.generation == current.digest());
        let others = wires.said(reports.flat_map(|report| &report.loads));
        self.adaptive.held.retain(|_, until| self.now < *until);
        let mut moved = false;
        for pair in current.index.pairs() {
            moved |= self.balance(&current, pair, &by_path, &wires.beside(&others, &own, pair));
        }
        if moved {
            self.count("detour_changes_total");
            self.resteer();
            self.go_round();
        }
    }

    /// Bytes a second by path.
    fn by_path(current: &Prepared, sent: &Sent) -> BTreeMap<PathId, f64> {
        let mut pairs = BTreeMap::new();
        for pair in current.index.pairs() {
            pairs.extend(pair[0].nexthops.iter().map(|(to, _)| (to.address, pair)));
        }
        let mut by_path: BTreeMap<PathId, f64> = BTreeMap::new();
        for traffic in &sent.traffic {
            let Some(pair) = pairs.get(&traffic.destination) else { continue };
            let rate = traffic.bytes as f64 * 1000.0 / sent.elapsed_ms as f64;
            let nexthop = |path: &PathEntry| {
                let to = path.nexthops.iter().find(|(to, _)| to.address == traffic.destination);
                to.map(|(_, nexthop)| nexthop.clone())
            };
            let leaves = |path: &&PathEntry| {
                nexthop(path).is_some_and(|nexthop| {
                    let interface = current.interfaces.get(&nexthop.interface);
                    nexthop.labels == traffic.labels
                        && interface.is_some_and(|of| {
                            of.parent == traffic.nic && of.vid.map(|vid| vid.0) == traffic.vid
                        })
                })
            };
            if let Some(path) = pair.iter().find(leaves) {
                *by_path.entry(path.id).or_default() += rate;
            }
        }
        by_path
    }

    /// Says to all others what this node sends, if that is news.
    fn say(&mut self, wires: &Wires, own: &Own) {
        let says = wires.says(own);
        let before = self.adaptive.said.iter().map(|load| ((load.wire, load.kind), load.rate));
        let before: BTreeMap<_, _> = before.collect();
        let is_news = |load: &WireLoad| {
            let before =
                before.get(&(load.wire, load.kind)).map_or(0, |rate| rate.bytes_per_second());
            let change = load.rate.bytes_per_second().abs_diff(before) as f64;
            change > NEWS * wires.capacity_of(load.wire)
        };
        let gone =
            |load: &&WireLoad| !says.iter().any(|of| (of.wire, of.kind) == (load.wire, load.kind));
        let news = says.iter().any(is_news) || self.adaptive.said.iter().any(|load| gone(&load));
        if news || self.now >= self.adaptive.said_at + AGAIN_MS && says != self.adaptive.said {
            (self.adaptive.said, self.adaptive.said_at) = (says, self.now);
        }
    }

    /// Decides how a pair shares its traffic. Returns whether otherwise than before.
    fn balance(
        &mut self,
        current: &Arc<Prepared>,
        pair: &[PathEntry],
        by_path: &BTreeMap<PathId, f64>,
        loads: &wires::Beside,
    ) -> bool {
        let dst = pair[0].id.dst;
        let peer = current.index.node(dst);
        let steering = &self.stored.steering;
        if steering.pinned.contains_key(peer) || steering.weights.contains_key(peer) {
            self.adaptive.weights.remove(&dst);
            return false;
        }
        let sends = pair.iter().any(|path| by_path.contains_key(&path.id));
        if !sends && !self.adaptive.weights.contains_key(&dst) {
            return false;
        }
        if self.adaptive.changed.get(&dst).is_some_and(|at| self.now < at + REST_MS) {
            return false;
        }
        let paths: Vec<PathUse> = pair
            .iter()
            .map(|path| PathUse {
                planned: path.weight,
                usable: !self.is_broken(path.watched) && !self.free.rested.contains(&path.watched),
                held: self.adaptive.held.get(&path.id).is_some_and(|until| self.now < *until),
                sent: by_path.get(&path.id).copied().unwrap_or_default(),
                wires: path.wires.iter().map(|wire| loads.place(*wire)).collect(),
            })
            .collect();
        let now = match self.adaptive.weights.get(&dst) {
            Some(weights) => weights.clone(),
            None => shares::planned(&paths),
        };
        for at in shares::in_the_way(&paths, &loads.loads, &now) {
            self.adaptive.held.insert(pair[at].id, self.now + HELD_MS);
        }
        let Some(weights) = shares::weights(&paths, &loads.loads, &now) else { return false };
        match weights == shares::planned(&paths) {
            true => drop(self.adaptive.weights.remove(&dst)),
            false => drop(self.adaptive.weights.insert(dst, weights)),
        }
        self.adaptive.changed.insert(dst, self.now);
        true
    }
}

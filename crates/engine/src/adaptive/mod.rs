//! Detours that are used as they are needed (`reflect = "adaptive"`; big-fat-switches-ring-clique-reflector, section
//! 5): each node says to all others what it sends over the wires of the fabric, with the records of failures, and moves
//! the traffic of its pairs onto paths through third nodes while its own paths are full and those are not.
//!
//! `wires` adds up what all nodes say; [`tresse_detours`] decides. Any weights are safe: all these paths are in the plan, which
//! was verified with all of them.

mod wires;

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_base::id::{NodeId, PathId};
use tresse_detours::{Memory, PathUse, Reason, planned};
use tresse_liveness::records::WireLoad;
use tresse_topology::path::Crossing;

use self::wires::{Own, PairLoads, Wires};
use super::index::PathEntry;
use super::kept_free::KeptFree;
use super::prepared::Prepared;
use super::sent::Sent;

/// Pairs that send less than this, in bytes a second, are not listed.
const TOLD: u64 = 12_500;
/// What others are told of a wire is told again if it changes by this part of what the wire can carry, or after a while.
const NEWS: f64 = 0.05;
const AGAIN_MS: u64 = 10_000;

/// What the engine knows of detours that are used as they are needed.
#[derive(Debug, Default)]
pub(super) struct Adaptive {
    /// Digest of the plan that all of this is of.
    plan: [u8; 8],
    wires: Wires,
    /// The destinations of the plan, by each of their addresses.
    destinations: BTreeMap<IpAddr, NodeId>,
    /// By destination: the weights of its paths, where they are not those of the plan.
    weights: BTreeMap<NodeId, Vec<u8>>,
    /// When they were last changed and why, and what is known of others.
    memory: BTreeMap<NodeId, Memory>,
    /// By wire: what was counted beyond what all said, in the last two looks.
    foreign: [BTreeMap<Crossing, f64>; 2],
    /// What was last sent by each path, in bytes a second.
    by_path: BTreeMap<PathId, f64>,
    /// What this node says of its own traffic, and when it said so.
    said: Vec<WireLoad>,
    said_at: u64,
}

/// What this node knows beside its traffic.
pub(super) struct Beside<'a> {
    pub now: u64,
    /// What others say of wires.
    pub others: Vec<&'a [WireLoad]>,
    /// Is a path neither broken nor drained?
    pub usable: &'a dyn Fn(&PathEntry) -> bool,
    /// Has an operator said how the traffic to a peer is shared, or that detours are not used?
    pub steered: &'a dyn Fn(&str) -> bool,
}

/// How a pair is sent.
pub(super) struct Used {
    /// By path, in bytes a second.
    pub rates: Vec<u64>,
    pub why: &'static str,
    /// For so long its detours get no more.
    pub rests_ms: u64,
}

impl Adaptive {
    /// What the own record says of wires.
    pub fn said(&self, plan: &Prepared) -> &[WireLoad] {
        if self.plan == plan.digest() { &self.said } else { &[] }
    }

    /// Shares the traffic of pairs whose weights are not those of the plan, unless an operator says how.
    pub fn share(&self, plan: &Prepared, free: &mut KeptFree) {
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

    /// Records what this node has sent, and decides how its pairs share their traffic. Returns whether otherwise than
    /// before.
    pub fn sent(&mut self, plan: &Prepared, sent: &Sent, beside: &Beside<'_>) -> bool {
        if self.plan != plan.digest() {
            let (wires, destinations) = (Wires::of(plan), destinations(plan));
            *self = Self { plan: plan.digest(), wires, destinations, ..Self::default() };
        }
        self.by_path = self.by_path(plan, sent);
        let own = Own::of(plan, &self.wires, &self.by_path, sent);
        self.say(&own, beside.now);
        let others = self.wires.said(beside.others.iter().copied().flatten());
        self.foreign.swap(0, 1);
        self.foreign[0] = self.wires.foreign(&others, &own);
        let mut moved = false;
        for pair in plan.index.pairs() {
            let peer = plan.index.node(pair[0].id.dst);
            if (beside.steered)(peer) {
                self.weights.remove(&pair[0].id.dst);
                self.memory.remove(&pair[0].id.dst);
            } else {
                let loads = self.wires.without(pair, &others, &own, &self.foreign);
                moved |= self.balance(pair, &loads, beside);
            }
        }
        moved
    }

    /// Bytes a second by path.
    fn by_path(&self, plan: &Prepared, sent: &Sent) -> BTreeMap<PathId, f64> {
        let mut by_path: BTreeMap<PathId, f64> = BTreeMap::new();
        for traffic in &sent.traffic {
            let Some(dst) = self.destinations.get(&traffic.destination) else { continue };
            let goes_by = |path: &&PathEntry| {
                let to = path.nexthops.iter().find(|(to, _)| to.address == traffic.destination);
                to.is_some_and(|(_, nexthop)| {
                    let interface = plan.interfaces.get(&nexthop.interface);
                    nexthop.labels == traffic.labels
                        && interface.is_some_and(|of| {
                            of.parent == traffic.nic && of.vid.map(|vid| vid.0) == traffic.vid
                        })
                })
            };
            if let Some(path) = plan.index.pair(*dst).iter().find(goes_by) {
                let rate = traffic.bytes as f64 * 1000.0 / sent.elapsed_ms as f64;
                *by_path.entry(path.id).or_default() += rate;
            }
        }
        by_path
    }

    /// Says to all others what this node sends, if that is news.
    fn say(&mut self, own: &Own, now: u64) {
        let says = self.wires.says(own);
        let before = self.said.iter().map(|load| ((load.wire, load.kind), load.rate));
        let before: BTreeMap<_, _> = before.collect();
        let is_news = |load: &WireLoad| {
            let before =
                before.get(&(load.wire, load.kind)).map_or(0, |rate| rate.bytes_per_second());
            let change = load.rate.bytes_per_second().abs_diff(before) as f64;
            change > NEWS * self.wires.capacity_of(load.wire)
        };
        let gone =
            |load: &WireLoad| !says.iter().any(|of| (of.wire, of.kind) == (load.wire, load.kind));
        let news = says.iter().any(is_news) || self.said.iter().any(gone);
        if news || now >= self.said_at + AGAIN_MS && says != self.said {
            (self.said, self.said_at) = (says, now);
        }
    }

    /// Decides how a pair shares its traffic. Returns whether otherwise than before.
    fn balance(&mut self, pair: &[PathEntry], loads: &PairLoads, beside: &Beside<'_>) -> bool {
        let (dst, at) = (pair[0].id.dst, beside.now);
        let sends = pair.iter().any(|path| self.by_path.contains_key(&path.id));
        if !sends && !self.weights.contains_key(&dst) {
            return false;
        }
        let path = |path: &PathEntry| PathUse {
            planned: path.weight,
            usable: (beside.usable)(path),
            sent: self.by_path.get(&path.id).copied().unwrap_or_default(),
            wires: path.wires.iter().map(|wire| loads.place(*wire)).collect(),
        };
        let mut paths: Vec<PathUse> = pair.iter().map(path).collect();
        // Where no planned path is left, the kernel falls back to the first other one.
        if !paths.iter().any(|path| path.planned > 0 && path.usable) {
            paths.iter_mut().for_each(|path| path.planned = 0);
            let Some(first) = paths.iter_mut().find(|path| path.usable) else { return false };
            first.planned = 1;
        }
        let now = match self.weights.get(&dst) {
            Some(weights) => weights.clone(),
            None => planned(&paths),
        };
        let memory = self.memory.entry(dst).or_default();
        let weights = memory.reconsider(&paths, &loads.loads, &now, at);
        let Some(weights) = weights else { return false };
        match weights == planned(&paths) {
            true => drop(self.weights.remove(&dst)),
            false => drop(self.weights.insert(dst, weights)),
        }
        true
    }

    /// Goes back to the weights of the plan.
    pub fn forget(&mut self) {
        self.weights.clear();
        self.memory.clear();
    }

    /// How a pair is sent; `None` for one that sends nothing.
    pub fn used(&self, plan: &Prepared, pair: &[PathEntry], now: u64) -> Option<Used> {
        let rate =
            |path: &PathEntry| self.by_path.get(&path.id).copied().unwrap_or_default() as u64;
        let rates: Vec<u64> = pair.iter().map(rate).collect();
        let dst = pair[0].id.dst;
        let some = self.plan == plan.digest()
            && (self.weights.contains_key(&dst) || rates.iter().sum::<u64>() >= TOLD);
        let memory = self.memory.get(&dst);
        let why = memory.map_or(Reason::Alone, Memory::reason).words();
        let rests_ms = memory.map_or(0, |memory| memory.rests_ms(now));
        some.then_some(Used { rates, why, rests_ms })
    }
}

/// The destinations of a plan, by each of their addresses.
fn destinations(plan: &Prepared) -> BTreeMap<IpAddr, NodeId> {
    let of = |pair: &[PathEntry]| {
        let (dst, addresses) = (pair[0].id.dst, pair[0].nexthops.iter());
        addresses.map(move |(to, _)| (to.address, dst)).collect::<Vec<_>>()
    };
    plan.index.pairs().flat_map(of).collect()
}

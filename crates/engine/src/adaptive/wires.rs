//! What the wires of the fabric carry: what this node sends over them, and what all others say that they do.

use std::collections::BTreeMap;

use tresse_base::id::PathId;
use tresse_detours::Load;
use tresse_liveness::records::{LoadKind, Rate, WireLoad};
use tresse_topology::path::Crossing;

use crate::index::PathEntry;
use crate::prepared::Prepared;
use crate::sent::Sent;

/// A node says so many loads, the greatest ones, in at most a kilobyte.
const LOADS_MOST: usize = 150;
/// Less than this part of what a wire can carry is not said.
const LITTLE: f64 = 0.01;
/// What a NIC counts beyond what all say that they send over it is other traffic, from this part of what it can carry on.
const FOREIGN: f64 = 0.2;

/// The wires that paths of this node cross, and what each can carry, in bytes a second.
#[derive(Debug, Default)]
pub(super) struct Wires {
    capacity: BTreeMap<Crossing, f64>,
    by_number: BTreeMap<u32, Crossing>,
}

/// What this node sends over each wire, by planned paths and by detours, in bytes a second.
pub(super) struct Own {
    sent: BTreeMap<Crossing, [f64; 2]>,
    /// What is counted on its NICs.
    counted: BTreeMap<Crossing, f64>,
    by_path: BTreeMap<PathId, f64>,
}

/// What others send over each wire, and what is counted on their NICs.
pub(super) type Said = BTreeMap<Crossing, [f64; 3]>;

/// The loads of the wires that a pair's paths cross, without the pair itself.
pub(super) struct PairLoads {
    places: BTreeMap<Crossing, usize>,
    pub loads: Vec<Load>,
}

/// The number by which all nodes with the same plan know a wire.
fn number(wire: Crossing) -> u32 {
    let nic = |node: u32, nic: usize| node << 10 | (nic as u32 & 0xff) << 2;
    match wire {
        Crossing::Between(channel) => channel << 2,
        Crossing::Out(node, at) => nic(node.0, at) | 1,
        Crossing::In(node, at) => nic(node.0, at) | 2,
    }
}

impl Wires {
    pub fn of(plan: &Prepared) -> Self {
        let rates = plan.index.rates.iter();
        let capacity: BTreeMap<Crossing, f64> =
            rates.map(|(wire, bits)| (*wire, *bits as f64 / 8.0)).collect();
        let by_number = capacity.keys().map(|wire| (number(*wire), *wire)).collect();
        Self { capacity, by_number }
    }

    /// What a wire can carry.
    pub fn capacity_of(&self, number: u32) -> f64 {
        let wire = self.by_number.get(&number);
        wire.and_then(|wire| self.capacity.get(wire)).copied().unwrap_or(f64::INFINITY)
    }

    /// What this node says of its own traffic.
    pub fn says(&self, own: &Own) -> Vec<WireLoad> {
        let kinds = [LoadKind::Planned, LoadKind::Detour];
        let sent = own.sent.iter().flat_map(|(wire, rates)| {
            kinds.into_iter().zip(rates).map(|(kind, rate)| (*wire, kind, *rate))
        });
        let counted = own.counted.iter().map(|(wire, rate)| (*wire, LoadKind::Counted, *rate));
        let part =
            |wire: &Crossing, rate: f64| rate / self.capacity.get(wire).unwrap_or(&f64::INFINITY);
        let mut loads: Vec<_> = sent
            .chain(counted)
            .map(|(wire, kind, rate)| (part(&wire, rate), wire, kind, rate))
            .filter(|(part, ..)| *part >= LITTLE)
            .collect();
        loads.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        loads.truncate(LOADS_MOST);
        let load = |(_, wire, kind, rate): (f64, Crossing, LoadKind, f64)| WireLoad {
            wire: number(wire),
            kind,
            rate: Rate::of(rate as u64),
        };
        let mut loads: Vec<WireLoad> = loads.into_iter().map(load).collect();
        loads.sort_unstable();
        loads
    }

    /// Adds up what others say.
    pub fn said<'a>(&self, loads: impl IntoIterator<Item = &'a WireLoad>) -> Said {
        let mut said = Said::new();
        for load in loads {
            if let Some(wire) = self.by_number.get(&load.wire) {
                let sum = &mut said.entry(*wire).or_default()[load.kind as usize];
                *sum += load.rate.bytes_per_second() as f64;
            }
        }
        said
    }

    /// By wire: what is counted beyond what all say that they send over it, where that is much.
    pub fn foreign(&self, others: &Said, own: &Own) -> BTreeMap<Crossing, f64> {
        let of = |(wire, capacity): (&Crossing, &f64)| {
            let [planned, detours, counted] = others.get(wire).copied().unwrap_or_default();
            let sent = own.sent.get(wire).copied().unwrap_or_default();
            let counted = own.counted.get(wire).copied().unwrap_or(counted);
            let foreign = counted - (planned + detours + sent[0] + sent[1]);
            (foreign > FOREIGN * capacity).then_some((*wire, foreign))
        };
        self.capacity.iter().filter_map(of).collect()
    }

    /// The loads of a pair's wires without what it sends itself. `foreign`: what is foreign by the last two looks: others
    /// counted a little earlier than this node, so what one look shows may be no other traffic.
    pub fn without(
        &self,
        pair: &[PathEntry],
        others: &Said,
        own: &Own,
        foreign: &[BTreeMap<Crossing, f64>; 2],
    ) -> PairLoads {
        let mut without = PairLoads { places: BTreeMap::new(), loads: Vec::new() };
        for wire in pair.iter().flat_map(|path| &path.wires) {
            if without.places.contains_key(wire) {
                continue;
            }
            without.places.insert(*wire, without.loads.len());
            let [planned, detours, _] = others.get(wire).copied().unwrap_or_default();
            let mut sent = own.sent.get(wire).copied().unwrap_or_default();
            let capacity = self.capacity.get(wire).copied().unwrap_or(f64::INFINITY);
            let looks = foreign.iter().map(|look| look.get(wire).copied().unwrap_or_default());
            let foreign = looks.fold(f64::INFINITY, f64::min);
            for path in pair.iter().filter(|path| path.wires.contains(wire)) {
                let kind = usize::from(path.weight == 0);
                sent[kind] -= own.by_path.get(&path.id).copied().unwrap_or_default();
            }
            without.loads.push(Load {
                capacity,
                first: planned + sent[0].max(0.0) + foreign,
                detours: detours + sent[1].max(0.0),
            });
        }
        without
    }
}

impl PairLoads {
    /// The place of a wire in `loads`.
    pub fn place(&self, wire: Crossing) -> usize {
        self.places.get(&wire).copied().unwrap_or_default()
    }
}

impl Own {
    pub fn of(
        plan: &Prepared,
        wires: &Wires,
        by_path: &BTreeMap<PathId, f64>,
        sent: &Sent,
    ) -> Self {
        let mut by_wire: BTreeMap<Crossing, [f64; 2]> = BTreeMap::new();
        for path in plan.index.pairs().flatten() {
            let Some(rate) = by_path.get(&path.id) else { continue };
            for wire in &path.wires {
                by_wire.entry(*wire).or_default()[usize::from(path.weight == 0)] += rate;
            }
        }
        let rate = |bytes: u64| bytes as f64 * 1000.0 / sent.elapsed_ms as f64;
        let nics = (0..).map_while(|at| plan.index.parts.nic(plan.id, at));
        let carried = nics.zip(0..).filter_map(|((_, nic), at)| Some((at, sent.carried.get(nic)?)));
        let counted = carried.flat_map(|(at, (out, into))| {
            let wire = [Crossing::Out(plan.id, at), Crossing::In(plan.id, at)];
            wire.into_iter().zip([rate(*out), rate(*into)])
        });
        let counted = counted.filter(|(wire, _)| wires.capacity.contains_key(wire)).collect();
        Self { sent: by_wire, counted, by_path: by_path.clone() }
    }
}

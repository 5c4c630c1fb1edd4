//! Which paths of a pair carry its traffic now, and which would after a change of drains, pins or
//! weights: as the target chooses them (`gate`), for whole pairs.

use std::collections::BTreeMap;

use tresse_base::id::Vid;
use tresse_control::{MoveLine, ShareLine};
use tresse_reconcile::Nexthop;

use super::Engine;
use super::gate::Gate;
use super::index::PathEntry;
use super::kept_free::KeptFree;
use super::prepared::Prepared;

impl Engine {
    /// The paths of a pair that carry its traffic: places in `pair`, with weights. If nothing works, those
    /// that were meant to.
    pub(super) fn carriers(
        &self,
        current: &Prepared,
        gates: &BTreeMap<Vid, Gate>,
        pair: &[PathEntry],
        free: &KeptFree,
    ) -> Vec<(usize, u32)> {
        let usable = |entry: &PathEntry| {
            let interface = current.index.interface(entry);
            let vid = current.interfaces.get(interface).and_then(|i| i.vid);
            Gate::of(gates, vid) == Gate::Open
                && self.usable(interface)
                && !self.is_broken(entry.watched)
        };
        let meant: Vec<u32> = pair.iter().map(|entry| weight(entry, free)).collect();
        let levels: [fn(&KeptFree, &PathEntry) -> bool; 3] = [
            |free, entry| !free.rested.contains(&entry.watched),
            |free, entry| !free.drained.contains(&entry.watched),
            |_, _| true,
        ];
        for fits in levels {
            let fit = |at: &usize| fits(free, &pair[*at]) && usable(&pair[*at]);
            let places = || (0..pair.len()).filter(fit);
            let carriers: Vec<_> =
                places().map(|at| (at, meant[at])).filter(|(_, weight)| *weight > 0).collect();
            if !carriers.is_empty() {
                return carriers;
            }
            if let Some(first) = places().next() {
                return vec![(first, 1)];
            }
        }
        (0..pair.len()).map(|at| (at, meant[at])).filter(|(_, weight)| *weight > 0).collect()
    }

    /// The pairs whose traffic other paths carry, or with other shares, once `after` is kept free.
    pub(super) fn moves(&self, current: &Prepared, after: &KeptFree) -> Vec<Moved> {
        let gates = self.gates(current);
        let moved = |pair: &[PathEntry]| {
            let [was, is] =
                [&*self.free, after].map(|free| self.carriers(current, &gates, pair, free));
            let share = |&(at, weight): &(usize, u32)| share(current, &pair[at], weight);
            let line = MoveLine {
                node: current.index.node(pair[0].id.dst).to_owned(),
                before: was.iter().map(share).collect(),
                after: is.iter().map(share).collect(),
            };
            let addresses = pair[0].nexthops.iter().map(|(to, _)| to.address.to_string());
            (was != is).then(|| Moved { line, addresses: addresses.collect() })
        };
        current.index.pairs().filter_map(moved).collect()
    }
}

/// A pair whose traffic moves.
pub(super) struct Moved {
    pub(super) line: MoveLine,
    /// The addresses of the destination.
    pub(super) addresses: Vec<String>,
}

/// The weight that a path is meant to have while nothing fails.
pub(super) fn weight(entry: &PathEntry, free: &KeptFree) -> u32 {
    let Some((to, nexthop)) = entry.nexthops.first() else { return entry.weight };
    let Some(shares) = free.shares.get(to) else { return entry.weight };
    let same = |other: &&Nexthop| {
        (&other.interface, other.via, &other.labels)
            == (&nexthop.interface, nexthop.via, &nexthop.labels)
    };
    shares.carriers.iter().find(same).map_or(0, |carrier| carrier.weight.into())
}

pub(super) fn share(current: &Prepared, entry: &PathEntry, weight: u32) -> ShareLine {
    let segments = &current.index.line(entry).segments;
    let mut through = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        through.extend(segment.switches.iter().cloned());
        if at + 1 < segments.len() {
            through.push(segment.to.clone());
        }
    }
    let nic = segments.first().map(|segment| segment.nic.clone()).unwrap_or_default();
    ShareLine { rank: entry.id.rank, weight, nic, through }
}

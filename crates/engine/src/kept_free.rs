//! What drains, pins and weights do to the paths of one plan: which paths are kept free, and how
//! the others share the traffic of a pair.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::PathId;
use tresse_base::units::Prefix;
use tresse_reconcile::Nexthop;
use tresse_slice::watch::Watch;
use tresse_slice::watch::part::FabricPart;

use super::chosen::{fit, weight_of};
use super::index::PathEntry;
use super::prepared::Prepared;
use super::steering::Steering;

/// The paths of one plan that carry no traffic, as long as there are others, because an operator
/// drained a part of the fabric that they cross, or pinned their pair to another path or gave them
/// no weight; and the pairs whose traffic is shared otherwise than planned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptFree {
    /// All of them: drained paths, and paths beside a pin or without weight. Where nodes route, drained
    /// ones alone, as a path there is watched by its first hop, which other pairs have too.
    pub rested: BTreeSet<PathId>,
    /// Those that cross a drained part.
    pub drained: BTreeSet<PathId>,
    /// By destination: how its paths share its traffic, where an operator says so or detours are in use.
    pub shares: BTreeMap<Prefix, Shares>,
}

/// How the paths to one destination share its traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    /// The nexthops of the paths that carry traffic, with their weights, sorted.
    pub carriers: Vec<Nexthop>,
    /// The nexthops of all paths by rank, each with weight 1: replacements, where VLANs or labels say the
    /// path.
    pub others: Vec<Nexthop>,
    /// Where nodes route, the nexthop to fall back to, if it is not the planned one.
    pub backup: Option<Nexthop>,
}

impl Steering {
    /// The paths of a plan that are kept free, and the shares of the others.
    pub(super) fn kept_free(&self, prepared: &Prepared) -> KeptFree {
        let (parts, drained) = (self.parts(prepared), self.drained_paths(prepared));
        let mut free = KeptFree { rested: drained.clone(), drained, shares: BTreeMap::new() };
        let routed = prepared.routes_for_others();
        for (peer, pinned) in &self.pinned {
            if routed {
                let weight = |entry: &PathEntry| u8::from(pinned.is(prepared, entry));
                free.share(prepared.index.to(peer), weight, Some(&parts));
                continue;
            }
            let paths: Vec<&Watch> = prepared.paths_to(peer).collect();
            if paths.iter().any(|watch| pinned.is_watched(watch)) {
                let others = paths.iter().filter(|watch| !pinned.is_watched(watch));
                free.rested.extend(others.map(|watch| watch.id));
            }
        }
        for (peer, weights) in &self.weights {
            if !fit(weights, prepared, peer) {
                continue;
            }
            let entries = prepared.index.to(peer);
            let weight = |entry: &PathEntry| weight_of(weights, prepared, entry).unwrap_or(0);
            free.share(entries, weight, routed.then_some(&parts));
            if !routed {
                let rested = entries.iter().filter(|entry| weight(entry) == 0);
                free.rested.extend(rested.map(|entry| entry.id));
            }
        }
        free
    }

    /// The paths of a plan that cross a drained part.
    pub(super) fn drained_paths(&self, prepared: &Prepared) -> BTreeSet<PathId> {
        let parts = self.parts(prepared);
        if parts.is_empty() {
            return BTreeSet::new();
        }
        let crosses = |watch: &&Watch| parts.iter().any(|part| part.is_crossed_by(watch));
        prepared.watches.paths().iter().filter(crosses).map(|watch| watch.id).collect()
    }

    /// The drained parts that the plan's fabric has.
    pub(super) fn parts(&self, prepared: &Prepared) -> Vec<FabricPart> {
        let parts = self.drained.iter();
        parts.filter_map(|object| prepared.index.parts.named(object).ok()).collect()
    }
}

impl KeptFree {
    /// Shares the traffic of a pair by these weights, one for each of its paths; not where nodes route.
    pub(super) fn share_by(&mut self, pair: &[PathEntry], weights: &[u8]) {
        let first = pair[0].id.rank as usize;
        let weight = |entry: &PathEntry| {
            weights.get(entry.id.rank as usize - first).copied().unwrap_or_default()
        };
        self.share(pair, weight, None);
    }

    /// Shares the traffic of a pair by the weights of its paths. Where nodes route, `drained` has what no
    /// path should cross, also further on: what is left carries all, and nothing is changed if nothing
    /// is left.
    fn share(
        &mut self,
        entries: &[PathEntry],
        weight: impl Fn(&PathEntry) -> u8,
        drained: Option<&Vec<FabricPart>>,
    ) {
        let crosses = |entry: &PathEntry| {
            let on = |part: &FabricPart| entry.wires.iter().any(|wire| part.wires().contains(wire));
            drained.into_iter().flatten().any(on)
        };
        let carriers: Vec<(&PathEntry, u8)> = entries
            .iter()
            .map(|entry| (entry, weight(entry)))
            .filter(|(entry, weight)| *weight > 0 && !crosses(entry))
            .collect();
        for (dst, _) in entries.first().map(|first| &first.nexthops[..]).unwrap_or_default() {
            let to = |entry: &PathEntry, weight: u8| {
                let (_, nexthop) = entry.nexthops.iter().find(|(to, _)| to == dst)?;
                Some(Nexthop { weight, ..nexthop.clone() })
            };
            let others: Vec<Nexthop> = entries.iter().filter_map(|entry| to(entry, 1)).collect();
            let mut shared: Vec<Nexthop> =
                carriers.iter().filter_map(|(entry, weight)| to(entry, *weight)).collect();
            shared.sort_unstable();
            let same = |a: &Nexthop, b: &Nexthop| (&a.interface, a.via) == (&b.interface, b.via);
            let backup = others.first().filter(|_| drained.is_some());
            let backup =
                backup.filter(|main| !shared.iter().any(|other| same(main, other))).cloned();
            if !shared.is_empty() {
                self.shares.insert(*dst, Shares { carriers: shared, others, backup });
            }
        }
    }
}

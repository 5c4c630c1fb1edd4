//! A path that an operator chose for a pair of nodes, by a name that outlives plans: a pin names
//! one, weights name all paths of the pair.
//!
//! Every kind of fabric lets the source choose. Its nexthop says the whole path: on VLANs by the
//! VLAN and the labels; where nodes route, because the others forward a packet by their main table
//! and, where that would send it back, by the table for the NIC that it came in by, and this leads
//! it along the planned path of that rank (routing::xy, tested for all pairs of all kinds).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_control::NodeError;
use tresse_reconcile::Nexthop;
use tresse_slice::watch::Watch;

use super::index::PathEntry;
use super::prepared::Prepared;

/// A path to a peer that an operator chose, by its rank and by what that rank meant then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPath {
    /// Its path rank.
    pub rank: u32,
    /// The first hops of the path, with weight 1: in another plan the rank may be another path.
    #[serde(rename = "ways")]
    pub first_hops: BTreeSet<Nexthop>,
    /// Where nodes route, the nodes that it leads through: there the first hop does not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// A path of a pair with the weight that an operator gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedPath {
    /// The path.
    #[serde(flatten)]
    pub path: ChosenPath,
    /// Its share beside the weights of the pair's other paths.
    pub weight: u8,
}

impl ChosenPath {
    /// The path of an index entry.
    pub(super) fn of(prepared: &Prepared, entry: &PathEntry) -> Self {
        let rank = entry.id.rank;
        if prepared.routes_for_others() {
            let nodes = prepared.index.transit_nodes(entry);
            return Self { rank, first_hops: entry.first_hops(), nodes };
        }
        let watch = prepared.watches.paths().iter().find(|watch| watch.id == entry.id);
        let first_hops = watch.map(|watch| watch.nexthops.iter().cloned().collect());
        let first_hops = first_hops.unwrap_or_else(|| entry.first_hops());
        Self { rank, first_hops, nodes: Vec::new() }
    }

    /// Is this path of the index the one that was chosen?
    pub(super) fn is(&self, prepared: &Prepared, entry: &PathEntry) -> bool {
        *self == Self::of(prepared, entry)
    }

    /// Is this watched path the one that was chosen? Only where nodes do not route.
    pub(super) fn is_watched(&self, watch: &Watch) -> bool {
        let first_hops: BTreeSet<&Nexthop> = watch.nexthops.iter().collect();
        self.rank == watch.id.rank && self.first_hops.iter().eq(first_hops)
    }

    /// Does the plan have this path to `peer`?
    pub(super) fn is_in(&self, prepared: &Prepared, peer: &str) -> bool {
        match prepared.routes_for_others() {
            true => prepared.index.to(peer).iter().any(|entry| self.is(prepared, entry)),
            false => prepared.paths_to(peer).any(|watch| self.is_watched(watch)),
        }
    }
}

/// Do these weights mean the same in the plan: are all their paths there, and no other path that the
/// plan gives a share?
pub(super) fn fit(weights: &[WeightedPath], prepared: &Prepared, peer: &str) -> bool {
    let entries = prepared.index.to(peer);
    let weight = |entry: &PathEntry| weight_of(weights, prepared, entry);
    let found = entries.iter().filter(|entry| weight(entry).is_some()).count();
    found == weights.len()
        && entries.iter().all(|entry| entry.weight == 0 || weight(entry).is_some())
}

/// The weight that an operator gave this path.
pub(super) fn weight_of(
    weights: &[WeightedPath],
    prepared: &Prepared,
    entry: &PathEntry,
) -> Option<u8> {
    weights.iter().find(|weighted| weighted.path.is(prepared, entry)).map(|found| found.weight)
}

/// The path to `to` with this rank.
pub(super) fn pin(prepared: &Prepared, to: &str, rank: u32) -> Result<ChosenPath, NodeError> {
    let entries = paths(prepared, to)?;
    match entries.iter().find(|entry| entry.id.rank == rank) {
        Some(entry) => Ok(ChosenPath::of(prepared, entry)),
        None => Err(no_rank(to, rank, entries)),
    }
}

/// All paths to `to` with their weights: those `given`, else those that they have now.
pub(super) fn weights(
    prepared: &Prepared,
    now: Option<&Vec<WeightedPath>>,
    to: &str,
    given: &BTreeMap<u32, u32>,
) -> Result<Vec<WeightedPath>, NodeError> {
    let entries = paths(prepared, to)?;
    let has = |rank: u32| entries.iter().any(|entry| entry.id.rank == rank);
    if let Some(rank) = given.keys().find(|rank| !has(**rank)) {
        return Err(no_rank(to, *rank, entries));
    }
    if given.is_empty() {
        return Err(refused(to, "no weights are given: name ranks with weights, `0:1 1:3`".into()));
    }
    if let Some((rank, weight)) = given.iter().find(|(_, weight)| **weight > 255) {
        let message = format!("weight {weight} of rank {rank}: weights go up to 255 (K6)");
        return Err(refused(to, message));
    }
    let weighted = |entry: &PathEntry| {
        let kept = || now.and_then(|now| weight_of(now, prepared, entry)).map(u32::from);
        let weight = given.get(&entry.id.rank).copied().or_else(kept).unwrap_or(entry.weight);
        let weight = u8::try_from(weight).unwrap_or(u8::MAX);
        WeightedPath { path: ChosenPath::of(prepared, entry), weight }
    };
    let weights: Vec<WeightedPath> = entries.iter().map(weighted).collect();
    if weights.iter().all(|weighted| weighted.weight == 0) {
        let message = "every path of this pair would have weight 0: leave one a weight above 0, or drain \
                       a part of the fabric to keep all pairs off it";
        return Err(refused(to, message.into()));
    }
    Ok(weights)
}

fn paths<'a>(prepared: &'a Prepared, to: &str) -> Result<&'a [PathEntry], NodeError> {
    match prepared.index.to(to) {
        [] => Err(no_path(prepared, to)),
        entries => Ok(entries),
    }
}

fn no_rank(to: &str, rank: u32, entries: &[PathEntry]) -> NodeError {
    let ranks: Vec<String> = entries.iter().map(|entry| entry.id.rank.to_string()).collect();
    let message = match &ranks[..] {
        [only] => format!(
            "no path from here to this node has rank {rank}: it has one path, of rank {only}; `[routing] \
             paths = 2` plans another where the cables have one"
        ),
        _ => format!(
            "no path from here to this node has rank {rank}: the ranks are {}",
            ranks.join(", ")
        ),
    };
    refused(to, message)
}

/// Why there is no path to `to`: it is no node, it is this one, or the plan has none.
pub(super) fn no_path(prepared: &Prepared, to: &str) -> NodeError {
    let node = prepared.index.parts.named(to).ok().and_then(|part| part.node());
    let message = match node {
        None => "the fabric has no such node: `tresse plan FILE` lists all nodes".into(),
        Some(node) if node == prepared.id => "a node has no path to itself: name another".into(),
        Some(_) => {
            let from = &prepared.node;
            format!(
                "{from} has no path to this node: `tresse paths FILE --from {from}` lists its paths"
            )
        }
    };
    refused(to, message)
}

impl Prepared {
    /// Is it a node-routed fabric, where a path is the choice of all nodes on it?
    pub(super) fn routes_for_others(&self) -> bool {
        self.watches.paths().iter().any(|watch| watch.nodes.is_some())
    }

    /// The watched paths to the node called `peer`.
    pub(super) fn paths_to<'a>(&'a self, peer: &'a str) -> impl Iterator<Item = &'a Watch> {
        self.watches.paths().iter().filter(move |watch| watch.peer == peer)
    }
}

pub(super) fn refused(object: &str, message: String) -> NodeError {
    NodeError::Refused { object: object.into(), message }
}

//! Finds the MPLS labels that each transit node needs, and allocates them (DESIGN section 6). A transit node takes
//! frames in and sends them on. A label is local to one such node and means "out of this NIC, on this VID, to that
//! NIC".
//!
//! The lock stores the meaning of each label (rule K4). A label that the plan no longer uses stays reserved until the
//! lock changes once more; then it may get another meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rayon::prelude::*;
use tresse_base::id::{Label, NodeId, TreeId};
use tresse_topology::path::Segment;

use crate::address::Addresses;
use crate::lock::Lock;
use crate::paths::Paths;
use crate::vids::Vids;

/// The first label that is not reserved (RFC 3032, section 2.1).
const FIRST: u32 = 16;

/// What one transit node does with labelled frames: the segments by which they arrive, and for each segment by which
/// it sends them on the label that selects it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TransitForwarding {
    /// The labels that it pops, by the segment that follows.
    pub labels: BTreeMap<Segment, Label>,
    /// The segments by which labelled frames arrive.
    pub arrivals: BTreeSet<Segment>,
}

/// The labels and arriving segments of every node ([`TransitForwarding`]), indexed by node; empty for a node that forwards
/// nothing.
pub type Transits = Vec<TransitForwarding>;

/// The addresses and VIDs by which a label's meaning is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub addresses: &'a Addresses,
    pub vids: &'a Vids,
}

/// Returns what every node does as a transit node of `paths`, and its labels: those that `lock` has, and the lowest
/// that are free. O(node pairs).
#[must_use]
pub(crate) fn allocate(paths: &Paths, numbers: Numbers<'_>, lock: &Lock) -> Transits {
    let nodes = paths.cluster().nodes.len();
    if !paths.has_labels() {
        return vec![TransitForwarding::default(); nodes];
    }
    let of_source = |s: usize| {
        let mut used = BTreeSet::new();
        for d in (0..nodes).filter(|d| *d != s) {
            // Where there are no trees or several planes, backups have labels too.
            let of_pair = if paths.direct().is_some() || paths.planes().is_some() {
                paths.paths(s.into(), d.into())
            } else {
                paths.sharing(s.into(), d.into())
            };
            for path in of_pair {
                used.extend(path.segments.windows(2).map(|pair| (pair[0], pair[1])));
            }
        }
        used
    };
    let used: BTreeSet<(Segment, Segment)> =
        (0..nodes).into_par_iter().flat_map_iter(of_source).collect();
    let mut transits = vec![TransitForwarding::default(); nodes];
    for (before, after) in used {
        let transit = &mut transits[after.from.index()];
        transit.arrivals.insert(before);
        transit.labels.insert(after, Label(0));
    }
    for (node, transit) in transits.iter_mut().enumerate() {
        number(numbers, lock, node.into(), &mut transit.labels);
    }
    transits
}

fn number(numbers: Numbers<'_>, lock: &Lock, node: NodeId, labels: &mut BTreeMap<Segment, Label>) {
    let address = key(numbers, node);
    let held = lock.labels.get(&address);
    let by_meaning: BTreeMap<&str, u32> =
        held.into_iter().flatten().map(|(label, text)| (text.as_str(), *label)).collect();
    let retired = lock.retired.labels.get(&address);
    let mut taken: BTreeSet<u32> = held.into_iter().flat_map(BTreeMap::keys).copied().collect();
    taken.extend(retired.into_iter().flatten());
    let mut free = (FIRST..).filter(|label| !taken.contains(label));
    for (segment, label) in labels {
        let known = by_meaning.get(meaning(numbers, segment).as_str()).copied();
        *label = Label(known.or_else(|| free.next()).expect("there is always another number"));
    }
}

/// All labels in use, as the lock keeps them: by the node's address, label and meaning.
#[must_use]
pub(crate) fn to_lock(
    transits: &[TransitForwarding],
    numbers: Numbers<'_>,
) -> BTreeMap<String, BTreeMap<u32, String>> {
    let nodes = transits.iter().enumerate().filter(|(_, t)| !t.labels.is_empty());
    nodes
        .map(|(node, transit)| {
            let text = |(segment, label): (&Segment, &Label)| (label.0, meaning(numbers, segment));
            (key(numbers, node.into()), transit.labels.iter().map(text).collect())
        })
        .collect()
}

/// The address by which the lock knows a node: it stays when growth renames the node.
fn key(numbers: Numbers<'_>, node: NodeId) -> String {
    numbers.addresses.node[node.index()].first().map(IpAddr::to_string).unwrap_or_default()
}

/// `10.78.0.1 103 10.78.0.6`: out of the NIC with this address, on this VID (`-`: untagged), to the NIC
/// with that one.
fn meaning(numbers: Numbers<'_>, segment: &Segment) -> String {
    let nics = &numbers.addresses.nic;
    let address = |node: NodeId, nic: usize| nics[node.index()][nic].first();
    let text = |a: Option<&IpAddr>| a.map(IpAddr::to_string).unwrap_or_default();
    let (from, to) = (address(segment.from, segment.nic), address(segment.to, segment.to_nic));
    match segment.tree {
        TreeId::NONE => format!("{} - {}", text(from), text(to)),
        tree => format!("{} {} {}", text(from), numbers.vids.trees[tree.index()], text(to)),
    }
}

//! Collects the channel dependencies of the primaries: which channel (one direction of a link) a frame asks for while
//! it holds which other. The backups of a lossless plan may add no others, so that no cycle can arise.

use std::collections::HashSet;

use rayon::prelude::*;
use tresse_topology::Dependencies;

use crate::primaries::Primaries;

/// The channel dependencies of all primaries: each pair of channels that some segment crosses one after
/// the other. A transit node takes a frame in whole, so segments do not depend on each other.
/// O(node pairs x hops).
pub(super) fn of_primaries(primaries: &Primaries) -> Dependencies {
    let nodes = primaries.cluster.nodes.len();
    let chunk = nodes.div_ceil(rayon::current_num_threads() * 4).max(1);
    let none = || Dependencies::new(&primaries.graph);
    let of_source = |mut found: Dependencies, s: usize| {
        let mut seen = HashSet::new();
        let mut channels = Vec::new();
        for d in (0..nodes).filter(|d| *d != s) {
            for segment in primaries.primary(s.into(), d.into()) {
                let ends = (primaries.sender(&segment).switch, primaries.receiver(&segment).switch);
                if !seen.insert((ends, segment.tree)) {
                    continue;
                }
                channels.clear();
                primaries.walk(&segment, &mut channels);
                channels.windows(2).for_each(|pair| found.add(pair[0], pair[1]));
            }
        }
        found
    };
    let merge = |mut a: Dependencies, b: Dependencies| {
        a.merge(&b);
        a
    };
    (0..nodes).into_par_iter().with_min_len(chunk).fold(none, of_source).reduce(none, merge)
}

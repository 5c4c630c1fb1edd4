//! Which routes are needed, and in which order they are packed into trees.

use super::demand::SwitchDemand;
use super::switch_routes::SwitchRoutes;

/// The routes that have node pairs, those with long ones first: short ones fit in beside them. `by_source`: source by
/// source, which is as good where there are many, and what one source's routes are made of stays in the cache.
pub(crate) fn longest_first(
    demand: &SwitchDemand,
    routes: &SwitchRoutes,
    by_source: bool,
) -> Vec<(u32, u32)> {
    let mut by_length: Vec<Vec<(u32, u32)>> = Vec::new();
    let mut pairs = Vec::new();
    for source in 0..demand.sources() {
        for d in (0..demand.switches() as u32).filter(|d| demand.pairs(source, *d) > 0) {
            let length = routes.hops(source, d) as usize;
            by_length.resize_with(by_length.len().max(length + 1), Vec::new);
            by_length[length].push((source, d));
        }
        if by_source {
            by_length.iter_mut().rev().for_each(|some| pairs.append(some));
        }
    }
    by_length.iter_mut().rev().for_each(|some| pairs.append(some));
    pairs
}

/// The routes on lane 0 that are needed and have no node pairs yet: those of second NICs, and of nodes that were added
/// since the demand was fixed.
pub(crate) fn without_pairs(demand: &SwitchDemand) -> impl Iterator<Item = (u32, u32)> + '_ {
    let sources = (0..demand.sources()).step_by(demand.lanes as usize);
    sources.filter(|source| demand.is_home(*source)).flat_map(move |source| {
        let others = (0..demand.switches() as u32).filter(move |d| *d != demand.switch(source));
        let needed = move |d: &u32| demand.homes[*d as usize] && demand.pairs(source, *d) == 0;
        others.filter(needed).map(move |d| (source, d))
    })
}

/// Gives lanes without node pairs, which a node that is added later may be on, what the first lane has. `of`: by source
/// and destination.
pub(crate) fn copy_lanes<T: Copy>(demand: &SwitchDemand, of: &mut [T]) {
    let n = demand.switches();
    for source in (0..demand.sources()).filter(|source| source % demand.lanes > 0) {
        let first = source - source % demand.lanes;
        for d in (0..n).filter(|d| demand.pairs(source, *d as u32) == 0) {
            of[source as usize * n + d] = of[first as usize * n + d];
        }
    }
}

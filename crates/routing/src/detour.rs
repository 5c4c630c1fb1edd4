//! Finds paths that avoid given links and switches, for backups.

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::{Channel, Graph};

use crate::order::Order;

/// A search for shortest detours. It runs from both ends at once, so that it looks at a small part of a large fabric.
#[derive(Debug)]
pub struct DetourSearch<'a> {
    graph: &'a Graph,
    /// Where detours must be legal up*/down* routes.
    order: Option<&'a Order>,
    /// For each end, by switch.
    sides: [Vec<Seen>; 2],
    search: u32,
}

/// How a search came to a switch.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Its number.
    search: u32,
    /// Hops from the end where it began.
    depth: u32,
    /// The channel out of the switch before.
    by: Channel,
}

impl<'a> DetourSearch<'a> {
    /// No search yet. With an `order`, detours go up, then down, and never up again.
    #[must_use]
    pub fn new(graph: &'a Graph, order: Option<&'a Order>) -> Self {
        let side = vec![Seen::default(); graph.switches()];
        Self { graph, order, sides: [side.clone(), side], search: 0 }
    }

    /// The channels of a shortest path from `s` to `d`, which differ, that crosses none of these links and no switch of
    /// these between its ends.
    pub fn find(
        &mut self,
        s: SwitchId,
        d: SwitchId,
        links: &[LinkId],
        switches: &[SwitchId],
    ) -> Option<Vec<Channel>> {
        self.search += 1;
        let ends = [s.0, d.0];
        let mut fronts = ends.map(|end| vec![end]);
        let mut depths = [0; 2];
        for (side, end) in ends.into_iter().enumerate() {
            self.sides[side][end as usize] =
                Seen { search: self.search, depth: 0, by: Channel::MAX };
        }
        let mut best: Option<(u32, u32)> = None;
        loop {
            // No path that was not met yet is shorter. One that goes up and down may be met at any of its switches.
            let shortest = match self.order {
                Some(_) => depths[0].min(depths[1]) + 1,
                None => depths[0] + depths[1] + 1,
            };
            if let Some((_, at)) = best.filter(|(length, _)| *length <= shortest) {
                return Some(self.path(at));
            }
            let open = [0, 1].into_iter().filter(|side| !fronts[*side].is_empty());
            let Some(side) = open.min_by_key(|side| fronts[*side].len()) else {
                return best.map(|(_, at)| self.path(at));
            };
            depths[side] += 1;
            for u in std::mem::take(&mut fronts[side]) {
                for c in self.graph.out(u) {
                    let v = self.graph.head(c);
                    let goes = self.order.is_none_or(|order| order.is_up(self.graph, c));
                    let avoided = links.contains(&self.graph.link(c))
                        || !ends.contains(&v) && switches.contains(&SwitchId(v));
                    if !goes || avoided || self.sides[side][v as usize].search == self.search {
                        continue;
                    }
                    let seen = Seen { search: self.search, depth: depths[side], by: c };
                    self.sides[side][v as usize] = seen;
                    fronts[side].push(v);
                    let other = self.sides[1 - side][v as usize];
                    let met = (depths[side] + other.depth, v);
                    if other.search == self.search && best.is_none_or(|best| met < best) {
                        best = Some(met);
                    }
                }
            }
            if fronts[side].is_empty() {
                depths[side] = u32::MAX / 4;
            }
        }
    }

    /// The path over the switch at which both sides have met.
    fn path(&self, at: u32) -> Vec<Channel> {
        let back = |side: usize| {
            let step = move |at: u32| {
                let c = self.sides[side][at as usize].by;
                (c != Channel::MAX).then(|| (c, self.graph.tail(c)))
            };
            std::iter::successors(step(at), move |(_, before)| step(*before)).map(|(c, _)| c)
        };
        let mut path: Vec<_> = back(0).collect();
        path.reverse();
        path.extend(back(1).map(|c| self.graph.reverse(c)));
        path
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

        /// As long as the shortest path in the fabric without what is avoided, found by searching all of it; legal where
        /// that is wanted.
        #[test]
        fn detours_are_the_shortest_there_are(
            n in 2usize..16,
            tail in prop::collection::vec((0u32..16, 0u32..16), 0..24),
            (s, d) in (0u32..16, 0u32..16),
            avoided in prop::collection::vec(0u32..30, 0..4),
            without in prop::collection::vec(0u32..16, 0..3),
            legal in any::<bool>(),
        ) {
            let mut edges: Vec<(u32, u32)> = (1..n as u32).map(|s| (s * 7 % s, s)).collect();
            let more = tail.into_iter().map(|(a, b)| (a % n as u32, b % n as u32));
            edges.extend(more.filter(|(a, b)| a != b));
            let graph = Graph::from_edges(n, &edges);
            let (s, d) = (s % n as u32, d % n as u32);
            prop_assume!(s != d);
            let order = Order::new(&graph, 0);
            let links: Vec<_> = avoided.into_iter().map(LinkId).collect();
            let switches: Vec<_> = without.into_iter().map(SwitchId).collect();
            let mut search = DetourSearch::new(&graph, legal.then_some(&order));
            let found = search.find(SwitchId(s), SwitchId(d), &links, &switches);
            // By states: switch v still going up is 2v, going down 2v + 1.
            let mut hops = vec![None; 2 * n];
            hops[2 * s as usize] = Some(0);
            for length in 1..=2 * n {
                for c in 0..graph.channels() as u32 {
                    let (u, v) = (graph.tail(c) as usize, graph.head(c) as usize);
                    let inner = v != d as usize && switches.contains(&SwitchId(v as u32));
                    if links.contains(&graph.link(c)) || inner {
                        continue;
                    }
                    let down = usize::from(legal && !order.is_up(&graph, c));
                    for phase in 0..=down {
                        if hops[2 * u + phase] == Some(length - 1) && hops[2 * v + down].is_none() {
                            hops[2 * v + down] = Some(length);
                        }
                    }
                }
            }
            let ends = [hops[2 * d as usize], hops[2 * d as usize + 1]];
            let shortest = ends.into_iter().flatten().min();
            prop_assert_eq!(found.as_ref().map(Vec::len), shortest);
            let Some(path) = found else { return Ok(()) };
            let mut at = s;
            for c in &path {
                prop_assert_eq!(graph.tail(*c), at);
                at = graph.head(*c);
                prop_assert!(!links.contains(&graph.link(*c)));
                prop_assert!(at == d || !switches.contains(&SwitchId(at)));
            }
            prop_assert_eq!(at, d);
            let turns = |pair: &[Channel]| !order.is_up(&graph, pair[0]) && order.is_up(&graph, pair[1]);
            prop_assert!(!legal || !path.windows(2).any(turns));
        }
    }
}

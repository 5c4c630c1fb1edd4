//! Which turns (a channel, and another right after it) the frames of a lossless plan may take: those of the primaries,
//! and those of backups that close no cycle of channels with the ones before (Dally and Seitz 1987).

use tresse_base::id::{LinkId, SwitchId};
use tresse_topology::{Channel, Dependencies, Graph};

/// The turns that backups may take, and an order of all channels in which every turn leads onwards.
#[derive(Debug)]
pub(crate) struct Turns {
    allowed: Dependencies,
    /// Those that would close a cycle with some that are allowed.
    refused: Dependencies,
    /// By channel: its place in the order.
    place: Vec<u32>,
    /// By place.
    order: Vec<Channel>,
    search: Search,
}

/// Scratch of the search for detours.
#[derive(Debug)]
struct Search {
    number: u32,
    /// By channel: the search that came to it last, and the channel before.
    seen: Vec<(u32, Channel)>,
    queue: Vec<Channel>,
    /// Turns that this search has to do without.
    refused: Vec<(Channel, Channel)>,
}

impl Turns {
    /// `None` where the turns of the primaries have a cycle.
    pub fn new(graph: &Graph, primaries: Dependencies) -> Option<Self> {
        let channels = graph.channels();
        let mut before = vec![0u32; channels];
        let after = |c: Channel| primaries.after(c);
        (0..channels as u32).flat_map(after).for_each(|c| before[c as usize] += 1);
        let mut order: Vec<Channel> =
            (0..channels as u32).filter(|c| before[*c as usize] == 0).collect();
        let mut next = 0;
        while let Some(&c) = order.get(next) {
            next += 1;
            for to in primaries.after(c) {
                before[to as usize] -= 1;
                if before[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        let mut place = vec![0; channels];
        (0..).zip(&order).for_each(|(at, c)| place[*c as usize] = at);
        let search = Search {
            number: 0,
            seen: vec![(0, Channel::MAX); channels],
            queue: Vec::new(),
            refused: Vec::new(),
        };
        let (allowed, refused) = (primaries, Dependencies::new(graph));
        (order.len() == channels).then_some(Self { allowed, refused, place, order, search })
    }

    /// Whether a path takes allowed turns only.
    pub fn allow(&self, path: &[Channel]) -> bool {
        path.windows(2).all(|turn| self.allowed.contains(turn[0], turn[1]))
    }

    /// Allows all turns of a path.
    ///
    /// # Errors
    /// A turn that would close a cycle: then those alone are allowed that were before.
    pub fn take(&mut self, path: &[Channel]) -> Result<(), (Channel, Channel)> {
        let turns: Vec<_> = path
            .windows(2)
            .map(|turn| (turn[0], turn[1]))
            .filter(|(from, to)| !self.allowed.contains(*from, *to))
            .collect();
        for (at, &(from, to)) in turns.iter().enumerate() {
            if self.refused.contains(from, to) || !self.put_before(from, to) {
                turns[..at].iter().for_each(|(from, to)| self.allowed.remove(*from, *to));
                if at == 0 {
                    self.refused.add(from, to);
                }
                return Err((from, to));
            }
            self.allowed.add(from, to);
        }
        Ok(())
    }

    /// The channels of a path from `s` to `d`, which differ, that crosses none of these links and no switch of these
    /// between its ends, and none twice. Its turns are allowed from now on. O(channels x degree), and again for each turn
    /// that is refused on the way, which happens once for each.
    pub fn detour(
        &mut self,
        graph: &Graph,
        (s, d): (SwitchId, SwitchId),
        links: &[LinkId],
        switches: &[SwitchId],
    ) -> Option<Vec<Channel>> {
        self.search.refused.clear();
        loop {
            let path = self.shortest(graph, (s.0, d.0), links, switches)?;
            let heads: Vec<u32> = path.iter().map(|c| graph.head(*c)).collect();
            let twice = |at: usize| heads[at] == s.0 || heads[..at].contains(&heads[at]);
            if (0..heads.len()).any(twice) {
                return None;
            }
            match self.take(&path) {
                Ok(()) => return Some(path),
                Err(turn) => self.search.refused.push(turn),
            }
        }
    }

    /// Over turns that are not refused so far.
    fn shortest(
        &mut self,
        graph: &Graph,
        (s, d): (u32, u32),
        links: &[LinkId],
        switches: &[SwitchId],
    ) -> Option<Vec<Channel>> {
        let Search { number, seen, queue, refused } = &mut self.search;
        *number += 1;
        queue.clear();
        let enters = |c: Channel| {
            let head = graph.head(c);
            let avoided = head != d && (head == s || switches.contains(&SwitchId(head)));
            !avoided && !links.contains(&graph.link(c))
        };
        for c in graph.out(s).filter(|c| enters(*c)) {
            seen[c as usize] = (*number, Channel::MAX);
            queue.push(c);
        }
        let mut next = 0;
        while let Some(&c) = queue.get(next) {
            next += 1;
            if graph.head(c) == d {
                let back = |c: &Channel| {
                    let before = seen[*c as usize].1;
                    (before != Channel::MAX).then_some(before)
                };
                let mut path: Vec<_> = std::iter::successors(Some(c), back).collect();
                path.reverse();
                return Some(path);
            }
            for to in graph.out(graph.head(c)).filter(|to| enters(*to)) {
                let not = graph.reverse(to) == c
                    || self.refused.contains(c, to)
                    || refused.contains(&(c, to));
                if !not && seen[to as usize].0 != *number {
                    seen[to as usize] = (*number, c);
                    queue.push(to);
                }
            }
        }
        None
    }

    /// Orders the channels so that `from` comes before `to`, where no turns lead from `to` to `from`.
    fn put_before(&mut self, from: Channel, to: Channel) -> bool {
        let [first, last] = [to, from].map(|c| self.place[c as usize] as usize);
        if first > last {
            return true;
        }
        // What comes after `to`, up to the place of `from`.
        let mut after = vec![false; last - first + 1];
        after[0] = true;
        for at in first..=last {
            if after[at - first] {
                for next in self.allowed.after(self.order[at]) {
                    let place = self.place[next as usize] as usize;
                    if place <= last {
                        after[place - first] = true;
                    }
                }
            }
        }
        if after[last - first] {
            return false;
        }
        let part = self.order[first..=last].to_vec();
        let with = |wanted: bool| part.iter().zip(&after).filter(move |(_, is)| **is == wanted);
        for (at, (c, _)) in (first..).zip(with(false).chain(with(true))) {
            self.order[at] = *c;
            self.place[*c as usize] = at as u32;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

        /// Paths are refused exactly where they close a cycle with those that are taken, and leave nothing behind.
        #[test]
        fn paths_never_close_a_cycle(
            edges in prop::collection::vec((0u32..8, 0u32..8), 8..24),
            paths in prop::collection::vec((any::<u32>(), prop::collection::vec(any::<u32>(), 1..5)), 0..64),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a != b).collect();
            prop_assume!(!edges.is_empty());
            let graph = Graph::from_edges(8, &edges);
            let none = Dependencies::new(&graph);
            let mut known = Turns::new(&graph, none).unwrap();
            for (from, ways) in paths {
                let mut path = vec![from % graph.channels() as u32];
                for way in ways {
                    let on: Vec<_> = graph.out(graph.head(path[path.len() - 1])).collect();
                    path.push(on[way as usize % on.len()]);
                }
                let before = known.allowed.clone();
                let mut with = before.clone();
                path.windows(2).for_each(|turn| with.add(turn[0], turn[1]));
                let cycle = with.cycle(&graph).is_some();
                prop_assert_eq!(known.take(&path).is_ok(), !cycle, "{:?}", path);
                let expected = if cycle { before } else { with };
                for c in 0..graph.channels() as u32 {
                    prop_assert!(known.allowed.after(c).eq(expected.after(c)));
                    for next in known.allowed.after(c) {
                        prop_assert!(known.place[c as usize] < known.place[next as usize]);
                    }
                }
            }
        }
    }
}

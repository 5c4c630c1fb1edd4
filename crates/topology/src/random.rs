//! Generates random regular graphs for irregular fabrics: connected, with the same number of cables at every switch
//! and at most one cable between two switches (in-transit-buffers, section 4.4: "all the switches have the same size",
//! "neighboring switches are connected to each other by just one link").
//!
//! Free cable ends are paired at random as long as no two switches get a second cable (Steger and Wormald 1999).
//! Remaining ends are placed, and separate components joined, by exchanging the ends of two cables, which keeps the
//! number of cables at every switch.

use std::collections::BTreeSet;

use tresse_base::random::Random;

use super::Components;

/// Number of exchanges that are tried before a graph is abandoned.
const TRIES: usize = 4096;
/// Number of graphs that are tried.
const GRAPHS: usize = 64;

/// Returns the cables of a random graph of `switches` switches with `degree` cables each. A cable is a pair of
/// switches, `(lower, higher)`; the list is in ascending order, and the same `seed` gives the same list. If both
/// numbers are odd, one switch has one cable less. If there are fewer than `degree` other switches, every switch is
/// cabled to all of them. More than two switches are connected only if `degree` is at least 2.
#[must_use]
pub fn regular(switches: u32, degree: u32, seed: u64) -> Vec<(u32, u32)> {
    let degree = degree.min(switches.saturating_sub(1));
    let mut random = Random::new(seed);
    let mut best: Option<Draft> = None;
    for _ in 0..GRAPHS {
        let mut draft = Draft::new(switches);
        draft.pair(degree, &mut random);
        draft.fill(degree, &mut random);
        draft.connect(&mut random);
        let done = draft.parts().1 <= 1 && draft.missing(degree) <= 1;
        if best.as_ref().is_none_or(|best| draft.rank(degree) < best.rank(degree)) {
            best = Some(draft);
        }
        if done {
            break;
        }
    }
    best.map_or_else(Vec::new, |draft| draft.edges.into_iter().collect())
}

/// A simple graph under construction.
struct Draft {
    neighbours: Vec<Vec<u32>>,
    edges: BTreeSet<(u32, u32)>,
}

impl Draft {
    fn new(switches: u32) -> Self {
        Self { neighbours: vec![Vec::new(); switches as usize], edges: BTreeSet::new() }
    }

    fn may(&self, a: u32, b: u32) -> bool {
        a != b && !self.neighbours[a as usize].contains(&b)
    }

    fn add(&mut self, a: u32, b: u32) {
        self.neighbours[a as usize].push(b);
        self.neighbours[b as usize].push(a);
        self.edges.insert((a.min(b), a.max(b)));
    }

    fn remove(&mut self, (a, b): (u32, u32)) {
        self.neighbours[a as usize].retain(|v| *v != b);
        self.neighbours[b as usize].retain(|v| *v != a);
        self.edges.remove(&(a, b));
    }

    /// Pairs free cable ends at random until few allowed pairs remain.
    fn pair(&mut self, degree: u32, random: &mut Random) {
        let mut free: Vec<u32> =
            (0..self.neighbours.len() as u32).flat_map(|s| (0..degree).map(move |_| s)).collect();
        let mut refused = 0;
        while free.len() > 1 && refused < TRIES {
            let (i, j) = (random.below(free.len()), random.below(free.len()));
            let (a, b) = (free[i], free[j]);
            if i == j || !self.may(a, b) {
                refused += 1;
                continue;
            }
            refused = 0;
            self.add(a, b);
            free.swap_remove(i.max(j));
            free.swap_remove(i.min(j));
        }
    }

    /// Opens a random cable for each two free ends that remain, until at most one end is free.
    fn fill(&mut self, degree: u32, random: &mut Random) {
        let edges: Vec<_> = self.edges.iter().copied().collect();
        for _ in 0..TRIES {
            let free: Vec<u32> = self.free(degree).take(2).collect();
            let (a, b) = match free[..] {
                [a, b] => (a, b),
                [a] if self.gap(a, degree) > 1 => (a, a),
                _ => return,
            };
            if edges.is_empty() {
                return;
            }
            let (x, y) = edges[random.below(edges.len())];
            let (x, y) = if random.number() & 1 == 0 { (x, y) } else { (y, x) };
            let there = self.edges.contains(&(x.min(y), x.max(y)));
            if there && self.may(a, x) && self.may(b, y) {
                self.remove((x.min(y), x.max(y)));
                self.add(a, x);
                self.add(b, y);
            }
        }
    }

    /// Exchanges cable ends between components until the graph is connected.
    fn connect(&mut self, random: &mut Random) {
        for _ in 0..TRIES {
            let (mut parts, count) = self.parts();
            if count <= 1 || self.edges.len() < 2 {
                return;
            }
            let edges: Vec<_> = self.edges.iter().copied().collect();
            let ((a, b), (c, d)) =
                (edges[random.below(edges.len())], edges[random.below(edges.len())]);
            if parts.join(a as usize, c as usize) {
                self.remove((a, b));
                self.remove((c, d));
                self.add(a, c);
                self.add(b, d);
            }
        }
    }

    /// Returns the connected components and their number.
    fn parts(&self) -> (Components, usize) {
        let mut parts = Components::new(self.neighbours.len());
        let joins = self.edges.iter().filter(|(a, b)| parts.join(*a as usize, *b as usize));
        let count = self.neighbours.len() - joins.count();
        (parts, count)
    }

    fn gap(&self, switch: u32, degree: u32) -> usize {
        degree as usize - self.neighbours[switch as usize].len()
    }

    fn free(&self, degree: u32) -> impl Iterator<Item = u32> + '_ {
        (0..self.neighbours.len() as u32).filter(move |s| self.gap(*s, degree) > 0)
    }

    fn missing(&self, degree: u32) -> usize {
        (0..self.neighbours.len() as u32).map(|s| self.gap(s, degree)).sum()
    }

    /// Returns the sort key by which better graphs come first: connected ones, then those with more cables.
    fn rank(&self, degree: u32) -> (usize, usize) {
        (self.parts().1, self.missing(degree))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn degrees(switches: u32, edges: &[(u32, u32)]) -> Vec<u32> {
        let mut degrees = vec![0; switches as usize];
        for (a, b) in edges {
            degrees[*a as usize] += 1;
            degrees[*b as usize] += 1;
        }
        degrees
    }

    fn connected(switches: u32, edges: &[(u32, u32)]) -> bool {
        let mut parts = Components::new(switches as usize);
        edges.iter().filter(|(a, b)| parts.join(*a as usize, *b as usize)).count() + 1
            == switches as usize
    }

    /// A cluster file means these cables for ever.
    #[test]
    fn a_seed_gives_the_same_cables_in_every_version() {
        let edges = regular(8, 3, 1);
        let known = [
            [(0, 1), (0, 3), (0, 5), (1, 4), (1, 7), (2, 5)],
            [(2, 6), (2, 7), (3, 6), (3, 7), (4, 5), (4, 6)],
        ];
        assert_eq!(edges, known.concat());
        assert_ne!(edges, regular(8, 3, 2));
    }

    #[test]
    fn small_and_dense_ones() {
        assert_eq!(regular(1, 4, 7), []);
        assert_eq!(regular(2, 4, 7), [(0, 1)]);
        assert_eq!(regular(5, 4, 7).len(), 10, "complete");
        assert_eq!(regular(5, 9, 7).len(), 10, "no more than complete");
        assert_eq!(regular(6, 4, 7).len(), 12, "complete less a matching");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

        #[test]
        fn simple_connected_and_regular(switches in 3u32..80, degree in 2u32..9, seed: u64) {
            let edges = regular(switches, degree, seed);
            let wanted = degree.min(switches - 1);
            prop_assert!(edges.iter().all(|(a, b)| a < b && *b < switches));
            prop_assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "simple");
            prop_assert!(connected(switches, &edges));
            let short = degrees(switches, &edges).iter().map(|d| wanted - d).sum::<u32>();
            prop_assert_eq!(short, switches * wanted % 2);
        }
    }
}

//! Chooses routes as the evaluation of in-transit-buffers does (section 4, `choice = "paper"`): every pair of switches
//! takes a path with the fewest hops, a legal up*/down* one if there is one, "when several minimal paths exist between
//! a pair of hosts only one is selected (randomly)". The loads of links are ignored.

use tresse_base::random::Random;
use tresse_topology::{Channel, Graph};

use crate::order::Order;

/// The seed of the random choice, fixed because every node must plan the same routes.
const SEED: u64 = 1;

/// A route for every ordered pair of switches, those with long routes first: of all shortest routes,
/// each as likely as any other. A path may turn from down to up where `transit` is not 0.
/// O(switches x channels).
#[must_use]
pub(super) fn routes(
    graph: &Graph,
    order: &Order,
    transit: &[u64],
) -> Vec<(u32, u32, Vec<Channel>)> {
    let n = graph.switches() as u32;
    let none = vec![0; transit.len()];
    let mut random = Random::new(SEED);
    let mut legal = Count::new(graph, order, &none);
    let mut minimal = Count::new(graph, order, transit);
    let mut routes = Vec::with_capacity((n as usize).pow(2));
    for s in 0..n {
        legal.from(s);
        minimal.from(s);
        for d in (0..n).filter(|d| *d != s) {
            let count = if legal.hops(d) == minimal.hops(d) { &legal } else { &minimal };
            routes.push((s, d, count.draw(d, &mut random)));
        }
    }
    routes.sort_by_key(|(.., route)| std::cmp::Reverse(route.len()));
    routes
}

/// How many shortest routes lead from one source to each state: switch v still going up is 2v, going
/// down 2v + 1.
struct Count<'a> {
    graph: &'a Graph,
    transit: &'a [u64],
    up: Vec<bool>,
    hops: Vec<u32>,
    counts: Vec<u64>,
    queue: Vec<usize>,
}

impl<'a> Count<'a> {
    fn new(graph: &'a Graph, order: &Order, transit: &'a [u64]) -> Self {
        let states = 2 * graph.switches();
        let up = (0..graph.channels() as u32).map(|c| order.is_up(graph, c)).collect();
        let (hops, counts) = (vec![u32::MAX; states], vec![0; states]);
        Self { graph, transit, up, hops, counts, queue: Vec::with_capacity(states) }
    }

    /// May a path go on from `state` by a channel out of its switch?
    fn goes(&self, state: usize, channel: Channel) -> bool {
        state.is_multiple_of(2) || !self.up[channel as usize] || self.transit[state / 2] > 0
    }

    fn from(&mut self, s: u32) {
        self.hops.fill(u32::MAX);
        self.counts.fill(0);
        self.queue.clear();
        let start = 2 * s as usize;
        (self.hops[start], self.counts[start]) = (0, 1);
        self.queue.push(start);
        let mut next = 0;
        while let Some(&state) = self.queue.get(next) {
            next += 1;
            for c in self.graph.out(state as u32 / 2) {
                if !self.goes(state, c) {
                    continue;
                }
                let to = 2 * self.graph.head(c) as usize + usize::from(!self.up[c as usize]);
                if self.hops[to] == u32::MAX {
                    self.hops[to] = self.hops[state] + 1;
                    self.queue.push(to);
                }
                if self.hops[to] == self.hops[state] + 1 {
                    self.counts[to] = self.counts[to].saturating_add(self.counts[state]);
                }
            }
        }
    }

    fn hops(&self, d: u32) -> u32 {
        self.hops[2 * d as usize].min(self.hops[2 * d as usize + 1])
    }

    /// One of the shortest paths to `d`, drawn from its end back to the source.
    fn draw(&self, d: u32, random: &mut Random) -> Vec<Channel> {
        let mut hops = self.hops(d);
        let mut path = Vec::with_capacity(hops as usize);
        let ends = [2 * d as usize, 2 * d as usize + 1].map(|state| (0, state));
        let mut state = self.one_of(ends.into_iter(), hops, random).1;
        while hops > 0 {
            hops -= 1;
            let rising = state.is_multiple_of(2);
            let entries = self.graph.out(state as u32 / 2).flat_map(|out| {
                let c = self.graph.reverse(out);
                let tail = 2 * self.graph.tail(c) as usize;
                let fits =
                    move |state: &usize| self.up[c as usize] == rising && self.goes(*state, c);
                [tail, tail + 1].into_iter().filter(fits).map(move |state| (c, state))
            });
            let entry = self.one_of(entries, hops, random);
            path.push(entry.0);
            state = entry.1;
        }
        path.reverse();
        path
    }

    /// One of the states that are so many hops away, each as likely as it has routes.
    fn one_of(
        &self,
        entries: impl Iterator<Item = (Channel, usize)> + Clone,
        hops: u32,
        random: &mut Random,
    ) -> (Channel, usize) {
        let entries = entries.filter(|(_, state)| self.hops[*state] == hops);
        let counts = |(_, state): &(Channel, usize)| self.counts[*state];
        let all: u64 = entries.clone().map(|entry| counts(&entry)).fold(0, u64::saturating_add);
        let mut left = random.below(all as usize) as u64;
        let mut entries = entries;
        entries
            .find(|entry| match left.checked_sub(counts(entry)) {
                Some(less) => {
                    left = less;
                    false
                }
                None => true,
            })
            .expect("a state is reached from one before it")
    }
}

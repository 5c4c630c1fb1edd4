//! Shortest legal up*/down* routes from every switch to every other, balanced over the channels: zero
//! or more channels up, then zero or more down (in-transit-buffers, section 2). Which of the shortest
//! ones is taken follows the loads, in the manner of Myricom's `simple_routes`.

use super::order::Order;
use crate::topology::{Channel, Graph};

/// A step that does not exist.
const NONE: u32 = u32::MAX;

/// A search from one source runs over states: switch v still going up is 2v, going down 2v + 1.
type State = usize;

/// How each state of one source was entered: the channel, and in the lowest bit the phase before.
type Steps = Vec<u32>;

/// All routes, and the load that they put on each channel.
#[derive(Debug, Clone)]
pub struct Routes {
    /// By source switch.
    steps: Vec<Steps>,
    /// By source and destination: does the route end going down?
    down: Vec<bool>,
    /// Node pairs over each channel.
    loads: Vec<u64>,
}

impl Routes {
    /// Routes of all sources, `rounds` times taken up and laid anew where that lessens the loads;
    /// `weights[s]` = nodes on switch `s`. O(rounds x switches x channels).
    #[must_use]
    pub fn new(graph: &Graph, order: &Order, weights: &[u64], rounds: usize) -> Self {
        let n = graph.switches();
        let up: Vec<bool> = (0..graph.channels() as u32).map(|c| order.is_up(graph, c)).collect();
        let mut search = Search::new(graph, &up, weights);
        let mut routes = Self {
            steps: vec![Vec::new(); n],
            down: vec![false; n * n],
            loads: vec![0; graph.channels()],
        };
        (0..n).for_each(|s| search.lay(s, &mut routes));
        let mut best = routes.clone();
        for _ in 0..rounds {
            for s in 0..n {
                routes.put(graph, weights, s, |load, demand| *load -= demand);
                search.lay(s, &mut routes);
            }
            if routes.cost() < best.cost() {
                best.clone_from(&routes);
            }
        }
        best
    }

    /// The channels from switch `s` to `d`, onto the end of `channels`; none where `s` is `d`.
    pub fn walk(&self, graph: &Graph, s: u32, d: u32, channels: &mut Vec<Channel>) {
        let from = channels.len();
        channels.extend(back(graph, &self.steps[s as usize], self.last(s as usize, d as usize)));
        channels[from..].reverse();
    }

    /// Most node pairs over one channel, then how uneven it is.
    #[must_use]
    pub fn cost(&self) -> (u64, u128) {
        let squares = self.loads.iter().map(|load| u128::from(*load).pow(2)).sum();
        (self.loads.iter().copied().max().unwrap_or(0), squares)
    }

    /// Puts the demand of source `s` on the channels of its routes.
    fn put(&mut self, graph: &Graph, weights: &[u64], s: usize, put: fn(&mut u64, u64)) {
        for (d, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
            for channel in back(graph, &self.steps[s], self.last(s, d)) {
                put(&mut self.loads[channel as usize], weights[s] * weight);
            }
        }
    }

    fn last(&self, s: usize, d: usize) -> State {
        2 * d + usize::from(self.down[s * self.steps.len() + d])
    }
}

/// The channels from a state back to the source.
fn back<'a>(
    graph: &'a Graph,
    steps: &'a Steps,
    mut state: State,
) -> impl Iterator<Item = Channel> + 'a {
    std::iter::from_fn(move || {
        let (channel, phase) = (steps[state] >> 1, steps[state] & 1);
        let more = steps[state] != NONE;
        more.then(|| {
            state = 2 * graph.tail(channel) as usize + phase as usize;
            channel
        })
    })
}

/// Scratch of the searches.
struct Search<'a> {
    graph: &'a Graph,
    up: &'a [bool],
    weights: &'a [u64],
    hops: Vec<u32>,
    cost: Vec<u128>,
    queue: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, up: &'a [bool], weights: &'a [u64]) -> Self {
        let states = 2 * graph.switches();
        Self {
            graph,
            up,
            weights,
            hops: vec![NONE; states],
            cost: vec![0; states],
            queue: Vec::with_capacity(states),
        }
    }

    /// Searches from `s`, breadth first, of equally long ways that with the least sum of squared
    /// loads; puts the demand of `s` on the channels.
    fn lay(&mut self, s: usize, routes: &mut Routes) {
        let n = self.graph.switches();
        self.hops.fill(NONE);
        self.queue.clear();
        let steps = &mut routes.steps[s];
        steps.clear();
        steps.resize(2 * n, NONE);
        self.hops[2 * s] = 0;
        self.cost[2 * s] = 0;
        self.queue.push(2 * s as u32);
        let mut next = 0;
        while let Some(&state) = self.queue.get(next) {
            next += 1;
            let (v, phase) = (state >> 1, state & 1);
            let (hops, cost) = (self.hops[state as usize] + 1, self.cost[state as usize]);
            for c in self.graph.out(v) {
                let up = self.up[c as usize];
                if up && phase == 1 {
                    continue;
                }
                let to = 2 * self.graph.head(c) as usize + usize::from(!up);
                let cost = cost + u128::from(routes.loads[c as usize]).pow(2);
                if self.hops[to] == NONE {
                    self.queue.push(to as u32);
                } else if self.hops[to] < hops || self.cost[to] <= cost {
                    continue;
                }
                (self.hops[to], self.cost[to]) = (hops, cost);
                steps[to] = c << 1 | phase;
            }
        }
        for d in 0..n {
            let rank = |state: State| (self.hops[state], self.cost[state]);
            routes.down[s * n + d] = rank(2 * d + 1) < rank(2 * d);
        }
        routes.put(self.graph, self.weights, s, |load, demand| *load += demand);
    }
}

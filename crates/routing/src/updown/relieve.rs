//! Improves the balance of routes by moving them, one by one, off the most loaded links. The search that found the
//! routes chose all routes of one source switch with the same link costs; where few nodes send, this leaves some links
//! busier than necessary.
//!
//! The routes of one source form a tree of states (a switch, and whether the route goes up or down there). A move
//! gives one state another predecessor at the same distance, so that routes stay as short as they were; all routes
//! through the state move along. The cost of a set of routes is the sum over all links of load^k for a large k: the
//! larger k, the more the most loaded links count. A move is made if it lowers the cost. A transit node counts as two
//! links, one in each direction.
//! O(sweeps x switches x channels x hops).

use tresse_topology::{Channel, Graph};

use super::routes::{NONE, SwitchDemand, SwitchRoutes};

/// Powers of the load, lowest first: the first evens out what the last ones cannot see.
const POWERS: [u32; 3] = [2, 4, 5];

/// Moves routes until none is worth while, or `sweeps` times over all of them for each power. What comes
/// of it never costs more than what was there.
pub(super) fn relieve(
    graph: &Graph,
    up: &[bool],
    demand: &SwitchDemand,
    routes: &mut SwitchRoutes,
    sweeps: usize,
) {
    let mut relief = Relief::new(graph, up, demand, routes);
    let mut best = routes.clone();
    for power in POWERS {
        relief.power = power;
        for _ in 0..sweeps {
            let moved: usize = (0..graph.switches()).map(|s| relief.source(routes, s as u32)).sum();
            if routes.cost(demand) < best.cost(demand) {
                best = routes.clone();
            }
            if moved == 0 {
                break;
            }
        }
    }
    *routes = best;
}

struct Relief<'a> {
    graph: &'a Graph,
    up: &'a [bool],
    demand: &'a SwitchDemand<'a>,
    /// Paths of a node's own.
    own: f64,
    /// Twice squared so often.
    power: u32,
    /// By channel: its edge.
    edge: Vec<u32>,
    /// By state: how far from the source in hand.
    depth: Vec<u32>,
    queue: Vec<u32>,
    /// By state: nodes that are reached through it.
    behind: Vec<u64>,
}

impl<'a> Relief<'a> {
    fn new(
        graph: &'a Graph,
        up: &'a [bool],
        demand: &'a SwitchDemand<'a>,
        routes: &SwitchRoutes,
    ) -> Self {
        let states = 2 * graph.switches();
        let mut edge = vec![0; graph.channels()];
        for (at, (channel, _)) in (0..).zip(&routes.edges) {
            edge[*channel as usize] = at;
        }
        let own = demand.nodes.iter().sum::<u64>().saturating_sub(1) as f64;
        let (depth, behind) = (vec![NONE; states], vec![0; states]);
        let queue = Vec::with_capacity(states);
        Self { graph, up, demand, own, power: 1, edge, depth, queue, behind }
    }

    /// Moves what is worth it of the routes from `s`; how many moves.
    fn source(&mut self, routes: &mut SwitchRoutes, s: u32) -> usize {
        let nodes = self.demand.nodes[s as usize];
        if nodes == 0 {
            return 0;
        }
        self.search(routes, s);
        self.count(routes, s);
        let mut moved = 0;
        for at in (1..self.queue.len()).rev() {
            let state = self.queue[at];
            if self.behind[state as usize] > 0 {
                moved += usize::from(self.enter_otherwise(routes, s, state));
            }
        }
        for d in 0..self.graph.switches() as u32 {
            moved += usize::from(d != s && self.end_otherwise(routes, s, d));
        }
        moved
    }

    /// May a route go on from `state` by `channel`?
    fn goes(&self, state: u32, channel: Channel) -> bool {
        state.is_multiple_of(2)
            || !self.up[channel as usize]
            || self.demand.transit[state as usize / 2] > 0
    }

    /// How far each state is. Those that the routes came to later, as they could not turn, or not at all
    /// are entered anew: no route goes through them.
    fn search(&mut self, routes: &mut SwitchRoutes, s: u32) {
        self.depth.fill(NONE);
        self.depth[2 * s as usize] = 0;
        self.queue.clear();
        self.queue.push(2 * s);
        let mut next = 0;
        while let Some(&state) = self.queue.get(next) {
            next += 1;
            for c in self.graph.out(state / 2) {
                if !self.goes(state, c) {
                    continue;
                }
                let to = 2 * self.graph.head(c) + u32::from(!self.up[c as usize]);
                if self.depth[to as usize] == NONE {
                    self.depth[to as usize] = self.depth[state as usize] + 1;
                    self.queue.push(to);
                    let step = routes.step(s, to);
                    let near = || self.depth[routes.before(step)] == self.depth[state as usize];
                    if step == NONE || !near() {
                        routes.set_step(s, to, self.edge[c as usize] << 1 | state & 1);
                    }
                }
            }
        }
    }

    /// How many nodes are behind each state.
    fn count(&mut self, routes: &SwitchRoutes, s: u32) {
        self.behind.fill(0);
        for (d, nodes) in (0..).zip(self.demand.nodes) {
            self.behind[routes.end(s, d)] += nodes;
        }
        for &state in self.queue.iter().skip(1).rev() {
            let step = routes.step(s, state);
            if step != NONE {
                self.behind[routes.before(step)] += self.behind[state as usize];
            }
        }
    }

    /// Another path into a state.
    fn enter_otherwise(&mut self, routes: &mut SwitchRoutes, s: u32, state: u32) -> bool {
        let nodes = self.behind[state as usize];
        let (load, old) = (nodes * self.demand.nodes[s as usize], routes.step(s, state));
        self.put(routes, s, state, old, nodes, false);
        let depth = self.depth[state as usize];
        let mut best = (self.price(routes, s, state, old, load), old);
        for out in self.graph.out(state / 2) {
            let c = self.graph.reverse(out);
            if self.up[c as usize] != state.is_multiple_of(2) {
                continue;
            }
            for phase in 0..2 {
                let before = 2 * self.graph.tail(c) + phase;
                let step = self.edge[c as usize] << 1 | phase;
                let near = self.depth[before as usize] != NONE
                    && self.depth[before as usize] + 1 == depth
                    && self.goes(before, c);
                if near && step != old {
                    let price = self.price(routes, s, state, step, load);
                    if price < best.0 * BETTER {
                        best = (price, step);
                    }
                }
            }
        }
        routes.set_step(s, state, best.1);
        self.put(routes, s, state, best.1, nodes, true);
        best.1 != old
    }

    /// The other phase at the end of a route.
    fn end_otherwise(&mut self, routes: &mut SwitchRoutes, s: u32, d: u32) -> bool {
        let old = routes.end(s, d) as u32;
        let other = old ^ 1;
        let nodes = self.demand.nodes[d as usize];
        if nodes == 0 || self.depth[other as usize] != self.depth[old as usize] {
            return false;
        }
        let load = nodes * self.demand.nodes[s as usize];
        let steps = [old, other].map(|state| routes.step(s, state));
        self.put(routes, s, old, steps[0], nodes, false);
        let [old_price, new_price] = [(old, steps[0]), (other, steps[1])]
            .map(|(state, step)| self.price(routes, s, state, step, load));
        let better = new_price < old_price * BETTER;
        let (state, step) = if better { (other, steps[1]) } else { (old, steps[0]) };
        self.put(routes, s, state, step, nodes, true);
        if better {
            self.behind[old as usize] -= nodes;
            self.behind[other as usize] += nodes;
            routes.turn_end(s, d);
        }
        better
    }

    /// What `load` more would cost on the path to `state` by `step`.
    fn price(&self, routes: &SwitchRoutes, s: u32, state: u32, step: u32, load: u64) -> f64 {
        let mut price = 0.0;
        let (mut state, mut step) = (state, step);
        while step != NONE {
            let (edge, before) = ((step >> 1) as usize, routes.before(step) as u32);
            let old = routes.loads[edge];
            price += self.power((old + load) as f64) - self.power(old as f64);
            if needs_transit(before, state) {
                let v = before as usize / 2;
                let (old, hosts) = (routes.transit_pairs[v] as f64, self.demand.transit[v] as f64);
                let of = |transit_pairs: f64| self.power(self.own + transit_pairs / hosts);
                price += 2.0 * hosts * (of(old + load as f64) - of(old));
            }
            (state, step) = (before, routes.step(s, before));
        }
        price
    }

    /// Puts `nodes` on the path to `state` by `step`, or takes them off.
    fn put(
        &mut self,
        routes: &mut SwitchRoutes,
        s: u32,
        state: u32,
        step: u32,
        nodes: u64,
        on: bool,
    ) {
        let load = nodes * self.demand.nodes[s as usize];
        let change = |old: &mut u64, by: u64| *old = if on { *old + by } else { *old - by };
        let (mut state, mut step) = (state, step);
        while step != NONE {
            let (edge, before) = ((step >> 1) as usize, routes.before(step) as u32);
            change(&mut routes.loads[edge], load);
            if needs_transit(before, state) {
                change(&mut routes.transit_pairs[before as usize / 2], load);
            }
            change(&mut self.behind[before as usize], nodes);
            (state, step) = (before, routes.step(s, before));
        }
    }

    /// The power of a load, as part of what all nodes send to one: by products alone, which IEEE 754
    /// makes the same everywhere.
    fn power(&self, load: f64) -> f64 {
        (0..self.power).fold(load / self.own.max(1.0), |power, _| power * power)
    }
}

/// Does the step between two states go up after down?
const fn needs_transit(before: u32, state: u32) -> bool {
    before & 1 == 1 && state & 1 == 0
}

/// What counts as better: more than round-off.
const BETTER: f64 = 1.0 - 1e-9;

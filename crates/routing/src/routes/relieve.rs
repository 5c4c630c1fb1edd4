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

use super::demand::SwitchDemand;
use super::switch_routes::{NONE, SwitchRoutes, turns};

/// Powers of the load, lowest first: the first evens out what the last ones cannot see.
const POWERS: [u32; 3] = [2, 4, 5];

/// Routes of all sources, `rounds` times laid anew, then moved one by one, `sweeps` times over all of them for each power.
#[must_use]
pub(crate) fn balanced(
    graph: &Graph,
    up: &[bool],
    demand: &SwitchDemand,
    rounds: usize,
    sweeps: usize,
) -> SwitchRoutes {
    let mut routes = SwitchRoutes::new(graph, up, demand, rounds);
    if sweeps > 0 {
        relieve(graph, up, demand, &mut routes, sweeps);
    }
    routes
}

/// Moves routes until none is worth while, or `sweeps` times over all of them for each power. What comes
/// of it never costs more than what was there.
pub(crate) fn relieve(
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
            let moved: usize =
                (0..demand.sources()).map(|source| relief.source(routes, source)).sum();
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
    demand: &'a SwitchDemand,
    /// Paths of a node's own.
    own: u64,
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
        demand: &'a SwitchDemand,
        routes: &SwitchRoutes,
    ) -> Self {
        let states = 2 * graph.switches();
        let mut edge = vec![0; graph.channels()];
        for (at, (channel, _)) in (0..).zip(&routes.edges) {
            edge[*channel as usize] = at;
        }
        let (depth, behind) = (vec![NONE; states], vec![0; states]);
        let queue = Vec::with_capacity(states);
        Self { graph, up, demand, own: demand.own, power: 1, edge, depth, queue, behind }
    }

    /// Moves what is worth it of the routes from a source; how many moves.
    fn source(&mut self, routes: &mut SwitchRoutes, source: u32) -> usize {
        let s = self.demand.switch(source);
        if self.demand.nodes[s as usize] == 0 {
            return 0;
        }
        self.search(routes, source);
        self.count(routes, source);
        let mut moved = 0;
        for at in (1..self.queue.len()).rev() {
            let state = self.queue[at];
            if self.behind[state as usize] > 0 {
                moved += usize::from(self.enter_otherwise(routes, source, state));
            }
        }
        for d in 0..self.graph.switches() as u32 {
            moved += usize::from(d != s && self.end_otherwise(routes, source, d));
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
    fn search(&mut self, routes: &mut SwitchRoutes, source: u32) {
        let start = 2 * self.demand.switch(source);
        self.depth.fill(NONE);
        self.depth[start as usize] = 0;
        self.queue.clear();
        self.queue.push(start);
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
                    let step = routes.step(source, to);
                    let near = || self.depth[routes.before(step)] == self.depth[state as usize];
                    if step == NONE || !near() {
                        routes.set_step(source, to, self.edge[c as usize] << 1 | state & 1);
                    }
                }
            }
        }
    }

    /// How many node pairs reach each state.
    fn count(&mut self, routes: &SwitchRoutes, source: u32) {
        self.behind.fill(0);
        for d in 0..self.graph.switches() as u32 {
            self.behind[routes.end(source, d)] += self.demand.pairs(source, d);
        }
        for &state in self.queue.iter().skip(1).rev() {
            let step = routes.step(source, state);
            if step != NONE {
                self.behind[routes.before(step)] += self.behind[state as usize];
            }
        }
    }

    /// Another path into a state.
    fn enter_otherwise(&mut self, routes: &mut SwitchRoutes, source: u32, state: u32) -> bool {
        let (load, old) = (self.behind[state as usize], routes.step(source, state));
        self.put(routes, source, state, old, load, false);
        let depth = self.depth[state as usize];
        let mut best = (self.price(routes, source, state, old, load), old);
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
                    let price = self.price(routes, source, state, step, load);
                    if price < best.0 * BETTER {
                        best = (price, step);
                    }
                }
            }
        }
        routes.set_step(source, state, best.1);
        self.put(routes, source, state, best.1, load, true);
        best.1 != old
    }

    /// The other phase at the end of a route.
    fn end_otherwise(&mut self, routes: &mut SwitchRoutes, source: u32, d: u32) -> bool {
        let old = routes.end(source, d) as u32;
        let other = old ^ 1;
        let load = self.demand.pairs(source, d);
        if load == 0 || self.depth[other as usize] != self.depth[old as usize] {
            return false;
        }
        let steps = [old, other].map(|state| routes.step(source, state));
        self.put(routes, source, old, steps[0], load, false);
        let [old_price, new_price] = [(old, steps[0]), (other, steps[1])]
            .map(|(state, step)| self.price(routes, source, state, step, load));
        let better = new_price < old_price * BETTER;
        let (state, step) = if better { (other, steps[1]) } else { (old, steps[0]) };
        self.put(routes, source, state, step, load, true);
        if better {
            self.behind[old as usize] -= load;
            self.behind[other as usize] += load;
            routes.turn_end(source, d);
        }
        better
    }

    /// What `load` more would cost on the path to `state` by `step`.
    fn price(&self, routes: &SwitchRoutes, source: u32, state: u32, step: u32, load: u64) -> f64 {
        let mut price = 0.0;
        let (mut state, mut step) = (state, step);
        while step != NONE {
            let (edge, before) = ((step >> 1) as usize, routes.before(step) as u32);
            let (old, slowness) = (routes.loads[edge], routes.slowness[edge] as f64);
            let of = |load: u64| self.power(load as f64 * slowness);
            price += of(old + load) - of(old);
            if turns(before, state) {
                let v = before as usize / 2;
                let (old, hosts) = (routes.transit_pairs[v], self.demand.transit[v] as f64);
                let slowness = self.demand.nic_slowness[v] as f64;
                let of =
                    |pairs: u64| self.power((self.own as f64 + pairs as f64 / hosts) * slowness);
                price += 2.0 * hosts * (of(old + load) - of(old));
            }
            (state, step) = (before, routes.step(source, before));
        }
        price
    }

    /// Puts node pairs on the path to `state` by `step`, or takes them off.
    fn put(
        &mut self,
        routes: &mut SwitchRoutes,
        source: u32,
        state: u32,
        step: u32,
        pairs: u64,
        on: bool,
    ) {
        let change = |old: &mut u64| *old = if on { *old + pairs } else { *old - pairs };
        let (mut state, mut step) = (state, step);
        while step != NONE {
            let (edge, before) = ((step >> 1) as usize, routes.before(step) as u32);
            change(&mut routes.loads[edge]);
            if turns(before, state) {
                change(&mut routes.transit_pairs[before as usize / 2]);
            }
            change(&mut self.behind[before as usize]);
            (state, step) = (before, routes.step(source, before));
        }
    }

    /// The power of a time, as part of what a node sends to all others: by products alone, which IEEE 754
    /// makes the same everywhere.
    fn power(&self, time: f64) -> f64 {
        (0..self.power).fold(time / self.own.max(1) as f64, |power, _| power * power)
    }
}

/// What counts as better: more than round-off.
const BETTER: f64 = 1.0 - 1e-9;

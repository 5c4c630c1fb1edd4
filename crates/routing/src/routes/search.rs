//! Lays the routes of one source after the other: breadth first, so that all are as short as can be, in the manner of
//! Myricom's `simple_routes`. Of equally long ways to a state, that with the least sum of squared loads is taken. This
//! is decided from the far end, one state after the other, and each counts what those before have put on the channels:
//! the routes of one source do not all crowd on the channel that was the cheapest before.

use tresse_topology::{Channel, Graph};

use super::demand::SwitchDemand;
use super::switch_routes::{NONE, RouteSetCost, SwitchRoutes, last, turns};

/// A channel out of a switch, as the search sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// The state that it leads to.
    to: u32,
    /// Its squared time. Single precision holds enough of it, and IEEE 754 makes it the same everywhere.
    pub price: f32,
}

/// Scratch of the searches.
pub(super) struct Search<'a> {
    pub(super) demand: &'a SwitchDemand,
    own: u64,
    /// Out of each switch, those down first.
    pub(super) edges: Vec<Edge>,
    /// By edge: that of the other direction.
    reverse: Vec<u32>,
    /// By state: the edges that lead on from there without a turn.
    on: Vec<(u32, u32)>,
    /// Squared time of a transit node's link on each switch.
    pub(super) transit_price: Vec<f32>,
    /// By state, in the order of their bits, which is theirs: [`NONE`] before it is reached, then the
    /// least cost so far, 0 once that is final.
    cost: Vec<u32>,
    /// States that were reached, with room for one more than there are; and what each cost.
    pub(super) queue: Vec<u32>,
    pub(super) costs: Vec<f32>,
    /// By state: where it is in the queue, and how far from the source.
    pub(super) place: Vec<u32>,
    depth: Vec<u16>,
    pub(super) reached: usize,
    /// By switch: what the route that ends there costs.
    pub(super) ending: Vec<f32>,
    /// By state: node pairs that reach it.
    behind: Vec<u64>,
}

impl<'a> Search<'a> {
    pub fn new(
        graph: &Graph,
        up: &[bool],
        demand: &'a SwitchDemand,
    ) -> (Self, Vec<(Channel, u32)>) {
        let n = graph.switches();
        let own = demand.own;
        let mut search = Self {
            demand,
            own,
            edges: Vec::with_capacity(graph.channels()),
            reverse: Vec::with_capacity(graph.channels()),
            on: Vec::with_capacity(2 * n),
            transit_price: demand
                .nic_slowness
                .iter()
                .map(|slowness| square(own * slowness))
                .collect(),
            cost: vec![NONE; 2 * n],
            queue: vec![0; 2 * n + 1],
            costs: vec![0.0; 2 * n + 1],
            place: vec![0; 2 * n],
            depth: vec![u16::MAX; 2 * n],
            reached: 0,
            ending: vec![0.0; n],
            behind: vec![0; 2 * n],
        };
        let mut channels = Vec::with_capacity(graph.channels());
        for v in 0..n as u32 {
            let first = channels.len() as u32;
            let of = |rising: bool| graph.out(v).filter(move |c| up[*c as usize] == rising);
            let down = of(false).count() as u32;
            for (rising, channel) in
                of(false).map(|c| (false, c)).chain(of(true).map(|c| (true, c)))
            {
                let to = 2 * graph.head(channel) + u32::from(!rising);
                search.edges.push(Edge { to, price: 0.0 });
                channels.push((channel, v));
            }
            search.on.push((first, channels.len() as u32));
            search.on.push((first, first + down));
        }
        let mut edge = vec![0; graph.channels()];
        (0..).zip(&channels).for_each(|(at, (channel, _))| edge[*channel as usize] = at);
        let reverse = channels.iter().map(|(c, _)| edge[graph.reverse(*c) as usize]);
        search.reverse.extend(reverse);
        (search, channels)
    }

    /// Searches from a source, and puts its demand on the channels.
    fn lay(&mut self, source: u32, routes: &mut SwitchRoutes) {
        self.search(source, routes);
        self.choose(source, routes);
    }

    /// The cheapest of the shortest ways to every state, by what is on the channels.
    pub(super) fn search(&mut self, source: u32, routes: &mut SwitchRoutes) {
        let n = self.ending.len();
        let (s, source) = (self.demand.switch(source) as usize, source as usize);
        // Separate slices: otherwise the compiler reloads all of them after each store.
        let (edges, on, transit) = (&self.edges[..], &self.on[..2 * n], &self.demand.transit[..n]);
        let (costs, queue) = (&mut self.costs[..=2 * n], &mut self.queue[..=2 * n]);
        let (cost, ending) = (&mut self.cost[..2 * n], &mut self.ending[..n]);
        let (place, depth) = (&mut self.place[..2 * n], &mut self.depth[..2 * n]);
        let steps = &mut routes.steps[source * 2 * n..][..2 * n];
        let ends = &mut routes.ends[source * n..][..n];
        cost.fill(NONE);
        depth.fill(u16::MAX);
        steps.fill(NONE);
        ends.fill(u16::MAX);
        cost[2 * s] = 0;
        queue[0] = 2 * s as u32;
        let (mut begin, mut end, mut hops) = (0, 1, 0);
        while begin < end {
            for at in begin..end {
                let state = queue[at] as usize;
                let final_cost = f32::from_bits(std::mem::take(&mut cost[state]));
                (costs[at], place[state], depth[state]) = (final_cost, at as u32, hops);
                let (v, phase) = (state >> 1, (state & 1) as u16);
                let (end, ending) = (&mut ends[v], &mut ending[v]);
                // Goes up if both are equally long, unless down is cheaper.
                let cheaper = final_cost < *ending || phase == 0 && final_cost == *ending;
                if *end == u16::MAX || *end >> 1 == hops && cheaper {
                    (*end, *ending) = (hops << 1 | phase, final_cost);
                }
            }
            let mut reached = end;
            for at in begin..end {
                let (state, so_far) = (queue[at], costs[at]);
                let (v, phase) = ((state >> 1) as usize, state & 1);
                // Without branches, because which one is better cannot be predicted.
                let mut enter = |(first, end): (u32, u32), so_far: f32| {
                    for (edge, at) in edges[first as usize..end as usize].iter().zip(first..) {
                        let to = edge.to as usize;
                        let (old, new) = (cost[to], (so_far + edge.price).to_bits());
                        queue[reached] = edge.to;
                        reached += usize::from(old == NONE);
                        steps[to] = if new < old { at << 1 | phase } else { steps[to] };
                        cost[to] = new.min(old);
                    }
                };
                enter(on[state as usize], so_far);
                if phase == 1 && transit[v] > 0 {
                    enter((on[2 * v + 1].1, on[2 * v].1), so_far + self.transit_price[v]);
                }
            }
            (begin, end, hops) = (end, reached, hops + 1);
        }
        self.reached = end;
    }

    /// Decides from the far end how each state is entered, and puts the demand on the channels.
    fn choose(&mut self, source: u32, routes: &mut SwitchRoutes) {
        self.count(source, routes);
        for at in (1..self.reached).rev() {
            let state = self.queue[at];
            let pairs = self.behind[state as usize];
            if pairs == 0 {
                continue;
            }
            let (mut best, mut least) = (routes.step(source, state), f32::INFINITY);
            self.entries(state, routes, |search, step| {
                let before = routes.before(step) as u32;
                let mut price = search.upstream(source, before, pairs, routes);
                price += routes.price(step >> 1, pairs);
                if turns(before, state) {
                    price += search.turn_price(before / 2, pairs, routes);
                }
                if price < least {
                    (least, best) = (price, step);
                }
            });
            routes.set_step(source, state, best);
            self.put(routes, state, best, |load| load + pairs, pairs);
        }
    }

    /// The steps by which a shortest way can enter a state.
    pub(super) fn entries(
        &self,
        state: u32,
        routes: &SwitchRoutes,
        mut of: impl FnMut(&Self, u32),
    ) {
        let (first, end) = self.on[state as usize & !1];
        for out in first..end {
            let edge = self.reverse[out as usize];
            if self.edges[edge as usize].to != state {
                continue;
            }
            let tail = routes.edges[edge as usize].1;
            for before in [2 * tail, 2 * tail + 1] {
                let near =
                    self.depth[before as usize].wrapping_add(1) == self.depth[state as usize];
                if near && (!turns(before, state) || self.demand.transit[tail as usize] > 0) {
                    of(self, edge << 1 | before & 1);
                }
            }
        }
    }

    /// What the way to a state costs once `pairs` more use it beside those that wait there.
    fn upstream(&self, source: u32, state: u32, pairs: u64, routes: &SwitchRoutes) -> f32 {
        let cost = self.costs[self.place[state as usize] as usize];
        let step = routes.step(source, state);
        if step == NONE {
            return cost;
        }
        let waiting = self.behind[state as usize] + pairs;
        cost - self.edges[step as usize >> 1].price + routes.price(step >> 1, waiting)
    }

    /// Takes the demand of a source off the channels.
    fn take_up(&mut self, source: u32, routes: &mut SwitchRoutes) {
        let n = self.ending.len();
        let s = self.demand.switch(source) as usize;
        let steps = &routes.steps[source as usize * 2 * n..][..2 * n];
        let (seen, queue) = (&mut self.cost[..2 * n], &mut self.queue[..=2 * n]);
        seen.fill(NONE);
        seen[2 * s] = 0;
        queue[0] = 2 * s as u32;
        let mut reached = 1;
        for (d, end) in routes.ends[source as usize * n..][..n].iter().enumerate() {
            // Backwards over the visited states: predecessors come earlier.
            let (mut state, from) = (last(d, *end), reached);
            while std::mem::take(&mut seen[state]) == NONE {
                queue[reached] = state as u32;
                reached += 1;
                state = routes.before(steps[state]);
            }
            queue[from..reached].reverse();
        }
        self.reached = reached;
        self.count(source, routes);
        for at in (1..reached).rev() {
            let state = self.queue[at];
            let pairs = self.behind[state as usize];
            if pairs > 0 {
                let step = routes.step(source, state);
                self.put(routes, state, step, |load| load - pairs, pairs);
            }
        }
    }

    /// The node pairs that end in each state.
    fn count(&mut self, source: u32, routes: &SwitchRoutes) {
        let n = self.ending.len();
        self.behind.fill(0);
        for d in 0..n as u32 {
            self.behind[routes.end(source, d)] = self.demand.pairs(source, d);
        }
    }

    /// Changes the load of the channel by which a state is entered, and what waits at the state before.
    fn put(
        &mut self,
        routes: &mut SwitchRoutes,
        state: u32,
        step: u32,
        change: impl Fn(u64) -> u64,
        pairs: u64,
    ) {
        let (edge, before) = (step >> 1, routes.before(step));
        self.behind[before] += pairs;
        let load = &mut routes.loads[edge as usize];
        *load = change(*load);
        self.edges[edge as usize].price = routes.price(edge, 0);
        if turns(before as u32, state) {
            let v = before / 2;
            routes.transit_pairs[v] = change(routes.transit_pairs[v]);
            self.transit_price[v] = self.turn_price(v as u32, 0, routes);
        }
    }

    /// Squared time of a transit node's link with so many node pairs more.
    fn turn_price(&self, switch: u32, more: u64, routes: &SwitchRoutes) -> f32 {
        let v = switch as usize;
        let pairs = (routes.transit_pairs[v] + more) / self.demand.transit[v].max(1);
        square((self.own + pairs) * self.demand.nic_slowness[v])
    }
}

impl SwitchRoutes {
    /// Routes of all sources, `rounds` times taken up and laid anew where that lessens the loads. `up[c]`: does channel
    /// c go up? O(rounds x sources x channels).
    #[must_use]
    pub fn new(graph: &Graph, up: &[bool], demand: &SwitchDemand, rounds: usize) -> Self {
        let sources = demand.sources();
        let (mut search, mut routes) = Self::none(graph, up, demand);
        let homes = || (0..sources).filter(|source| demand.is_home(*source));
        homes().for_each(|source| search.lay(source, &mut routes));
        let mut best: Option<(RouteSetCost, Self)> = None;
        for _ in 0..rounds {
            let cost = routes.cost(demand);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, routes.clone()));
            }
            for source in homes() {
                search.take_up(source, &mut routes);
                search.lay(source, &mut routes);
            }
        }
        match best {
            Some((least, best)) if least <= routes.cost(demand) => best,
            _ => routes,
        }
    }

    /// What the routes of one source out of `every` cost, laid once: an estimate for comparison. O(sources / every x
    /// channels).
    pub(crate) fn sample(
        graph: &Graph,
        up: &[bool],
        demand: &SwitchDemand,
        every: usize,
    ) -> RouteSetCost {
        let (mut search, mut routes) = Self::none(graph, up, demand);
        let homes = (0..demand.sources()).filter(|source| demand.is_home(*source));
        homes.step_by(every).for_each(|source| search.lay(source, &mut routes));
        routes.cost(demand)
    }

    /// No routes yet, and what lays them.
    pub(super) fn none<'a>(
        graph: &Graph,
        up: &[bool],
        demand: &'a SwitchDemand,
    ) -> (Search<'a>, Self) {
        let (n, sources) = (graph.switches(), demand.sources() as usize);
        let (search, edges) = Search::new(graph, up, demand);
        let slowness = edges.iter().map(|(c, _)| demand.slowness[*c as usize]).collect();
        let routes = Self {
            edges,
            steps: vec![NONE; 2 * n * sources],
            ends: vec![0; n * sources],
            loads: vec![0; graph.channels()],
            transit_pairs: vec![0; n],
            slowness,
        };
        (search, routes)
    }

    /// Squared time of an edge with so many node pairs more.
    fn price(&self, edge: u32, more: u64) -> f32 {
        square((self.loads[edge as usize] + more) * self.slowness[edge as usize])
    }
}

const fn square(time: u64) -> f32 {
    time as f32 * time as f32
}

//! Finds a shortest route from every switch to every other, balanced over the channels (directions of links) in the
//! manner of Myricom's `simple_routes`. A legal up*/down* route goes up zero or more channels, then down zero or more
//! (in-transit-buffers, section 2). At a switch with transit nodes a route may go up again after down: a transit node
//! takes the frame in and sends it on, which loads its own link in both directions (section 3).

use tresse_topology::{Channel, Graph};

/// A step that does not exist.
pub(super) const NONE: u32 = u32::MAX;

/// A search from one source runs over states: switch v still going up is 2v, going down 2v + 1.
pub(super) type State = usize;

/// The demand for which routes are balanced: the number of nodes on each switch, each of which sends 1 unit to every
/// other node, and the number of possible transit nodes on each switch.
#[derive(Debug, Clone, Copy)]
pub struct SwitchDemand<'a> {
    /// Nodes on each switch: every node sends 1 unit to every other.
    pub nodes: &'a [u64],
    /// Transit nodes on each switch: 0 where no route may go up after down.
    pub transit: &'a [u64],
}

/// The routes of all ordered pairs of switches, and the loads that result: the number of node pairs over each channel,
/// and over the transit nodes of each switch.
#[derive(Debug, Clone)]
pub struct SwitchRoutes {
    /// Every channel once and where it comes from, in the order of the search: an edge.
    pub(super) edges: Vec<(Channel, u32)>,
    /// By source switch and state, how it was entered: the edge, and in the lowest bit the phase
    /// before.
    steps: Vec<u32>,
    /// By source and destination: twice the length, and in the lowest bit whether it ends going down.
    ends: Vec<u16>,
    /// Node pairs over each edge.
    pub(super) loads: Vec<u64>,
    /// Node pairs that turn at each switch.
    pub(super) transit_pairs: Vec<u64>,
}

impl SwitchRoutes {
    /// Routes of all sources, `rounds` times taken up and laid anew where that lessens the loads.
    /// `up[c]`: does channel c go up? O(rounds x switches x channels).
    #[must_use]
    pub fn new(graph: &Graph, up: &[bool], demand: &SwitchDemand, rounds: usize) -> Self {
        let n = graph.switches();
        let (mut search, edges) = Search::new(graph, up, demand);
        let mut routes = Self {
            edges,
            steps: vec![NONE; 2 * n * n],
            ends: vec![0; n * n],
            loads: vec![0; graph.channels()],
            transit_pairs: vec![0; n],
        };
        (0..n).for_each(|s| search.lay(s, &mut routes));
        let mut best: Option<(RouteSetCost, Self)> = None;
        for _ in 0..rounds {
            let cost = routes.cost(demand);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, routes.clone()));
            }
            for s in 0..n {
                search.take_up(s, &mut routes);
                search.lay(s, &mut routes);
            }
        }
        match best {
            Some((least, best)) if least <= routes.cost(demand) => best,
            _ => routes,
        }
    }

    /// The channels from switch `s` to `d`, onto the end of `channels`; none where `s` is `d`.
    pub fn walk(&self, s: u32, d: u32, channels: &mut Vec<Channel>) {
        let from = channels.len();
        let entry = self.entries(s);
        let mut state = self.end(s, d);
        while let Some((channel, before)) = entry(state) {
            channels.push(channel);
            state = before;
        }
        channels[from..].reverse();
    }

    /// The state in which the route from `s` to `d` ends.
    pub(super) fn end(&self, s: u32, d: u32) -> State {
        last(d as usize, self.ends[s as usize * self.transit_pairs.len() + d as usize])
    }

    /// By state, how the routes from `s` enter it: the channel and the state before. `None` where they
    /// begin.
    pub(super) fn entries(&self, s: u32) -> impl Fn(State) -> Option<(Channel, State)> + '_ {
        let n = self.transit_pairs.len();
        let steps = &self.steps[s as usize * 2 * n..][..2 * n];
        move |state| {
            let step = steps[state];
            (step != NONE).then(|| (self.edges[step as usize >> 1].0, self.before(step)))
        }
    }

    /// How a state is entered from `s`.
    pub(super) fn step(&self, s: u32, state: u32) -> u32 {
        self.steps[s as usize * 2 * self.transit_pairs.len() + state as usize]
    }

    /// Has a state entered otherwise from `s`.
    pub(super) fn set_step(&mut self, s: u32, state: u32, step: u32) {
        self.steps[s as usize * 2 * self.transit_pairs.len() + state as usize] = step;
    }

    /// Has the route from `s` to `d` end in the other phase.
    pub(super) fn turn_end(&mut self, s: u32, d: u32) {
        self.ends[s as usize * self.transit_pairs.len() + d as usize] ^= 1;
    }

    /// The state that a step leaves.
    pub(super) fn before(&self, step: u32) -> State {
        2 * self.edges[step as usize >> 1].1 as usize + (step & 1) as usize
    }

    /// Channels between switch `s` and `d`.
    #[must_use]
    pub fn hops(&self, s: u32, d: u32) -> u32 {
        let n = self.transit_pairs.len();
        u32::from(self.ends[s as usize * n + d as usize] >> 1)
    }

    /// Most node pairs over one channel or one transit node's link, then how uneven they are.
    #[must_use]
    pub fn cost(&self, demand: &SwitchDemand) -> RouteSetCost {
        let own = demand.nodes.iter().sum::<u64>().saturating_sub(1);
        let needs_transit =
            self.transit_pairs.iter().zip(demand.transit).filter(|(_, hosts)| **hosts > 0);
        let nics = needs_transit.map(|(transit_pairs, hosts)| own + transit_pairs.div_ceil(*hosts));
        let most = self.loads.iter().copied().chain(nics).max().unwrap_or(0);
        (most, self.loads.iter().map(|load| u128::from(*load).pow(2)).sum())
    }
}

/// The cost of a set of routes, by which sets are compared: first the highest load of a link, in node pairs, then the
/// sum of the squares of the loads; see [`SwitchRoutes::cost`].
pub type RouteSetCost = (u64, u128);

fn last(d: usize, end: u16) -> State {
    2 * d + usize::from(end & 1)
}

/// A channel out of a switch, as the search sees it.
#[derive(Debug, Clone, Copy)]
struct Edge {
    /// The state that it leads to.
    to: u32,
    /// Its squared load. Single precision holds enough of it, and IEEE 754 makes it the same everywhere.
    price: f32,
}

/// Scratch of the searches.
struct Search<'a> {
    demand: &'a SwitchDemand<'a>,
    all: u64,
    /// Out of each switch, those down first.
    edges: Vec<Edge>,
    /// By state: the edges that lead on from there without a turn.
    on: Vec<(u32, u32)>,
    /// Squared load of a transit node on each switch.
    transit_price: Vec<f32>,
    /// By state, in the order of their bits, which is theirs: [`NONE`] before it is reached, then the
    /// least cost so far, 0 once that is final.
    cost: Vec<u32>,
    /// States that were reached, with room for one more than there are; and what each cost.
    queue: Vec<u32>,
    costs: Vec<f32>,
    reached: usize,
    /// By switch: what the route that ends there costs.
    ending: Vec<f32>,
    /// Nodes that are reached through each state.
    behind: Vec<u64>,
}

impl<'a> Search<'a> {
    fn new(
        graph: &Graph,
        up: &[bool],
        demand: &'a SwitchDemand<'a>,
    ) -> (Self, Vec<(Channel, u32)>) {
        let n = graph.switches();
        let all = demand.nodes.iter().sum();
        let mut search = Self {
            demand,
            all,
            edges: Vec::with_capacity(graph.channels()),
            on: Vec::with_capacity(2 * n),
            transit_price: vec![square(all); n],
            cost: vec![NONE; 2 * n],
            queue: vec![0; 2 * n + 1],
            costs: vec![0.0; 2 * n + 1],
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
        (search, channels)
    }

    /// Searches from `s`, breadth first, of equally long ways that with the least sum of squared
    /// loads; puts the demand of `s` on the channels.
    fn lay(&mut self, s: usize, routes: &mut SwitchRoutes) {
        let n = self.transit_price.len();
        // Separate slices: otherwise the compiler reloads all of them after each store.
        let (edges, on, transit) = (&self.edges[..], &self.on[..2 * n], &self.demand.transit[..n]);
        let (costs, queue) = (&mut self.costs[..=2 * n], &mut self.queue[..=2 * n]);
        let (cost, ending) = (&mut self.cost[..2 * n], &mut self.ending[..n]);
        let steps = &mut routes.steps[s * 2 * n..][..2 * n];
        let ends = &mut routes.ends[s * n..][..n];
        cost.fill(NONE);
        steps.fill(NONE);
        ends.fill(u16::MAX);
        cost[2 * s] = 0;
        queue[0] = 2 * s as u32;
        let (mut begin, mut end, mut hops) = (0, 1, 0);
        while begin < end {
            for (&state, final_cost) in queue[begin..end].iter().zip(&mut costs[begin..]) {
                *final_cost = f32::from_bits(std::mem::take(&mut cost[state as usize]));
                let (v, phase) = (state as usize >> 1, (state & 1) as u16);
                let (end, ending) = (&mut ends[v], &mut ending[v]);
                // Goes up if both are equally long, unless down is cheaper.
                let cheaper = final_cost < ending || phase == 0 && final_cost == ending;
                if *end == u16::MAX || *end >> 1 == hops && cheaper {
                    (*end, *ending) = (hops << 1 | phase, *final_cost);
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
        self.put(s, routes, |load, demand| load + demand);
    }

    /// Takes the demand of `s` off the channels.
    fn take_up(&mut self, s: usize, routes: &mut SwitchRoutes) {
        let n = self.transit_price.len();
        let steps = &routes.steps[s * 2 * n..][..2 * n];
        let (seen, queue) = (&mut self.cost[..2 * n], &mut self.queue[..=2 * n]);
        seen.fill(NONE);
        seen[2 * s] = 0;
        queue[0] = 2 * s as u32;
        let mut reached = 1;
        for (d, end) in routes.ends[s * n..][..n].iter().enumerate() {
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
        self.put(s, routes, |load, demand| load - demand);
    }

    /// Puts the demand of `s` on the channels and switches of its routes; the queue holds their states,
    /// each after the one before it.
    fn put(&mut self, s: usize, routes: &mut SwitchRoutes, put: impl Fn(u64, u64) -> u64) {
        let n = self.transit_price.len();
        let nodes = &self.demand.nodes[..n];
        let behind = &mut self.behind[..2 * n];
        let (edges, channels) = (&mut self.edges[..], &routes.edges[..]);
        let (loads, steps) = (&mut routes.loads[..], &routes.steps[s * 2 * n..][..2 * n]);
        behind.fill(0);
        for (d, end) in routes.ends[s * n..][..n].iter().enumerate() {
            behind[last(d, *end)] = nodes[d];
        }
        // The first one has no step.
        for &state in self.queue[..self.reached].iter().skip(1).rev() {
            let (step, nodes_behind) = (steps[state as usize], behind[state as usize]);
            if nodes_behind == 0 {
                continue;
            }
            let (edge, phase) = ((step >> 1) as usize, step & 1);
            let v = channels[edge].1 as usize;
            behind[2 * v + phase as usize] += nodes_behind;
            loads[edge] = put(loads[edge], nodes[s] * nodes_behind);
            edges[edge].price = square(loads[edge]);
            if phase == 1 && state & 1 == 0 {
                let transit_pairs = &mut routes.transit_pairs[v];
                *transit_pairs = put(*transit_pairs, nodes[s] * nodes_behind);
                self.transit_price[v] = square(self.all + *transit_pairs / self.demand.transit[v]);
            }
        }
    }
}

fn square(load: u64) -> f32 {
    load as f32 * load as f32
}

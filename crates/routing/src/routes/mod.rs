//! Finds a shortest route from every switch to every other, balanced over the channels (directions of links). A legal
//! up*/down* route goes up zero or more channels, then down zero or more (in-transit-buffers, section 2). At a switch
//! with transit nodes a route may go up again after down: a transit node takes the frame in and sends it on, which loads
//! its own link in both directions (section 3).
//!
//! [`Search`] lays the routes of one source after the other, [`relieve`] moves single routes off the most
//! loaded links.

mod bound;
mod demand;
mod lanes;
mod relieve;
mod search;
#[cfg(test)]
mod tests;

use tresse_topology::{Channel, Graph};

pub use bound::least_cost;
pub use demand::SwitchDemand;
pub(crate) use lanes::on_lanes;
pub(crate) use relieve::relieve;
use search::Search;

/// A step that does not exist.
const NONE: u32 = u32::MAX;

/// A search from one source runs over states: switch v still going up is 2v, going down 2v + 1.
pub(crate) type State = usize;

/// The routes from all sources to all switches, and the loads that result: the number of node pairs over each channel,
/// and over the transit nodes of each switch. A source is a switch and a lane, see [`SwitchDemand`].
#[derive(Debug, Clone)]
pub struct SwitchRoutes {
    /// Every channel once and where it comes from, in the order of the search: an edge.
    edges: Vec<(Channel, u32)>,
    /// By source and state, how it was entered: the edge, and in the lowest bit the phase before.
    steps: Vec<u32>,
    /// By source and destination: twice the length, and in the lowest bit whether it ends going down.
    ends: Vec<u16>,
    /// Node pairs over each edge.
    loads: Vec<u64>,
    /// Node pairs that turn at each switch.
    transit_pairs: Vec<u64>,
    /// By edge: see [`SwitchDemand::slowness`].
    slowness: Vec<u64>,
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

    /// What the routes of every so manyth source cost, laid once: an estimate for comparison. O(sources / every x
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
    fn none<'a>(graph: &Graph, up: &[bool], demand: &'a SwitchDemand) -> (Search<'a>, Self) {
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

    /// The channels from a source to switch `d`, onto the end of `channels`; none where that is the source's own.
    pub fn walk(&self, source: u32, d: u32, channels: &mut Vec<Channel>) {
        let from = channels.len();
        let entry = self.entries(source);
        let mut state = self.end(source, d);
        while let Some((channel, before)) = entry(state) {
            channels.push(channel);
            state = before;
        }
        channels[from..].reverse();
    }

    /// The state in which the route from a source to `d` ends.
    pub(crate) fn end(&self, source: u32, d: u32) -> State {
        last(d as usize, self.ends[source as usize * self.transit_pairs.len() + d as usize])
    }

    /// By state, how the routes from a source enter it: the channel and the state before. `None` where they begin.
    pub(crate) fn entries(&self, source: u32) -> impl Fn(State) -> Option<(Channel, State)> + '_ {
        let n = self.transit_pairs.len();
        let steps = &self.steps[source as usize * 2 * n..][..2 * n];
        move |state| {
            let step = steps[state];
            (step != NONE).then(|| (self.edges[step as usize >> 1].0, self.before(step)))
        }
    }

    /// How a state is entered from a source.
    fn step(&self, source: u32, state: u32) -> u32 {
        self.steps[source as usize * 2 * self.transit_pairs.len() + state as usize]
    }

    /// Has a state entered otherwise from a source.
    fn set_step(&mut self, source: u32, state: u32, step: u32) {
        self.steps[source as usize * 2 * self.transit_pairs.len() + state as usize] = step;
    }

    /// Has the route from a source to `d` end in the other phase.
    fn turn_end(&mut self, source: u32, d: u32) {
        self.ends[source as usize * self.transit_pairs.len() + d as usize] ^= 1;
    }

    /// The state that a step leaves.
    fn before(&self, step: u32) -> State {
        2 * self.edges[step as usize >> 1].1 as usize + (step & 1) as usize
    }

    /// Channels from a source to switch `d`.
    #[must_use]
    pub fn hops(&self, source: u32, d: u32) -> u32 {
        u32::from(self.ends[source as usize * self.transit_pairs.len() + d as usize] >> 1)
    }

    /// The longest time of one channel or one transit node's link, then how uneven the times are. In node pairs where all
    /// cables are equally fast.
    #[must_use]
    pub fn cost(&self, demand: &SwitchDemand) -> RouteSetCost {
        let own = demand.own();
        let transit = self.transit_pairs.iter().zip(&demand.transit).zip(&demand.nic_slowness);
        let nics = transit
            .filter(|((_, nodes), _)| **nodes > 0)
            .map(|((pairs, nodes), slowness)| (own + pairs.div_ceil(*nodes)) * slowness);
        let times =
            || self.loads.iter().zip(&self.slowness).map(|(load, slowness)| load * slowness);
        let most = times().chain(nics).max().unwrap_or(0);
        (most, times().map(|time| u128::from(time).pow(2)).sum())
    }
}

/// The cost of a set of routes, by which sets are compared: first the longest time of a link, then the sum of the
/// squares; see [`SwitchRoutes::cost`].
pub type RouteSetCost = (u64, u128);

/// Does the step between two states go up after down?
const fn turns(before: u32, state: u32) -> bool {
    before & 1 == 1 && state & 1 == 0
}

const fn last(d: usize, end: u16) -> State {
    2 * d + (end & 1) as usize
}

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

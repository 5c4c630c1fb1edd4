//! Routes from all sources to all switches, and the loads that they lead to.

use tresse_topology::Channel;

use super::demand::SwitchDemand;

/// A step that does not exist.
pub(super) const NONE: u32 = u32::MAX;

/// A search from one source runs over states: switch v still going up is 2v, going down 2v + 1.
pub(crate) type State = usize;

/// The routes from all sources to all switches, and the loads that result: the number of node pairs over each channel,
/// and over the transit nodes of each switch. A source is a switch and a lane, see [`SwitchDemand`].
#[derive(Debug, Clone)]
pub struct SwitchRoutes {
    /// Every channel once and where it comes from, in the order of the search: an edge.
    pub(super) edges: Vec<(Channel, u32)>,
    /// By source and state, how it was entered: the edge, and in the lowest bit the phase before.
    pub(super) steps: Vec<u32>,
    /// By source and destination: twice the length, and in the lowest bit whether it ends going down.
    pub(super) ends: Vec<u16>,
    /// Node pairs over each edge.
    pub(super) loads: Vec<u64>,
    /// Node pairs that turn at each switch.
    pub(super) transit_pairs: Vec<u64>,
    /// By edge: see [`SwitchDemand::slowness`].
    pub(super) slowness: Vec<u64>,
}

impl SwitchRoutes {
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
    pub(super) fn step(&self, source: u32, state: u32) -> u32 {
        self.steps[source as usize * 2 * self.transit_pairs.len() + state as usize]
    }

    /// Has a state entered otherwise from a source.
    pub(super) fn set_step(&mut self, source: u32, state: u32, step: u32) {
        self.steps[source as usize * 2 * self.transit_pairs.len() + state as usize] = step;
    }

    /// Has the route from a source to `d` end in the other phase.
    pub(super) fn turn_end(&mut self, source: u32, d: u32) {
        self.ends[source as usize * self.transit_pairs.len() + d as usize] ^= 1;
    }

    /// The state that a step leaves.
    pub(super) fn before(&self, step: u32) -> State {
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
        let own = demand.own;
        let transit = self.transit_pairs.iter().zip(&demand.transit).zip(&demand.nic_slowness);
        let nics = transit
            .filter(|((_, nodes), _)| **nodes > 0)
            .map(|((pairs, nodes), slowness)| (own + pairs.div_ceil(*nodes)) * slowness);
        let most = self.times().chain(nics).max().unwrap_or(0);
        (most, self.times().map(|time| u128::from(time).pow(2)).sum())
    }

    /// The longest time of one channel.
    pub fn cable_time(&self) -> u64 {
        self.times().max().unwrap_or(0)
    }

    fn times(&self) -> impl Iterator<Item = u64> {
        self.loads.iter().zip(&self.slowness).map(|(load, slowness)| load * slowness)
    }
}

/// The cost of a set of routes, by which sets are compared: first the longest time of a link, then the sum of the
/// squares; see [`SwitchRoutes::cost`].
pub type RouteSetCost = (u64, u128);

/// Does the step between two states go up after down?
pub(super) const fn turns(before: u32, state: u32) -> bool {
    before & 1 == 1 && state & 1 == 0
}

pub(super) const fn last(d: usize, end: u16) -> State {
    2 * d + (end & 1) as usize
}

//! What routes are balanced for: how many pairs of nodes each pair of switches has, how slow each cable is, and where
//! nodes may forward frames of others.
//!
//! A pair of switches has one route on each lane. Its pairs of nodes are spread over the lanes, so that they use
//! several cables or several switches side by side.

use tresse_base::units::Rate;
use tresse_topology::Graph;
use tresse_topology::cluster::{Cluster, Node};

use crate::balance::{Balance, gcd};

/// The slowest rate is told apart from the fastest up to this factor; finer differences are rounded.
const FINEST: u64 = 1 << 12;

/// The demand for which routes are balanced: every node sends 1 unit to every other, in equal parts by all its NICs.
///
/// Each ordered pair of switches has [`lanes`](Self::lanes) routes. A source is a switch and a lane: source
/// `s * lanes + lane`.
#[derive(Debug, Clone)]
pub struct SwitchDemand {
    /// By switch: the nodes on it, as in [`Balance::nodes`].
    pub nodes: Vec<u64>,
    /// By switch: whether any node has a NIC there. Routes between other switches are not needed.
    pub homes: Vec<bool>,
    /// By switch: the nodes on it that may forward frames of others; 0 where no route may go up after down.
    pub transit: Vec<u64>,
    /// By channel: the time that it takes for a unit; 1 where all cables are equally fast.
    pub slowness: Vec<u64>,
    /// By switch: the same of the slowest NIC there of a node that may forward frames of others.
    pub nic_slowness: Vec<u64>,
    /// What the busiest link of a node carries of what the node sends to all others.
    pub own: u64,
    /// The time that the slowest takes for that: links that take no longer hold nobody up.
    pub own_time: u64,
    /// Routes of each ordered pair of switches, at least 1.
    pub lanes: u32,
}

impl SwitchDemand {
    /// The demand on one lane of a fabric whose cables are equally fast.
    #[must_use]
    pub fn new(graph: &Graph, nodes: &[u64], transit: &[u64]) -> Self {
        let own = nodes.iter().sum::<u64>().saturating_sub(1);
        Self {
            nodes: nodes.into(),
            homes: nodes.iter().map(|nodes| *nodes > 0).collect(),
            transit: transit.into(),
            slowness: vec![1; graph.channels()],
            nic_slowness: vec![1; nodes.len()],
            own,
            own_time: own,
            lanes: 1,
        }
    }

    /// The demand of `balance` on one lane, on the cables of `cluster`.
    #[must_use]
    pub fn of_cluster(cluster: &Cluster, graph: &Graph, balance: &Balance) -> Self {
        let mut demand = Self::new(graph, &balance.nodes, &balance.transit);
        for nic in cluster.nodes.iter().flat_map(|node| &node.nics) {
            if let Some(home) = demand.homes.get_mut(nic.switch.index()) {
                *home = true;
            }
        }
        let mut slowest: Vec<Option<Rate>> = vec![None; demand.nodes.len()];
        for nic in cluster.nodes.iter().filter(|node| node.transit).flat_map(|node| &node.nics) {
            if let Some(slowest) = slowest.get_mut(nic.switch.index()) {
                *slowest = Some(slowest.map_or(nic.rate, |rate| rate.min(nic.rate)));
            }
        }
        let nics = || cluster.nodes.iter().flat_map(|node| &node.nics).map(|nic| nic.rate);
        let links = cluster.links.iter().map(|link| link.rate);
        let rates: Vec<Rate> = links.chain(nics()).collect();
        let unit = Unit::new(&rates);
        // The counts may be those of a lock, with another common factor.
        let (whole, sum) = (Balance::whole(cluster), demand.nodes.iter().sum::<u64>());
        let others = sum.saturating_sub(whole);
        let share = |node: &Node| others * (whole / node.nics.len().max(1) as u64);
        demand.own = cluster.nodes.iter().map(share).max().unwrap_or(0);
        let slowest_link = |node: &Node| node.nics.iter().map(|nic| unit.slowness(nic.rate)).max();
        let time = |node: &Node| Some(share(node) * slowest_link(node)?);
        demand.own_time = cluster.nodes.iter().filter_map(time).max().unwrap_or(0);
        for c in 0..graph.channels() as u32 {
            demand.slowness[c as usize] = unit.slowness(cluster.link(graph.link(c)).rate);
        }
        for (slowness, rate) in demand.nic_slowness.iter_mut().zip(slowest) {
            *slowness = rate.map_or(1, |rate| unit.slowness(rate));
        }
        demand
    }

    /// The same demand where no node forwards frames of others.
    #[must_use]
    pub fn without_transit(&self) -> Self {
        Self { transit: vec![0; self.transit.len()], ..self.clone() }
    }

    /// Switches.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.nodes.len()
    }

    /// Switches times lanes.
    #[must_use]
    pub fn sources(&self) -> u32 {
        self.nodes.len() as u32 * self.lanes
    }

    /// The switch of a source.
    #[must_use]
    pub const fn switch(&self, source: u32) -> u32 {
        source / self.lanes
    }

    /// Whether routes from a source are needed.
    #[must_use]
    pub fn is_home(&self, source: u32) -> bool {
        self.homes[self.switch(source) as usize]
    }

    /// A cost that is low enough. Links that hold nobody up are light, except where some switches are there to spread traffic
    /// over: then some pair's traffic may well be more than an equal part of what its nodes send.
    #[must_use]
    pub fn light(&self) -> u64 {
        if self.nodes.contains(&0) { 0 } else { self.own_time }
    }

    /// How much one search from each source costs, in channels looked at.
    #[must_use]
    pub fn work(&self) -> usize {
        let homes = self.nodes.iter().filter(|nodes| **nodes > 0).count();
        (homes * self.lanes as usize * self.slowness.len()).max(1)
    }

    /// The lane of a pair of nodes on switches `s` and `d`, which have numbers with this sum there. Of several lanes,
    /// all are used even where every switch has one node.
    #[must_use]
    pub const fn lane(lanes: u32, s: u32, d: u32, sum: u32) -> u32 {
        (s + d + sum) % lanes
    }

    /// The pairs of nodes of a source and switch `d`, if those of node i of one and node j of the other are on
    /// [`lane`](Self::lane) `(s, d, i + j)`. 0 for the source's own switch. O(lanes).
    #[must_use]
    pub fn pairs(&self, source: u32, d: u32) -> u64 {
        let (s, lanes) = (self.switch(source), u64::from(self.lanes));
        let (from, to) = (self.nodes[s as usize], self.nodes[d as usize]);
        if s == d || lanes == 1 {
            return if s == d { 0 } else { from * to };
        }
        let lane = u64::from(Self::lane(self.lanes, s, d, 0));
        let lane = (u64::from(source) + lanes - lane) % lanes;
        let (left, left_to) = (from % lanes, to % lanes);
        let both = (0..left).filter(|i| (lane + lanes - i) % lanes < left_to).count() as u64;
        from / lanes * to + to / lanes * left + both
    }
}

/// A common unit of times: the time for a unit at any rate is about a whole number of them.
struct Unit(u128);

impl Unit {
    fn new(rates: &[Rate]) -> Self {
        let rates = rates.iter().map(|rate| u128::from(rate.0.max(1)));
        let common = rates.clone().fold(0, gcd);
        let slowest = rates.clone().min().unwrap_or(1);
        let fine = slowest.saturating_mul(FINEST.into());
        let all = rates.fold(common, |all, rate| {
            // Beyond what is told apart, it does not matter any more.
            if all > fine { all } else { all / gcd(all, rate).max(1) * rate }
        });
        Self(all.min(fine).max(1))
    }

    fn slowness(&self, rate: Rate) -> u64 {
        let rate = u128::from(rate.0.max(1));
        (self.0.saturating_add(rate / 2) / rate).max(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_common_unit() {
        let times = |rates: &[u64]| {
            let rates: Vec<Rate> = rates.iter().map(|rate| Rate(rate * 1_000_000)).collect();
            let unit = Unit::new(&rates);
            rates.iter().map(|rate| unit.slowness(*rate)).collect::<Vec<_>>()
        };
        assert_eq!(times(&[1000, 1000]), [1, 1]);
        assert_eq!(times(&[1000, 10_000]), [10, 1]);
        assert_eq!(times(&[10_000, 25_000, 40_000, 100_000]), [20, 8, 5, 2]);
        let odd = times(&[997, 1009, 1013, 10_007]);
        assert!(odd[0] == FINEST && odd[3].abs_diff(FINEST * 997 / 10_007) <= 1, "{odd:?}");
    }

    #[test]
    fn lanes_have_all_pairs_between_them() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)]);
        for (nodes, lanes) in [([4, 4, 4], 3), ([1, 5, 7], 4), ([2, 3, 0], 8), ([9, 1, 2], 1)] {
            let demand = SwitchDemand { lanes, ..SwitchDemand::new(&graph, &nodes, &[0; 3]) };
            for (s, d) in [(0, 1), (1, 0), (1, 2), (2, 0), (1, 1)] {
                for lane in 0..lanes {
                    let (from, to) = (nodes[s as usize], nodes[d as usize]);
                    let sum = |at: &u64| (at / to.max(1) + at % to.max(1)) as u32;
                    let on_it = |at: &u64| SwitchDemand::lane(lanes, s, d, sum(at)) == lane;
                    let pairs = (0..from * to).filter(on_it).count() as u64;
                    let expected = if s == d { 0 } else { pairs };
                    assert_eq!(demand.pairs(s * lanes + lane, d), expected, "{nodes:?} {lanes}");
                }
            }
        }
    }
}

//! Of equally short next hops, the one by which the busiest cables carry less. All nodes send to one destination along a
//! tree, the tree of the primaries' next hops; a move gives one node another next hop in one tree, with all that
//! is sent through it. Moves go on as long as they lower the sum over all cables, in either direction, of the eighth power
//! of load by rate, in which the busiest count most (a smooth form of the maximum, as in Fortz and Thorup, "Internet
//! traffic engineering by optimizing OSPF weights", 2000).

use std::cmp::{Ordering, Reverse};

use tresse_base::id::NodeId;
use tresse_topology::cluster::Cluster;
use tresse_topology::demand::Demand;
use tresse_topology::{Hop, Layout};

use super::toward::NONE;

/// Most rounds over all trees.
const ROUNDS: usize = 24;
/// Most moves that are made whatever they cost, and how many pairs of nodes these may concern together.
const KICKS: usize = 64;
const KICKS_TIME: usize = 64 * 24 * 24;
/// What traffic that no demand lists counts, beside the unit of listed demand: where nothing else decides, it is balanced
/// too.
const UNLISTED: f64 = 1.0 / 1024.0;
/// By how much of itself a move must lower the cost of what it changes.
const LEAST: f64 = 1e-9;

/// Returns by destination and node the NIC of the next hop; [`NONE`] at the destination. `distances`: by destination and node.
pub(super) fn hops(cluster: &Cluster, layout: &Layout, distances: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let nodes = layout.nodes();
    let (rates, sent) = (rates(cluster, layout), demand(cluster, nodes));
    let search = |start: Start| {
        let none = |node: usize| vec![0.0; layout.listed_hops(node.into()).len()];
        let mut search = Search {
            layout,
            rates: rates.clone(),
            loads: (0..nodes).map(none).collect(),
            distances,
            hop: vec![vec![NONE; nodes]; nodes],
            sent: sent.clone(),
        };
        (0..nodes).for_each(|to| search.grow(to, start));
        search.settle();
        search.kick_on();
        (search.score(), search.hop)
    };
    let found = [Start::Load, Start::First, Start::Turn].map(search);
    let best = found.into_iter().min_by(|(a, _), (b, _)| order(a, b));
    best.map(|(_, hop)| hop).unwrap_or_default()
}

/// How the trees begin; the best result of all is taken.
#[derive(Debug, Clone, Copy)]
enum Start {
    /// By the loads so far.
    Load,
    /// By the first NIC, which is dimension order where NICs are in the order of dimensions.
    First,
    /// By the NICs in turn, for each destination another one.
    Turn,
}

/// By the first number, then the second.
fn order(a: &[f64; 2], b: &[f64; 2]) -> Ordering {
    a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]))
}

/// The eighth power of a load.
fn cost(load: f64) -> f64 {
    let square = load * load;
    let fourth = square * square;
    fourth * fourth
}

/// By destination and node, how much the node sends there itself.
fn demand(cluster: &Cluster, nodes: usize) -> Vec<Vec<f64>> {
    let demand = Demand::of(cluster);
    let mut sent = vec![vec![UNLISTED; nodes]; nodes];
    for (node, to_it) in sent.iter_mut().enumerate() {
        to_it[node] = 0.0;
    }
    for from in (0..nodes).map(NodeId::from) {
        for (to, weight) in demand.from(from) {
            sent[to.index()][from.index()] = weight as f64;
        }
    }
    sent
}

/// By node and NIC, the rate of the cable in units of the slowest one.
fn rates(cluster: &Cluster, layout: &Layout) -> Vec<Vec<f64>> {
    let rate = |node: NodeId, hop: &Hop| {
        let end = |node: NodeId, nic: usize| cluster.node(node).nics.get(nic).map(|nic| nic.rate.0);
        let ends = [end(node, hop.nic), end(hop.to, hop.to_nic)];
        ends.into_iter().flatten().min().unwrap_or(1).max(1)
    };
    let of = |node: usize| -> Vec<u64> {
        let node = NodeId::from(node);
        layout.listed_hops(node).iter().map(|hop| rate(node, hop)).collect()
    };
    let rates: Vec<Vec<u64>> = (0..layout.nodes()).map(of).collect();
    let slowest = rates.iter().flatten().min().copied().unwrap_or(1) as f64;
    rates.iter().map(|of| of.iter().map(|rate| *rate as f64 / slowest).collect()).collect()
}

/// The trees, and the loads that they lead to.
#[derive(Clone)]
struct Search<'a> {
    layout: &'a Layout,
    rates: Vec<Vec<f64>>,
    /// By node and NIC, what is sent by it.
    loads: Vec<Vec<f64>>,
    distances: &'a [Vec<u16>],
    hop: Vec<Vec<u16>>,
    /// By destination and node, what the node sends there: its own, and what comes through it once its tree is grown.
    sent: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// The hops of a node that are one nearer to the destination.
    fn nearer(&self, node: usize, to: usize) -> impl Iterator<Item = Hop> {
        let distances = &self.distances[to];
        let hops = self.layout.listed_hops(NodeId::from(node)).iter();
        hops.filter(move |hop| distances[hop.to.index()].saturating_add(1) == distances[node])
            .copied()
    }

    /// The next node from one by a NIC.
    fn next(&self, node: usize, nic: u16) -> usize {
        self.layout.listed_hops(NodeId::from(node))[usize::from(nic)].to.index()
    }

    /// Makes moves until none lowers the cost.
    fn settle(&mut self) {
        for _ in 0..ROUNDS {
            let moves: usize = (0..self.hop.len()).map(|to| self.improve(to)).sum();
            if moves == 0 {
                return;
            }
        }
    }

    /// Takes one node after the other off the busiest cable, whatever that costs, and keeps what is better once all has
    /// settled again. Only as often as takes little time: on large fabrics not at all.
    fn kick_on(&mut self) {
        let nodes = self.hop.len();
        let kicks = (KICKS_TIME / (nodes * nodes)).min(KICKS);
        for kick in 0..kicks {
            let before = self.clone();
            if !self.kick(kick) {
                return;
            }
            self.settle();
            if order(&self.score(), &before.score()) != Ordering::Less {
                *self = before;
            }
        }
    }

    /// Takes a node off one of the busiest cables; returns whether there was one with a choice.
    fn kick(&mut self, kick: usize) -> bool {
        let [most, _] = self.score();
        let is_busiest = |node: usize, nic: u16| {
            let nic = usize::from(nic);
            self.loads[node][nic] / self.rates[node][nic] >= most * (1.0 - LEAST)
        };
        let mut moves = Vec::new();
        for (to, hop) in self.hop.iter().enumerate() {
            for (node, now) in hop.iter().enumerate().filter(|(node, _)| *node != to) {
                if is_busiest(node, *now) {
                    let others = self.nearer(node, to).map(|other| other.nic as u16);
                    moves.extend(others.filter(|nic| nic != now).map(|nic| (to, node, nic)));
                }
            }
        }
        let Some((to, node, nic)) = moves.get(kick % moves.len().max(1)).copied() else {
            return false;
        };
        self.take(to, node, nic);
        true
    }

    /// The largest load by rate, and the cost of all.
    fn score(&self) -> [f64; 2] {
        let loads = self.loads.iter().flatten().zip(self.rates.iter().flatten());
        let loads = loads.map(|(load, rate)| load / rate);
        [loads.clone().fold(0.0, f64::max), loads.map(cost).sum()]
    }

    /// Grows the tree of a destination, from its leaves on.
    fn grow(&mut self, to: usize, start: Start) {
        let mut nodes: Vec<usize> = (0..self.hop.len()).filter(|node| *node != to).collect();
        nodes.sort_by_key(|node| (Reverse(self.distances[to][*node]), *node));
        for node in nodes {
            let load = |hop: &Hop| self.loads[node][hop.nic] / self.rates[node][hop.nic];
            let best = match start {
                Start::Load => self.nearer(node, to).min_by(|a, b| load(a).total_cmp(&load(b))),
                Start::First => self.nearer(node, to).next(),
                Start::Turn => {
                    let count = self.nearer(node, to).count();
                    self.nearer(node, to).nth((node + to) % count.max(1))
                }
            };
            let Some(hop) = best else { continue };
            let sent = self.sent[to][node];
            self.hop[to][node] = hop.nic as u16;
            self.loads[node][hop.nic] += sent;
            self.sent[to][hop.to.index()] += sent;
        }
    }

    /// Makes the moves in the tree of a destination that lower the cost; returns their number.
    fn improve(&mut self, to: usize) -> usize {
        let mut moves = 0;
        for node in (0..self.hop.len()).filter(|node| *node != to) {
            let now = self.hop[to][node];
            let other = self.nearer(node, to).map(|hop| hop.nic as u16).filter(|nic| *nic != now);
            let lower = other.filter_map(|nic| Some((self.gain(to, node, nic)?, nic)));
            let Some((_, nic)) = lower.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
            else {
                continue;
            };
            self.take(to, node, nic);
            moves += 1;
        }
        moves
    }

    /// The hops of the two ways from `node` to the first node that is on both: by its next hop, and by `nic`.
    fn parting(&self, to: usize, node: usize, nic: u16) -> [Vec<(usize, u16)>; 2] {
        let mut ways = [vec![(node, self.hop[to][node])], vec![(node, nic)]];
        // Both come nearer by one at each hop, so they are at the same distance all the time.
        loop {
            let ends = [&ways[0], &ways[1]].map(|way| {
                let (node, nic) = way[way.len() - 1];
                self.next(node, nic)
            });
            if ends[0] == ends[1] {
                return ways;
            }
            for (way, end) in ways.iter_mut().zip(ends) {
                way.push((end, self.hop[to][end]));
            }
        }
    }

    /// By how much the cost falls if `node` sends by `nic` instead; `None` if it does not.
    fn gain(&self, to: usize, node: usize, nic: u16) -> Option<f64> {
        let sent = self.sent[to][node];
        let [old, new] = self.parting(to, node, nic);
        let cost = |&(node, nic): &(usize, u16), more: f64| {
            let nic = usize::from(nic);
            cost((self.loads[node][nic] + more) / self.rates[node][nic])
        };
        let all = || old.iter().chain(&new);
        let before: f64 = all().map(|hop| cost(hop, 0.0)).sum();
        let left: f64 = old.iter().map(|hop| cost(hop, -sent)).sum();
        let taken: f64 = new.iter().map(|hop| cost(hop, sent)).sum();
        let gain = before - (left + taken);
        (gain > before * LEAST).then_some(gain)
    }

    /// Lets `node` send by `nic`, with all that is sent through it.
    fn take(&mut self, to: usize, node: usize, nic: u16) {
        let sent = self.sent[to][node];
        let ways = self.parting(to, node, nic);
        for (way, more) in ways.iter().zip([-sent, sent]) {
            for &(at, nic) in way {
                self.loads[at][usize::from(nic)] += more;
                if at != node {
                    self.sent[to][at] += more;
                }
            }
        }
        self.hop[to][node] = nic;
    }
}

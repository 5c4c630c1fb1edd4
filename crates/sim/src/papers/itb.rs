//! The evaluation in the paper in-transit-buffers, section 4: its networks, routes, traffic and
//! published figures.

use std::sync::Arc;

use tresse_base::id::{NodeId, SwitchId};
use tresse_base::random::Random;
use tresse_plan::Plan;
use tresse_routing::updown::Order;
use tresse_topology::Channel;
use tresse_topology::cluster::{Choice, Cluster, Strategy, TopologyShape};
use tresse_topology::path::Crossing;

use super::greedy::{greedy, legal};
use super::minimal::{minimal, turns};
use crate::network::SimulatedNetwork;
use crate::route::SimulatedPaths;
use crate::traffic::TrafficPattern;

/// Number of hosts on each switch of the evaluated networks (in-transit-buffers, section 4.1).
pub const HOSTS: u32 = 4;
/// Number of cables from each switch to others (in-transit-buffers, section 4.1).
pub const CABLES: u32 = 4;
/// The root switch of the breadth-first tree from which up and down are defined in the evaluated
/// networks. The paper in-transit-buffers does not name it; since networks are random, any switch
/// will do.
pub const ROOT: SwitchId = SwitchId(0);
/// Seed of the random choice of minimal routes and transit hosts.
const SEED: u64 = 1;
/// Numbers of switches of the networks that the paper in-transit-buffers evaluates.
pub const SIZES: [u32; 4] = [8, 16, 32, 64];
/// Sizes in bytes of the messages with which the paper in-transit-buffers evaluates networks.
pub const MESSAGE_BYTES: [u32; 3] = [32, 512, 1024];

/// Returns a random network of the evaluation (number `seed`, with this many switches) as a
/// cluster, to be planned with strategy `transit`: minimal paths, split at transit nodes where
/// up*/down* forbids them. Each switch has `cables` to others, [`CABLES`] in the evaluation. Paths
/// are chosen as the paper does, with this root of up*/down*, or without one balanced by the
/// planner.
#[must_use]
pub fn cluster(switches: u32, seed: u32, cables: u32, root: Option<SwitchId>) -> Cluster {
    let kind = TopologyShape::Irregular { switches, ports: cables + HOSTS, seed };
    let mut cluster = Cluster::generated(kind, HOSTS, 1, Strategy::Transit { root }, 1);
    cluster.routing.choice = if root.is_some() { Choice::Paper } else { Choice::Balanced };
    cluster
}

/// How the one route of each pair of nodes is chosen, where the planner does not choose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteChoice {
    /// UD of the paper: up*/down* routes of least load, as Myricom's `simple_routes` is said to
    /// choose them.
    LeastLoad,
    /// A random one of the shortest up*/down* routes.
    ShortestLegal,
    /// A random one of the minimal routes, an up*/down* one if there is one. Where the route turns
    /// from down to up it passes through a random host of that switch. The planner's
    /// `choice = "paper"` draws one route for each pair of switches instead.
    Minimal,
}

impl RouteChoice {
    /// Returns the routes of a network, with this root of up*/down*.
    #[must_use]
    pub fn routes(
        self,
        plan: &Plan,
        network: &SimulatedNetwork,
        root: SwitchId,
    ) -> SimulatedPaths<'static> {
        let (graph, switch_of) = (plan.graph(), switches_of(plan));
        let (order, random) = (Order::new(graph, root.0), &mut Random::new(SEED));
        let routes = match self {
            Self::LeastLoad => greedy(graph, &order, &switch_of),
            Self::ShortestLegal => minimal(graph, &order, &switch_of, true, random),
            Self::Minimal => minimal(graph, &order, &switch_of, false, random),
        };
        through_hosts(plan, network, &order, routes)
    }
}

/// Returns the switch of each node.
fn switches_of(plan: &Plan) -> Vec<u32> {
    plan.cluster().nodes.iter().map(|node| node.nics[0].switch.0).collect()
}

/// Adds the links of the source, of transit hosts and of the destination to routes between
/// switches. A route between hosts of one switch has no channel between switches.
fn through_hosts(
    plan: &Plan,
    network: &SimulatedNetwork,
    order: &Order,
    routes: Vec<Vec<Channel>>,
) -> SimulatedPaths<'static> {
    let graph = plan.graph();
    let mut hosts_of = vec![Vec::new(); graph.switches()];
    for (host, switch) in switches_of(plan).into_iter().enumerate() {
        hosts_of[switch as usize].push(NodeId::from(host));
    }
    let mut random = Random::new(SEED);
    let count = network.nodes;
    let through = |(pair, route): (usize, Vec<Channel>)| {
        let (src, dst) = (NodeId::from(pair / count), NodeId::from(pair % count));
        if src == dst {
            return Vec::new();
        }
        let turns = turns(graph, order, &route);
        let mut channels = vec![network.channel(Crossing::Out(src, 0))];
        for (at, channel) in route.into_iter().enumerate() {
            if turns.contains(&at) {
                let hosts = &hosts_of[graph.tail(channel) as usize];
                let host = hosts[random.below(hosts.len())];
                let crossings = [Crossing::In(host, 0), Crossing::Out(host, 0)];
                channels.extend(crossings.map(|crossing| network.channel(crossing)));
            }
            channels.push(channel);
        }
        channels.push(network.channel(Crossing::In(dst, 0)));
        channels
    };
    let all: Vec<_> = routes.into_iter().enumerate().map(through).collect();
    SimulatedPaths::given(count, &all)
}

/// A traffic pattern of the evaluation (in-transit-buffers, section 4.2): how a host chooses the
/// destinations of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Uniform over all other hosts.
    Uniform,
    /// To the host whose number has the sender's bits in reverse.
    BitReversal,
    /// To hosts at most this many switches away by the shortest up*/down* route. The paper does not
    /// define the distance; its statement that all hosts of 8 switches are at most 4 away holds for
    /// these routes and not for minimal paths.
    Local(u32),
    /// A share to one host: 30, 20, 15 and 5 %.
    HotSpot,
}

impl Sent {
    /// All patterns of the paper.
    pub const ALL: [Self; 5] =
        [Self::Uniform, Self::BitReversal, Self::Local(3), Self::Local(5), Self::HotSpot];

    /// Returns the name for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::BitReversal => "bit-reversal",
            Self::Local(3) => "local, l = 3",
            Self::Local(_) => "local, l = 5",
            Self::HotSpot => "hot-spot",
        }
    }

    /// Returns the pattern of a network with this root of up*/down*. The hot host is the same for
    /// all networks of a size.
    #[must_use]
    pub fn pattern(self, plan: &Plan, root: SwitchId) -> TrafficPattern {
        let nodes = &plan.cluster().nodes;
        match self {
            Self::Uniform => TrafficPattern::Uniform,
            Self::BitReversal => TrafficPattern::BitReversal,
            Self::Local(most) => TrafficPattern::Among(near(plan, root, most)),
            Self::HotSpot => {
                let share = match plan.cluster().switches.len() {
                    0..=8 => 3000,
                    9..=16 => 2000,
                    17..=32 => 1500,
                    _ => 500,
                };
                let node = Random::new(nodes.len() as u64).below(nodes.len()) as u32;
                TrafficPattern::HotSpot { node, share }
            }
        }
    }

    /// Returns the published factors of throughput (tables 1, 3, 5, 6, 8): least, greatest and
    /// average of ten networks, for messages of [`MESSAGE_BYTES`].
    #[must_use]
    pub fn factors(self, switches: u32) -> Option<[[f64; 3]; 3]> {
        let tables = match self {
            Self::Uniform => &FACTORS[0],
            Self::BitReversal => &FACTORS[1],
            Self::Local(3) => &FACTORS[2],
            Self::Local(_) => &FACTORS[3],
            Self::HotSpot => &FACTORS[4],
        };
        of_size(tables, switches)
    }

    /// Returns the published increase of latency at low load in per cent (tables 2, 4, 7, 9), in
    /// the same order.
    #[must_use]
    pub fn latencies(self, switches: u32) -> Option<[[f64; 3]; 3]> {
        let tables = match self {
            Self::Uniform => &LATENCIES[0],
            Self::BitReversal => &LATENCIES[1],
            Self::Local(3) => return None,
            Self::Local(_) => &LATENCIES[2],
            Self::HotSpot => &LATENCIES[3],
        };
        of_size(tables, switches)
    }
}

/// Returns for each host the hosts at most `most` switches away by up*/down* routes.
fn near(plan: &Plan, root: SwitchId, most: u32) -> Arc<[Vec<u32>]> {
    let (graph, nodes) = (plan.graph(), &plan.cluster().nodes);
    let order = Order::new(graph, root.0);
    let distances = legal(graph, &order);
    let switch = |node: usize| nodes[node].nics[0].switch.index();
    let is_near = |a: usize, b: usize| a != b && distances[switch(a)][switch(b)] <= most;
    let of = |a| (0..nodes.len()).filter(|b| is_near(a, *b)).map(|b| b as u32).collect();
    (0..nodes.len()).map(of).collect()
}

/// Of the four sizes, by message: least, greatest, average.
type Table = [Option<[[f64; 3]; 3]>; 4];

fn of_size(table: &Table, switches: u32) -> Option<[[f64; 3]; 3]> {
    SIZES.iter().position(|size| *size == switches).and_then(|at| table[at])
}

const FACTORS: [Table; 5] = [
    [
        Some([[0.90, 1.10, 0.97], [0.81, 1.05, 0.92], [0.83, 1.13, 0.92]]),
        Some([[1.09, 1.63, 1.33], [1.00, 1.50, 1.25], [1.00, 1.50, 1.27]]),
        Some([[1.66, 2.40, 2.00], [1.44, 2.17, 1.76], [1.50, 2.01, 1.77]]),
        Some([[2.60, 3.89, 3.21], [2.38, 3.25, 2.72], [2.25, 3.20, 2.65]]),
    ],
    [
        Some([[0.90, 1.27, 1.05], [0.86, 1.15, 0.99], [0.89, 1.16, 1.02]]),
        Some([[1.00, 1.96, 1.31], [0.89, 2.00, 1.29], [0.86, 1.76, 1.34]]),
        Some([[1.44, 2.26, 1.89], [1.64, 2.52, 2.00], [1.67, 2.70, 2.00]]),
        Some([[2.31, 4.79, 3.33], [2.31, 3.56, 2.79], [2.18, 3.76, 2.91]]),
    ],
    [
        Some([[0.90, 1.00, 0.97], [0.84, 1.00, 0.93], [0.80, 1.00, 0.90]]),
        Some([[0.92, 1.08, 0.98], [0.91, 1.09, 0.99], [0.89, 1.01, 0.96]]),
        Some([[0.93, 1.08, 1.00], [0.91, 1.08, 1.01], [0.93, 1.07, 1.00]]),
        Some([[0.92, 1.09, 1.03], [0.89, 1.01, 0.99], [0.90, 1.12, 0.99]]),
    ],
    [
        None,
        Some([[1.00, 1.67, 1.31], [1.05, 1.55, 1.32], [1.00, 1.55, 1.27]]),
        Some([[1.20, 2.00, 1.65], [1.40, 1.63, 1.51], [1.27, 1.81, 1.47]]),
        Some([[1.50, 2.00, 1.67], [1.32, 2.03, 1.60], [1.32, 1.60, 1.43]]),
    ],
    [
        Some([[0.93, 1.04, 0.97], [0.91, 1.10, 1.01], [0.91, 1.10, 1.02]]),
        Some([[1.00, 1.38, 1.17], [1.00, 1.20, 1.09], [1.00, 1.17, 1.10]]),
        Some([[1.12, 1.81, 1.55], [1.10, 1.62, 1.30], [1.04, 1.63, 1.31]]),
        Some([[1.98, 4.70, 3.21], [1.58, 3.00, 2.21], [1.67, 2.66, 2.11]]),
    ],
];

const LATENCIES: [Table; 4] = [
    [
        Some([[-0.28, 7.86, 2.24], [-0.02, 1.39, 0.48], [0.00, 0.98, 0.22]]),
        Some([[7.31, 14.87, 10.32], [0.99, 2.73, 1.65], [-0.08, 1.15, 0.52]]),
        Some([[10.59, 14.16, 12.93], [1.19, 2.52, 1.82], [-2.22, 0.34, -0.85]]),
        Some([[10.12, 15.15, 12.69], [-1.12, 1.52, 0.42], [-3.90, -1.34, -2.27]]),
    ],
    [
        Some([[-0.01, 9.87, 3.26], [-0.10, 2.12, 0.58], [-0.09, 1.13, 0.28]]),
        Some([[5.76, 19.01, 10.23], [-1.55, 3.89, 1.32], [-4.27, 2.78, 0.14]]),
        Some([[8.30, 17.31, 13.28], [0.74, 3.79, 2.64], [-1.07, 1.54, 0.41]]),
        Some([[7.30, 14.78, 10.18], [-2.26, 1.07, -0.16], [-3.54, -0.73, -1.80]]),
    ],
    [
        None,
        Some([[7.05, 15.16, 10.07], [0.11, 2.08, 1.25], [-0.91, 0.97, 0.17]]),
        Some([[15.71, 20.45, 17.56], [2.06, 3.65, 2.85], [0.53, 1.91, 1.18]]),
        Some([[18.83, 22.05, 20.25], [1.31, 3.39, 2.22], [-0.80, 1.22, 0.20]]),
    ],
    [
        Some([[-0.15, 10.64, 4.11], [0.00, 2.04, 0.74], [0.02, 1.07, 0.45]]),
        Some([[5.87, 17.26, 10.68], [0.90, 2.80, 1.81], [0.07, 1.48, 0.91]]),
        Some([[11.52, 17.66, 14.44], [0.17, 2.82, 1.21], [-1.27, 0.89, -0.30]]),
        Some([[3.61, 12.05, 6.91], [-6.00, -0.64, -2.89], [-8.34, -2.45, -4.84]]),
    ],
];

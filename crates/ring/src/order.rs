//! The order of a ring: each inter-switch link is crossed as seldom as possible, and no directed link carries more
//! stages than one where the fabric allows that.

use std::time::Duration;

use tresse_fabric::cluster::Kind;
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_fabric::units::Rate;
use tresse_fabric::watch::{self, Crossing};

use crate::search::Search;

/// Nodes in a circle: each sends to the next one, the last one to the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    nodes: Vec<NodeId>,
    cost: Cost,
    slowest: Rate,
    /// Stages on the directed link that most of them cross.
    most: u32,
}

/// What the stages of a ring take, all at once. Less is better, the first figure first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost {
    /// Stages on directed links beyond one on each.
    pub excess: u32,
    /// Directed links between switches that stages cross, each time counted.
    pub crossings: u32,
    /// The same of all links, those of nodes included.
    pub links: u32,
}

impl Ring {
    /// The best order that is found of these nodes, at least one; the first stays first. Deterministic. O(n^2) paths.
    #[must_use]
    pub fn of(plan: &Plan, members: &[NodeId]) -> Self {
        let mut search = Search::new(plan);
        let mut best: Option<(Cost, Vec<NodeId>)> = None;
        for order in candidates(plan, members, &mut search) {
            let cost = search.cost(&order);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, order));
            }
        }
        let (_, mut nodes) = best.unwrap_or_default();
        let cost = search.improve(&mut nodes);
        let most = search.most();
        let first = nodes.iter().position(|node| Some(node) == members.first()).unwrap_or(0);
        nodes.rotate_left(first);
        let slowest = stages(&nodes).flat_map(|(a, b)| rates(plan, a, b)).min();
        Self { nodes, cost, slowest: slowest.unwrap_or(Rate::GIGABIT), most }
    }

    /// All nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Who sends to whom.
    pub fn stages(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        stages(&self.nodes)
    }

    /// What all stages take at once.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// The rate of the slowest link that a stage crosses.
    #[must_use]
    pub const fn slowest(&self) -> Rate {
        self.slowest
    }

    /// How long a copy of so many octets to all nodes takes, where each adds `latency`: X / L + N d (big-fat-switches,
    /// section 3), L divided among the stages of the link that most of them cross.
    #[must_use]
    pub fn time(&self, octets: u64, latency: Duration) -> Duration {
        let sent = octets as f64 * 8.0 / self.slowest.0 as f64 * f64::from(self.most.max(1));
        Duration::from_secs_f64(sent) + latency * self.nodes.len() as u32
    }
}

/// Each with the one after it, the last with the first; none of one node.
pub(crate) fn stages(nodes: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
    let next = nodes.iter().cycle().skip(1);
    nodes.iter().zip(next).map(|(a, b)| (*a, *b)).filter(|(a, b)| a != b)
}

/// The directed links from one node to another.
pub(crate) fn links(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Crossing> {
    plan.primary(from, to).iter().flat_map(|segment| watch::wires(plan, segment)).collect()
}

fn rates(plan: &Plan, from: NodeId, to: NodeId) -> Vec<Rate> {
    let (cluster, graph) = (plan.cluster(), plan.graph());
    let rate = |crossing: &Crossing| match *crossing {
        Crossing::Out(node, nic) | Crossing::In(node, nic) => cluster.node(node).nics[nic].rate,
        Crossing::Between(channel) => cluster.links[graph.link(channel).index()].rate,
    };
    links(plan, from, to).iter().map(rate).collect()
}

/// Orders to begin with: as numbered, along the lines of a mesh, and always on to the nearest.
fn candidates(plan: &Plan, members: &[NodeId], search: &mut Search<'_>) -> Vec<Vec<NodeId>> {
    let mut all = vec![members.to_vec(), by_nearest(members, search)];
    let Some(dims) = dims(&plan.cluster().kind) else { return all };
    let sites: usize = dims.iter().map(|n| *n as usize).product();
    let per_site = (plan.cluster().nodes.len() / sites).max(1);
    let mut along = |way: Vec<usize>| {
        let mut rank = vec![0; sites];
        (0..).zip(way).for_each(|(i, site)| rank[site] = i);
        let mut order = members.to_vec();
        order.sort_by_key(|node| (rank[node.index() / per_site], *node));
        all.push(order);
    };
    for (from_last, modular) in [(false, false), (false, true), (true, false), (true, true)] {
        along((0..sites).map(|i| gray(dims, i, from_last, modular)).collect());
    }
    (0..dims.len()).filter_map(|lane| there_and_back(dims, lane)).for_each(along);
    all
}

/// All sites of a mesh in a circle: back and forth in dimension `lane` on every line, but for the first site of each
/// line, over which the way leads back. None where the lines are odd in number.
fn there_and_back(dims: &[u32], lane: usize) -> Option<Vec<usize>> {
    let others: Vec<u32> = [&dims[..lane], &dims[lane + 1..]].concat();
    let lines: usize = others.iter().map(|n| *n as usize).product();
    if lines % 2 == 1 || dims[lane] < 2 {
        return None;
    }
    let stride: usize = dims[..lane].iter().map(|n| *n as usize).product();
    let long = dims[lane] as usize;
    let site = |line: usize, x: usize| {
        let of_line = gray(&others, line, false, false);
        of_line % stride + x * stride + of_line / stride * stride * long
    };
    let mut way = vec![site(0, 0)];
    for line in 0..lines {
        let out = (1..long).map(|x| if line % 2 == 0 { x } else { long - x });
        way.extend(out.map(|x| site(line, x)));
    }
    way.extend((1..lines).rev().map(|line| site(line, 0)));
    Some(way)
}

/// Dimensions of a fabric in whose order nodes are numbered, the first one fastest.
fn dims(kind: &Kind) -> Option<&[u32]> {
    match kind {
        Kind::Mesh { dims }
        | Kind::Torus { dims }
        | Kind::DirectMesh { dims }
        | Kind::DirectTorus { dims }
        | Kind::Pmesh { dims, .. } => Some(dims),
        _ => None,
    }
}

/// The site that is `i`-th on a way on which neighbours differ by a step in one dimension: back and forth, or
/// (`modular`) always on, as a torus can.
fn gray(dims: &[u32], i: usize, from_last: bool, modular: bool) -> usize {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if from_last {
        order.reverse();
    }
    // Digits of i, the fastest first.
    let mut rest = i;
    let digits: Vec<usize> = order
        .iter()
        .map(|dim| {
            let n = dims[*dim] as usize;
            let digit = rest % n;
            rest /= n;
            digit
        })
        .collect();
    let mut at = vec![0; dims.len()];
    let mut above = 0;
    for (place, dim) in order.iter().enumerate().rev() {
        let n = dims[*dim] as usize;
        let digit = digits[place];
        at[*dim] = match modular {
            // Less by one for each step of all slower digits.
            true => (digit + n - above % n) % n,
            // Back on every second way.
            false if above % 2 == 1 => n - 1 - digit,
            false => digit,
        };
        above = above * n + digit;
    }
    dims.iter().zip(&at).rev().fold(0, |site, (n, x)| site * *n as usize + x)
}

fn by_nearest(members: &[NodeId], search: &mut Search<'_>) -> Vec<NodeId> {
    let mut left = members.to_vec();
    let mut order = Vec::new();
    while !left.is_empty() {
        let near = |search: &mut Search<'_>, to: NodeId| match order.last() {
            Some(last) => search.hops(*last, to),
            None => 0,
        };
        let at = (0..left.len()).min_by_key(|at| near(search, left[*at])).unwrap_or(0);
        order.push(left.remove(at));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(topology: &str, strategy: &str) -> Ring {
        let text = format!(
            "[fabric]\ntopology = {{ {topology} }}\n[routing]\nstrategy = \"{strategy}\"\npaths = 1\n"
        );
        let cluster = tresse_fabric::cluster::parse(&text, "x").unwrap();
        let plan = Plan::build(cluster).unwrap();
        let members: Vec<NodeId> = (0..plan.cluster().nodes.len()).map(NodeId::from).collect();
        let ring = Ring::of(&plan, &members);
        let mut sorted = ring.nodes().to_vec();
        sorted.sort();
        assert_eq!(sorted, members);
        assert_eq!(ring.nodes()[0], members[0]);
        ring
    }

    #[test]
    fn a_ring_crosses_each_link_once_where_the_fabric_allows_it() {
        for (topology, strategy, crossings) in [
            // As many links between switches as there are switches, or two for each but one.
            ("kind = \"torus\", dims = [4, 4]", "dor", 16),
            ("kind = \"torus\", dims = [5, 3]", "dor", 15),
            ("kind = \"torus\", dims = [4, 4, 4]", "dor", 64),
            ("kind = \"torus\", dims = [4, 4], nodes_per_switch = 3", "dor", 16),
            ("kind = \"mesh\", dims = [4, 4]", "dor", 16),
            ("kind = \"mesh\", dims = [6]", "dor", 10),
            ("kind = \"clique\", ports = 8, nodes_per_switch = 3", "minimal", 5),
            // Nodes route: no link is between switches.
            ("kind = \"direct-torus\", dims = [4, 4]", "xy", 0),
            ("kind = \"pmesh\", dims = [4, 4]", "xy", 0),
            ("kind = \"ring\", nodes = 9", "xy", 0),
        ] {
            let ring = ring(topology, strategy);
            assert_eq!(ring.cost().excess, 0, "{topology}: {:?}", ring);
            assert_eq!(ring.cost().crossings, crossings, "{topology}: {:?}", ring);
        }
    }

    #[test]
    fn nodes_that_route_send_to_neighbours() {
        for topology in ["kind = \"direct-torus\", dims = [4, 4]", "kind = \"ring\", nodes = 9"] {
            let ring = ring(topology, "xy");
            // Out of one NIC, into the other.
            assert_eq!(ring.cost().links, 2 * ring.nodes().len() as u32, "{topology}");
        }
    }

    #[test]
    fn a_copy_takes_the_time_of_one_link_and_the_latencies_of_all() {
        let ring = ring("kind = \"torus\", dims = [4, 4]", "dor");
        let time = ring.time(125_000_000, Duration::from_micros(150));
        assert_eq!(time, Duration::from_secs(1) + Duration::from_micros(16 * 150));
    }
}

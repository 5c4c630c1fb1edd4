//! The strategy `minimal`: paths with the fewest hops on any connected fabric, balanced over the channels (directions
//! of links), and packed into as few VLAN trees as the search finds (the VLAN layout problem of SPAIN, Mudigonda et
//! al., NSDI 2010). The channel dependency graph may have cycles.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::Graph;
use tresse_topology::cluster::Prefer;

use crate::fold::{TreeRoute, even_out};
use crate::keep::Kept;
use crate::left::{shortest_left, unreached};
use crate::packing::{FirstFit, RouteList};
use crate::routes::{
    SwitchDemand, SwitchRoutes, balanced, copy_lanes, least_cost, longest_first, on_lanes,
    without_pairs,
};
use crate::updown::{Order, TreeSegment};

mod fewest;
mod forest;
mod ready;

use fewest::{again, as_even, fewest};
pub(crate) use forest::Packer;
pub use ready::TreeSet;
use ready::{least_time, smallest};

/// How much work laying routes and moving single ones may be each, in channels that are looked at.
const WORK: usize = 1 << 24;
const RELIEF: usize = 1 << 24;
/// How often all routes are looked at for each power of the loads.
const SWEEPS: usize = 8;
/// How often all routes are laid anew, for each of several beginnings.
const STARTS: [usize; 6] = [2, 0, 1, 4, 8, 16];
/// With more work for one search from each source, there is one beginning.
const SMALL: usize = 1 << 16;
/// How much work more roots of two ways may be, where the busiest link is busier than it may have to be, and how often the
/// bound that tells sets its prices.
const ROOT_WORK: usize = 1 << 17;
const BOUND_ROUNDS: i32 = 12;
/// With more switches than these, routes are placed source by source, and not at all where other trees do as well.
const MANY: usize = 512;

/// So little more is as good: a link may be busy 5 % longer.
const fn near(time: u64) -> u64 {
    time.saturating_add(time / 20)
}

/// The result of the strategy `minimal`: the VLAN tree that each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub struct Minimal {
    switches: usize,
    /// Routes of each ordered pair of switches.
    lanes: u32,
    /// By source (switch and lane) and destination.
    trees: Vec<u16>,
    /// Sources and destinations whose route fits into no tree, ascending.
    crowded: Vec<(u32, u32)>,
}

impl Minimal {
    /// Returns the links of at most `most` trees, and the assignment. If a pair's route fits into none of
    /// them, the pair uses the shortest path that a tree has. `others`: more sets of trees that may do.
    ///
    /// # Errors
    /// A switch that cannot be reached.
    pub fn new(
        graph: &Graph,
        demand: &SwitchDemand,
        prefer: Prefer,
        others: impl Fn() -> Vec<TreeSet>,
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        unreached(graph)?;
        let most = most.min(u16::MAX.into());
        let many = graph.switches() > MANY;
        let sets = if many { others() } else { Vec::new() };
        let time = match prefer {
            _ if sets.is_empty() => 0,
            Prefer::Balance => near(least_time(graph, demand)),
            Prefer::FewestVlans => u64::MAX,
        };
        let ready = |time| smallest(graph, demand, &sets, most, time);
        if let Some(set) = ready(time) {
            return Ok(Self::of_set(graph, set));
        }
        let (demand, routes) = match prefer {
            Prefer::Balance => Self::routes(graph, demand),
            Prefer::FewestVlans => Self::routes_on_one_lane(graph, demand),
        };
        if let Some(set) = ready(near(routes.cost(&demand).0)) {
            return Ok(Self::of_set(graph, set));
        }
        let (demand, n) = (&demand, graph.switches());
        let mut wanted = longest_first(demand, &routes, many);
        let listed = wanted.len();
        wanted.extend(without_pairs(demand));
        let (mut list, mut channels) = (RouteList::default(), Vec::new());
        for &(source, d) in &wanted[..listed] {
            channels.clear();
            routes.walk(source, d, &mut channels);
            list.add((demand.switch(source), d), &channels);
        }
        let (mut packer, at) = list.pack(n as u32, || Packer::new(graph, most), None);
        let mut at = at.into_iter();
        let mut placed = Vec::with_capacity(wanted.len());
        let (mut left, mut left_at) = (Vec::new(), Vec::new());
        for &(source, d) in &wanted {
            let tree = at.next().unwrap_or_else(|| {
                channels.clear();
                routes.walk(source, d, &mut channels);
                packer.place(&channels)
            });
            if tree.is_none() {
                left.push((source, d));
                left_at.push(placed.len());
            }
            let (ends, pairs) = ((demand.switch(source), d), demand.pairs(source, d));
            placed.push(TreeRoute { ends, pairs, tree: tree.unwrap_or(0), cut: [false; 2] });
        }
        let mut links = packer.finish();
        let chosen = shortest_left(graph, &links, demand.lanes, &left);
        for (at, (.., tree)) in left_at.into_iter().zip(chosen) {
            placed[at].tree = tree.index();
        }
        left.sort_unstable();
        if !left.is_empty() {
            even_out(graph, &links, (&demand.slowness, &[]), &mut placed);
        }
        // Beyond so many switches they were looked at above.
        let others = || if many { Vec::new() } else { others() };
        (links, placed) = match prefer {
            Prefer::Balance => {
                let packed = links.len();
                let fewer = as_even(graph, &demand.slowness, (links, placed), others, most);
                if fewer.0.len() < packed { again(graph, fewer, most) } else { fewer }
            }
            Prefer::FewestVlans => {
                fewest(graph, &demand.slowness, (links, placed), &list, others(), most)
            }
        };
        let mut trees = vec![0; n * demand.sources() as usize];
        for ((source, d), route) in wanted.into_iter().zip(placed) {
            trees[source as usize * n + d as usize] = route.tree as u16;
        }
        copy_lanes(demand, &mut trees);
        Ok((links, Self { switches: n, lanes: demand.lanes, trees, crowded: left }))
    }

    /// With the trees of `set`.
    fn of_set(graph: &Graph, set: TreeSet) -> (Vec<Vec<LinkId>>, Self) {
        let TreeSet { links, trees } = set;
        (links, Self { switches: graph.switches(), lanes: 1, trees, crowded: Vec::new() })
    }

    /// Returns the routes alone, before they are packed into trees, and the demand on the lanes that they have.
    #[must_use]
    pub fn routes(graph: &Graph, demand: &SwitchDemand) -> (SwitchDemand, SwitchRoutes) {
        let (demand, routes) = Self::routes_on_one_lane(graph, demand);
        let lay = |demand: &SwitchDemand| Self::laid(graph, demand);
        let (demand, mut routes) =
            on_lanes(graph, &vec![true; graph.channels()], &demand, routes, lay);
        if demand.lanes == 1 {
            routes = Self::from_more_roots(graph, &demand, routes);
        }
        (demand, routes)
    }

    fn routes_on_one_lane(graph: &Graph, demand: &SwitchDemand) -> (SwitchDemand, SwitchRoutes) {
        let demand = demand.without_transit();
        let routes = Self::laid(graph, &demand);
        (demand, routes)
    }

    /// The best routes of several beginnings.
    fn laid(graph: &Graph, demand: &SwitchDemand) -> SwitchRoutes {
        let from = |up: &[bool], demand: &SwitchDemand, rounds: usize| {
            let sweeps = (RELIEF / demand.work()).min(SWEEPS);
            balanced(graph, up, demand, rounds, sweeps)
        };
        let up = vec![true; graph.channels()];
        // Up and down, where turns cost nothing: a source then has two ways to a switch, one that ends going up and one
        // that ends going down.
        let two = Order::new(graph, 0).ups(graph);
        let n = graph.switches();
        let free = SwitchDemand { transit: vec![1; n], nic_slowness: vec![0; n], ..demand.clone() };
        let most = WORK / demand.work();
        // Moving single routes ends elsewhere from each beginning.
        let starts = if demand.work() > SMALL { &STARTS[..1] } else { &STARTS[..] };
        let one = starts.iter().map(|rounds| from(&up, demand, most.min(*rounds)));
        let others = starts[1..].iter().map(|rounds| from(&two, &free, most.min(*rounds)));
        let best = one.chain(others).min_by_key(|routes| routes.cost(demand));
        best.expect("there is a first beginning")
    }

    /// `best`, or better routes from more beginnings where its busiest link is busier than it may have to be. Which two ways
    /// a source has depends on the root, and where they lead on whether a turn costs something. `demand`: on one lane.
    fn from_more_roots(
        graph: &Graph,
        demand: &SwitchDemand,
        mut best: SwitchRoutes,
    ) -> SwitchRoutes {
        let tries = ROOT_WORK / demand.work();
        let time = best.cost(demand).0;
        let up = vec![true; graph.channels()];
        let least = || least_cost(graph, &up, demand, BOUND_ROUNDS).ceil() as u64;
        if tries == 0 || time <= demand.light() || time <= least() {
            return best;
        }
        let n = graph.switches();
        let costly = SwitchDemand { transit: vec![1; n], ..demand.clone() };
        let free = SwitchDemand { nic_slowness: vec![0; n], ..costly.clone() };
        let hops = graph.sums_of_hops(&demand.nodes);
        let mut roots: Vec<u32> = (0..n as u32).collect();
        roots.sort_by_key(|root| hops[*root as usize]);
        for root in roots.into_iter().take(tries) {
            let two = Order::new(graph, root).ups(graph);
            for turns in [&free, &costly] {
                let routes = balanced(graph, &two, turns, 0, SWEEPS);
                if routes.cost(demand) < best.cost(demand) {
                    best = routes;
                }
            }
        }
        best
    }

    /// Routes of each ordered pair of switches.
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Sources (switch and lane) and destinations whose route fits into no tree, ascending.
    #[must_use]
    pub fn crowded(&self) -> &[(u32, u32)] {
        &self.crowded
    }

    /// Whether the route of two switches on a lane fits into no tree. They use the shortest path that a tree has.
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId, lane: u32) -> bool {
        self.crowded.binary_search(&(s.0 * self.lanes + lane, d.0)).is_ok()
    }

    /// Gives up trees: routes in these take the shortest way that another has.
    pub(crate) fn keep(&mut self, kept: &Kept<'_>) {
        let mut left = Vec::new();
        for (at, tree) in self.trees.iter_mut().enumerate() {
            match kept.number(TreeId((*tree).into())) {
                Some(number) => *tree = number.0 as u16,
                None => left.push(((at / self.switches) as u32, (at % self.switches) as u32)),
            }
        }
        for ((source, d), tree) in left.iter().zip(kept.shortest(self.lanes, &left)) {
            self.trees[*source as usize * self.switches + *d as usize] = tree.0 as u16;
        }
    }

    /// The path of an ordered pair of switches on a lane.
    #[must_use]
    pub fn tree_segment(&self, s: SwitchId, d: SwitchId, lane: u32) -> TreeSegment {
        let source = (s.0 * self.lanes + lane) as usize;
        TreeSegment { tree: TreeId(self.trees[source * self.switches + d.index()].into()), to: d }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::random;
    use tresse_topology::vlan::Tree;

    /// Every pair's path in its tree is minimal, in far fewer trees than one for each switch.
    #[test]
    fn minimal_ways_in_few_trees() {
        for (switches, most) in [(8, 6), (16, 14), (32, 28), (64, 56)] {
            for seed in 1..=3 {
                let edges = random::regular(switches, 4, seed);
                let graph = Graph::from_edges(switches as usize, &edges);
                let nodes = vec![4; switches as usize];
                let demand = SwitchDemand::new(&graph, &nodes, &nodes);
                let (trees, minimal) =
                    Minimal::new(&graph, &demand, Prefer::Balance, Vec::new, 4093).unwrap();
                assert!(trees.len() <= most, "{switches} switches: {} trees", trees.len());
                let trees: Vec<_> = trees.iter().map(|links| tree(&graph, links)).collect();
                let (mut distance, mut queue) = (Vec::new(), Vec::new());
                for s in 0..switches {
                    graph.distances(s, &mut distance, &mut queue);
                    for d in 0..switches {
                        let tree_segment = minimal.tree_segment(SwitchId(s), SwitchId(d), 0);
                        let hops =
                            trees[tree_segment.tree.index()].distance(SwitchId(s), SwitchId(d));
                        assert_eq!(hops, distance[d as usize], "{s} to {d}");
                    }
                }
            }
        }
    }

    fn tree(graph: &Graph, links: &[LinkId]) -> Tree {
        crate::left::build(graph, &[links.to_vec()]).remove(0)
    }
}

//! Trees of the strategies for grids, in which every pair of switches has a shortest path too.

use tresse_base::id::LinkId;
use tresse_topology::Graph;

use crate::fold::{TreeRoute, relieve};
use crate::routes::SwitchDemand;

/// Spanning trees, and which of them each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub struct TreeSet {
    /// The links of each tree.
    pub links: Vec<Vec<LinkId>>,
    /// By two switches: the tree, in which they have a shortest path.
    pub trees: Vec<u16>,
}

impl TreeSet {
    /// The set without trees that no pair of switches with nodes uses.
    fn needed(mut self, demand: &SwitchDemand) -> Self {
        let mut numbers = vec![None; self.links.len()];
        for route in self.routes(demand) {
            numbers[route.tree] = Some(0);
        }
        (0..).zip(numbers.iter_mut().flatten()).for_each(|(number, of)| *of = number);
        let mut used = numbers.iter().map(Option::is_some);
        self.links.retain(|_| used.next() == Some(true));
        self.trees.iter_mut().for_each(|tree| *tree = numbers[*tree as usize].unwrap_or(0));
        self
    }

    /// The routes of pairs of switches with nodes.
    fn routes(&self, demand: &SwitchDemand) -> Vec<TreeRoute> {
        let n = demand.switches() as u32;
        let homes = || (0..n).filter(|s| demand.homes[*s as usize]);
        let pairs = homes().flat_map(|s| homes().filter(move |d| *d != s).map(move |d| (s, d)));
        let route = |ends: (u32, u32)| {
            let tree = self.trees[(ends.0 * n + ends.1) as usize].into();
            TreeRoute { ends, pairs: demand.pairs(ends.0, ends.1), tree }
        };
        pairs.map(route).collect()
    }
}

/// The set with the fewest trees, at most `most`, then the lowest load, of those that load no link longer than `time`, maybe
/// once some routes have moved to other trees in which they are as short. `demand`: on one lane.
pub(super) fn smallest(
    graph: &Graph,
    demand: &SwitchDemand,
    sets: Vec<TreeSet>,
    most: usize,
    time: u64,
) -> Option<TreeSet> {
    let needed = sets.into_iter().map(|set| set.needed(demand));
    let ranked = needed.filter(|set| set.links.len() <= most).filter_map(|mut set| {
        let mut routes = set.routes(demand);
        let busiest = relieve(graph, &set.links, &demand.slowness, &mut routes, time);
        for TreeRoute { ends: (s, d), tree, .. } in routes {
            set.trees[s as usize * demand.switches() + d as usize] = tree as u16;
        }
        let set = set.needed(demand);
        (busiest <= time).then_some((set.links.len(), busiest, set))
    });
    ranked.min_by_key(|(trees, busiest, _)| (*trees, *busiest)).map(|(.., set)| set)
}

/// A time that some link is busy at least, whatever shortest paths there are: that of all if all were busy alike. `demand`:
/// on one lane.
pub(super) fn least_time(graph: &Graph, demand: &SwitchDemand) -> u64 {
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    let mut hops = 0;
    for s in (0..demand.switches() as u32).filter(|s| demand.nodes[*s as usize] > 0) {
        graph.distances(s, &mut distance, &mut queue);
        let all = (0..).zip(&distance).filter(|(d, _)| *d != s && demand.nodes[*d as usize] > 0);
        hops += all.map(|(d, of)| demand.pairs(s, d) * u64::from(*of)).sum::<u64>();
    }
    let fast = demand.slowness.iter().map(|slowness| 1.0 / *slowness as f64).sum::<f64>();
    (hops as f64 / fast) as u64
}

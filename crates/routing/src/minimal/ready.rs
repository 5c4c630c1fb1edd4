//! Trees of the strategies for grids, in which every pair of switches has a shortest path too.

use tresse_base::id::LinkId;
use tresse_topology::Graph;

use crate::fold::{TreeRoute, unload};
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
    /// The set in which these routes are in the trees that they name, without trees that none of them uses.
    fn with(&self, routes: &[TreeRoute], switches: usize) -> Self {
        let (mut links, mut trees) = (self.links.clone(), self.trees.clone());
        let mut numbers = vec![None; links.len()];
        for &TreeRoute { ends: (s, d), tree, .. } in routes {
            trees[s as usize * switches + d as usize] = tree as u16;
            numbers[tree] = Some(0);
        }
        (0..).zip(numbers.iter_mut().flatten()).for_each(|(number, of)| *of = number);
        let mut used = numbers.iter().map(Option::is_some);
        links.retain(|_| used.next() == Some(true));
        trees.iter_mut().for_each(|tree| *tree = numbers[*tree as usize].unwrap_or(0));
        Self { links, trees }
    }

    /// The routes of pairs of switches with nodes.
    fn routes(&self, demand: &SwitchDemand) -> Vec<TreeRoute> {
        let n = demand.switches() as u32;
        let homes = || (0..n).filter(|s| demand.homes[*s as usize]);
        let pairs = homes().flat_map(|s| homes().filter(move |d| *d != s).map(move |d| (s, d)));
        let route = |ends: (u32, u32)| {
            let tree = self.trees[(ends.0 * n + ends.1) as usize].into();
            TreeRoute { ends, pairs: demand.pairs(ends.0, ends.1), tree, cut: [false; 2] }
        };
        pairs.map(route).collect()
    }
}

/// The set with the fewest trees, at most `most`, then the lowest load, of those in which no link is busy longer than `time`.
/// To get there, routes may move to other trees of their set in which they are as short. `demand`: on one lane.
pub(super) fn smallest(
    graph: &Graph,
    demand: &SwitchDemand,
    sets: &[TreeSet],
    most: usize,
    time: u64,
) -> Option<TreeSet> {
    let fitting = sets.iter().filter_map(|set| {
        let mut routes = set.routes(demand);
        let busiest = unload(graph, &set.links, &demand.slowness, &mut routes, time);
        let set = (busiest <= time).then(|| set.with(&routes, demand.switches()))?;
        Some((busiest, set)).filter(|(_, set)| set.links.len() <= most)
    });
    fitting.min_by_key(|(busiest, set)| (set.links.len(), *busiest)).map(|(_, set)| set)
}

/// A lower bound of the time that the busiest link takes, whatever the shortest paths: what it would be if all links were
/// busy equally long. `demand`: on one lane.
pub(super) fn least_time(graph: &Graph, demand: &SwitchDemand) -> u64 {
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    let mut hops = 0;
    for s in (0..demand.switches() as u32).filter(|s| demand.nodes[*s as usize] > 0) {
        graph.distances(s, &mut distance, &mut queue);
        let others = (0..).zip(&distance).filter(|(d, _)| *d != s);
        hops += others.map(|(d, of)| demand.pairs(s, d) * u64::from(*of)).sum::<u64>();
    }
    let fast = demand.slowness.iter().map(|slowness| 1.0 / *slowness as f64).sum::<f64>();
    (hops as f64 / fast) as u64
}

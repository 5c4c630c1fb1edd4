//! Up*/down* routing (in-transit-buffers, section 2) on any connected fabric: legal routes, balanced,
//! in VLAN trees. Every path of every one of these trees is legal, so that the channel dependency
//! graph has no cycle, whatever the paths are used for.

mod order;
mod pack;
mod routes;

pub use order::Order;
pub use pack::Packer;
pub use routes::Routes;

use crate::id::{LinkId, SwitchId, TreeId};
use crate::topology::Graph;
use crate::vlan::Tree;

/// Roots that are compared, those with the fewest hops to all others first.
const ROOTS: usize = 64;
/// How much work choosing the root and balancing may be: searches times channels.
const WORK: usize = 1 << 26;

/// The assignment of pairs of switches to trees.
#[derive(Debug, Clone)]
pub struct Updown {
    order: Order,
    trees: Vec<u16>,
}

impl Updown {
    /// The links of at most `most` trees, and the assignment; `weights[s]` = nodes on switch `s`.
    /// Without a `root`, that with the lowest maximum load of those compared. Pairs whose route fits
    /// into no tree once there may be no more take the shortest way that a tree has.
    ///
    /// # Errors
    /// A switch that cannot be reached.
    pub fn new(
        graph: &Graph,
        root: Option<SwitchId>,
        weights: &[u64],
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        let (mut distance, mut queue) = (Vec::new(), Vec::new());
        graph.distances(0, &mut distance, &mut queue);
        if let Some(missing) = distance.iter().position(|hops| *hops == u32::MAX) {
            return Err(missing.into());
        }
        let (order, routes) = choose(graph, root, weights);
        let (n, mut channels) = (graph.switches(), Vec::new());
        let mut packer = Packer::new(graph, &order, most.min(u16::MAX.into()));
        let (mut trees, mut left) = (vec![0; n * n], Vec::new());
        for (s, d) in longest_first(graph, &routes) {
            channels.clear();
            routes.walk(graph, s, d, &mut channels);
            match packer.place(&channels) {
                Some(tree) => trees[s as usize * n + d as usize] = tree.0 as u16,
                None => left.push((s, d)),
            }
        }
        let links = packer.finish();
        let built = if left.is_empty() { Vec::new() } else { build(graph, &links) };
        let mut given = vec![0u32; built.len()];
        for (s, d) in left {
            let rank = |t: &usize| (built[*t].distance(SwitchId(s), SwitchId(d)), given[*t]);
            let tree = (0..built.len()).min_by_key(rank).unwrap_or(0);
            given[tree] += 1;
            trees[s as usize * n + d as usize] = tree as u16;
        }
        Ok((links, Self { order, trees }))
    }

    /// The tree of an ordered pair of switches.
    #[must_use]
    pub fn tree(&self, s: SwitchId, d: SwitchId) -> TreeId {
        TreeId(self.trees[s.index() * self.order.switches() + d.index()].into())
    }

    /// Which ends of cables are up.
    #[must_use]
    pub const fn order(&self) -> &Order {
        &self.order
    }
}

fn build(graph: &Graph, trees: &[Vec<LinkId>]) -> Vec<Tree> {
    let mut ends = vec![(0, 0); graph.channels() / 2];
    for c in 0..graph.channels() as u32 {
        ends[graph.link(c).index()] = (graph.tail(c), graph.head(c));
    }
    let ends = |link: &LinkId| (*link, ends[link.index()].0, ends[link.index()].1);
    let tree = |links: &Vec<LinkId>| {
        let ends: Vec<_> = links.iter().map(ends).collect();
        Tree::of_links(graph, &ends).expect("every switch but the root has one cable up")
    };
    trees.iter().map(tree).collect()
}

/// All ordered pairs, those with long routes first: short ones fit in beside them.
fn longest_first(graph: &Graph, routes: &Routes) -> Vec<(u32, u32)> {
    let n = graph.switches() as u32;
    let mut channels = Vec::new();
    let mut by_length: Vec<Vec<(u32, u32)>> = Vec::new();
    for (s, d) in (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).filter(|(s, d)| s != d) {
        channels.clear();
        routes.walk(graph, s, d, &mut channels);
        by_length.resize_with(by_length.len().max(channels.len() + 1), Vec::new);
        by_length[channels.len()].push((s, d));
    }
    by_length.into_iter().rev().flatten().collect()
}

fn choose(graph: &Graph, root: Option<SwitchId>, weights: &[u64]) -> (Order, Routes) {
    let n = graph.switches();
    let search = (n * graph.channels()).max(1);
    let balanced = |root: u32, rounds: usize| {
        let order = Order::new(graph, root);
        let routes = Routes::new(graph, &order, weights, rounds);
        (order, routes)
    };
    let root = root.map(|root| root.0).unwrap_or_else(|| {
        let (mut distance, mut queue) = (Vec::new(), Vec::new());
        let mut roots: Vec<(u64, u32)> = (0..n as u32)
            .map(|s| {
                graph.distances(s, &mut distance, &mut queue);
                (distance.iter().zip(weights).map(|(d, w)| u64::from(*d) * w).sum(), s)
            })
            .collect();
        roots.sort_unstable();
        roots.truncate((WORK / search).clamp(1, ROOTS));
        let load = |(_, root): &(u64, u32)| balanced(*root, 1).1.cost();
        roots.into_iter().min_by_key(load).map_or(0, |(_, root)| root)
    });
    balanced(root, (WORK / search).min(32))
}

#[cfg(test)]
mod tests;

//! The strategy `minimal`: paths with the fewest hops on any connected fabric, balanced over the channels (directions
//! of links), and packed into as few VLAN trees as the search finds (the VLAN layout problem of SPAIN, Mudigonda et
//! al., NSDI 2010). The channel dependency graph may have cycles.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::{Channel, Components, Graph};

use super::updown::{SwitchDemand, SwitchRoutes, TreeSegment, longest_first, unreached};

/// How much work balancing may be: searches times channels.
const WORK: usize = 1 << 26;

/// The result of the strategy `minimal`: the VLAN tree that each ordered pair of switches uses.
#[derive(Debug, Clone)]
pub struct Minimal {
    switches: usize,
    trees: Vec<u16>,
    /// Pairs whose route fits into no tree, ascending.
    crowded: Vec<(u32, u32)>,
}

impl Minimal {
    /// Returns the links of at most `most` trees, and the assignment. If a pair's route fits into none of
    /// them, the pair uses the shortest path that a tree has.
    ///
    /// # Errors
    /// A switch that cannot be reached.
    pub fn new(
        graph: &Graph,
        nodes: &[u64],
        most: usize,
    ) -> Result<(Vec<Vec<LinkId>>, Self), SwitchId> {
        unreached(graph)?;
        let n = graph.switches();
        let demand = SwitchDemand { nodes, transit: &vec![0; n] };
        let rounds = (WORK / (n * graph.channels()).max(1)).min(32);
        let routes = SwitchRoutes::new(graph, &vec![true; graph.channels()], &demand, rounds);
        let mut packer = Packer { graph, most: most.min(u16::MAX.into()), trees: Vec::new() };
        let (mut trees, mut left, mut channels) = (vec![0; n * n], Vec::new(), Vec::new());
        for (s, d) in longest_first(n as u32, &routes) {
            channels.clear();
            routes.walk(s, d, &mut channels);
            match packer.place(&channels) {
                Some(tree) => trees[s as usize * n + d as usize] = tree as u16,
                None => left.push((s, d)),
            }
        }
        let links = packer.finish();
        for (s, d, tree) in super::updown::shortest_left(graph, &links, &left) {
            trees[s as usize * n + d as usize] = tree.0 as u16;
        }
        left.sort_unstable();
        Ok((links, Self { switches: n, trees, crowded: left }))
    }

    /// Whether the route of two switches fits into no tree. They use the shortest path that a tree has.
    #[must_use]
    pub fn is_crowded(&self, s: SwitchId, d: SwitchId) -> bool {
        self.crowded.binary_search(&(s.0, d.0)).is_ok()
    }

    /// The path of an ordered pair of switches.
    #[must_use]
    pub fn tree_segment(&self, s: SwitchId, d: SwitchId) -> TreeSegment {
        TreeSegment {
            tree: TreeId(self.trees[s.index() * self.switches + d.index()].into()),
            to: d,
        }
    }
}

/// Trees that are being filled, first fit: each a forest until it is finished.
struct Packer<'a> {
    graph: &'a Graph,
    most: usize,
    trees: Vec<Forest>,
}

struct Forest {
    /// By channel: whether its cable is in the forest.
    has: Vec<bool>,
    parts: Components,
}

impl Packer<'_> {
    fn place(&mut self, channels: &[Channel]) -> Option<usize> {
        let graph = self.graph;
        let mut at = self.trees.iter_mut().position(|tree| tree.take(graph, channels));
        if at.is_none() && self.trees.len() < self.most {
            let parts = Components::new(graph.switches());
            let mut tree = Forest { has: vec![false; graph.channels()], parts };
            tree.take(graph, channels);
            at = Some(self.trees.len());
            self.trees.push(tree);
        }
        at
    }

    /// The links of every tree, at least one tree.
    fn finish(mut self) -> Vec<Vec<LinkId>> {
        if self.trees.is_empty() {
            self.place(&[]);
        }
        let graph = self.graph;
        let links = |tree: &mut Forest| {
            (0..graph.channels() as u32).for_each(|c| {
                tree.take(graph, &[c]);
            });
            let has = (0..graph.channels() as u32).filter(|c| tree.has[*c as usize]);
            let mut links: Vec<_> = has.map(|c| graph.link(c)).collect();
            links.sort_unstable();
            links.dedup();
            links
        };
        self.trees.iter_mut().map(links).collect()
    }
}

impl Forest {
    /// Takes the route in unless that closes a loop.
    fn take(&mut self, graph: &Graph, channels: &[Channel]) -> bool {
        // The parts that the route's new cables would join: few, so a list will do.
        let mut joined: Vec<[usize; 2]> = Vec::new();
        for &c in channels.iter().filter(|c| !self.has[**c as usize]) {
            let ends = [graph.tail(c), graph.head(c)].map(|s| {
                let part = self.parts.root(s as usize);
                joined.iter().fold(part, |part, [old, new]| if part == *old { *new } else { part })
            });
            if ends[0] == ends[1] {
                return false;
            }
            joined.push(ends);
        }
        for &c in channels {
            self.has[c as usize] = true;
            self.has[graph.reverse(c) as usize] = true;
            self.parts.join(graph.tail(c) as usize, graph.head(c) as usize);
        }
        true
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
                let (trees, minimal) = Minimal::new(&graph, &nodes, 4093).unwrap();
                assert!(trees.len() <= most, "{switches} switches: {} trees", trees.len());
                let trees: Vec<_> = trees.iter().map(|links| tree(&graph, links)).collect();
                let (mut distance, mut queue) = (Vec::new(), Vec::new());
                for s in 0..switches {
                    graph.distances(s, &mut distance, &mut queue);
                    for d in 0..switches {
                        let tree_segment = minimal.tree_segment(SwitchId(s), SwitchId(d));
                        let hops =
                            trees[tree_segment.tree.index()].distance(SwitchId(s), SwitchId(d));
                        assert_eq!(hops, distance[d as usize], "{s} to {d}");
                    }
                }
            }
        }
    }

    fn tree(graph: &Graph, links: &[LinkId]) -> Tree {
        super::super::updown::build(graph, &[links.to_vec()]).remove(0)
    }
}

//! What is done where a strategy cannot have its way: switches that cannot be reached, and routes that fit into no tree.

use tresse_base::id::{LinkId, SwitchId, TreeId};
use tresse_topology::Graph;
use tresse_topology::vlan::Tree;

/// The first switch that the first one cannot reach, as an error.
pub(crate) fn unreached(graph: &Graph) -> Result<(), SwitchId> {
    let (mut distance, mut queue) = (Vec::new(), Vec::new());
    graph.distances(0, &mut distance, &mut queue);
    let missing = distance.iter().position(|hops| *hops == u32::MAX);
    missing.map_or(Ok(()), |missing| Err(missing.into()))
}

/// For each switch of a source and destination without room in any tree: of the trees with its shortest route, the one
/// with the fewest such pairs.
pub(crate) fn shortest_left(
    graph: &Graph,
    links: &[Vec<LinkId>],
    lanes: u32,
    left: &[(u32, u32)],
) -> Vec<(u32, u32, TreeId)> {
    let built = if left.is_empty() { Vec::new() } else { build(graph, links) };
    let mut given = vec![0u32; built.len()];
    let mut choose = |&(source, d): &(u32, u32)| {
        let s = SwitchId(source / lanes);
        let rank = |t: &usize| (built[*t].distance(s, SwitchId(d)), given[*t]);
        let tree = (0..built.len()).min_by_key(rank).unwrap_or(0);
        given[tree] += 1;
        (source, d, tree.into())
    };
    left.iter().map(&mut choose).collect()
}

pub(crate) fn build(graph: &Graph, trees: &[Vec<LinkId>]) -> Vec<Tree> {
    let mut ends = vec![(0, 0); graph.channels() / 2];
    for c in 0..graph.channels() as u32 {
        ends[graph.link(c).index()] = (graph.tail(c), graph.head(c));
    }
    let ends = |link: &LinkId| (*link, ends[link.index()].0, ends[link.index()].1);
    let tree = |links: &Vec<LinkId>| {
        let ends: Vec<_> = links.iter().map(ends).collect();
        Tree::of_links(graph, SwitchId(0), &ends)
            .expect("every switch but the root has one cable up")
    };
    trees.iter().map(tree).collect()
}

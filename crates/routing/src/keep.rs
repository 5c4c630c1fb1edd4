//! Gives up trees that no path of two nodes uses. Where nodes have several NICs, their pairs take the switches that are
//! nearest to each other, so routes between others are in no path.

use tresse_base::id::{LinkId, TreeId};
use tresse_topology::Graph;

use crate::left::shortest_left;

/// The number of each tree that is kept, and the shortest ways in these.
pub(crate) struct Kept<'a> {
    graph: &'a Graph,
    links: &'a [Vec<LinkId>],
    /// By number before.
    numbers: Vec<Option<TreeId>>,
}

impl<'a> Kept<'a> {
    /// These trees, numbered by their place here. `links`: theirs.
    pub fn new(graph: &'a Graph, trees: &[TreeId], links: &'a [Vec<LinkId>]) -> Self {
        let most = trees.iter().map(|tree| tree.index() + 1).max().unwrap_or(0);
        let mut numbers = vec![None; most];
        for (number, tree) in trees.iter().enumerate() {
            numbers[tree.index()] = Some(number.into());
        }
        Self { graph, links, numbers }
    }

    /// What a tree is called now; `None` if it is given up.
    pub fn number(&self, tree: TreeId) -> Option<TreeId> {
        self.numbers.get(tree.index()).copied().flatten()
    }

    /// For each of these sources and destinations a tree with the shortest way, in the same order.
    pub fn shortest(&self, lanes: u32, left: &[(u32, u32)]) -> impl Iterator<Item = TreeId> {
        shortest_left(self.graph, self.links, lanes, left).into_iter().map(|(.., tree)| tree)
    }
}

//! Packs the detours of backups into VLAN trees.

use tresse_base::id::LinkId;
use tresse_topology::{Channel, Graph};

use crate::minimal::Packer as Forests;
use crate::packing::{FirstFit, RouteList};
use crate::updown::{Order, Packer};

/// Returns the links of at most `most` trees that hold these legal up*/down* paths. Paths for which there is no room are
/// left out.
#[must_use]
pub fn legal_trees(
    graph: &Graph,
    order: &Order,
    paths: &[Vec<Channel>],
    most: usize,
) -> Vec<Vec<LinkId>> {
    if paths.is_empty() || most == 0 {
        return Vec::new();
    }
    let mut list = RouteList::default();
    for path in paths {
        let ends = path.first().zip(path.last());
        let ends = ends.map(|(first, last)| (graph.tail(*first), graph.head(*last)));
        list.add(ends.unwrap_or_default(), path);
    }
    let new = || Packer::new(graph, order, most);
    list.pack(graph.switches() as u32, new, None).0.finish()
}

/// Returns the links of a spanning tree that holds the first of these paths, and each later one that closes no loop with
/// those before it.
#[must_use]
pub fn woven_tree<'a>(graph: &Graph, paths: impl Iterator<Item = &'a [Channel]>) -> Vec<LinkId> {
    let mut forests = Forests::new(graph, 1);
    for path in paths {
        forests.place(path);
    }
    forests.finish().remove(0)
}

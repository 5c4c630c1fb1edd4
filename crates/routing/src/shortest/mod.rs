//! The strategy `shortest`: shortest paths through nodes, over cables as the file lists them. The next hop of a packet
//! depends on its destination alone, so that nodes forward it as plain IP. Of equally short ways the loads of the cables
//! decide (the module `balance`). The module `escape` chooses where packets go after a failure.

mod balance;
mod escape;
#[cfg(test)]
mod tests;
mod toward;

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;
use tresse_topology::cluster::Cluster;
use tresse_topology::{Hop, Layout};

use self::toward::Toward;
use crate::node_routing::NodeRouting;

/// The next hops and spare next hops between all nodes. Every query is O(1), and the size O(nodes^2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortest {
    layout: Layout,
    /// By destination.
    to: Vec<Toward>,
}

impl Shortest {
    /// Chooses for all pairs of a cluster whose cables join all nodes; `layout`: that of its kind. O(nodes x cables) for the
    /// search, and for each of a few rounds O(nodes x cables x hops) to balance.
    #[must_use]
    pub fn new(cluster: &Cluster, layout: Layout) -> Self {
        let distances: Vec<Vec<u16>> =
            (0..layout.nodes()).map(|to| layout.listed_distances(NodeId::from(to))).collect();
        let hops = balance::hops(cluster, &layout, &distances);
        let all = hops.into_iter().zip(distances).enumerate();
        let toward = |(to, (hop, distance)): (usize, (Vec<u16>, Vec<u16>))| {
            let to = NodeId::from(to);
            let (spare, redirected) = escape::escapes(&layout, to, &hop, &distance);
            Toward { hop, spare, redirected }
        };
        let to = all.map(toward).collect();
        Self { layout, to }
    }

    /// The hop of a node by a NIC of its own.
    fn by(&self, node: NodeId, nic: u16) -> Option<Hop> {
        self.layout.by_nic(node, nic.into())
    }
}

impl NodeRouting for Shortest {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn hop(&self, at: NodeId, to: NodeId) -> Hop {
        let nic = self.to[to.index()].hop[at.index()];
        self.by(at, nic).expect("the cables join any two nodes")
    }

    fn spare(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        self.by(at, self.to[to.index()].spare[at.index()])
    }

    fn redirected(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        self.by(at, self.to[to.index()].redirected[at.index()])
    }

    // The primary is as short as any, and the cables need not be searched.
    fn distance(&self, src: NodeId, dst: NodeId) -> u32 {
        self.primary(src, dst).len() as u32
    }
}

//! Routing through nodes, as every strategy for it answers: the next hop, a spare one for failures, and where a packet
//! goes that comes back because of one. What follows from these (paths, and the ways of packets after failures) is
//! written here once.

use tresse_base::id::{NodeId, TreeId};
use tresse_topology::cluster::NicEnd;
use tresse_topology::path::{Segment, Segments};
use tresse_topology::{Hop, Layout};

/// The next hop from any node to any other, and a spare next hop for failures.
pub trait NodeRouting {
    /// The coordinates and cables of the nodes.
    fn layout(&self) -> &Layout;

    /// The primary's next hop. `at` and `to` differ.
    ///
    /// # Panics
    /// If they are the same node.
    fn hop(&self, at: NodeId, to: NodeId) -> Hop;

    /// Returns the next hop to use, by another NIC, if the primary's is unreachable; `None` if there is no
    /// other path.
    fn spare(&self, at: NodeId, to: NodeId) -> Option<Hop>;

    /// Returns the next hop of a packet that arrived on the NIC of the primary's next hop. Such a packet
    /// comes from a node that has lost its own next hop.
    fn redirected(&self, at: NodeId, to: NodeId) -> Option<Hop>;

    /// [`hop`](Self::hop) to `to` from every node, in order; from `to` itself, `to`.
    fn hops_to(&self, to: NodeId, hops: &mut Vec<Hop>) {
        let nowhere = Hop { nic: 0, to, to_nic: 0 };
        let all = (0..self.layout().nodes()).map(NodeId::from);
        hops.clear();
        hops.extend(all.map(|at| if at == to { nowhere } else { self.hop(at, to) }));
    }

    /// The number of hops of the primary, as few as there are.
    fn distance(&self, src: NodeId, dst: NodeId) -> u32 {
        self.layout().distance(src, dst)
    }

    /// Returns the next hop of a packet that arrived at `at` on NIC `came`, while nothing has failed.
    fn next(&self, at: NodeId, came: Option<usize>, to: NodeId) -> Option<Hop> {
        let hop = self.hop(at, to);
        if came == Some(hop.nic) { self.redirected(at, to) } else { Some(hop) }
    }

    /// Returns the next hop if only `alive` hops carry packets, as the kernel chooses it by its routes.
    fn next_alive(
        &self,
        at: NodeId,
        came: Option<usize>,
        to: NodeId,
        alive: &impl Fn(NicEnd, &Hop) -> bool,
    ) -> Option<Hop> {
        let live = |hop: &Hop| alive(NicEnd { node: at, nic: hop.nic }, hop);
        let hop = self.hop(at, to);
        let redirected = (came == Some(hop.nic)).then(|| self.redirected(at, to)).flatten();
        redirected
            .filter(live)
            .or_else(|| Some(hop).filter(live))
            .or_else(|| self.spare(at, to).filter(live))
    }

    /// The primary from `src` to `dst`.
    fn primary(&self, src: NodeId, dst: NodeId) -> Segments {
        self.followed(src, self.hop(src, dst), dst)
    }

    /// The path of packets while `src` has lost the primary's next hop.
    fn backup(&self, src: NodeId, dst: NodeId) -> Option<Segments> {
        self.spare(src, dst).map(|hop| self.followed(src, hop, dst))
    }

    /// Whether the backup from `src` to `dst` crosses a node that must redirect it (see `redirected`).
    fn backup_needs_table_routes(&self, src: NodeId, dst: NodeId) -> bool {
        let path = self.backup(src, dst).unwrap_or_default();
        path.windows(2).any(|pair| self.hop(pair[1].from, dst).nic == pair[0].to_nic)
    }

    /// The path from `src` that begins with the hop `first`, while nothing has failed.
    fn followed(&self, src: NodeId, first: Hop, dst: NodeId) -> Segments {
        let mut segments = Segments::new();
        let (mut at, mut next) = (src, Some(first));
        while let Some(hop) = next {
            let (nic, to, to_nic) = (hop.nic, hop.to, hop.to_nic);
            segments.push(Segment { from: at, nic, tree: TreeId::NONE, to, to_nic });
            at = to;
            next = if at == dst { None } else { self.next(at, Some(to_nic), dst) };
            debug_assert!(segments.len() <= 2 * self.layout().nodes(), "{src:?} to {dst:?} loops");
        }
        segments
    }
}

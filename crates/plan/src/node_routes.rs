//! The routes of the nodes of a node-routed fabric, as data: what the kernel of a node finds for a packet. The crate
//! slice installs exactly these routes, and the crate verify judges them by walking them over the cables of the
//! cluster. Nothing here follows a packet past one node. A route is computed when it is asked for, because a fabric
//! of 10,000 nodes has 100 million of them.

use tresse_base::id::NodeId;
use tresse_routing::next_hops::NextHops;
use tresse_routing::node_routing::NodeRouting;
use tresse_topology::Hop;

use crate::primaries::Primaries;

/// The routes to node addresses that the nodes of a node-routed fabric install. Each names a nexthop by the NIC that
/// sends and the NIC whose address and MAC the packet is sent to. Every lookup is O(dimensions), or O(1) where the file lists the cables.
#[derive(Debug, Clone, Copy)]
pub struct NodeRoutes<'a> {
    next_hops: &'a NextHops,
    backups: bool,
}

/// The routes that a node has for a packet, but for the backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundRoutes {
    /// The table route for the NIC by which the packet arrived. A policy rule selects it before the main table.
    pub table: Option<Hop>,
    /// The route of the main table with the best metric.
    pub main: Hop,
}

impl Primaries {
    /// The routes that nodes install, on node-routed fabrics.
    #[must_use]
    pub fn node_routes(&self) -> Option<NodeRoutes<'_>> {
        let backups = self.cluster.routing.paths > 1;
        self.next_hops.as_ref().map(|next_hops| NodeRoutes::new(next_hops, backups))
    }
}

impl<'a> NodeRoutes<'a> {
    /// Those of a strategy; `backups`: whether the plan has more than one path for each pair.
    pub(crate) const fn new(next_hops: &'a NextHops, backups: bool) -> Self {
        Self { next_hops, backups }
    }
}

impl NodeRoutes<'_> {
    /// The nexthop of the primary route of `at` to the address of `to`, another node.
    ///
    /// # Panics
    /// If they are the same node.
    #[must_use]
    pub fn main(&self, at: NodeId, to: NodeId) -> Hop {
        self.next_hops.hop(at, to)
    }

    /// Fills `hops` with [`main`](Self::main) of every node to `to`, by node; the entry of `to` itself means nothing.
    pub fn main_of_all(&self, to: NodeId, hops: &mut Vec<Hop>) {
        self.next_hops.hops_to(to, hops);
    }

    /// The nexthop of the backup route, which has a higher metric: the kernel uses it once the primary's nexthop is
    /// gone. `None` with `paths = 1`, and where no other NIC leads to `to`.
    #[must_use]
    pub fn backup(&self, at: NodeId, to: NodeId) -> Option<Hop> {
        if self.backups { self.next_hops.spare(at, to) } else { None }
    }

    /// The one table route of `at` to `to`: the NIC by which a packet must arrive, and the nexthop. `None` with
    /// `paths = 1`, and where no packet must be redirected.
    #[must_use]
    pub fn table_route(&self, at: NodeId, to: NodeId) -> Option<(usize, Hop)> {
        let redirected = self.backups.then(|| self.next_hops.redirected(at, to)).flatten()?;
        Some((self.next_hops.hop(at, to).nic, redirected))
    }

    /// The routes of `at` for a packet to `to` that arrived by the NIC `came`; `None` if `at` itself sends it.
    ///
    /// # Panics
    /// If `at` and `to` are the same node.
    #[must_use]
    pub fn find(&self, at: NodeId, came: Option<usize>, to: NodeId) -> FoundRoutes {
        let main = self.next_hops.hop(at, to);
        let applies = self.backups && came == Some(main.nic);
        FoundRoutes { table: applies.then(|| self.next_hops.redirected(at, to)).flatten(), main }
    }

    /// Whether the backup route leads to a node that must redirect the packet by a table route. If so, neither may be
    /// installed without the other.
    #[must_use]
    pub fn backup_needs_table_routes(&self, at: NodeId, to: NodeId) -> bool {
        self.backups && self.next_hops.backup_needs_table_routes(at, to)
    }
}

#[cfg(test)]
mod tests {
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;
    use crate::Plan;

    /// All forms of one lookup say the same, and `paths = 1` installs main routes alone.
    #[test]
    fn every_form_of_a_lookup_gives_the_same_route() {
        let pmesh =
            TopologyShape::Pmesh { dims: vec![3, 4], grow_to: vec![3, 4], lines_per_switch: 1 };
        let kinds = [
            pmesh,
            TopologyShape::DirectTorus { dims: vec![4, 3, 2] },
            TopologyShape::DirectMesh { dims: vec![3, 2] },
            TopologyShape::Ring { nodes: 6 },
            TopologyShape::FullMesh { nodes: 5 },
        ];
        for (kind, paths) in kinds.iter().flat_map(|kind| [(kind, 1), (kind, 2)]) {
            let cluster = Cluster::generated(kind.clone(), 1, 1, Strategy::Xy, paths);
            let plan = Plan::build(cluster).unwrap();
            let routes = plan.node_routes().unwrap();
            let mut all = Vec::new();
            for (at, to) in plan.pairs() {
                routes.main_of_all(to, &mut all);
                let (main, table) = (routes.main(at, to), routes.table_route(at, to));
                assert_eq!(all[at.index()], main, "{kind:?} {at:?} {to:?}");
                assert_eq!(routes.find(at, None, to), FoundRoutes { table: None, main });
                for came in 0..plan.cluster().node(at).nics.len() {
                    let found = routes.find(at, Some(came), to);
                    let table = table.filter(|(nic, _)| *nic == came).map(|(_, hop)| hop);
                    assert_eq!(found, FoundRoutes { table, main }, "{kind:?} {at:?} {came} {to:?}");
                }
                let backup = routes.backup(at, to);
                assert!(paths > 1 || backup.is_none() && table.is_none());
                assert!(backup.is_none_or(|hop| hop.nic != main.nic), "{kind:?} {at:?} {to:?}");
            }
        }
    }
}

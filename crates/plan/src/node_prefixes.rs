//! The routes of a node of a node-routed fabric as they are installed where node addresses carry the coordinates: to
//! prefixes, each for nodes that are reached alike. A slice folds its routes in the same way; the crate verify judges
//! these against the routes to single nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_base::fold::fold;
use tresse_base::id::NodeId;
use tresse_base::units::Prefix;
use tresse_topology::Hop;
use tresse_topology::cluster::AddressLayout;

use crate::Plan;

/// The routes of one node to prefixes of node addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePrefixes {
    /// The main table: the primary's and the backup's nexthop.
    pub main: BTreeMap<Prefix, (Hop, Option<Hop>)>,
    /// By NIC of arrival, the table for what arrives by it.
    pub tables: BTreeMap<usize, BTreeMap<Prefix, Hop>>,
}

impl Plan {
    /// The routes of a node to prefixes; `None` where each node has routes of its own. O(nodes).
    #[must_use]
    pub fn node_prefixes(&self, at: NodeId) -> Option<NodePrefixes> {
        let folds = self.cluster().addressing.layout == Some(AddressLayout::Coordinates);
        let routes = self.node_routes().filter(|_| folds)?;
        let addresses = &self.addresses().node;
        let of = |node: NodeId| addresses[node.index()].iter().copied();
        let nodes = || (0..addresses.len()).map(NodeId::from).filter(|node| *node != at);
        // No prefix holds an address of the node itself.
        let mut main: BTreeMap<IpAddr, _> = of(at).map(|own| (own, None)).collect();
        let mut tables = BTreeMap::<usize, BTreeMap<IpAddr, _>>::new();
        for to in nodes() {
            let hops = (routes.main(at, to), routes.backup(at, to));
            main.extend(of(to).map(|address| (address, Some(hops))));
            if let Some((came, hop)) = routes.table_route(at, to) {
                tables.entry(came).or_default().extend(of(to).map(|address| (address, Some(hop))));
            }
        }
        for table in tables.values_mut() {
            for address in main.keys() {
                table.entry(*address).or_insert(None);
            }
        }
        let tables = tables.iter().map(|(came, table)| (*came, fold(table)));
        Some(NodePrefixes { main: fold(&main), tables: tables.collect() })
    }
}

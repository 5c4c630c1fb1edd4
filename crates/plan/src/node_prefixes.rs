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
    /// All node addresses, ascending.
    #[must_use]
    pub fn nodes_by_address(&self) -> Vec<(IpAddr, NodeId)> {
        let nodes = (0..).map(NodeId).zip(&self.addresses().node);
        let mut all: Vec<(IpAddr, NodeId)> =
            nodes.flat_map(|(node, all)| all.iter().map(move |of| (*of, node))).collect();
        all.sort_unstable();
        all
    }

    /// The routes of a node to prefixes of `nodes` ([`nodes_by_address`](Self::nodes_by_address)); `None` where each node has
    /// routes of its own. O(nodes).
    #[must_use]
    pub fn node_prefixes(&self, at: NodeId, nodes: &[(IpAddr, NodeId)]) -> Option<NodePrefixes> {
        let folds = self.cluster().addressing.layout == Some(AddressLayout::Coordinates);
        let routes = self.node_routes().filter(|_| folds)?;
        let none: Vec<(IpAddr, Option<Hop>)> = nodes.iter().map(|(of, _)| (*of, None)).collect();
        let mut main = Vec::with_capacity(nodes.len());
        let mut tables = BTreeMap::<usize, Vec<(IpAddr, Option<Hop>)>>::new();
        for (index, (address, to)) in nodes.iter().enumerate() {
            // No prefix holds an address of the node itself.
            let other = *to != at;
            main.push((*address, other.then(|| (routes.main(at, *to), routes.backup(at, *to)))));
            let table = if other { routes.table_route(at, *to) } else { None };
            if let Some((came, hop)) = table {
                tables.entry(came).or_insert_with(|| none.clone())[index].1 = Some(hop);
            }
        }
        let tables = tables.iter().map(|(came, table)| (*came, fold(table)));
        Some(NodePrefixes { main: fold(&main), tables: tables.collect() })
    }
}

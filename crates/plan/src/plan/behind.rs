//! What is behind nodes: networks that the plan does not cable, which all nodes have routes to.

use std::collections::BTreeMap;
use std::net::IpAddr;

use sha2::{Digest as _, Sha256};
use tresse_base::id::NodeId;
use tresse_base::units::{Mac, Prefix};
use tresse_topology::cluster::Node;

use super::Plan;

impl Plan {
    /// What is behind other nodes than `of`: each network with the addresses of the nodes that lead there, the first of which
    /// that can be reached is to be used. Prefixes are behind one node each. Behind gateways is everything, but nothing is that for
    /// a gateway. O(nodes).
    #[must_use]
    pub fn behind(&self, of: NodeId) -> BTreeMap<Prefix, Vec<IpAddr>> {
        let nodes = &self.cluster().nodes;
        let mut behind = BTreeMap::<Prefix, Vec<IpAddr>>::new();
        let mut others: Vec<(NodeId, &Node)> =
            (0..).map(NodeId).zip(nodes).filter(|(id, _)| *id != of).collect();
        others.sort_by_key(|(id, node)| (node.gateway_order, *id));
        let to_gateways = !self.cluster().node(of).gateway;
        for (id, node) in others {
            for address in &self.addresses().node[id.index()] {
                let everything = Prefix::everything(address.is_ipv4());
                let gateway = (node.gateway && to_gateways).then_some(everything);
                let family = |prefix: &&Prefix| prefix.address.is_ipv4() == address.is_ipv4();
                for prefix in node.prefixes.iter().filter(family).copied().chain(gateway) {
                    behind.entry(prefix).or_default().push(*address);
                }
            }
        }
        behind
    }

    /// The other ends of the tunnel between a node and the gateways: at a gateway all other nodes, elsewhere the gateways. Only where
    /// nodes route: a node between would take its own routes to elsewhere. O(nodes).
    pub fn tunnels(&self, of: NodeId) -> impl Iterator<Item = NodeId> {
        let nodes = &self.cluster().nodes;
        let (routes, to_all) = (self.node_routes().is_some(), self.cluster().node(of).gateway);
        let others = (0..).map(NodeId).zip(nodes).filter(move |(id, _)| *id != of);
        others.filter(move |(_, node)| routes && (to_all || node.gateway)).map(|(id, _)| id)
    }

    /// The MAC address of a node as an end of that tunnel, which is the same in all plans with a node of this name. Two are the
    /// same with a chance of one in 2^46.
    #[must_use]
    pub fn tunnel_mac(&self, node: NodeId) -> Mac {
        let hash: [u8; 32] = Sha256::digest(&self.cluster().node(node).name).into();
        let [a, b, c, d, e, f, ..] = hash;
        // Locally administered, of one station.
        Mac([a & 0xfc | 0x02, b, c, d, e, f])
    }

    /// The networks behind nodes.
    pub fn networks(&self) -> impl Iterator<Item = Prefix> {
        self.cluster().nodes.iter().flat_map(|node| &node.prefixes).copied()
    }
}

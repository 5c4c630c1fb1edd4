//! The addresses of all nodes and NICs of a cluster. [`crate::lock::assign`] allocates them; the slice (the part of a
//! plan that concerns one node) decides on which interfaces they are installed.

use std::net::IpAddr;

use tresse_base::id::NodeId;

/// The addresses of all nodes and NICs of a cluster: each node and NIC has one address per prefix of `[addressing]`,
/// in the order of the prefixes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses {
    /// By node index.
    pub node: Vec<Vec<IpAddr>>,
    /// By node index, then NIC index.
    pub nic: Vec<Vec<Vec<IpAddr>>>,
}

impl Addresses {
    /// A node's own address of the given family.
    #[must_use]
    pub fn of_node(&self, node: NodeId, ipv4: bool) -> Option<IpAddr> {
        self.node[node.index()].iter().copied().find(|a| a.is_ipv4() == ipv4)
    }

    /// A NIC's address of the given family.
    #[must_use]
    pub fn of_nic(&self, node: NodeId, nic: usize, ipv4: bool) -> Option<IpAddr> {
        self.nic[node.index()][nic].iter().copied().find(|a| a.is_ipv4() == ipv4)
    }
}

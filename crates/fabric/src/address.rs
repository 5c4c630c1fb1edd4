//! Addresses: one stable address per node, and one per NIC that names it as a nexthop
//! (DESIGN sections 3 and 5). Each from every prefix given, so IPv4, IPv6 or both.

use std::net::IpAddr;

use crate::cluster::Cluster;
use crate::id::NodeId;
use crate::units::Prefix;

/// Addresses of all nodes and NICs; the innermost vector has one entry per prefix, in file order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses {
    /// Per node.
    pub node: Vec<Vec<IpAddr>>,
    /// Per node, per NIC.
    pub nic: Vec<Vec<Vec<IpAddr>>>,
}

/// A prefix that cannot hold all addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("[addressing] {key} = \"{prefix}\" has too few addresses: {needed} are needed")]
pub struct AddressError {
    /// `nodes` or `nics`.
    pub key: &'static str,
    /// The prefix.
    pub prefix: Prefix,
    /// Addresses needed, the network address included.
    pub needed: u128,
}

/// Node k gets host address k + 1 of each `nodes` prefix; NICs are numbered through in node order.
///
/// # Errors
/// [`AddressError`] where a prefix is too small.
pub fn assign(cluster: &Cluster) -> Result<Addresses, AddressError> {
    let hand_out = |key, prefixes: &[Prefix], n: u128| -> Result<Vec<IpAddr>, AddressError> {
        prefixes
            .iter()
            .map(|p| p.nth(n).ok_or(AddressError { key, prefix: *p, needed: n + 1 }))
            .collect()
    };
    let addressing = &cluster.addressing;
    let mut addresses = Addresses::default();
    let mut nic_number = 0;
    for (node, k) in cluster.nodes.iter().zip(1u128..) {
        addresses.node.push(hand_out("nodes", &addressing.nodes, k)?);
        let mut nics = Vec::with_capacity(node.nics.len());
        for _ in &node.nics {
            nic_number += 1;
            nics.push(hand_out("nics", &addressing.nics, nic_number)?);
        }
        addresses.nic.push(nics);
    }
    Ok(addresses)
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

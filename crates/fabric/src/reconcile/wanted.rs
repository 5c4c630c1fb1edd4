//! What the kernel of one node shall hold.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::id::{Label, Vid};
use crate::units::{Mac, Prefix};

/// The kernel state that one slice asks for. Sorted, so that equal plans give equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Wanted {
    /// Our own interfaces by name: `eth0.100`, `tresse0`.
    pub links: BTreeMap<String, WantedLink>,
    /// (interface, address), each a /32 or /128 without prefix route (K2).
    pub addresses: BTreeSet<(String, IpAddr)>,
    /// Permanent neighbours by (interface, address).
    #[serde(with = "super::pairs")]
    pub neighbours: BTreeMap<(String, IpAddr), WantedNeighbour>,
    /// Routes by (destination, metric).
    #[serde(with = "super::pairs")]
    pub routes: BTreeMap<(Prefix, u32), WantedRoute>,
    /// Path below `/proc/sys` (`net/ipv4/conf/eth0.100/rp_filter`, with `/` inside an interface
    /// name impossible and `.` kept) to value.
    pub sysctls: BTreeMap<String, String>,
    /// NICs of this node that the plan uses, by name: the MAC each must have (K16) and the least
    /// MTU it must carry (K9).
    pub nics: BTreeMap<String, (Mac, u32)>,
}

/// One interface of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedLink {
    /// What it is.
    pub kind: LinkKind,
    /// IP MTU.
    pub mtu: u32,
    /// Its alias: starts with [`super::ALIAS_PREFIX`].
    pub alias: String,
    /// False while its VID is fused (K5): the interface exists but is down.
    pub up: bool,
}

/// Kinds of interface that we create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LinkKind {
    /// An 802.1Q VLAN interface; created with `addrgenmode none` (K5).
    Vlan {
        /// Name of the NIC below.
        parent: String,
        /// The VID.
        vid: Vid,
    },
    /// A dummy; where the kernel has none, a bridge without ports (K8).
    Dummy,
}

/// A permanent neighbour entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedNeighbour {
    /// Its link-layer address (lladdr).
    pub mac: Mac,
}

/// A route to a node address through a nexthop group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedRoute {
    /// Preferred source: this node's own address.
    pub src: IpAddr,
    /// RTAX_MTU.
    pub mtu: u32,
    /// RTAX_ADVMSS.
    pub advmss: u32,
    /// Members of the group, sorted, at least one.
    pub legs: Vec<Leg>,
}

/// One nexthop of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Leg {
    /// Outgoing interface.
    pub interface: String,
    /// Gateway: the NIC address of the peer (or of the first transit node).
    pub via: IpAddr,
    /// MPLS label stack, outermost first; empty for one-segment paths.
    pub labels: Vec<Label>,
    /// 1 to 255.
    pub weight: u8,
}

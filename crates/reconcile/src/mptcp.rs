//! The wanted and observed state of Multipath TCP: endpoints (the addresses from which a connection
//! starts further subflows), and the routing tables that keep each subflow on the NIC of its
//! address.
//!
//! ```text
//! endpoint 10.78.0.1 id 78 subflow      7864: from 10.78.0.1 lookup 7864     10.77.0.2 via 10.78.0.2 dev eth0
//!                                       7928: from 10.78.0.1 unreachable
//! endpoint 10.78.1.1 id 79 subflow      7865: from 10.78.1.1 lookup 7865     10.77.0.2 via 10.78.1.2 dev eth1
//!                                       7929: from 10.78.1.1 unreachable
//! ```
//!
//! The side that opens a connection starts a subflow from every endpoint to the address that it
//! connected to. It does so for every connection, also to hosts outside the fabric. So each
//! endpoint address has a routing table with the destinations that its NIC leads to; for all other
//! destinations the kernel refuses the subflow before it sends anything. Endpoints are not
//! announced to the peer: the peer may listen on its node address only, and has routes back to the
//! NIC addresses.
//!
//! Source: RFC 8684, include/uapi/linux/{mptcp_pm,fib_rules}.h, net/mptcp/pm_kernel.c.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tresse_base::units::Prefix;

use super::Nexthop;

/// Range of the ids of the MPTCP endpoints that we create. The id marks an endpoint as ours (K15).
pub const ENDPOINT_IDS: Range<u8> = 78..94;
/// Path below `/proc/sys` of the sysctl that enables MPTCP. The file exists only if the kernel has
/// MPTCP.
pub const MPTCP_ENABLED: &str = "net/mptcp/enabled";

/// The MPTCP endpoints that a node should have, and the routing tables for packets whose source
/// address is one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct WantedMptcp {
    /// Addresses from which subflows start, at most
    /// [`ENDPOINTS_MAX`](tresse_base::kernel::ENDPOINTS_MAX), each with its NIC.
    pub endpoints: BTreeMap<IpAddr, String>,
    /// Table routes by (NIC, destination), for packets whose source is that NIC's endpoint; a table
    /// per NIC.
    #[serde(with = "super::pairs")]
    pub tables: BTreeMap<(String, Prefix), Nexthop>,
}

impl WantedMptcp {
    /// Is nothing wanted?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty() && self.tables.is_empty()
    }
}

/// All MPTCP endpoints in the kernel, and its limit of further subflows per connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObservedMptcp {
    /// All endpoints by id.
    pub endpoints: BTreeMap<u8, ObservedEndpoint>,
    /// Number of subflows that a connection may have besides its first: MPTCP_PM_ATTR_SUBFLOWS.
    pub subflows: u32,
}

/// One MPTCP endpoint found in the kernel: everything but its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedEndpoint {
    /// Its address.
    pub address: IpAddr,
    /// Does it have only the flag `subflow`, no port and no interface? Ours do.
    pub plain: bool,
}

impl ObservedMptcp {
    /// Is the endpoint ours?
    #[must_use]
    pub fn is_ours(id: u8, endpoint: &ObservedEndpoint) -> bool {
        ENDPOINT_IDS.contains(&id) && endpoint.plain
    }
}

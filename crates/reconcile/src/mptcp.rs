//! Multipath TCP: the addresses that subflows start from, and what keeps each on the NIC of its address.
//!
//! ```text
//! endpoint 10.78.0.1 id 78 subflow      7864: from 10.78.0.1 lookup 7864     10.77.0.2 via 10.78.0.2 dev eth0
//!                                       7928: from 10.78.0.1 unreachable
//! endpoint 10.78.1.1 id 79 subflow      7865: from 10.78.1.1 lookup 7865     10.77.0.2 via 10.78.1.2 dev eth1
//!                                       7929: from 10.78.1.1 unreachable
//! ```
//!
//! Who connects asks for a subflow from every endpoint to the address that it connected to, of any
//! connection to anywhere. So each source has a table of the destinations that its NIC leads to, and for
//! all others the kernel refuses the subflow before anything is sent. Nothing is signalled: the peer may
//! listen on its node address alone, and has routes to NIC addresses for the way back.
//!
//! Source: RFC 8684, include/uapi/linux/{mptcp_pm,fib_rules}.h, net/mptcp/pm_kernel.c.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tresse_base::units::Prefix;

use super::Leg;

/// Ids of endpoints of ours: the mark of them (K15).
pub const ENDPOINT_IDS: Range<u8> = 78..94;
/// Are connections multipath that ask for it? The file is there where the kernel has MPTCP.
pub const MPTCP_ENABLED: &str = "net/mptcp/enabled";

/// What a node wants of MPTCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct WantedMptcp {
    /// Addresses that subflows start from, at most [`ENDPOINTS_MAX`], with the NIC of each.
    pub endpoints: BTreeMap<IpAddr, String>,
    /// Routes for what comes from them, by (NIC, destination), in a table per NIC.
    #[serde(with = "super::pairs")]
    pub tables: BTreeMap<(String, Prefix), Leg>,
}

impl WantedMptcp {
    /// Is nothing asked for?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty() && self.tables.is_empty()
    }
}

/// MPTCP as a kernel that has it holds it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObservedMptcp {
    /// All endpoints by id.
    pub endpoints: BTreeMap<u8, ObservedEndpoint>,
    /// How many subflows a connection may have beside its first: MPTCP_PM_ATTR_SUBFLOWS.
    pub subflows: u32,
}

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedEndpoint {
    /// Its address.
    pub address: IpAddr,
    /// Has it the flag `subflow`, no other, no port and no interface? Ours have.
    pub plain: bool,
}

impl ObservedMptcp {
    /// Is an endpoint one of ours?
    #[must_use]
    pub fn is_ours(id: u8, endpoint: &ObservedEndpoint) -> bool {
        ENDPOINT_IDS.contains(&id) && endpoint.plain
    }
}

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

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tresse_base::kernel::ENDPOINTS_MAX;
use tresse_base::units::Prefix;

use super::{Leg, TABLES, Wanted};

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

/// A rule: what comes from an address is looked up in a table of ours before the main one, or goes
/// nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FromRule {
    /// FRA_SRC, with all of its bits.
    pub source: IpAddr,
    /// The table: one of [`FromRule::TABLES`].
    pub table: u32,
    /// FR_ACT_UNREACHABLE, for what the table has no route to. Else FR_ACT_TO_TBL.
    pub unreachable: bool,
}

impl FromRule {
    /// The upper half of [`TABLES`]: as many as a node has NICs at most.
    pub const TABLES: Range<u32> = TABLES.start + 64..TABLES.end;

    /// FRA_PRIORITY: the table's number, or for what is unreachable one behind all tables.
    #[must_use]
    pub const fn priority(&self) -> u32 {
        if self.unreachable { self.table + 64 } else { self.table }
    }

    /// As `ip rule add` takes it.
    #[must_use]
    pub fn words(&self) -> String {
        let action =
            if self.unreachable { "unreachable".into() } else { format!("lookup {}", self.table) };
        format!("from {} {action} priority {}", self.source, self.priority())
    }
}

impl Wanted {
    /// The rules that lead from endpoints to the tables of their NICs.
    #[must_use]
    pub fn from_rules(&self) -> BTreeSet<FromRule> {
        let endpoints = self.mptcp.endpoints.iter();
        let tables = endpoints.filter_map(|(source, nic)| Some((*source, self.source_table(nic)?)));
        let rules = |(source, table)| {
            [false, true].map(|unreachable| FromRule { source, table, unreachable })
        };
        tables.flat_map(rules).collect()
    }

    /// The limit of subflows that connections need beside their first: as high as a kernel takes it where
    /// there are endpoints, else 0. Both sides connect as soon as a connection stands, and the peer's
    /// attempts count against the same limit as ours, also those that fail in the end: with a lower one
    /// whoever is later is turned away, and does not try again.
    #[must_use]
    pub fn subflows(&self) -> u32 {
        if self.mptcp.endpoints.is_empty() { 0 } else { ENDPOINTS_MAX as u32 }
    }

    /// The table for what comes from the addresses of a NIC: by its place among [`Wanted::nics`].
    pub(super) fn source_table(&self, nic: &str) -> Option<u32> {
        let place = self.nics.keys().position(|name| name == nic)?;
        { FromRule::TABLES }.nth(place)
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

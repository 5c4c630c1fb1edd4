//! Our policy rules and the routing tables that they lead to.

use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Numbers of our routing tables besides the main one. A policy rule that leads to a table has the
/// number of the table as its priority. The lower half is for packets that arrive by a NIC, one
/// table per NIC ([`Rule`]); the upper half for packets whose source is a NIC's address
/// ([`SourceRule`]).
pub const TABLES: Range<u32> = 7800..7928;

/// A policy rule by arrival interface: packets that arrive by this interface are looked up in a
/// routing table of ours before the main table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// FRA_TABLE and FRA_PRIORITY: one of [`TABLES`].
    pub table: u32,
    /// Does it concern IPv4 packets? Otherwise IPv6.
    pub ipv4: bool,
    /// FRA_IIFNAME. The kernel also accepts the name of an interface that does not exist.
    pub interface: String,
}

/// A policy rule by source address. It looks packets from one address up in a routing table of ours
/// before the main table, or it makes those unreachable to which that table has no route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceRule {
    /// FRA_SRC, a full address.
    pub source: IpAddr,
    /// The table: one of [`SourceRule::TABLES`].
    pub table: u32,
    /// FR_ACT_UNREACHABLE, for packets to which the table has no route. Otherwise FR_ACT_TO_TBL.
    pub unreachable: bool,
}

impl SourceRule {
    /// The upper half of [`TABLES`]: a table for each NIC that a node can have.
    pub const TABLES: Range<u32> = TABLES.start + 64..TABLES.end;

    /// FRA_PRIORITY: the table's number; for `unreachable`, a number after all tables.
    #[must_use]
    pub const fn priority(&self) -> u32 {
        if self.unreachable { self.table + 64 } else { self.table }
    }

    /// The source that it matches and its action, as `ip rule add` takes them. Without the priority.
    #[must_use]
    pub fn words(&self) -> String {
        let action =
            if self.unreachable { "unreachable".into() } else { format!("lookup {}", self.table) };
        format!("from {} {action}", self.source)
    }
}

//! Our policy rules and the routing tables that they lead to.

use std::net::IpAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The routing tables of ours beside the main one, and the priorities of the rules that lead to them: for
/// what arrives by each NIC, as many as a node has at most, and as many for what comes from its addresses
/// ([`FromRule`]).
pub const TABLES: Range<u32> = 7800..7928;

/// A rule: packets that arrive by an interface are looked up in a table of ours before the main one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rule {
    /// FRA_TABLE, and FRA_PRIORITY: one of [`TABLES`].
    pub table: u32,
    /// Is it about IPv4 packets? Else about IPv6 ones.
    pub ipv4: bool,
    /// FRA_IIFNAME, which the kernel takes for an interface that is not there too.
    pub interface: String,
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

    /// The source that it matches and its action, as `ip rule add` takes them. Without the priority.
    #[must_use]
    pub fn words(&self) -> String {
        let action =
            if self.unreachable { "unreachable".into() } else { format!("lookup {}", self.table) };
        format!("from {} {action}", self.source)
    }
}

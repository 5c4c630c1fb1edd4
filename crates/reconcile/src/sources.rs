//! Derives from the wanted MPTCP endpoints the policy rules and the limit of subflows that they
//! need.

use std::collections::BTreeSet;

use tresse_base::kernel::ENDPOINTS_MAX;

use super::{SourceRule, Wanted};

impl Wanted {
    /// The policy rules that lead from each endpoint to the table of its NIC.
    #[must_use]
    pub fn source_rules(&self) -> BTreeSet<SourceRule> {
        let endpoints = self.mptcp.endpoints.iter();
        let tables = endpoints.filter_map(|(source, nic)| Some((*source, self.source_table(nic)?)));
        let rules = |(source, table)| {
            [false, true].map(|unreachable| SourceRule { source, table, unreachable })
        };
        tables.flat_map(rules).collect()
    }

    /// The limit of subflows that connections need besides their first: the kernel's maximum if
    /// there are endpoints, else 0. Both sides start subflows as soon as a connection stands, and
    /// the peer's attempts count against the same limit, also those that fail. With a lower limit
    /// the later side is refused and does not try again.
    #[must_use]
    pub fn subflows(&self) -> u32 {
        if self.mptcp.endpoints.is_empty() { 0 } else { ENDPOINTS_MAX as u32 }
    }
}

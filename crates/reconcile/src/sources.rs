//! What MPTCP asks of rules and limits.

use std::collections::BTreeSet;

use tresse_base::kernel::ENDPOINTS_MAX;

use super::{FromRule, Wanted};

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

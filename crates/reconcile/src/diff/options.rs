//! Exceptions from the rules of a comparison that an operator can allow.

use std::collections::BTreeSet;

/// Exceptions from the rules of reconciling that an operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Interfaces to use although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

//! What an operator may allow.

use std::collections::BTreeSet;

/// What an operator may allow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Interfaces that are used although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

//! Exceptions that an operator can allow from the rules by which a comparison refuses operations.

use std::collections::BTreeSet;

/// Exceptions that an operator allows from the rules by which [`reconcile`](super::reconcile)
/// refuses to change the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileOptions {
    /// Interfaces to use although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
}

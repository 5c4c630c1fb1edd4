//! How a comparison is made: exceptions that an operator allows from the rules by which it refuses operations, and
//! whether groups that became alike are made one.

use std::collections::BTreeSet;

/// How [`reconcile_with`](super::reconcile_with) compares; by default as [`reconcile`](super::reconcile) does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileOptions {
    /// Interfaces to use although they have a master (K20): an exception that the operator allows.
    pub force_interfaces: BTreeSet<String>,
    /// Makes nexthop groups with equal members one, a message for each route. Otherwise they stay apart, so
    /// that one message leads all routes of a group elsewhere, and back once what failed has healed (K15).
    pub merge_groups: bool,
}

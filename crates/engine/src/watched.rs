//! What the engine knows of the paths that are watched.

use std::collections::BTreeSet;

use crate::watching::Watching;

/// What the engine knows of its paths.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// What was last to be watched.
    pub(super) watching: Watching,
    /// Not to be used, by index; what is stored are their first hops, which outlive plans.
    pub(super) broken: BTreeSet<usize>,
}

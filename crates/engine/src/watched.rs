//! The engine's record of the paths that BFD watches: the list last sent, and which paths are
//! broken.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tresse_base::id::{NodeId, PathId};
use tresse_liveness::Watching;
use tresse_reconcile::Nexthop;
use tresse_slice::watch::Watches;

/// The list of watched paths that was last sent, and which of them are broken.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// The paths that `watching` was made of.
    pub(super) watches: Arc<Watches>,
    /// The list last sent to failure detection.
    pub(super) watching: Watching,
    /// What failure detection said last of them: broken, proven, and without a session that is up.
    pub(super) event: [BTreeSet<PathId>; 3],
    /// Generation of the list of paths that `event` is of.
    pub(super) event_of: [u8; 8],
    /// Digest of the plan that `said_dark` and `dark` are of.
    pub(super) dark_of: [u8; 8],
    /// The NICs that other nodes say have no carrier.
    pub(super) said_dark: BTreeSet<(NodeId, usize)>,
    /// Those of them whose paths are not used for that reason alone, and until when.
    pub(super) dark: BTreeMap<(NodeId, usize), u64>,
    /// Paths of the plan in force that are not used, as they are broken. What is stored are their first hops,
    /// which outlive plans.
    pub(super) broken: BTreeSet<PathId>,
    /// First hops of paths that are shown to be sound.
    pub(super) sound: BTreeSet<Nexthop>,
    /// First hops of paths whose sessions are not up.
    pub(super) silent: BTreeSet<Nexthop>,
    /// First hops of broken paths that are shown to be sound again, but not trusted yet: used where nothing
    /// else is whole.
    pub(super) held: BTreeSet<Nexthop>,
    /// First hops of those of them that only may be broken, as they cross what may have broken others: used
    /// where nothing else is whole, until a probe says what they are.
    pub(super) suspected: BTreeSet<Nexthop>,
    /// Paths of which nothing has been heard since they are watched, and when they are probed.
    pub(super) unheard: BTreeMap<PathId, u64>,
}

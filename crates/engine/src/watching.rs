//! What the engine asks the failure detection to watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::units::Mac;
use tresse_slice::watch::Watches;

/// What to watch, and by what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watching {
    /// Which that is; comes back with what was seen of it.
    pub serial: u64,
    /// The paths.
    pub watches: Arc<Watches>,
    /// Those that were broken when this was last known, by index.
    #[serde(default)]
    pub broken: BTreeSet<usize>,
    /// The interfaces that may be sent by now, by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// An interface that is up and has carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its number in the kernel.
    pub ifindex: u32,
    /// Its MAC.
    pub mac: Mac,
}

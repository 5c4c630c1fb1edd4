//! What the engine remembers across restarts: the content of the state file, format 1. The daemon reads and
//! writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::id::Vid;
use tresse_reconcile::{Leg, Saved};

use super::prepared::Prepared;
use super::steering::Steering;

/// The format that this version reads and writes.
pub const FORMAT: u32 = 1;

/// Everything that outlives the daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// [`FORMAT`].
    pub format: u32,
    /// The plan in force.
    pub current: Option<Arc<Prepared>>,
    /// The plan before it.
    pub previous: Option<Arc<Prepared>>,
    /// Set while an apply waits for confirmation: found at start, it is rolled back (K19).
    pub unconfirmed: Option<Unconfirmed>,
    /// Set before the first kernel operation of a transaction and cleared after its last.
    pub intent: Option<Intent>,
    /// The apply in force left the management guard out (K19).
    pub force: bool,
    /// Interfaces it may use although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
    /// `previous` is still received on, and sent by where `current` cannot be used yet.
    pub bridging: bool,
    /// While bridging: everything is sent by `current`, and peers may have been told so.
    #[serde(default)]
    pub moved: bool,
    /// Withdrawn by an operator: the configured plan is not installed at start. Kept while an apply
    /// over it waits for confirmation.
    #[serde(default)]
    pub withdrawn: bool,
    /// First hops of paths that are broken, with weight 1: not used by a daemon that starts either. A
    /// `PathId` would be of one plan alone.
    #[serde(default)]
    pub broken: BTreeSet<Leg>,
    /// What operators keep paths away from.
    #[serde(default)]
    pub steering: Steering,
    /// What withdraw restores.
    pub saved: Saved,
    /// VLANs proven: VID to digest of its tree (K5).
    pub proven: BTreeMap<Vid, String>,
    /// VLANs fused: VID to what was seen.
    pub fused: BTreeMap<Vid, String>,
}

/// An apply that waits for confirmation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// How long it was given.
    pub seconds: u32,
}

/// A transaction under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "intent")]
pub enum Intent {
    /// The kernel may hold parts of this generation; `current` is what to return to.
    Apply {
        /// Its generation.
        generation: String,
    },
    /// The kernel is being made equal to `current`.
    Converge,
    /// Our objects are being removed.
    Withdraw,
}

impl Stored {
    /// What an older version stored, as this one keeps it.
    #[must_use]
    pub fn upgraded(mut self) -> Self {
        for plan in [&mut self.current, &mut self.previous].into_iter().flatten() {
            Arc::make_mut(plan).upgrade();
        }
        self
    }
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            format: FORMAT,
            current: None,
            previous: None,
            unconfirmed: None,
            intent: None,
            force: false,
            force_interfaces: BTreeSet::new(),
            bridging: false,
            moved: false,
            withdrawn: false,
            broken: BTreeSet::new(),
            steering: Steering::default(),
            saved: Saved::default(),
            proven: BTreeMap::new(),
            fused: BTreeMap::new(),
        }
    }
}

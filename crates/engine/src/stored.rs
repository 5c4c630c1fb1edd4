//! What the decision engine remembers across restarts: the content of the state file, format 1. The
//! daemon reads and writes the file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::id::Vid;
use tresse_frame::records::Origin;
use tresse_liveness::records::Report;
use tresse_reconcile::{Nexthop, Saved};

use super::prepared::Prepared;
use super::steering::Steering;

/// Format number of the state file that this version of the daemon reads and writes.
pub const FORMAT: u32 = 1;

/// The content of the state file: plans, drains and pins, which VLANs are proven free of loops, and
/// the original values that withdraw restores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// [`FORMAT`].
    pub format: u32,
    /// The plan in force.
    pub current: Option<Arc<Prepared>>,
    /// The plan before it.
    pub previous: Option<Arc<Prepared>>,
    /// Present while an apply waits for confirmation. A daemon that finds it at start rolls back
    /// (K19).
    pub unconfirmed: Option<Unconfirmed>,
    /// Set before the first kernel operation of a transaction, and cleared after its last.
    pub intent: Option<Intent>,
    /// Was the management guard switched off for the apply in force (K19)?
    pub force: bool,
    /// Interfaces that the plan may use although they have a master (K20).
    pub force_interfaces: BTreeSet<String>,
    /// Is a change of plans under way? Then frames are still received by `previous`, and sent by it
    /// where `current` cannot be used yet.
    #[serde(rename = "bridging")]
    pub in_transition: bool,
    /// Does this node send everything by `current` during a change of plans? Peers may already
    /// have received an announcement of it.
    #[serde(default)]
    pub moved: bool,
    /// Is the change of plans under way a return from `previous` to `current`, the plan before it?
    #[serde(default)]
    pub returning: bool,
    /// Is `previous` forgotten when the change of plans is over, since nobody confirmed it?
    #[serde(default)]
    pub discard: bool,
    /// Did an operator withdraw the plan? Then the configured plan is not installed at start. Kept
    /// while a later apply waits for confirmation.
    #[serde(default)]
    pub withdrawn: bool,
    /// First hops of paths that are broken, with weight 1: not used by a daemon that starts either. A
    /// `PathId` would be of one plan alone.
    #[serde(default)]
    pub broken: BTreeSet<Nexthop>,
    /// What other nodes said of the hops to their neighbours, if some of these are broken.
    #[serde(default)]
    pub reports: BTreeMap<Origin, Report>,
    /// What operators have drained or pinned.
    #[serde(default)]
    pub steering: Steering,
    /// Has an operator switched off that detours are used as they are needed?
    #[serde(default)]
    pub without_detours: bool,
    /// The original values that withdraw restores.
    pub saved: Saved,
    /// Proven VLANs: VID to digest of its tree (K5).
    pub proven: BTreeMap<Vid, String>,
    /// Fused VLANs: VID to what was seen.
    pub fused: BTreeMap<Vid, String>,
}

/// An apply that waits for confirmation and is rolled back if none comes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// The time it was given.
    pub seconds: u32,
}

/// The kind of the transaction (change of the kernel) that is under way, as written to the state
/// file before its first operation. A daemon that finds it at start knows that the transaction was
/// interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "intent")]
pub enum Intent {
    /// An apply: the kernel may hold parts of this generation; `current` is the plan to return to.
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
    /// Converts what an older version stored.
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
            in_transition: false,
            moved: false,
            returning: false,
            discard: false,
            withdrawn: false,
            broken: BTreeSet::new(),
            reports: BTreeMap::new(),
            steering: Steering::default(),
            without_detours: false,
            saved: Saved::default(),
            proven: BTreeMap::new(),
            fused: BTreeMap::new(),
        }
    }
}

//! A transaction under way, that is, one change of the kernel: its purpose, its phase, and the
//! operations done so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse_control::{NodeError, OperationLine, PendingLine, Reply};
use tresse_reconcile::{Operation, Planned, Saved};

use super::input::{ApplyOptions, CallId};
use super::prepared::Prepared;
use super::pushing::Pushing;
use super::schedule::Cause;
use super::steering::{Steer, Steering};
use super::stored::Stored;

/// The purpose of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Purpose {
    Apply { call: Option<CallId> },
    Rollback { call: Option<CallId> },
    Withdraw { call: Option<CallId> },
    Converge,
    Diff { call: CallId },
    Note { call: CallId, reply: Reply },
    Steer(Box<Steered>),
}

impl Purpose {
    /// The name of the activity, if it keeps other changes out.
    pub(super) const fn doing(&self) -> Option<&'static str> {
        match self {
            Self::Apply { .. } => Some("applying"),
            Self::Rollback { .. } => Some("rolling-back"),
            Self::Withdraw { .. } => Some("withdrawing"),
            Self::Note { .. } => Some("writing its state"),
            Self::Steer(_) => Some("moving paths"),
            Self::Converge | Self::Diff { .. } => None,
        }
    }
}

/// The phase of a transaction.
#[derive(Debug)]
pub(super) enum Phase {
    Observe,
    Journal(Vec<Planned>),
    Execute(Vec<Planned>),
    Verify,
    Undo { operations: Vec<Operation>, failure: NodeError },
    UndoCommit { answer: NodeError },
    Commit,
}

/// A transaction under way.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) purpose: Purpose,
    pub(super) options: ApplyOptions,
    pub(super) target: Option<Arc<Prepared>>,
    pub(super) phase: Phase,
    /// Routes to management peers before the first operation.
    pub(super) management: BTreeMap<String, String>,
    /// The inverse of each operation done, in the order of execution.
    pub(super) inverses: Vec<Vec<Operation>>,
    pub(super) lines: Vec<OperationLine>,
    pub(super) pending: Vec<PendingLine>,
    /// What the source engine is to push after the transaction.
    pub(super) pushing: Pushing,
    pub(super) rounds: u32,
    /// Why it compares the kernel with the plan.
    pub(super) cause: Cause,
    /// Does it go by what was seen of the kernel before?
    pub(super) recalls: bool,
    /// `saved` as it was before an apply began.
    pub(super) saved: Option<Saved>,
    /// The state as it was before an apply's commit.
    pub(super) uncommitted: Option<Box<Stored>>,
}

impl Job {
    pub(super) fn new(purpose: Purpose, target: Option<Arc<Prepared>>) -> Self {
        Self {
            purpose,
            options: ApplyOptions::default(),
            target,
            phase: Phase::Observe,
            management: BTreeMap::new(),
            inverses: Vec::new(),
            lines: Vec::new(),
            pending: Vec::new(),
            pushing: Pushing::default(),
            rounds: 0,
            cause: Cause::default(),
            recalls: false,
            saved: None,
            uncommitted: None,
        }
    }

    pub(super) const fn undoes(&self) -> bool {
        matches!(self.purpose, Purpose::Apply { .. })
    }
}

/// A plan that nobody waits for, and whose apply failed while no plan was in force: it is applied
/// again later.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) at: u64,
    pub(super) prepared: Arc<Prepared>,
    pub(super) options: ApplyOptions,
}

/// A change of drains or pins under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steered {
    /// The call to answer.
    pub(super) call: CallId,
    /// The change.
    pub(super) steer: Steer,
    /// The effects to report.
    pub(super) reply: tresse_control::Steered,
    /// The state to return to if it fails.
    pub(super) before: Steering,
}

//! A transaction under way: what it is for, how far it is, and what it has done.

use std::collections::BTreeMap;
use std::sync::Arc;

use tresse_control::{NodeError, OperationLine, PendingLine, Reply};
use tresse_reconcile::{Operation, Planned, Saved};

use super::input::{ApplyOptions, CallId};
use super::prepared::Prepared;
use super::pushing::Pushing;
use super::steering::{Steer, Steering};
use super::stored::Stored;

/// What a transaction is for.
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
    /// What the daemon is doing, where that keeps other changes out.
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

/// How far a transaction is.
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
    /// Ways to management peers before the first operation.
    pub(super) management: BTreeMap<String, String>,
    /// What takes back each operation done, in the order of doing.
    pub(super) inverses: Vec<Vec<Operation>>,
    pub(super) lines: Vec<OperationLine>,
    pub(super) pending: Vec<PendingLine>,
    /// What this node's TUN interface is to push once it is done.
    pub(super) pushing: Pushing,
    pub(super) rounds: u32,
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
            saved: None,
            uncommitted: None,
        }
    }

    pub(super) const fn undoes(&self) -> bool {
        matches!(self.purpose, Purpose::Apply { .. })
    }
}

/// A change of the steering under way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steered {
    /// Who waits.
    pub(super) call: CallId,
    /// What it is.
    pub(super) steer: Steer,
    /// What it does.
    pub(super) reply: tresse_control::Steered,
    /// What is returned to where it fails.
    pub(super) before: Steering,
}

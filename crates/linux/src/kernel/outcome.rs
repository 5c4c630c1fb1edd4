//! What became of each operation on the kernel.

use std::fs::File;

use tresse_reconcile::Operation;

use super::error::{ExecuteError, already_absent};
use super::requests::{Answer, Lost};

/// The result of one operation on the kernel: whether it was sent, and whether it took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationStatus {
    /// It took effect; undo must reverse it.
    Done,
    /// It was to delete an object that was already gone: no effect, no failure, nothing to undo.
    Absent,
    /// The kernel refused it and changed nothing; the error is in [`ExecutionOutcome::errors`].
    Failed,
    /// It was sent, but its reply was lost; the error is in [`ExecutionOutcome::errors`]. The caller must
    /// observe again.
    Unknown,
    /// It was never sent, because an earlier one failed.
    NotSent,
}

/// The result of one [`execute`](super::execute()) call: the status of every operation, the errors, and the TUN
/// interfaces that it created.
#[derive(Debug)]
pub struct ExecutionOutcome {
    /// One per operation, in order.
    pub status: Vec<OperationStatus>,
    /// (index of the operation, error), ascending; empty if all took effect.
    pub errors: Vec<(usize, ExecuteError)>,
    /// The TUN interfaces that were created. Each exists as long as its value here.
    pub tuns: Vec<Tun>,
}

/// A TUN interface, which exists as long as its descriptor is open.
#[derive(Debug)]
pub struct Tun {
    /// Its name.
    pub name: String,
    /// The descriptor. Each read returns a packet behind its offload header; see
    /// [`crate::sys::tun::create`].
    pub packets: File,
}

impl ExecutionOutcome {
    /// The outcome before any of so many operations was sent.
    pub fn untried(operations: usize) -> Self {
        let status = vec![OperationStatus::NotSent; operations];
        Self { status, errors: Vec::new(), tuns: Vec::new() }
    }

    /// Did all operations take effect?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.errors.is_empty()
    }

    /// Indices of the operations that took effect, ascending. Undo reverses them, last first.
    pub fn done(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.status.iter().enumerate().filter(|(_, s)| **s == OperationStatus::Done).map(|(i, _)| i)
    }

    /// Records that the operation at `index` failed.
    pub(super) fn fail(&mut self, index: usize, status: OperationStatus, error: ExecuteError) {
        self.status[index] = status;
        self.errors.push((index, error));
    }

    /// Records the kernel's reply to an operation that was sent alone.
    pub(super) fn take(
        &mut self,
        operation: &Operation,
        index: usize,
        answer: Result<Answer, Lost>,
    ) {
        match answer {
            Ok(Answer { errno: 0, .. }) => self.status[index] = OperationStatus::Done,
            Ok(Answer { errno, .. }) if already_absent(operation, errno) => {
                self.status[index] = OperationStatus::Absent;
            }
            Ok(Answer { errno, text }) => {
                let error = ExecuteError::refused(operation, errno, text);
                self.fail(index, OperationStatus::Failed, error);
            }
            Err(Lost(reason)) => {
                let error = ExecuteError::unanswered(operation, reason);
                self.fail(index, OperationStatus::Unknown, error);
            }
        }
    }
}

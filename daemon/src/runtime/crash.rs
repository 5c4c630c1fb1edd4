//! Kills the daemon at a chosen step, for the crash tests. Not part of release builds.
//!
//! With `TRESSED_DIE_AT=N` in the environment the daemon executes its kernel operations one by one,
//! and sends itself SIGKILL after N steps (at least one). A step is one kernel operation or one
//! write of the state file.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, raise};
use tresse_reconcile::Operation;

use tresse_linux::kernel::{self, ExecutionOutcome};

static DIE_AT: LazyLock<Option<u64>> =
    LazyLock::new(|| std::env::var("TRESSED_DIE_AT").ok()?.parse().ok());
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Counts one finished step, and dies if it was the chosen one.
pub(super) fn step() {
    let done = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    if DIE_AT.is_some_and(|at| at <= done) {
        let _ = raise(Signal::SIGKILL);
    }
}

/// [`kernel::execute`]; one operation at a time if a death is scheduled.
pub(super) fn execute(operations: &[Operation]) -> ExecutionOutcome {
    if DIE_AT.is_none() {
        return kernel::execute(operations);
    }
    let mut whole = ExecutionOutcome::untried(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let one = kernel::execute(std::slice::from_ref(operation));
        whole.status[index] = one.status[0];
        whole.tuns.extend(one.tuns);
        whole.errors.extend(one.errors.into_iter().map(|(_, error)| (index, error)));
        if !whole.errors.is_empty() {
            break;
        }
        step();
    }
    whole
}

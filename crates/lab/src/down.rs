//! Removes a lab: its processes, namespaces and directory. Continues after errors and returns all
//! of them.

use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::netns::{self, NetnsError};
use crate::run;
use crate::state::{Directory, LabState, StateError};
use crate::supervise;

/// Why a part of a lab (a process, a namespace, the directory) could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum DownError {
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// A process that does not end.
    #[error("process {pid} in {netns} does not end")]
    Process {
        /// Its number.
        pid: i32,
        /// Its namespace.
        netns: String,
    },
}

/// Removes a lab, whether it was built completely or not: its processes, namespaces and directory.
///
/// # Errors
/// One error for each part that could not be removed. The others have been removed.
pub fn down(directory: &Directory) -> Result<(), Vec<DownError>> {
    let one = |e: StateError| vec![DownError::from(e)];
    let _lock = directory.lock().map_err(one)?;
    let record = directory.load().map_err(one)?;
    let faults = clear(directory, &record);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Removes everything that `record`, the content of a lab's state file, names; the caller holds the
/// lab's lock. Returns the errors. The directory is removed last, and only without errors, so that
/// a second attempt still knows what is left.
pub fn clear(directory: &Directory, record: &LabState) -> Vec<DownError> {
    let names: Vec<String> = record.blueprint.places().map(|p| directory.netns(p)).collect();
    let present: Vec<&String> = names.iter().filter(|n| netns::exists(n)).collect();
    supervise::end(directory);
    let mut faults = end_processes(&present);
    // A supervisor has just begun, whose `up` was killed.
    if supervise::is_there(directory) {
        supervise::end(directory);
        faults = end_processes(&present);
    }
    let deleted = run::parallel(&present, run::workers(), |name| netns::delete(name));
    faults.extend(deleted.into_iter().filter_map(Result::err).map(DownError::from));
    if faults.is_empty()
        && let Err(fault) = directory.remove()
    {
        faults.push(fault.into());
    }
    faults
}

/// Ends every process in these namespaces: asked first, killed after a deadline. They are in
/// namespaces that only this lab made, so they are the lab's daemons and what `lab exec` started.
fn end_processes(names: &[&String]) -> Vec<DownError> {
    let mut asked = false;
    let began = Instant::now();
    loop {
        let left: Vec<(i32, &String)> = netns::processes_in(names)
            .into_iter()
            .map(|(pid, k)| (pid, names[k]))
            .filter(|(pid, _)| *pid != std::process::id().cast_signed())
            .collect();
        if left.is_empty() {
            return Vec::new();
        }
        let overdue = began.elapsed() > PATIENCE;
        if began.elapsed() > 2 * PATIENCE {
            let process = |(pid, netns): (i32, &String)| (pid, netns.clone());
            return left
                .into_iter()
                .map(process)
                .map(|(pid, netns)| DownError::Process { pid, netns })
                .collect();
        }
        if !asked || overdue {
            let signal = if overdue { Signal::SIGKILL } else { Signal::SIGTERM };
            for (pid, _) in &left {
                // It may have ended meanwhile; one that cannot be signalled is reported as not ending.
                let _ = kill(Pid::from_raw(*pid), signal);
            }
            asked = true;
        }
        std::thread::sleep(POLL);
    }
}

const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);

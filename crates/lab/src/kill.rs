//! Ends, stops, resumes or starts the daemon of a node, for trials: what an operator's `kill` and `systemctl start`
//! do there.

use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::daemons;
use crate::state::{Directory, LabState};
use crate::supervise;

/// Why a daemon was sent no signal, or not started.
#[derive(Debug, thiserror::Error)]
pub enum KillError {
    /// No such node.
    #[error("lab `{lab}` has no node `{node}`: `tresse lab ping` names all")]
    Unknown {
        /// The lab.
        lab: String,
        /// What was asked for.
        node: String,
    },
    /// It runs no daemon.
    #[error("no daemon runs on {node}{}", if *daemons { ": it has ended" } else { ": the lab was made with --no-daemon" })]
    None {
        /// The node.
        node: String,
        /// Whether the lab has daemons.
        daemons: bool,
    },
    /// It need not be started.
    #[error("the daemon of {node} runs, as process {pid}")]
    Runs {
        /// The node.
        node: String,
        /// The daemon's process.
        pid: i32,
    },
    /// The lab has no supervisor.
    #[error(
        "nobody starts the daemon of {node}: the lab was made with --no-restart, or its supervisor has died"
    )]
    Alone {
        /// The node.
        node: String,
    },
    /// The kernel refused.
    #[error("cannot send {signal} to process {pid}, the daemon of {node}: {errno}")]
    Refused {
        /// The node.
        node: String,
        /// The daemon's process.
        pid: i32,
        /// The signal.
        signal: Signal,
        /// The reason.
        errno: Errno,
    },
}

/// Sends a signal to the daemon of a node and returns its process id.
pub fn send(
    directory: &Directory,
    record: &LabState,
    node: &str,
    signal: Signal,
) -> Result<i32, KillError> {
    known(record, node)?;
    let none = || KillError::None { node: node.into(), daemons: record.daemons };
    let pid = daemons::process(directory, node).ok_or_else(none)?;
    kill(Pid::from_raw(pid), signal).map_err(|errno| KillError::Refused {
        node: node.into(),
        pid,
        signal,
        errno,
    })?;
    Ok(pid)
}

/// Starts the daemon of a node that has ended, as [`crate::supervise`] does it.
pub fn start(directory: &Directory, record: &LabState, node: &str) -> Result<(), KillError> {
    known(record, node)?;
    if let Some(pid) = daemons::process(directory, node) {
        return Err(KillError::Runs { node: node.into(), pid });
    }
    let began = Instant::now();
    // One that has died is started without being asked.
    while supervise::ask(directory, node).is_err() && daemons::process(directory, node).is_none() {
        if !supervise::is_there(directory) || began.elapsed() > 2 * supervise::RESTART {
            return Err(KillError::Alone { node: node.into() });
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn known(record: &LabState, node: &str) -> Result<(), KillError> {
    if record.blueprint.nodes.iter().any(|n| n.name == node) {
        return Ok(());
    }
    Err(KillError::Unknown { lab: record.name.clone(), node: node.into() })
}

const POLL: Duration = Duration::from_millis(20);

//! Ends, stops or resumes the daemon of a node, for trials: what an operator's `kill` does there.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::daemons;
use crate::state::{Directory, LabState};

/// Why a daemon was sent no signal.
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
    #[error("no daemon runs on {node}{}", if *daemons { ": it has died" } else { ": the lab was made with --no-daemon" })]
    None {
        /// The node.
        node: String,
        /// Whether the lab has daemons.
        daemons: bool,
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
    if !record.blueprint.nodes.iter().any(|n| n.name == node) {
        return Err(KillError::Unknown { lab: record.name.clone(), node: node.into() });
    }
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

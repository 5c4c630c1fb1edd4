//! The verbs that speak to this node's daemon: the connection, and what its refusals exit with.

mod apply;
mod bridge;
mod bugreport;
mod cables;
mod change;
mod counters;
mod diff;
mod doctor;
mod macs;
mod monitor;
mod status;
mod steer;
mod top;
mod unfuse;
mod withdraw;

pub use apply::{Apply, duration};
pub use bridge::Bridge;
pub use bugreport::Bugreport;
pub use cables::Cables;
pub use change::{Confirm, Reload, Rollback};
pub use counters::Counters;
pub use diff::Diff;
pub use doctor::Doctor;
pub use macs::Macs;
pub use monitor::Monitor;
pub use status::Status;
pub use steer::{Drain, Pin, Undrain, Unpin};
pub use top::Top;
pub use unfuse::Unfuse;
pub use withdraw::Withdraw;

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use tresse_control::{
    Client, ClientError, DEFAULT_SOCKET, FORMAT, NodeError, OperationLine, PendingLine, waiting,
};

use crate::fail::{Code, Failure};
use crate::output::plain;

/// Where the daemon listens.
#[derive(Debug, Args)]
pub struct NodeArgs {
    /// The daemon's control socket.
    #[arg(long, value_name = "PATH", env = "TRESSE_SOCKET", default_value = DEFAULT_SOCKET)]
    socket: PathBuf,
}

impl NodeArgs {
    /// Connects.
    pub fn connect(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.socket)?)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let code = match &error {
            ClientError::Unreachable { source, .. }
                if source.kind() == ErrorKind::PermissionDenied =>
            {
                Code::NotPermitted
            }
            ClientError::Unreachable { .. }
            | ClientError::Protocol { .. }
            | ClientError::TimedOut { .. } => Code::Unreachable,
            ClientError::Node(error) => match error {
                NodeError::BadCluster { .. } | NodeError::WrongNode { .. } => Code::BadFile,
                NodeError::NotPermitted { .. } => Code::NotPermitted,
                NodeError::PartlyInstalled { .. } => Code::Partly,
                _ => Code::Fault,
            },
        };
        let mut message = error.to_string();
        if let Some(source) = error.source() {
            message.push_str(&format!(" ({source})"));
        }
        if let ClientError::Node(NodeError::PartlyInstalled { left, .. }) = &error {
            for line in left {
                message.push_str(&format!("\n  left: {}", sentence(line)));
            }
        }
        if let ClientError::Node(NodeError::WouldCut { .. }) = &error {
            message.push_str("\n  help: --force drains it all the same; these go on using it");
        }
        if let ClientError::Node(NodeError::WouldLockOut { .. }) = &error {
            message.push_str("\n  help: --force leaves this guard out");
        }
        if code == Code::Unreachable {
            message.push_str(
                "\n  help: `systemctl status tressed` tells about the daemon; \
                 --socket or TRESSE_SOCKET name another socket",
            );
        }
        Self::new(code, message)
    }
}

/// An answer with the version of its format.
#[derive(Debug, Serialize)]
struct Formatted<'a, T> {
    format: u32,
    #[serde(flatten)]
    answer: &'a T,
}

impl<'a, T> Formatted<'a, T> {
    const fn new(answer: &'a T) -> Self {
        Self { format: FORMAT, answer }
    }
}

/// The answer of a method that has none.
#[derive(Debug, Serialize)]
struct Done {
    done: &'static str,
}

/// `add route 10.77.0.3/32 metric 100: missing`.
fn sentence(line: &OperationLine) -> String {
    format!("{} {} {}: {}", line.op, line.kind, line.object, line.why)
}

/// Operations, one per line.
fn write_operations(out: &mut impl Write, operations: &[OperationLine]) -> io::Result<()> {
    operations.iter().try_for_each(|line| writeln!(out, "{}", plain(&sentence(line))))
}

/// What waits, a line per reason.
fn write_pending(out: &mut impl Write, pending: &[PendingLine]) -> io::Result<()> {
    waiting(pending).iter().try_for_each(|line| writeln!(out, "pending {}", plain(line)))
}

/// Fine, or partly installed where something waits.
const fn code_of(pending: &[PendingLine]) -> Code {
    if pending.is_empty() { Code::Fine } else { Code::Partly }
}

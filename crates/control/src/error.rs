//! The errors of the methods of `org.tresse.Node`.
//!
//! `Display` is written by hand instead of derived by thiserror: zlink's derive macro copies the
//! attributes of the variants to a type that it generates, and thiserror's `#[error]` is unknown
//! there.

use std::fmt;

use zlink::{ReplyError, introspect};

use crate::types::{OperationLine, Problem};

/// An error of the interface `org.tresse.Node`, which the daemon sends as the reply to a call that
/// failed.
#[derive(Debug, Clone, PartialEq, Eq, ReplyError, introspect::ReplyError)]
#[zlink(interface = "org.tresse.Node")]
pub enum NodeError {
    /// The cluster file or the lock has errors.
    BadCluster {
        /// All errors, sorted by line and column.
        problems: Vec<Problem>,
    },
    /// This host is not in the plan, or it is another node than before.
    WrongNode {
        /// The NICs by which the node was looked for.
        message: String,
    },
    /// The caller is neither root nor in group `tresse`.
    NotPermitted {
        /// The caller's user id.
        uid: u32,
    },
    /// The daemon is busy with another change.
    Busy {
        /// The change that is under way.
        doing: String,
    },
    /// The kernel's state does not allow the plan; nothing was changed.
    Refused {
        /// The object in the way.
        object: String,
        /// The reason and the remedy.
        message: String,
    },
    /// An operation failed, and everything done before it was undone.
    Failed {
        /// The operation that failed.
        failed: Box<OperationLine>,
        /// The kernel's message.
        message: String,
        /// How many operations were undone.
        undone: u32,
    },
    /// An operation failed, and undoing failed too. The daemon keeps trying.
    PartlyInstalled {
        /// The operation that failed.
        failed: Box<OperationLine>,
        /// The kernel's message.
        message: String,
        /// What could not be undone.
        left: Vec<OperationLine>,
    },
    /// The change would break, or did break, the management connection to this host (K19).
    WouldLockOut {
        /// The interface that carries management traffic.
        interface: String,
        /// The operation on it, or the change that was seen.
        message: String,
    },
    /// Some destinations would have no path left; nothing was changed.
    WouldCut {
        /// The part that was to be drained.
        object: String,
        /// Addresses of those destinations.
        destinations: Vec<String>,
    },
    /// No apply waits for confirmation.
    NothingToConfirm,
    /// There is no previous plan.
    NothingToRollBack,
    /// This node has no plan.
    NoPlan,
    /// This VLAN is not fused on this node.
    NotFused {
        /// The VLAN identifier.
        vid: u16,
    },
    /// The daemon failed for another reason, such as a file or a kernel call.
    Internal {
        /// The cause in words.
        message: String,
    },
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadCluster { problems } => {
                write!(f, "the cluster file has {} problem(s)", problems.len())?;
                problems.iter().try_for_each(|p| {
                    if p.line == 0 {
                        write!(f, "\n  {}", p.message)
                    } else {
                        write!(f, "\n  line {}, column {}: {}", p.line, p.column, p.message)
                    }
                })
            }
            Self::NotPermitted { uid } => {
                write!(f, "user {uid} may not do this: be root or join group tresse")
            }
            Self::Busy { doing } => {
                write!(f, "the daemon is {doing}: try again when it is done")
            }
            Self::Refused { object, message } => write!(f, "{object}: {message}"),
            Self::Failed { failed, message, undone } => write!(
                f,
                "{} {} {}: {message}; the {undone} operations before it were undone",
                failed.op, failed.kind, failed.object
            ),
            Self::PartlyInstalled { failed, message, left } => write!(
                f,
                "{} {} {}: {message}; {} operations could not be undone",
                failed.op,
                failed.kind,
                failed.object,
                left.len()
            ),
            Self::WouldLockOut { interface, message } => write!(f, "{interface}: {message}"),
            Self::WouldCut { object, destinations } => {
                write!(f, "{object}: no other path leads to {}", destinations.join(" "))
            }
            Self::NothingToConfirm => f.write_str(
                "no apply waits for its confirm: `tresse apply FILE --confirm TIME` makes one wait",
            ),
            Self::NothingToRollBack => f.write_str(
                "there is no previous plan to return to: `tresse apply FILE` installs another one",
            ),
            Self::NoPlan => {
                f.write_str("no plan is installed here: `tresse apply FILE` installs one")
            }
            Self::NotFused { vid } => {
                write!(f, "VLAN {vid} is not fused here: `tresse status` lists fused VLANs")
            }
            Self::WrongNode { message } | Self::Internal { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for NodeError {}

//! What connections ask of the main loop.

use tokio::sync::oneshot::Sender;
use tresse_control::{
    ApplyRequest, Counters, Introduced, NeighbourList, NodeError, PathList, Status,
};

use crate::engine::{Reply, Steer};

/// One question, with the place for its answer.
#[derive(Debug)]
pub enum Request {
    /// GetStatus.
    Status(Sender<Status>),
    /// ListPaths, to one destination or to all.
    Paths(Option<String>, Sender<Result<PathList, NodeError>>),
    /// ListNeighbours.
    Neighbours(Sender<NeighbourList>),
    /// Introduce.
    Introduce(Sender<Introduced>),
    /// GetCounters.
    Counters(Sender<Counters>),
    /// Anything that the engine answers in its own time.
    Change(Change, Sender<Result<Reply, NodeError>>),
}

/// What the engine is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Diff: changes nothing, but has to wait its turn.
    Diff,
    /// Apply.
    Apply(Box<ApplyRequest>),
    /// Confirm.
    Confirm,
    /// Rollback.
    Rollback,
    /// Withdraw.
    Withdraw {
        /// Leave the management guard out.
        force: bool,
    },
    /// Reload.
    Reload,
    /// Unfuse.
    Unfuse {
        /// The VLAN.
        vid: u16,
    },
    /// Drain, Undrain, Pin, Unpin.
    Steer {
        /// Which of them.
        steer: Steer,
        /// Even where no way is left.
        force: bool,
        /// Answer what it would do.
        dry_run: bool,
    },
}

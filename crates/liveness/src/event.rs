//! What the sessions of this node say of its paths.

use std::collections::BTreeSet;

use tresse_base::id::PathId;

use crate::{Diagnostic, State};

/// The state of all watched paths, sent when it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathEvent {
    /// That of the [`Watching`](crate::Watching) which named the paths.
    pub generation: [u8; 8],
    /// Paths that are broken, or were a short time ago.
    pub down: BTreeSet<PathId>,
    /// Paths that are shown to lead to the other end.
    pub up: BTreeSet<PathId>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

/// The state of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// The path that it runs over.
    pub path: PathId,
    /// Interface by which its packets leave.
    pub interface: String,
    /// The session's state.
    pub state: State,
    /// Reason of its last change.
    pub diagnostic: Diagnostic,
    /// Is the path not to be used?
    pub broken: bool,
}

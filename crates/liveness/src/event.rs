//! The path events: which watched paths are broken or sound, according to their BFD sessions.

use std::collections::BTreeSet;

use tresse_base::id::PathId;

use crate::{Diagnostic, SessionState};

/// The state of all watched paths, sent whenever it changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathEvent {
    /// The generation of the [`Watching`](crate::Watching) list that named the paths.
    pub generation: [u8; 8],
    /// Paths that are broken or held down.
    pub down: BTreeSet<PathId>,
    /// Those of them that are proven to lead to the peer again, but not trusted yet.
    pub held: BTreeSet<PathId>,
    /// Paths that are proven to lead to the peer, and not held down.
    pub up: BTreeSet<PathId>,
    /// Paths whose sessions are not up. One of them that is proven is so by echoes: the peer's kernel answers, and its
    /// daemon may be dead.
    pub silent: BTreeSet<PathId>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

/// The state of one BFD session, for reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// The path that it runs over.
    pub path: PathId,
    /// Interface by which its packets leave.
    pub interface: String,
    /// The session's state.
    pub state: SessionState,
    /// The other end's discriminator, 0 while none was heard. A peer that was started anew has another one.
    pub peer: u32,
    /// Reason of its last change.
    pub diagnostic: Diagnostic,
    /// Is the path not to be used?
    pub broken: bool,
}

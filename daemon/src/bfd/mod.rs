//! Failure detection (DESIGN section 7, rule K10): BFD sessions over the paths that
//! [`tresse_slice::watch`] chooses, each in its path's own encapsulation, by a thread of its own, which
//! nothing that the main loop does can delay.
//!
//! - `table` has the sessions, without sockets and clocks; `verdict` judges one path.
//! - `frame` makes what is sent; it goes out by `AF_PACKET`, so that the routes in force do not matter.
//! - `sockets` receives: control packets by UDP, answers to echoes by raw sockets.
//! - `worker` is the thread.

mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod sockets;
mod table;
mod verdict;
mod worker;

use std::collections::BTreeSet;

use tresse_liveness::{Diagnostic, State};

pub use error::BfdError;
pub use tresse_liveness::Timing;
pub use worker::Bfd;

/// What is seen of the paths, by index in [`Watches::paths`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Of which [`Watching`].
    pub serial: u64,
    /// Broken, or broken a short time ago.
    pub down: BTreeSet<usize>,
    /// Shown to lead to the other end.
    pub up: BTreeSet<usize>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// The other end.
    pub peer: String,
    /// Which of the paths there.
    pub rank: u32,
    /// First interface of the path.
    pub interface: String,
    /// Where it is.
    pub state: State,
    /// Why it changed last.
    pub diagnostic: Diagnostic,
    /// Is the path not to be used?
    pub broken: bool,
}

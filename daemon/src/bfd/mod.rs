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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::units::Mac;
use tresse_liveness::{Diagnostic, State};
use tresse_slice::watch::Watches;

pub use error::BfdError;
pub use tresse_liveness::Timing;
pub use worker::Bfd;

/// What to watch, and by what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watching {
    /// Which that is; comes back with what was seen of it.
    pub serial: u64,
    /// The paths.
    pub watches: Arc<Watches>,
    /// Those that were broken when this was last known, by index.
    #[serde(default)]
    pub broken: BTreeSet<usize>,
    /// The interfaces that may be sent by now, by name.
    pub interfaces: BTreeMap<String, Interface>,
}

/// An interface that is up and has carrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its number in the kernel.
    pub ifindex: u32,
    /// Its MAC.
    pub mac: Mac,
}

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

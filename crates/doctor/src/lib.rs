//! What keeps the plan from working on this machine (`tresse doctor`): checks of the daemon, the kernel, the interfaces
//! and the paths to other nodes, each with cause, effect and fix.
//!
//! - `host` reads the state of this machine; what cannot be read is absent, never guessed.
//! - [`Seen`] is all that the checks see; the caller asks the daemon.
//! - `load` reads what its NICs carry.
//! - `checks` compares what the plan needs with it.

#![forbid(unsafe_code)]

mod checks;
mod finding;
mod host;
pub mod load;
mod seen;

pub use checks::all;
pub use finding::{Finding, Verdict};
pub use host::{Link, answers, links};
pub use seen::{BETWEEN, Seen, which};

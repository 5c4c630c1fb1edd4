//! What the daemon remembers across restarts, and the one file that holds it.
//!
//! Never interprets what it keeps. Written to a temporary file, synced, renamed; the file before
//! is kept as `.bak`. One daemon at a time has the directory.

mod file;
mod hold;
mod stored;

pub use file::{StateError, StateFile};
pub use hold::{Hold, HoldError};
pub use stored::{FORMAT, Intent, Stored, Unconfirmed};

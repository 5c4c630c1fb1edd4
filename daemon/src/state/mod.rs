//! The state file, which holds what the engine remembers across restarts, and the lock on its
//! directory.
//!
//! The content is never interpreted here. It is written to a temporary file, synced and renamed;
//! the file before is kept as `.bak`. Only one daemon at a time uses the directory.

mod file;
mod hold;

pub use file::{StateError, StateFile};
pub use hold::{Hold, HoldError};

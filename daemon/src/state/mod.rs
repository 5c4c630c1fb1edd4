//! The state file, which holds what the engine remembers across restarts, and the lock on its
//! directory.
//!
//! The content is not interpreted here. It is written to a temporary file, which is synced and
//! renamed; the previous state file is kept with the suffix `.bak`. Only one daemon at a time uses
//! the directory.

mod file;
mod hold;

pub use file::{StateError, StateFile};
pub use hold::{Hold, HoldError};

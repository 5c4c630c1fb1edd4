//! The file that holds what the engine remembers across restarts, and the directory that it lies in.
//!
//! Never interprets what it keeps. Written to a temporary file, synced, renamed; the file before
//! is kept as `.bak`. One daemon at a time has the directory.

mod file;
mod hold;

pub use file::{StateError, StateFile};
pub use hold::{Hold, HoldError};

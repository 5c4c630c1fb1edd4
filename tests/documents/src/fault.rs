//! What the checks find.

/// A citation that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Path of the file from the root of the repository.
    pub path: String,
    /// Line from 1.
    pub line: usize,
    /// The citation, and what is missing.
    pub message: String,
}

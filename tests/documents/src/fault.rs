//! The type of a fault that a check of documents and sources found.

/// A fault in a document or source file, such as a citation that leads nowhere, with file and line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// Path of the file from the root of the repository.
    pub path: String,
    /// Line from 1.
    pub line: usize,
    /// The citation, and what is missing.
    pub message: String,
}

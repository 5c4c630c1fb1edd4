//! The result of an export: a named text.

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// File name; networkd's are below a directory named after the node.
    pub name: String,
    /// Its content.
    pub text: String,
}

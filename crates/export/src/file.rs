//! A file that an export of a plan produces.

/// One file that an export of a plan produces, such as a switch configuration: its name and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// File name; networkd's are below a directory named after the node.
    pub name: String,
    /// Its content.
    pub text: String,
}

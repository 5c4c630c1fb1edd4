//! One file of an export: a name and a text.

/// One file that an export produces: a name and a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// File name; networkd's are below a directory named after the node.
    pub name: String,
    /// Its content.
    pub text: String,
}

//! Options of an export that the plan does not determine.

/// Options of an export that the plan does not determine: whether switches turn flow control off, and
/// whether static forwarding entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions {
    /// Whether the channel dependency graph is cyclic: then flow control is switched off (K18).
    pub cyclic: bool,
    /// Whether static forwarding entries are written, if the dialect has them.
    pub static_fdb: bool,
}

impl Default for ExportOptions {
    /// Flow control off, which is safe with any graph, and static forwarding entries.
    fn default() -> Self {
        Self { cyclic: true, static_fdb: true }
    }
}

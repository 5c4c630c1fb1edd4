//! Choices of an export that the plan does not contain.

/// What the plan itself does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Is the channel dependency graph cyclic? Then flow control is switched off (K18).
    pub cyclic: bool,
    /// Write static forwarding entries where the dialect has them.
    pub static_fdb: bool,
}

impl Default for Options {
    /// Flow control off, which is safe with any graph, and static forwarding entries.
    fn default() -> Self {
        Self { cyclic: true, static_fdb: true }
    }
}

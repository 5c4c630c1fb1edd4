//! When announcements of one interface are sent (K17).

/// The announcements of one interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refresh {
    /// When the last was sent.
    pub(super) last: u64,
    /// When the next is due.
    pub(super) due: u64,
}

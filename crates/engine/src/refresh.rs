//! The times at which one interface sends its announcements, the frames by which switches and nodes
//! know a NIC (K17).

/// The times of one interface's announcements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refresh {
    /// When the last was sent.
    pub(super) last: u64,
    /// When the next is due.
    pub(super) due: u64,
}

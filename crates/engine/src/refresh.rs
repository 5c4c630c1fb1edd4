//! Stores when an interface last sent an announcement and when it must send the next one.
//! Announcements are frames that each NIC sends periodically, so that switches keep its MAC address
//! in their forwarding tables (K17) and other nodes see that it is there.

/// When one interface sent its last announcement, and when the next one is due, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refresh {
    /// When the last was sent.
    pub(super) last: u64,
    /// When the next is due.
    pub(super) due: u64,
}

//! What a channel sends, and what arrives behind it, where buffers stop their senders.

use super::frames::NONE;

pub(super) const NEVER: u64 = u64::MAX;

/// The state of a channel: of its sending end, and of the buffer behind it.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// The far end says stop.
    pub stopped: bool,
    /// Flits are sent in this cycle.
    pub sends: bool,
    /// Since when `left` holds.
    pub since: u64,
    /// Flits of its frame that are still to be sent.
    pub left: u32,
    /// When it will have sent them all, if nothing stops it.
    pub done: u64,
    /// The frame whose flits arrive behind it.
    pub arriving: u32,
    /// How many of them had before `at`.
    pub arrived: u32,
    /// One arrives in this cycle.
    pub arrives: bool,
    /// One leaves the buffer in this cycle.
    pub leaves: bool,
    /// Flits in the buffer before `at`.
    pub held: u32,
    pub at: u64,
    /// The sender was told to stop last.
    pub stops: bool,
    /// The channel by which the arriving frame goes on already; [`NONE`].
    pub on_by: u32,
    /// The channel by which a frame leaves the buffer.
    pub goes_by: u32,
    /// Is it on the list of what changes, of what is touched?
    pub changes: bool,
    pub touched: bool,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            stopped: false,
            sends: false,
            since: 0,
            left: 0,
            done: NEVER,
            arriving: NONE,
            arrived: 0,
            arrives: false,
            leaves: false,
            held: 0,
            at: 0,
            stops: false,
            on_by: NONE,
            goes_by: NONE,
            changes: false,
            touched: false,
        }
    }
}

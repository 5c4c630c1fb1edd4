//! The state of stop-and-go flow control on one simulated channel (one direction of a link):
//! whether its sender sends or is stopped, and how full the buffer at its far end is.

use super::frames::NONE;

pub(super) const NEVER: u64 = u64::MAX;

/// Stop-and-go state of a channel: of its sending end, and of the buffer behind it.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// Whether the sender has received a stop signal.
    pub stopped: bool,
    /// Whether a flit is sent in this cycle.
    pub sends: bool,
    /// Tick at which `left` was counted.
    pub since: u64,
    /// Flits of the frame that are not sent yet.
    pub left: u32,
    /// Tick at which all will be sent if nothing stops the run.
    pub done: u64,
    /// The frame whose flits arrive in the buffer behind the channel.
    pub arriving: u32,
    /// Flits of that frame that arrived before `at`.
    pub arrived: u32,
    /// Whether a flit arrives in this cycle.
    pub arrives: bool,
    /// Whether a flit leaves the buffer in this cycle.
    pub leaves: bool,
    /// Flits in the buffer before `at`.
    pub held: u32,
    pub at: u64,
    /// Whether the last signal to the sender was a stop.
    pub stops: bool,
    /// The channel by which the arriving frame already leaves; [`NONE`] if it does not.
    pub on_by: u32,
    /// The channel by which a frame leaves the buffer.
    pub goes_by: u32,
    /// Whether the channel is on the lists of changed channels and of touched buffers.
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

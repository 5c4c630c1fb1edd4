//! The state of a simulated channel (one direction of a link): its sending end, the frames that
//! wait for it, and the buffer at its far end.

use super::requests::Requests;

/// Kind of a channel's far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Far {
    /// A switch's buffer, in front of the crossbar.
    Buffer,
    /// A switch that sorts frames into the queues of its outputs at once.
    Sorter,
    /// A node.
    Node,
}

/// A channel: its sending end, the frames that wait for it, and the buffer at its far end.
#[derive(Debug)]
pub(super) struct Port {
    /// Ticks per flit.
    pub period: u32,
    pub far: Far,
    /// The frame being sent; [`NONE`](super::frames::NONE) if idle.
    pub frame: u32,
    /// The buffer that the frame comes from; [`NONE`](super::frames::NONE) if it comes from a
    /// node's memory.
    pub feed: u32,
    /// Whether it is on the list of outputs that choose a frame.
    pub chooses: bool,
    /// The buffers whose first frames request it, at switches with queues at their inputs.
    pub requests: Requests,
    /// Queue of frames in memory, in the order of leaving.
    pub queue: [u32; 2],
    /// Whether a node's own message was served last, not its queue.
    pub own_last: bool,
    /// Whether an event is due by which the first frame of its queue may have waited for too long.
    pub timed: bool,
    /// Its number among the inputs of the switch at its far end.
    pub input: u32,
    /// The frames in the buffer at its far end, without the one that leaves it.
    pub buffer: [u32; 2],
    /// Whether a frame is leaving that buffer.
    pub leaving: bool,
    /// The channel by which the frame being sent came to this transit node;
    /// [`NONE`](super::frames::NONE) if it did not.
    pub from: u32,
    /// Flits of the frame that is sent.
    pub flits: u32,
    /// Flits of the frames in its queue.
    pub queued: u64,
    /// Flits for which room in this buffer is reserved.
    pub held: u32,
    pub peak: u32,
    /// Flits of forwarded frames from this channel in the node's memory.
    pub transit: u64,
}

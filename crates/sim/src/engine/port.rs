//! A channel's state: its sending end, and the buffer at its far end.

use super::requests::Requests;

/// What a channel ends at.
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
    /// Ticks of a flit.
    pub period: u32,
    pub far: Far,
    /// The frame that is sent; [`NONE`](super::frames::NONE).
    pub frame: u32,
    /// The buffer that it comes from; [`NONE`](super::frames::NONE) where it comes from a node's memory.
    pub feed: u32,
    /// Is it on the list of outputs that choose?
    pub chooses: bool,
    /// Which buffers' first frames want it: at switches with queues at their inputs.
    pub requests: Requests,
    /// Frames in memory that want it, in the order in which they may leave.
    pub queue: [u32; 2],
    /// Which of the two was served last: a node's own messages, or its queue?
    pub own_last: bool,
    /// Its number among the inputs of the switch at its far end.
    pub input: u32,
    /// The frames in the buffer at its far end, without the one that leaves it.
    pub buffer: [u32; 2],
    /// Is a frame leaving that buffer?
    pub leaving: bool,
    /// The channel by which the frame came to a node in transit that is sent from its memory; [`NONE`](super::frames::NONE).
    pub from: u32,
    /// Flits of the frame that is sent.
    pub flits: u32,
    /// Flits of the frames in its queue.
    pub queued: u64,
    /// Flits that this buffer is reserved for.
    pub held: u32,
    pub peak: u32,
    /// Frames that nodes in transit have in memory from this channel, in flits.
    pub transit: u64,
}

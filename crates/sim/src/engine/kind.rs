//! The kinds of events that the simulator processes, such as the arrival of a frame or of a stop
//! signal.

/// The kind of an event. The event's index is a frame for `FrameReady`, `Arrive` and `Head`, else a
/// channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum EventKind {
    /// The first frame of a buffer is routed and may leave.
    Ready,
    /// A frame in a node's memory, or of an output's queue, may leave.
    FrameReady,
    /// A channel has sent a whole frame.
    Free,
    /// A message is generated.
    Wake,
    /// A frame's head arrives at a buffer that may be full.
    Arrive,
    /// A frame's first flit arrives.
    Head,
    /// The flits of a frame begin to arrive again.
    On,
    /// They stop arriving.
    Off,
    /// The cycle after a frame's last flit.
    Tail,
    /// A buffer may have reached a mark.
    Check,
    /// A stop signal reaches a sender.
    Stop,
    /// A go signal reaches a sender.
    Go,
    /// A sender may have nothing left to send.
    Dry,
    /// The oldest frame in a transit node's queue may have waited for too long.
    Late,
}

impl EventKind {
    pub const ALL: [Self; 14] = [
        Self::Ready,
        Self::FrameReady,
        Self::Free,
        Self::Wake,
        Self::Arrive,
        Self::Head,
        Self::On,
        Self::Off,
        Self::Tail,
        Self::Check,
        Self::Stop,
        Self::Go,
        Self::Dry,
        Self::Late,
    ];
}

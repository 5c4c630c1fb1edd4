//! Kinds of events.

/// What happens; the index of an event is a frame's for `FrameReady`, `Arrive` and `Head`, else a channel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// The first frame of a buffer knows its way, and may leave.
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
    /// The flits of a frame go on arriving.
    On,
    /// They stop arriving.
    Off,
    /// After a frame's last flit.
    Tail,
    /// A buffer may have reached a mark.
    Check,
    /// A sender is told to stop.
    Stop,
    /// A sender is told to go on.
    Go,
    /// A sender may have nothing left to send.
    Dry,
}

impl Kind {
    pub const ALL: [Self; 13] = [
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
    ];
}

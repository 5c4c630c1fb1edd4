//! The reasons why a frame or packet is dropped instead of forwarded.

use serde::{Deserialize, Serialize};

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// Why a frame was not forwarded. A counter for each, in this order.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum DropReason {
            $($(#[$doc])* $name,)*
        }

        impl DropReason {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word for it, as `serde` writes it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Its place in [`Self::ALL`].
            #[must_use]
            pub const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

reasons! {
    /// Sent to another MAC than that of the NIC it came in by.
    NotForUs = "not-for-us",
    /// From a MAC that the plan does not name for this NIC and VID.
    ForeignMac = "foreign-mac",
    /// The top label means nothing here.
    UnknownLabel = "unknown-label",
    /// The top label's TTL is 0 or 1, or that of a packet to be labelled 0.
    TtlExpired = "ttl-expired",
    /// Ends within its header, its label stack or its IP header.
    Truncated = "truncated",
    /// Carries no labels.
    NotMpls = "not-mpls",
    /// Two VLAN tags, or one that is not an 802.1Q tag.
    DoubleTag = "double-tag",
    /// Longer than the MTU of the NIC it should leave by, or than the receive ring takes.
    TooBig = "too-big",
    /// No label is left, or none was pushed yet, and there is no IP packet.
    NoIp = "no-ip",
    /// Given to a source's engine, but no labelled path leads to its destination.
    NoRoute = "no-route",
    /// To be segmented in a way that a source's engine does not know.
    Uncuttable = "uncuttable",
    /// Lost by the kernel: the receive ring, or the queue of the TUN interface, was full.
    RingFull = "ring-full",
    /// Its port could not send, and the transit buffers were full: the oldest frames of the port that held most.
    BufferFull = "buffer-full",
    /// It was too long in its port's transit buffer.
    WaitedTooLong = "waited-too-long",
    /// The kernel refused to send it.
    SendError = "send-error",
}

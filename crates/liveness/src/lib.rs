//! Bidirectional Forwarding Detection, RFC 5880, in asynchronous mode: what packets say and what a session
//! makes of them. The one-hop rules of RFC 5881 and the several-hop ones of RFC 5883 are those of whoever
//! sends and receives: ports, TTLs, and which session a packet is for.
//!
//! No socket and no clock: the caller passes the time, any [`Duration`](std::time::Duration) that only grows.
//! Not here: demand mode of our own, echo, and authentication, whose packets are refused as such.

#![forbid(unsafe_code)]

mod packet;
mod session;

pub use packet::{Diagnostic, Malformed, Packet, State};
pub use session::{Change, Discarded, Outgoing, Session, Timing};

/// Control packets of one hop: RFC 5881 section 4.
pub const SINGLE_HOP_PORT: u16 = 3784;

/// Control packets of several hops: RFC 5883 section 5.
pub const MULTI_HOP_PORT: u16 = 4784;

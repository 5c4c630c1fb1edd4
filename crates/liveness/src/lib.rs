//! Bidirectional Forwarding Detection, RFC 5880, in asynchronous mode: what packets say and what a session
//! makes of them. The one-hop rules of RFC 5881 and the several-hop ones of RFC 5883 are those of whoever
//! sends and receives: ports, TTLs, and which session a packet is for.
//!
//! No socket and no clock: the caller passes the time, any [`Duration`](std::time::Duration) that only grows.
//! Not here: demand mode of our own, echo, and authentication, whose packets are refused as such.

#![forbid(unsafe_code)]

mod event;
mod packet;
mod sending;
mod session;
mod watching;

pub use event::{PathEvent, SessionLine};
pub use packet::{Diagnostic, Malformed, Packet, State};
pub use sending::{Content, Datagram, Dropped, Echo, Encapsulation, Sending};
pub use session::{Change, Discarded, Outgoing, Session, Timing};
pub use watching::{Interface, WatchedPath, Watching};

/// Control packets of one hop: RFC 5881 section 4.
pub const SINGLE_HOP_PORT: u16 = 3784;

/// Control packets of several hops: RFC 5883 section 5.
pub const MULTI_HOP_PORT: u16 = 4784;

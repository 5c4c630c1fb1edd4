//! Bidirectional Forwarding Detection, RFC 5880, in asynchronous mode: what packets say, what a session makes
//! of them, and which paths of this node are broken (DESIGN section 7, rule K10).
//!
//! - `packet` and `session` are RFC 5880's.
//! - `table` has the sessions, one for each watched path, and applies the rules of RFC 5881 (one hop) and RFC
//!   5883 (several hops) on ports, TTLs and which session a packet is for; `verdict` judges one path.
//! - `watching` is what goes in, `sending` what goes out, `event` what is said of the paths.
//!
//! No socket and no clock: the caller passes the time, any [`Duration`](std::time::Duration) that only grows,
//! and makes bytes of what is to be sent. Not here: demand mode of our own, echo, and authentication, whose
//! packets are refused as such.

#![forbid(unsafe_code)]

mod event;
mod packet;
mod sending;
mod session;
mod table;
mod verdict;
mod watching;

pub use event::{PathEvent, SessionLine};
pub use packet::{Diagnostic, Malformed, Packet, State};
pub use sending::{Content, Datagram, Dropped, Echo, Encapsulation, Sending};
pub use session::{Change, Discarded, Outgoing, Session, Timing};
pub use table::Table;
pub use watching::{Interface, WatchedPath, Watching};

/// UDP port of BFD control packets over one hop: RFC 5881 section 4.
pub const SINGLE_HOP_PORT: u16 = 3784;

/// UDP port of BFD control packets over several hops: RFC 5883 section 5.
pub const MULTI_HOP_PORT: u16 = 4784;

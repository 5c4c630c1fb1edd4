//! Failure detection with BFD (RFC 5880, asynchronous mode), without socket and clock: control
//! packets, session state machines, and the decision which paths of this node are broken (DESIGN
//! section 7, rule K10).
//!
//! - `packet` and `session` implement RFC 5880.
//! - `table` holds at most one session per watched path, and applies the rules of RFC 5881 (one
//!   hop) and RFC 5883 (several hops) on ports, TTLs and the session of a packet; `verdict` decides
//!   on one path, and `lateness` keeps a host that is slow from judging.
//! - `watching` is the input, `sending` and `event` are the output.
//! - [`records`] passes what each node knows of its own paths on to all nodes.
//! - [`frame`] turns packets into frames, which `seal` signs with the keys of the fabric, if there are any; [`received`]
//!   decodes frames.
//!
//! The caller passes the time, as a monotonic [`Duration`](std::time::Duration), sends and receives. Not implemented:
//! demand mode, echo mode, and the authentication types of RFC 5880.

#![forbid(unsafe_code)]

mod event;
pub mod frame;
#[doc(hidden)]
pub mod fuzz;
mod lateness;
mod packet;
mod ports;
pub mod received;
pub mod records;
mod seal;
mod sending;
mod session;
mod table;
mod verdict;
mod watching;

pub use event::{PathEvent, SessionLine};
pub use packet::{Diagnostic, MalformedPacket, Packet, SessionState};
pub use seal::Seal;
pub use sending::{Datagram, Dropped, Echo, Encapsulation, PacketContent, Sending};
pub use session::{Change, Discarded, Outgoing, Session, Timing};
pub use table::{Secrets, SessionTable};
pub use watching::{SendingInterface, WatchedPath, Watching};

/// UDP port of BFD control packets over one hop: RFC 5881 section 4.
pub const SINGLE_HOP_PORT: u16 = 3784;

/// UDP port of BFD control packets over several hops: RFC 5883 section 5.
pub const MULTI_HOP_PORT: u16 = 4784;

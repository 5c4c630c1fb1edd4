//! The daemon's control interface `org.tresse.Node` (Varlink): the types on the wire, the typed
//! errors, and a blocking client. The serving side lives in the daemon.
//!
//! Owns no policy: who may call what is decided by the daemon. Source: varlink.org (one JSON
//! object per message, each ended by a NUL octet, over a Unix stream socket); DESIGN section 7.

mod bridge;
pub mod call;
mod client;
mod error;
mod reply;
mod types;

pub use call::Call;
pub use client::{Client, ClientError, Drain, Events, Pin};
pub use error::NodeError;
pub use reply::{
    Applied, ApplyRequest, Counters, Difference, Introduced, MonitorReply, NeighbourList, PathList,
    Reply, Status, Steered, Withdrawn,
};
pub use types::{
    Alert, CounterLine, Event, FusedLine, HeardLine, LldpLine, NicLine, OperationLine, PathLine,
    PendingLine, Problem, SegmentLine, waiting,
};

/// The Varlink interface name.
pub const INTERFACE: &str = "org.tresse.Node";
/// Where the daemon listens unless told otherwise.
pub const DEFAULT_SOCKET: &str = "/run/tresse/control";
/// The `format` of every JSON value of this version.
pub const FORMAT: u32 = 1;

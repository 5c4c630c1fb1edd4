//! The daemon's control interface `org.tresse.Node` (Varlink): the types of calls and replies, the
//! errors, and a blocking client. The server is in the daemon, which also decides who may call
//! what.
//!
//! Source: varlink.org (one JSON object per message, ended by a NUL byte, over a Unix stream
//! socket); DESIGN section 7.

pub mod call;
mod client;
mod error;
mod proxy;
mod reply;
mod types;

pub use call::{Access, Call};
pub use client::{Client, ClientError, Drain, Events, Pin, Weight};
pub use error::NodeError;
pub use reply::{
    Applied, ApplyRequest, Counters, DetourList, Difference, EventList, FailureList, Introduced,
    MonitorReply, NeighbourList, PathList, PlanFiles, Reply, Status, Steered, Withdrawn,
};
pub use types::{
    Alert, AroundLine, BroadcastLine, BrokenLine, CounterLine, CutLine, DetourLine, Event,
    ForeignLine, FusedLine, GatewayLine, HeardLine, LldpLine, MoveLine, NicLine, OperationLine,
    OtherLine, PathLine, PendingLine, Problem, SegmentLine, ShareLine, StateLine, UseLine,
    WaitLine, WeightLine, waiting,
};

/// Name of the Varlink interface by which clients control the daemon.
pub const INTERFACE: &str = "org.tresse.Node";
/// Path of the daemon's control socket, unless the configuration file sets another one.
pub const DEFAULT_SOCKET: &str = "/run/tresse/control";
/// Version of the JSON output of daemon and CLI. The output has it in its field `format`.
pub const FORMAT: u32 = 1;

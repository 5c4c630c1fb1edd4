//! Failure detection on the network (DESIGN section 7, rule K10): the sockets of the BFD sessions
//! in [`tresse_liveness::SessionTable`], and the thread that runs them, so that the daemon's main loop
//! cannot delay them.
//!
//! - `frame` encodes packets, which are sent through `AF_PACKET`, so that they follow their path
//!   whatever routes are installed.
//! - `sockets` receives: control packets by UDP, echo replies by raw sockets.
//! - `worker` is the thread.

mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod sockets;
mod worker;

pub use error::BfdError;
pub use worker::Bfd;

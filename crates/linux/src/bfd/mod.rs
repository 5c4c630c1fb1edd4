//! Failure detection on the network (DESIGN section 7, rule K10): the sockets of the BFD sessions
//! in [`tresse_liveness::SessionTable`], and the thread that runs them, so that the daemon's main loop
//! cannot delay them.
//!
//! - `sockets` sends frames through `AF_PACKET`, so that they follow their path whatever routes are installed, and receives
//!   through it too what `filter` lets through: no program of the host can take packets away or forge them, and no route
//!   keeps them out.
//! - `ports` holds the UDP ports, so that the kernel does not say that they are closed.
//! - `worker` is the thread.

mod error;
mod filter;
mod ports;
mod sockets;
mod worker;

pub use error::BfdError;
pub use worker::Bfd;

//! The sockets and the thread of failure detection (DESIGN section 7, rule K10): the sessions of
//! [`tresse_liveness::Table`] run in a thread of their own, which nothing that the main loop does can delay.
//!
//! - `frame` makes what is sent; it goes out by `AF_PACKET`, so that the routes in force do not matter.
//! - `sockets` receives: control packets by UDP, answers to echoes by raw sockets.
//! - `worker` is the thread.

mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod sockets;
mod worker;

pub use error::BfdError;
pub use worker::Bfd;

//! Failure detection (DESIGN section 7, rule K10): BFD sessions over the paths that
//! [`tresse_slice::watch`] chooses, each in its path's own encapsulation, by a thread of its own, which
//! nothing that the main loop does can delay.
//!
//! - `table` has the sessions, without sockets and clocks; `verdict` judges one path.
//! - `frame` makes what is sent; it goes out by `AF_PACKET`, so that the routes in force do not matter.
//! - `sockets` receives: control packets by UDP, answers to echoes by raw sockets.
//! - `worker` is the thread.

mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod sockets;
mod table;
mod verdict;
mod worker;

pub use error::BfdError;
pub use worker::Bfd;

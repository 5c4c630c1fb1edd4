//! The control socket: who may ask what, and how their questions reach the main loop.
//!
//! Every connection has a task of its own on the main loop's thread (zlink's server has one loop for
//! all clients, so that one slow client would stop the others). Decides nothing about
//! the fabric: requests go to the main loop through a bounded channel.

mod call;
mod exchange;
#[doc(hidden)]
pub mod fuzz;
mod listener;
mod permission;
mod request;
mod service;
mod socket;
#[cfg(test)]
mod tests;

pub use listener::Server;
pub use request::{Change, Request};
pub(crate) use service::unix_ms;
pub use socket::{BindError, UnixSocket};

//! The control socket: who may ask what, and how their questions reach the main loop.
//!
//! Every connection has a task of its own on the main loop's thread (zlink's server has one loop for
//! all clients, so that one slow client would stop the others). Decides nothing about
//! the fabric: calls go to the main loop through a bounded channel.

pub(crate) mod call;
mod events;
pub(crate) mod exchange;
mod listener;
mod permission;
mod request;
mod socket;
#[cfg(test)]
mod tests;

pub(crate) use events::unix_ms;
pub use listener::Server;
pub use request::{Request, ask};
pub use socket::{BindError, UnixSocket};

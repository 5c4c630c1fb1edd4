//! The control socket: checks who may call a method, and passes calls to the main loop through a
//! bounded channel. Decides nothing about the fabric.
//!
//! Every connection has a task of its own on the main loop's thread. zlink's server is not used,
//! because it has one loop for all clients, so that a slow client would block the others.

pub(crate) mod call;
mod events;
mod exchange;
mod incoming;
mod limits;
mod listener;
mod permission;
mod request;
mod socket;
#[cfg(test)]
mod tests;
mod users;

pub(crate) use events::unix_ms;
pub use limits::Limits;
pub use listener::Server;
pub use request::{Request, ask};
pub use socket::{BindError, UnixSocket};

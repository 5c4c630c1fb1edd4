//! What only Linux can do: kernel objects by netlink ([`kernel`]), forwarding by raw sockets ([`forward`]),
//! the sockets of failure detection ([`bfd`]), and the system calls that need `unsafe` ([`sys`]), which is allowed there alone.
//!
//! Decides nothing: other crates compute which objects are wanted; [`kernel`] reads and changes
//! them.

pub mod bfd;
pub mod forward;
pub mod kernel;
pub mod sys;

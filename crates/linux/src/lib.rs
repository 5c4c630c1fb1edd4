//! All access to the Linux kernel: kernel objects over netlink ([`kernel`]), forwarding of frames
//! through raw sockets ([`forward`]), samples of what this node sends ([`sampling`]), the sockets of failure detection
//! ([`bfd`]), and the system calls that need `unsafe` ([`sys`]).
//!
//! Decides nothing: other crates compute which objects are wanted; [`kernel`] reads and changes
//! them.

pub mod bfd;
mod bpf;
pub mod forward;
pub mod kernel;
pub mod sampling;
pub mod sys;

//! Frames of our own making, from structs to bytes and back, and what becomes of a labelled frame that
//! a node receives ([`forward`]). No socket.
#![forbid(unsafe_code)]

pub mod announce;
pub mod forward;
pub mod lldp;
pub mod mpls;

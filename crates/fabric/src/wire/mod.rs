//! Frames of our own making: structs to bytes and back, no socket.

pub mod announce;
pub mod lldp;
pub mod mpls;

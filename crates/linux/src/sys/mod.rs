//! The system calls that no safe crate wraps: the only `unsafe` code of the workspace.
//!
//! Knows no type of ours and keeps no state. Descriptors are passed as [`std::os::fd::BorrowedFd`],
//! results returned as [`std::io::Result`].

pub mod ethtool;
pub mod memory;
pub mod packet;
pub mod readiness;
pub mod ring;
pub mod tun;

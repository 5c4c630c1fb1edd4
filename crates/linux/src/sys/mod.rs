//! The system calls that no safe crate wraps: the only `unsafe` code of the workspace.
//!
//! Uses no types of this project and keeps no state. Descriptors are passed as
//! [`std::os::fd::BorrowedFd`], results returned as [`std::io::Result`].

pub mod ethtool;
pub mod memory;
pub mod packet;
pub mod readiness;
pub mod ring;
pub mod tun;

//! Descriptors of our own opening, watched by the tokio reactor or by a thread of its own.

#![expect(
    unsafe_code,
    reason = "AsyncFd::register asks for proof that the descriptor is owned; nix's poll for a new \
              list each time"
)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Watches a non-blocking descriptor; call it within a tokio runtime with I/O.
///
/// # Errors
/// `EPERM` for descriptors that cannot be polled, such as plain files.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd is an open descriptor that stays the same until it is dropped, and the
    // AsyncFd owns it from here on.
    unsafe { AsyncFd::register(descriptor) }.map_err(io::Error::from)
}

/// An entry of [`poll`]'s list: `descriptor` until one of these `events`.
pub fn wait_for(descriptor: &impl AsRawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 }
}

/// poll(2) over a list that its owner keeps; without a timeout where that is negative.
///
/// # Errors
/// `EINTR`.
pub fn poll(watched: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<()> {
    // SAFETY: `watched` is that many pollfds, which outlive the call; a descriptor that is closed is
    // reported as such.
    let result =
        unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, timeout_ms) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

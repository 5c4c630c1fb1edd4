//! Waits until a descriptor is ready: through the tokio reactor, or with poll(2) in a thread.

#![expect(
    unsafe_code,
    reason = "AsyncFd::register asks for proof that the descriptor is owned; nix's poll for a new \
              list each time"
)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use tokio::io::unix::AsyncFd;

/// Registers a non-blocking descriptor with the tokio reactor and returns it. Call it within a
/// tokio runtime with I/O.
///
/// # Errors
/// `EPERM` for descriptors that cannot be polled, such as plain files.
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd is an open descriptor that stays the same until it is dropped, and the
    // AsyncFd owns it from here on.
    unsafe { AsyncFd::register(descriptor) }.map_err(io::Error::from)
}

/// Returns an entry for the list of [`poll`] that waits for `events` (`POLLIN`, `POLLOUT`) on
/// `descriptor`.
pub fn wait_for(descriptor: &impl AsRawFd, events: libc::c_short) -> libc::pollfd {
    libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 }
}

/// Waits with poll(2) until a descriptor of `watched` is ready, at most `timeout_ms` milliseconds;
/// if that is negative, without limit. The results are in `watched`.
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

//! Waits until a descriptor is ready: through the tokio reactor, or with poll(2) in a thread.

#![expect(
    unsafe_code,
    reason = "AsyncFd::register asks for proof that the descriptor is owned; nix's poll for a new \
              list each time"
)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::time::TimeSpec;
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

/// Waits with ppoll(2) until a descriptor of `watched` is ready, for `timeout` at most. The results are in `watched`.
///
/// # Errors
/// `EINTR`.
pub fn poll(watched: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(TimeSpec::from);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |timeout| timeout.as_ref());
    // SAFETY: `watched` is that many pollfds and `timeout` null or a timespec, which outlive the call; a descriptor
    // that is closed is reported as such.
    let result = unsafe {
        let count = watched.len() as libc::nfds_t;
        libc::ppoll(watched.as_mut_ptr(), count, timeout, std::ptr::null())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

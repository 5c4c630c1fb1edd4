//! Descriptors of our own opening, watched by the tokio reactor.

#![expect(unsafe_code, reason = "AsyncFd::register asks for proof that the descriptor is owned")]

use std::io;
use std::os::fd::OwnedFd;

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

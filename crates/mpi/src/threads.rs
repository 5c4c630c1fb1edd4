//! Threads beside those of the program.

use std::io;
use std::thread::Builder;

use nix::sys::signal::SigSet;

/// Starts a thread that takes no signal: those of the program are for its own threads.
///
/// # Errors
/// The kernel has no room for it.
pub fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // A thread starts with the mask of the one that starts it.
    let before = SigSet::thread_get_mask()?;
    SigSet::all().thread_block()?;
    let started = Builder::new().name("tresse-mpi".into()).spawn(work);
    before.thread_set_mask()?;
    started.map(drop)
}

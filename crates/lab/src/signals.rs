//! Turns Ctrl-C, SIGTERM and SIGHUP into a flag that long work checks between its steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// The first of the signals SIGINT, SIGTERM and SIGHUP that this process received, if any. All
/// clones share it.
#[derive(Debug, Clone, Default)]
pub struct Signals(Arc<AtomicI32>);

/// Error: the process received SIGINT, SIGTERM or SIGHUP, so the work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted by {0}")]
pub struct Interrupted(pub Signal);

impl Signals {
    /// Takes the signals from now on. Call while the process has one thread: threads and programs started
    /// later inherit that they are held back here; a program that is to be ended by them takes them back.
    pub fn hold() -> nix::Result<Self> {
        let mut set = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            set.add(signal);
        }
        set.thread_block()?;
        let this = Self::default();
        let flag = Arc::clone(&this.0);
        std::thread::spawn(move || {
            while let Ok(signal) = set.wait() {
                let _ =
                    flag.compare_exchange(0, signal as i32, Ordering::Relaxed, Ordering::Relaxed);
            }
        });
        Ok(this)
    }

    /// An error once a signal has come.
    pub fn check(&self) -> Result<(), Interrupted> {
        match Signal::try_from(self.0.load(Ordering::Relaxed)) {
            Ok(signal) => Err(Interrupted(signal)),
            Err(_) => Ok(()),
        }
    }
}

//! How a forwarding thread waits for frames.
//!
//! An idle one first polls for a short time, so that the reply to a frame it just forwarded finds it awake, and then
//! sleeps. One under load does not take each frame as it comes, but waits some microseconds for more: to look at the slot that
//! another core is just writing costs both of them, and a batch is sent by one call.
//!
//! Polling pays if frames come from another core, and costs if their sender needs this core. So a
//! poll that finds nothing is followed by waits without polling, first 1, then 2, 4 and so on up to
//! 64; after a poll that finds a frame, every wait polls again.

use std::time::{Duration, Instant};

const MOST_SKIPPED: u32 = 64;
const LOOKS: u32 = 16;

/// A thread that found frames so often in turn is under load.
const LOAD: u32 = 16;
/// Frames that are worth a call of their own.
const WORTH: usize = 24;
/// How long one under load waits for more frames.
const GATHER: Duration = Duration::from_micros(4);

/// Decides whether to poll before sleeping, and whether to wait for more frames.
pub(super) struct Rest {
    /// How often in turn frames were found.
    busy: u32,
    watch: Duration,
    /// Number of waits left without polling.
    skip: u32,
    /// The number from which `skip` counts down.
    skipped: u32,
}

impl Rest {
    pub const fn new(watch: Duration) -> Self {
        Self { busy: 0, watch, skip: 0, skipped: 0 }
    }

    /// Notes that frames were found, so many, and waits for more if that pays.
    pub fn found(&mut self, frames: usize) {
        self.busy = self.busy.saturating_add(1);
        if self.is_under_load() && frames < WORTH {
            let start = Instant::now();
            while start.elapsed() < GATHER {
                std::hint::spin_loop();
            }
        }
    }

    /// Notes that no frame was found.
    pub const fn found_none(&mut self) {
        self.busy = 0;
    }

    /// Were frames found so often in turn that more are to be expected at once?
    pub const fn is_under_load(&self) -> bool {
        self.busy >= LOAD
    }

    /// Polls `seen` if that is likely to pay. Returns whether it found anything.
    pub fn watch(&mut self, mut seen: impl FnMut() -> bool) -> bool {
        if self.watch.is_zero() {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let until = Instant::now() + self.watch;
        loop {
            for _ in 0..LOOKS {
                if seen() {
                    self.skipped = 0;
                    return true;
                }
                std::hint::spin_loop();
            }
            if Instant::now() >= until {
                break;
            }
        }
        self.skipped = (self.skipped * 2).clamp(1, MOST_SKIPPED);
        self.skip = self.skipped;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_gathered_under_load_only() {
        let mut rest = Rest::new(Duration::ZERO);
        for found in 1..100 {
            rest.found(1);
            assert_eq!(rest.is_under_load(), found >= 16, "{found}");
        }
        let before = Instant::now();
        (0..100).for_each(|_| rest.found(1));
        assert!(before.elapsed() >= 100 * GATHER);
        rest.found_none();
        assert!(!rest.is_under_load());
    }

    #[test]
    fn watching_in_vain_becomes_rare_and_one_success_brings_it_back() {
        let mut rest = Rest::new(Duration::from_nanos(1));
        let mut watched = |there| {
            let mut looked = false;
            rest.watch(|| {
                looked = true;
                there
            });
            looked
        };
        let vain = (0..1000).filter(|_| watched(false)).count();
        assert_eq!(vain, 6 + (1000 - 63 - 6) / 65 + 1);
        while !watched(true) {}
        assert!((0..100).all(|_| watched(true)));
    }
}

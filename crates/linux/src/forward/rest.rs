//! How an idle forwarding thread waits: it first polls for a short time, so that the reply to a
//! frame it just forwarded finds it awake, and then sleeps.
//!
//! Polling pays if frames come from another core, and costs if their sender needs this core. So a
//! poll that finds nothing is followed by waits without polling, first 1, then 2, 4 and so on up to
//! 64; after a poll that finds a frame, every wait polls again.

use std::time::{Duration, Instant};

const MOST_SKIPPED: u32 = 64;
const LOOKS: u32 = 16;

/// Decides whether to poll before sleeping.
pub(super) struct Rest {
    watch: Duration,
    /// Number of waits left without polling.
    skip: u32,
    /// The number from which `skip` counts down.
    skipped: u32,
}

impl Rest {
    pub const fn new(watch: Duration) -> Self {
        Self { watch, skip: 0, skipped: 0 }
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

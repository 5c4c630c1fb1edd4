//! How a thread without frames rests: for a moment with open eyes, so that the answer to what it just
//! forwarded finds it awake, then asleep.
//!
//! Watching pays where frames come from another core, and costs where their sender needs this one: a
//! watch in vain is followed by 1, 2, 4 .. 64 rests without watching, one that saw a frame by none.

use std::time::{Duration, Instant};

const MOST_SKIPPED: u32 = 64;
const LOOKS: u32 = 16;

/// Decides when to watch.
pub(super) struct Rest {
    watch: Duration,
    /// Rests to go without watching.
    skip: u32,
    /// How many there were at first.
    skipped: u32,
}

impl Rest {
    pub const fn new(watch: Duration) -> Self {
        Self { watch, skip: 0, skipped: 0 }
    }

    /// Watches for `seen` if that is worth it; was anything seen?
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

//! How punctually this thread runs. A host that is kept waiting takes its own silence for that of
//! others.

use std::time::Duration;

/// The largest factor by which a slow host lengthens the interval.
const FACTOR_MOST: u32 = 4;
/// Without delay for so long, the host asks for shorter intervals again.
const CALM: Duration = Duration::from_secs(60);

/// The delays of this thread.
#[derive(Debug, Clone)]
pub(super) struct Lateness {
    /// Nothing is judged before this time.
    pub until: Duration,
    factor: u32,
    /// The last delay, or the last change of the factor.
    last: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { until: Duration::ZERO, factor: 1, last: Duration::ZERO }
    }
}

impl Lateness {
    /// By how much the interval is to be longer than was asked for.
    pub const fn factor(&self) -> u32 {
        self.factor
    }

    /// The thread woke up, `late` or in time. Returns whether the factor has changed.
    pub fn note(&mut self, late: bool, now: Duration) -> bool {
        let before = self.factor;
        if late && now < self.until {
            self.factor = (self.factor * 2).min(FACTOR_MOST);
        } else if !late && self.factor > 1 && self.last + CALM <= now {
            self.factor /= 2;
            self.last = now;
        }
        if late {
            self.last = now;
        }
        before != self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_that_follow_each_other_lengthen_the_interval_until_there_are_none() {
        let s = Duration::from_secs;
        let mut lateness = Lateness::default();
        assert!(!lateness.note(true, s(1)), "the first is forgiven");
        lateness.until = s(3);
        assert!(lateness.note(true, s(2)) && lateness.factor() == 2);
        lateness.until = s(4);
        assert!(lateness.note(true, s(3)) && lateness.factor() == 4);
        lateness.until = s(5);
        assert!(!lateness.note(true, s(4)) && lateness.factor() == FACTOR_MOST);
        assert!(!lateness.note(false, s(63)) && lateness.note(false, s(64)));
        assert!(!lateness.note(false, s(123)) && lateness.note(false, s(124)));
        assert_eq!(lateness.factor(), 1);
    }
}

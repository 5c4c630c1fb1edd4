//! A token bucket that limits the rate of events (generic cell rate algorithm, ITU-T I.371). All
//! times are in whole milliseconds.

/// A rate limiter: allows `burst` events at once, then one event per `interval_ms` milliseconds.
#[derive(Debug, Clone)]
pub struct Bucket {
    tolerance_ms: u64,
    interval_ms: u64,
    /// Theoretical arrival time of the next event.
    next: u64,
}

impl Bucket {
    /// A full bucket; `burst` is at least 1.
    #[must_use]
    pub const fn new(burst: u64, interval_ms: u64) -> Self {
        Self { tolerance_ms: (burst - 1) * interval_ms, interval_ms, next: 0 }
    }

    /// Has nobody taken a token for so long that all are there?
    #[must_use]
    pub const fn is_full(&self, now: u64) -> bool {
        self.next <= now
    }

    /// Takes a token.
    ///
    /// # Errors
    /// The time at which the next token is available.
    pub fn take(&mut self, now: u64) -> Result<(), u64> {
        let next = self.next.max(now);
        if next - now > self.tolerance_ms {
            return Err(next - self.tolerance_ms);
        }
        self.next = next + self.interval_ms;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_one_per_interval() {
        let mut bucket = Bucket::new(3, 100);
        assert_eq!((0..10).filter(|_| bucket.take(10_000).is_ok()).count(), 3);
        let next = bucket.take(10_000).unwrap_err();
        assert_eq!(next, 10_100);
        assert!(bucket.take(next).is_ok());
        assert!(bucket.take(next).is_err());
    }
}

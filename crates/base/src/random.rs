//! A seeded pseudo-random generator: SplitMix64 (Steele, Lea and Flood 2014). It is implemented here,
//! not taken from a library, because a seed in a cluster file must give the same numbers in every
//! version.

/// A pseudo-random generator that is started with a seed: its methods return the next numbers of the
/// sequence.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts the sequence of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `limit`. `limit` must not be 0, and far below 2^64: otherwise small numbers
    /// come up more often.
    pub const fn below(&mut self, limit: usize) -> usize {
        ((self.number() as u128 * limit as u128) >> 64) as usize
    }

    /// Returns a number from 0 up to but not including 1.
    #[must_use]
    pub const fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts all items into random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// Returns `count` random items in random order; all items if there are fewer.
    #[must_use]
    pub fn some<T: Clone>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut items = items.to_vec();
        self.shuffle(&mut items);
        items.truncate(count);
        items
    }
}

//! Decides which input of a simulated switch an output serves next: round robin among the inputs
//! whose first frame requests the output.

/// The inputs of a switch that request an output: one bit each, and the last one served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requests {
    /// Index of its first word among all request bits.
    pub words: u32,
    /// The switch's inputs, as indices into all inputs.
    pub first: u32,
    pub end: u32,
    pub last: u32,
}

impl Requests {
    /// Returns the requests of an output of a switch with these inputs, and reserves its words.
    pub fn new(words: &mut u32, first: u32, end: u32) -> Self {
        let own = Self { words: *words, first, end, last: 0 };
        *words += (end - first).div_ceil(64);
        own
    }

    /// Returns the requests of an output that has none: of a node, or one with a queue.
    pub const fn none() -> Self {
        Self { words: 0, first: 0, end: 0, last: 0 }
    }

    /// Takes the next requesting input, round robin.
    #[inline]
    pub fn take(&mut self, bits: &mut [u64]) -> Option<u32> {
        let count = (self.end - self.first) as usize;
        if count == 0 {
            return None;
        }
        if count <= 64 {
            let word = bits.get_mut(self.words as usize).filter(|word| **word != 0)?;
            let start = (self.last + 1) % 64;
            let input = (word.rotate_right(start).trailing_zeros() + start) % 64;
            *word &= !(1 << input);
            self.last = input;
            return Some(input);
        }
        let of = &mut bits[self.words as usize..][..count.div_ceil(64)];
        let mut all = (1..=count as u32).map(|step| (self.last + step) % count as u32);
        let input = all.find(|input| of[*input as usize / 64] >> (input % 64) & 1 == 1)?;
        of[input as usize / 64] &= !(1 << (input % 64));
        self.last = input;
        Some(input)
    }
}

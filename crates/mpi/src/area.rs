//! Parts of the buffers that a program hands to MPI.
//!
//! The same bytes are received into a buffer and sent on out of it, and a buffer stays the program's. So Rust cannot
//! borrow it for the time of a collective: an [`Area`] names bytes, and each access borrows them anew.
#![expect(unsafe_code, reason = "buffers of programs written in C")]

use std::ops::Range;

/// Bytes of a buffer that belongs to the program.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    start: *mut u8,
    len: usize,
}

// SAFETY: an area is an address and a length. Whoever makes one promises that the bytes stay for as long as it is used,
// on whatever thread.
unsafe impl Send for Area {}

impl Area {
    /// No bytes.
    pub const EMPTY: Self = Self { start: std::ptr::null_mut(), len: 0 };

    /// Names bytes of a buffer.
    ///
    /// # Safety
    /// The bytes stay valid until the collective that they belong to is done, and the program neither writes nor (where
    /// they are received) reads them before: the rules of MPI for the buffers of a call. Bytes that are only sent are
    /// never written.
    #[must_use]
    pub const unsafe fn new(start: *mut u8, len: usize) -> Self {
        Self { start, len }
    }

    /// Number of bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Address of the first byte.
    #[must_use]
    pub const fn start(self) -> *mut u8 {
        self.start
    }

    /// A part of it. The range has to lie within it.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= self.len, "a part of an area");
        if range.is_empty() {
            return Self::EMPTY;
        }
        // SAFETY: the offset is at most the length of this area, so within the buffer.
        Self { start: unsafe { self.start.add(range.start) }, len: range.len() }
    }

    /// The bytes, to be read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `start` and `len` bytes of a buffer that stays, by the promise of `new`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }

    /// The bytes, to be written.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as in `bytes`; one thread works on a collective, and borrows one part at a time.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// Copies bytes of the same number. The areas may overlap.
    pub fn copy_from(self, from: Self) {
        assert_eq!(self.len, from.len, "areas of the same length");
        if self.len > 0 {
            // SAFETY: both are buffers of that length, by the promise of `new`; `copy` allows them to overlap.
            unsafe { std::ptr::copy(from.start, self.start, self.len) }
        }
    }
}

/// Bytes of our own, aligned for every type of MPI.
#[derive(Debug, Default)]
pub struct Aligned {
    words: Vec<u128>,
    len: usize,
}

impl Aligned {
    /// So many zero bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(size_of::<u128>())], len }
    }

    /// The bytes as an area, which may be used for as long as this exists.
    #[must_use]
    pub fn area(&mut self) -> Area {
        Area { start: self.words.as_mut_ptr().cast(), len: self.len }
    }

    /// Number of bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The bytes, to be read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the words are at least `len` bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.len) }
    }

    /// The bytes, to be written.
    #[must_use]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len) }
    }
}

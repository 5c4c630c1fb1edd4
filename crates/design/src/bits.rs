//! Bit sets of PCs, and vectors with a small number per PC, stored as bit planes. Both are arrays
//! of 64-bit words; `w` is the index of a word.

/// A set of PCs as a bit set, 64 to a word.
pub type Set<const W: usize> = [u64; W];

/// A small number for each PC, in binary: plane `j` is the set of PCs whose number has bit `j`.
pub type Planes<const W: usize> = [Set<W>; PLANES];

/// Returns word `w` of the set of PCs whose number is 0.
#[inline]
pub fn zero<const W: usize>(planes: &Planes<W>, w: usize) -> u64 {
    !(planes[0][w] | planes[1][w] | planes[2][w] | planes[3][w])
}

/// Returns word `w` of the set of PCs whose number is at most `limit`.
#[inline]
pub fn at_most<const W: usize>(planes: &Planes<W>, w: usize, limit: u32) -> u64 {
    let (mut less, mut equal) = (0, !0);
    for j in (0..PLANES).rev() {
        let plane = planes[j][w];
        if limit & (1 << j) != 0 {
            less |= equal & !plane;
            equal &= plane;
        } else {
            equal &= !plane;
        }
    }
    less | equal
}

/// Counts the bits in `words` words, which `word` returns by index.
#[inline]
pub fn count(word: impl Fn(usize) -> u64, words: usize) -> i32 {
    (0..words).map(|w| ones(word(w))).sum()
}

/// Counts the bits in a word.
#[inline]
pub const fn ones(word: u64) -> i32 {
    word.count_ones() as i32
}

/// Returns word `w` of the set that holds only this PC.
#[inline]
pub const fn bit(pc: u32, w: usize) -> u64 {
    if pc as usize / 64 == w { 1 << (pc % 64) } else { 0 }
}

/// Adds a PC to a set.
#[inline]
pub const fn set<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] |= 1 << (pc % 64);
}

/// Removes a PC from a set. Does nothing for a PC beyond the size of the set.
#[inline]
pub fn clear<const W: usize>(set: &mut Set<W>, pc: u32) {
    if let Some(word) = set.get_mut(pc as usize / 64) {
        *word &= !(1 << (pc % 64));
    }
}

/// Does the set hold the PC? False for a PC beyond the size of the set.
#[inline]
pub fn on<const W: usize>(set: &Set<W>, pc: u32) -> bool {
    set.get(pc as usize / 64).is_some_and(|word| word & (1 << (pc % 64)) != 0)
}

/// Adds a PC to a set if it is absent, otherwise removes it.
#[inline]
pub const fn flip<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] ^= 1 << (pc % 64);
}

/// Exchanges the membership of two PCs.
pub fn exchange_bits<const W: usize>(set: &mut Set<W>, p: u32, q: u32) {
    if on(set, p) != on(set, q) {
        flip(set, p);
        flip(set, q);
    }
}

/// Calls `act` with each PC of a set, in ascending order.
#[inline]
pub fn each<const W: usize>(set: &Set<W>, mut act: impl FnMut(u32)) {
    for (w, word) in set.iter().enumerate() {
        let mut rest = *word;
        while rest != 0 {
            act((w * 64) as u32 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

/// Number of bit planes: a pair has fewer links than 2 to this power.
pub const PLANES: usize = 4;

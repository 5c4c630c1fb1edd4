//! Sets of PCs as bits, and numbers of every PC as planes of bits.

/// A set of PCs, 64 to a word.
pub type Set<const W: usize> = [u64; W];

/// A number for every PC in binary: plane `j` holds the PCs whose number has bit `j`.
pub type Planes<const W: usize> = [Set<W>; PLANES];

/// The PCs whose number is 0.
#[inline]
pub fn zero<const W: usize>(planes: &Planes<W>, w: usize) -> u64 {
    !(planes[0][w] | planes[1][w] | planes[2][w] | planes[3][w])
}

/// The PCs whose number is at most `limit`.
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

/// The bits of so many words.
#[inline]
pub fn count(word: impl Fn(usize) -> u64, words: usize) -> i32 {
    (0..words).map(|w| ones(word(w))).sum()
}

/// The bits of a word.
#[inline]
pub const fn ones(word: u64) -> i32 {
    word.count_ones() as i32
}

/// The word `w` of the set of one PC.
#[inline]
pub const fn bit(pc: u32, w: usize) -> u64 {
    if pc as usize / 64 == w { 1 << (pc % 64) } else { 0 }
}

/// Puts a PC in.
#[inline]
pub const fn set<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] |= 1 << (pc % 64);
}

/// Takes a PC out; nothing where it cannot be in.
#[inline]
pub fn clear<const W: usize>(set: &mut Set<W>, pc: u32) {
    if let Some(word) = set.get_mut(pc as usize / 64) {
        *word &= !(1 << (pc % 64));
    }
}

/// Whether a PC is in; not where it cannot be.
#[inline]
pub fn on<const W: usize>(set: &Set<W>, pc: u32) -> bool {
    set.get(pc as usize / 64).is_some_and(|word| word & (1 << (pc % 64)) != 0)
}

/// Puts a PC in, or takes it out.
#[inline]
pub const fn flip<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] ^= 1 << (pc % 64);
}

/// Each of two PCs takes the other's place.
pub fn exchange_bits<const W: usize>(set: &mut Set<W>, p: u32, q: u32) {
    if on(set, p) != on(set, q) {
        flip(set, p);
        flip(set, q);
    }
}

/// All PCs, ascending.
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

/// Links of a pair are below 2 to this power.
pub const PLANES: usize = 4;

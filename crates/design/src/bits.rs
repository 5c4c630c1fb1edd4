//! Sets of PCs as bit sets, and tables of one small number per PC as bit planes. Both consist of
//! 64-bit words: word `w` holds PCs `64 w` to `64 w + 63`.

/// A set of PCs as a bit set: bit `i` of word `w` stands for PC `64 w + i`.
pub type Set<const W: usize> = [u64; W];

/// A number from 0 to 15 for each PC, stored as bit planes: plane `j` is the set of PCs whose
/// number has bit `j` set.
pub type Planes<const W: usize> = [Set<W>; PLANES];

/// Returns word `w` (64 PCs) of the set of PCs whose number in `planes` is 0.
#[inline]
pub fn zero<const W: usize>(planes: &Planes<W>, w: usize) -> u64 {
    !(planes[0][w] | planes[1][w] | planes[2][w] | planes[3][w])
}

/// Returns word `w` (64 PCs) of the set of PCs whose number in `planes` is at most `limit`.
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

/// Returns the number of one bits in the words `word(0)` to `word(words - 1)`.
#[inline]
pub fn count(word: impl Fn(usize) -> u64, words: usize) -> i32 {
    (0..words).map(|w| ones(word(w))).sum()
}

/// Returns the number of one bits in a word.
#[inline]
pub const fn ones(word: u64) -> i32 {
    word.count_ones() as i32
}

/// Returns word `w` (64 PCs) of the set whose only member is `pc`.
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

/// Returns whether a set contains a PC; false for a PC beyond the size of the set.
#[inline]
pub fn on<const W: usize>(set: &Set<W>, pc: u32) -> bool {
    set.get(pc as usize / 64).is_some_and(|word| word & (1 << (pc % 64)) != 0)
}

/// Adds a PC to a set if it is absent, otherwise removes it.
#[inline]
pub const fn flip<const W: usize>(set: &mut Set<W>, pc: u32) {
    set[pc as usize / 64] ^= 1 << (pc % 64);
}

/// Exchanges the membership of PCs `p` and `q` in a set: if only one of them is in the set, the
/// other takes its place.
pub fn exchange_bits<const W: usize>(set: &mut Set<W>, p: u32, q: u32) {
    if on(set, p) != on(set, q) {
        flip(set, p);
        flip(set, q);
    }
}

/// Calls `act` once for each PC in a set, in ascending order.
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

/// Number of bit planes of [`Planes`]: 4, so the number stored for a PC is at most 15.
pub const PLANES: usize = 4;

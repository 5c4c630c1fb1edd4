//! MPLS label stack entries, big endian (RFC 3032, section 2.1):
//!
//! | bits | field |
//! |---|---|
//! | 20 | label |
//! | 3 | traffic class (RFC 5462) |
//! | 1 | bottom of stack |
//! | 8 | time to live |
//!
//! A stack follows the Ethernet header, its top entry first; behind the bottom entry comes what is
//! carried, which nothing names. Nothing here allocates.

use tresse_base::id::Label;

/// EtherType of unicast labelled frames (RFC 5332; 0x8848 is not ours).
pub const ETHERTYPE: u16 = 0x8847;
/// Bytes of one entry.
pub const ENTRY_LEN: usize = 4;
/// The first label that is not reserved (RFC 7274).
pub const FIRST_LABEL: Label = Label(16);
/// The last label that fits.
pub const LAST_LABEL: Label = Label((1 << 20) - 1);

/// One label stack entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The label, at most [`LAST_LABEL`].
    pub label: Label,
    /// The traffic class, at most 7.
    pub class: u8,
    /// Is this the last entry of the stack?
    pub bottom: bool,
    /// The time to live.
    pub ttl: u8,
}

impl Entry {
    /// The entry that `bytes` begin with; `None` when they are fewer than four.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let word = u32::from_be_bytes(*bytes.first_chunk()?);
        let [_, _, low, ttl] = word.to_be_bytes();
        Some(Self { label: Label(word >> 12), class: low >> 1 & 7, bottom: low & 1 != 0, ttl })
    }

    /// Its four bytes; what does not fit a field is cut off.
    #[must_use]
    pub fn emit(self) -> [u8; ENTRY_LEN] {
        let class = u32::from(self.class & 7);
        let word =
            self.label.0 << 12 | class << 9 | u32::from(self.bottom) << 8 | u32::from(self.ttl);
        word.to_be_bytes()
    }
}

/// How many bytes the stack at the beginning of `bytes` has, its bottom entry included; `None` when
/// it does not end within them. O(entries).
#[must_use]
pub fn stack_len(bytes: &[u8]) -> Option<usize> {
    let mut entries = bytes.chunks_exact(ENTRY_LEN);
    Some((entries.position(|e| e[2] & 1 != 0)? + 1) * ENTRY_LEN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 3032's layout by example: label 100, class 5, bottom, TTL 64.
    #[test]
    fn entry_is_the_documented_bits() {
        let entry = Entry { label: Label(100), class: 5, bottom: true, ttl: 64 };
        assert_eq!(entry.emit(), [0x00, 0x06, 0x4b, 0x40]);
        assert_eq!(Entry::parse(&[0x00, 0x06, 0x4b, 0x40, 0xff]), Some(entry));
        let last = Entry { label: LAST_LABEL, class: 0, bottom: false, ttl: 255 };
        assert_eq!(last.emit(), [0xff, 0xff, 0xf0, 0xff]);
        assert_eq!(Entry::parse(&[0, 0, 0]), None);
    }

    #[test]
    fn stack_ends_at_its_bottom_or_not_at_all() {
        let (more, bottom) = ([0, 1, 0, 64], [0, 2, 1, 64]);
        assert_eq!(stack_len(&bottom), Some(4));
        assert_eq!(stack_len(&[more, bottom, more].concat()), Some(8));
        assert_eq!(stack_len(&[more, more].concat()), None);
        assert_eq!(stack_len(&[&more[..], &bottom[..3]].concat()), None);
        assert_eq!(stack_len(&[]), None);
    }

    proptest! {
        #[test]
        fn entries_round_trip(bytes in any::<[u8; ENTRY_LEN]>()) {
            prop_assert_eq!(Entry::parse(&bytes).map(Entry::emit), Some(bytes));
        }
    }
}

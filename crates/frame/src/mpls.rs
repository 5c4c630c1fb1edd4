//! MPLS label stack entries, big endian (RFC 3032, section 2.1):
//!
//! | bits | field |
//! |---|---|
//! | 20 | label |
//! | 3 | traffic class (RFC 5462) |
//! | 1 | bottom of stack |
//! | 8 | time to live |
//!
//! A stack follows the Ethernet header, top entry first. The payload follows the bottom entry; no
//! field tells its type.
//!
//! `pnet_macros` makes the packet type of an entry, because pnet has none. [`stack`] and [`entries`]
//! write and read whole label stacks. [`LabelStackEntry`] and [`stack_len`] also serve the forwarding of
//! frames: they allocate nothing.

use pnet::packet::ethernet::EtherTypes;
use tresse_base::id::Label;

use self::format::{MutableStackEntryPacket, StackEntry, StackEntryPacket};

/// EtherType of unicast frames with an MPLS label stack (RFC 5332). The second MPLS EtherType,
/// 0x8848, is not used.
pub const ETHERTYPE: u16 = EtherTypes::Mpls.0;
/// Length of one label stack entry in bytes.
pub const ENTRY_LEN: usize = 4;
/// The smallest label that is not reserved (RFC 7274).
pub const FIRST_LABEL: Label = Label(16);
/// The largest label that fits the 20 bits of a label.
pub const LAST_LABEL: Label = Label((1 << 20) - 1);

/// The entry of the table above.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::{u1, u3, u20be};

    #[packet]
    pub struct StackEntry {
        pub label: u20be,
        pub class: u3,
        pub bottom: u1,
        pub ttl: u8,
        #[payload]
        pub rest: Vec<u8>,
    }
}

/// Encodes a label stack, outermost label first. Every entry gets the traffic class `class` and the
/// time to live `ttl`.
#[must_use]
pub fn stack(labels: &[Label], class: u8, ttl: u8) -> Vec<u8> {
    let bottom = |at| at + 1 == labels.len();
    let entry = |(at, label): (usize, &Label)| {
        LabelStackEntry { label: *label, class, bottom: bottom(at), ttl }.emit()
    };
    labels.iter().enumerate().flat_map(entry).collect()
}

/// Decodes the label stack at the beginning of `bytes`, outermost entry first, up to its bottom
/// entry. If `bytes` end before that, returns the complete entries.
#[must_use]
pub fn entries(bytes: &[u8]) -> Vec<LabelStackEntry> {
    let mut entries: Vec<LabelStackEntry> = Vec::new();
    for entry in bytes.chunks_exact(ENTRY_LEN).filter_map(LabelStackEntry::parse) {
        entries.push(entry);
        if entry.bottom {
            break;
        }
    }
    entries
}

/// One label stack entry: label, traffic class, bottom of stack, time to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelStackEntry {
    /// The label, at most [`LAST_LABEL`].
    pub label: Label,
    /// The traffic class, at most 7.
    pub class: u8,
    /// Is this the last entry of the stack?
    pub bottom: bool,
    /// The time to live.
    pub ttl: u8,
}

impl LabelStackEntry {
    /// The entry that `bytes` begin with; `None` when they are fewer than four.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let entry = StackEntryPacket::new(bytes)?;
        Some(Self {
            label: Label(entry.get_label()),
            class: entry.get_class(),
            bottom: entry.get_bottom() != 0,
            ttl: entry.get_ttl(),
        })
    }

    /// Its four bytes; what does not fit a field is cut off.
    #[must_use]
    pub fn emit(self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        if let Some(mut entry) = MutableStackEntryPacket::new(&mut bytes) {
            let Self { label: Label(label), class, bottom, ttl } = self;
            let bottom = bottom.into();
            entry.populate(&StackEntry { label, class, bottom, ttl, rest: Vec::new() });
        }
        bytes
    }
}

/// Returns the length in bytes of the label stack at the beginning of `bytes`, bottom entry
/// included; `None` if the stack does not end within them. O(entries).
#[must_use]
pub fn stack_len(bytes: &[u8]) -> Option<usize> {
    let mut entries = bytes.chunks_exact(ENTRY_LEN).filter_map(StackEntryPacket::new);
    Some((entries.position(|entry| entry.get_bottom() != 0)? + 1) * ENTRY_LEN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 3032's layout by example: label 100, class 5, bottom, TTL 64.
    #[test]
    fn entry_is_the_documented_bits() {
        let entry = LabelStackEntry { label: Label(100), class: 5, bottom: true, ttl: 64 };
        assert_eq!(entry.emit(), [0x00, 0x06, 0x4b, 0x40]);
        assert_eq!(LabelStackEntry::parse(&[0x00, 0x06, 0x4b, 0x40, 0xff]), Some(entry));
        let last = LabelStackEntry { label: LAST_LABEL, class: 0, bottom: false, ttl: 255 };
        assert_eq!(last.emit(), [0xff, 0xff, 0xf0, 0xff]);
        assert_eq!(LabelStackEntry::parse(&[0, 0, 0]), None);
    }

    #[test]
    fn a_stack_is_its_entries() {
        let labels = [Label(100), LAST_LABEL];
        let entry = |at: usize| {
            LabelStackEntry { label: labels[at], class: 6, bottom: at == 1, ttl: 255 }.emit()
        };
        assert_eq!(stack(&labels, 6, 255), [entry(0), entry(1)].concat());
        assert_eq!(stack(&[], 6, 255), [0; 0]);
        let read = entries(&[&stack(&labels, 6, 255)[..], &[0; 8]].concat());
        assert_eq!(
            read.into_iter().flat_map(LabelStackEntry::emit).collect::<Vec<_>>(),
            stack(&labels, 6, 255)
        );
        assert!(entries(&[0; 3]).is_empty());
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
            prop_assert_eq!(LabelStackEntry::parse(&bytes).map(LabelStackEntry::emit), Some(bytes));
            prop_assert_eq!(entries(&bytes), Vec::from_iter(LabelStackEntry::parse(&bytes)));
        }
    }
}

//! The announcement frame, which nodes send on their VLANs. As a canary it proves that a VLAN
//! delivers exactly one copy of a frame (K5); as a refresh it keeps the forwarding databases of
//! switches filled (K17).
//!
//! Both are sent to a locally administered multicast MAC address, which switches flood on the whole
//! VLAN tree. (They never forward 01:80:C2:00:00:0x.) EtherType 0x88B5 is the IEEE's Local
//! Experimental EtherType 1 (IEEE 802, clause 9.2.4). The 802.1Q tag is not part of the frame here:
//! the VLAN interface adds and removes it, and the field `vid` repeats the VID on which the frame
//! was sent.
//!
//! All numbers big endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 6 | destination, [`GROUP`] |
//! | 6 | 6 | source, the NIC's MAC |
//! | 12 | 2 | EtherType 0x88B5 |
//! | 14 | 4 | magic "TRSE" |
//! | 18 | 1 | version, 1 |
//! | 19 | 1 | kind: 1 canary, 2 refresh |
//! | 20 | 2 | VID, 0 (untagged) to 4094 |
//! | 22 | 4 | index of the sending node in the cluster |
//! | 26 | 8 | FNV-1a hash of the fabric's name |
//! | 34 | 8 | sequence number, never reused by a sender |
//! | 42 | 8 | FNV-1a hash of the generation (digest) of the plan by which the sender sends |
//! | 50 | 10 | zero: padding to the shortest Ethernet frame (60 bytes without FCS) |
//!
//! A signed one is longer, and differs from offset 50 on:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 50 | 1 | number of the key, 1 to 255 |
//! | 51 | 1 | zero |
//! | 52 | 16 | the tag, over offsets 6 to 52 |

use pnet::packet::ethernet::{EtherType, EthernetPacket, MutableEthernetPacket};
use pnet::packet::{MutablePacket as _, Packet as _};
use pnet::util::MacAddr;
use serde::{Deserialize, Serialize};
use tresse_base::id::{NodeId, Vid};
use tresse_base::units::Mac;

use self::format::{Content, ContentPacket, MutableContentPacket};
use crate::keys::{Keys, Purpose, TAG};

/// The EtherType of announcement frames, 0x88B5: Local Experimental EtherType 1.
pub const ETHERTYPE: u16 = 0x88b5;
/// Destination MAC address of announcement frames: a locally administered multicast address.
pub const GROUP: Mac = Mac([0x03, 0x54, 0x52, 0x53, 0x45, 0x01]);
/// Length of an announcement frame in bytes, without 802.1Q tag and FCS.
pub const FRAME_LEN: usize = 60;

/// Length of a signed announcement frame in bytes, without 802.1Q tag and FCS.
pub const SIGNED_LEN: usize = TAG_AT + TAG;

const TAG_AT: usize = 52;
/// Where what a tag covers begins: at the source.
const COVERED_AT: usize = 6;
const MAGIC: u32 = u32::from_be_bytes(*b"TRSE");
const VERSION: u8 = 1;
const CONTENT_END: usize = 50;
const MAX_VID: u16 = 4094;

/// What follows the Ethernet header, as in the table above.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::{u16be, u32be, u64be};

    #[packet]
    pub struct Content {
        pub magic: u32be,
        pub version: u8,
        pub kind: u8,
        pub vid: u16be,
        pub node: u32be,
        pub fabric: u64be,
        pub sequence: u64be,
        pub plan: u64be,
        #[payload]
        pub padding: Vec<u8>,
    }
}

/// The kind of an announcement frame: a canary proves that a VLAN delivers, a refresh keeps the
/// forwarding databases of switches filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnouncementKind {
    /// Proves that the VID's tree delivers exactly one copy (K5).
    Canary,
    /// Teaches the tree's switches where the sender is (K17).
    Refresh,
}

/// The content of one announcement frame, by which a node shows its presence and plan to the nodes
/// of a VLAN: its kind, the VID, the sending node, fabric and plan, and a sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Announcement {
    /// What it is for.
    pub kind: AnnouncementKind,
    /// The VID it was sent on; `None`: untagged, 0 on the wire.
    pub vid: Option<Vid>,
    /// Who sent it.
    pub node: NodeId,
    /// FNV-1a hash of the fabric's name: two fabrics on one cable do not mix.
    pub fabric: [u8; 8],
    /// Never reused by a sender: a second copy means a loop.
    pub sequence: u64,
    /// FNV-1a hash of the generation of the plan by which the sender sends; while it changes plans,
    /// of the plan before.
    pub plan: [u8; 8],
}

/// Why a received frame is not a valid announcement frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Too short for the fields.
    #[error("announcement has {found} bytes, expected at least {CONTENT_END}")]
    Short {
        /// Bytes there are.
        found: usize,
    },
    /// Longer than any announcement.
    #[error("announcement has {found} bytes, expected at most {SIGNED_LEN}")]
    Long {
        /// Bytes there are.
        found: usize,
    },
    /// Sent elsewhere than to the group.
    #[error("announcement sent to {found}, expected {GROUP}")]
    Destination {
        /// The destination.
        found: Mac,
    },
    /// From a group address, which no station has.
    #[error("announcement from the group address {found}")]
    Source {
        /// The source.
        found: Mac,
    },
    /// Another EtherType.
    #[error("EtherType {found:#06x}, expected {ETHERTYPE:#06x}")]
    EtherType {
        /// The EtherType.
        found: u16,
    },
    /// The experimental EtherType used by someone else.
    #[error("not an announcement of ours: magic {found:02x?}")]
    Magic {
        /// The four bytes.
        found: [u8; 4],
    },
    /// Another version.
    #[error("announcement version {found}, expected {VERSION}")]
    Version {
        /// The version.
        found: u8,
    },
    /// An unknown kind.
    #[error("announcement kind {found}, expected 1 or 2")]
    Kind {
        /// The kind.
        found: u8,
    },
    /// No VID.
    #[error("announcement for VID {found}, expected 0 to {MAX_VID}")]
    Vid {
        /// The VID.
        found: u16,
    },
    /// Without a tag, or with one that no key of this node makes.
    #[error("announcement without a tag by a key of this node")]
    Unsigned,
    /// Bytes after the fields that are not zero.
    #[error("announcement with data after its fields")]
    Padding,
}

impl Announcement {
    /// The whole frame from `source`.
    #[must_use]
    pub fn emit(&self, source: Mac) -> [u8; FRAME_LEN] {
        let mut frame = [0; FRAME_LEN];
        let mut ethernet = MutableEthernetPacket::new(&mut frame).expect("the frame is 60 bytes");
        ethernet.set_destination(MacAddr::from(GROUP.0));
        ethernet.set_source(MacAddr::from(source.0));
        ethernet.set_ethertype(EtherType(ETHERTYPE));
        let mut content =
            MutableContentPacket::new(ethernet.payload_mut()).expect("36 of them are the content");
        content.populate(&Content {
            magic: MAGIC,
            version: VERSION,
            kind: match self.kind {
                AnnouncementKind::Canary => 1,
                AnnouncementKind::Refresh => 2,
            },
            vid: self.vid.map_or(0, |vid| vid.0),
            node: self.node.0,
            fabric: u64::from_be_bytes(self.fabric),
            sequence: self.sequence,
            plan: u64::from_be_bytes(self.plan),
            padding: Vec::new(),
        });
        frame
    }

    /// The whole frame from `source`, signed if this node signs.
    #[must_use]
    pub fn signed(&self, source: Mac, keys: &Keys) -> Vec<u8> {
        let plain = self.emit(source);
        let mut frame = plain[..CONTENT_END].to_vec();
        frame.extend([keys.number(), 0]);
        match keys.sign(Purpose::Announcement, &[&frame[COVERED_AT..]]) {
            Some((_, tag)) => [&frame[..], &tag].concat(),
            None => plain.into(),
        }
    }

    /// Reads a whole frame without 802.1Q tag as [`parse`](Self::parse), if it is signed as this node wants it.
    ///
    /// # Errors
    /// As [`WireError`] lists; any bytes give an answer.
    pub fn open(frame: &[u8], keys: &Keys) -> Result<(Mac, Self), WireError> {
        let Some((covered, tag)) =
            frame.split_at_checked(TAG_AT).filter(|_| frame.len() > FRAME_LEN)
        else {
            let read = Self::parse(frame)?;
            return if keys.takes_unsigned() { Ok(read) } else { Err(WireError::Unsigned) };
        };
        let tag = tag.try_into().map_err(|_| WireError::Long { found: frame.len() })?;
        let read = Self::parse(&covered[..CONTENT_END])?;
        let tagged = (covered[CONTENT_END], tag);
        let taken = covered[TAG_AT - 1] == 0
            && keys.takes(Purpose::Announcement, &tagged, &[&covered[COVERED_AT..]]);
        if taken { Ok(read) } else { Err(WireError::Unsigned) }
    }

    /// Reads a whole frame without tag: its source and its content. Padding may be absent.
    ///
    /// # Errors
    /// As [`WireError`] lists; any bytes give an answer.
    pub fn parse(frame: &[u8]) -> Result<(Mac, Self), WireError> {
        let found = frame.len();
        if found > FRAME_LEN {
            return Err(WireError::Long { found });
        }
        let ethernet = EthernetPacket::new(frame);
        let content = ethernet.as_ref().and_then(|e| ContentPacket::new(e.payload()));
        let (Some(ethernet), Some(content)) = (&ethernet, content) else {
            return Err(WireError::Short { found });
        };
        let destination = Mac(ethernet.get_destination().octets());
        if destination != GROUP {
            return Err(WireError::Destination { found: destination });
        }
        let source = Mac(ethernet.get_source().octets());
        if source.0[0] & 1 != 0 {
            return Err(WireError::Source { found: source });
        }
        let EtherType(ethertype) = ethernet.get_ethertype();
        if ethertype != ETHERTYPE {
            return Err(WireError::EtherType { found: ethertype });
        }
        if content.get_magic() != MAGIC {
            return Err(WireError::Magic { found: content.get_magic().to_be_bytes() });
        }
        if content.get_version() != VERSION {
            return Err(WireError::Version { found: content.get_version() });
        }
        let kind = match content.get_kind() {
            1 => AnnouncementKind::Canary,
            2 => AnnouncementKind::Refresh,
            found => return Err(WireError::Kind { found }),
        };
        let vid = content.get_vid();
        if vid > MAX_VID {
            return Err(WireError::Vid { found: vid });
        }
        if content.payload().iter().any(|b| *b != 0) {
            return Err(WireError::Padding);
        }
        let announcement = Self {
            kind,
            vid: Vid::tag(vid),
            node: NodeId(content.get_node()),
            fabric: content.get_fabric().to_be_bytes(),
            sequence: content.get_sequence(),
            plan: content.get_plan().to_be_bytes(),
        };
        Ok((source, announcement))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SOURCE: Mac = Mac([2, 0, 0, 0, 0, 7]);

    fn canary() -> Announcement {
        Announcement {
            kind: AnnouncementKind::Canary,
            vid: Some(Vid(100)),
            node: NodeId(0x0102_0304),
            fabric: [9; 8],
            sequence: 0x1122_3344_5566_7788,
            plan: [8; 8],
        }
    }

    #[test]
    fn frame_is_the_documented_bytes() {
        let frame = canary().emit(SOURCE);
        #[rustfmt::skip]
        let fields = [
            0x03, 0x54, 0x52, 0x53, 0x45, 0x01, 2, 0, 0, 0, 0, 7, 0x88, 0xb5,
            b'T', b'R', b'S', b'E', 1, 1, 0, 100, 1, 2, 3, 4,
            9, 9, 9, 9, 9, 9, 9, 9, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
            8, 8, 8, 8, 8, 8, 8, 8,
        ];
        assert_eq!(frame[..CONTENT_END], fields);
        assert_eq!(frame[CONTENT_END..], [0; FRAME_LEN - CONTENT_END]);
        assert_eq!(Announcement::parse(&frame), Ok((SOURCE, canary())));
        assert_eq!(Announcement::parse(&frame[..CONTENT_END]), Ok((SOURCE, canary())));
    }

    #[test]
    fn each_malformation_has_its_error() {
        let frame = canary().emit(SOURCE);
        let with = |at: usize, byte: u8| {
            let mut frame = frame;
            frame[at] = byte;
            Announcement::parse(&frame).unwrap_err()
        };
        assert_eq!(Announcement::parse(&frame[..49]), Err(WireError::Short { found: 49 }));
        assert_eq!(Announcement::parse(&[0; 61]), Err(WireError::Long { found: 61 }));
        assert!(matches!(with(0, 1), WireError::Destination { .. }));
        assert!(matches!(with(6, 3), WireError::Source { .. }));
        assert_eq!(with(13, 0xb6), WireError::EtherType { found: 0x88b6 });
        assert!(matches!(with(14, b'x'), WireError::Magic { .. }));
        assert_eq!(with(18, 2), WireError::Version { found: 2 });
        assert_eq!(with(19, 3), WireError::Kind { found: 3 });
        assert_eq!(with(20, 0x10), WireError::Vid { found: 0x1064 });
        assert_eq!(with(59, 1), WireError::Padding);
    }

    #[test]
    fn a_signed_frame_is_taken_as_it_was_sent() {
        let keys = Keys::parse(&"01".repeat(32)).unwrap();
        let frame = canary().signed(SOURCE, &keys);
        assert_eq!(frame.len(), SIGNED_LEN);
        assert_eq!(Announcement::open(&frame, &keys), Ok((SOURCE, canary())));
        assert_eq!(Announcement::open(&frame, &Keys::default()), Err(WireError::Unsigned));
        for at in 0..frame.len() {
            let mut changed = frame.clone();
            changed[at] ^= 1;
            assert!(Announcement::open(&changed, &keys).is_err(), "byte {at}");
            assert!(Announcement::open(&frame[..at], &keys).is_err(), "{at} bytes");
        }
        let plain = canary().emit(SOURCE);
        assert_eq!(canary().signed(SOURCE, &Keys::default()), plain);
        assert_eq!(Announcement::open(&plain, &Keys::default()), Ok((SOURCE, canary())));
        assert_eq!(Announcement::open(&plain, &keys), Err(WireError::Unsigned));
        let longer = [&frame[..], &[0]].concat();
        assert_eq!(Announcement::open(&longer, &keys), Err(WireError::Long { found: 69 }));
    }

    #[test]
    fn group_is_local_and_forwarded_by_switches() {
        assert_eq!(GROUP.0[0] & 3, 3, "group and locally administered");
        assert_ne!(GROUP.0[..3], [0x01, 0x80, 0xc2]);
    }

    proptest! {
        #[test]
        fn announcements_round_trip(
            canary in any::<bool>(), vid in 0..=MAX_VID, node in any::<u32>(),
            fabric in any::<[u8; 8]>(), sequence in any::<u64>(), source in any::<[u8; 6]>(),
            plan in any::<[u8; 8]>(),
        ) {
            let mut source = Mac(source);
            source.0[0] &= 0xfe;
            let kind = if canary { AnnouncementKind::Canary } else { AnnouncementKind::Refresh };
            let node = NodeId(node);
            let announcement = Announcement { kind, vid: Vid::tag(vid), node, fabric, sequence, plan };
            let frame = announcement.emit(source);
            prop_assert_eq!(Announcement::parse(&frame), Ok((source, announcement)));
        }

        #[test]
        fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok((source, announcement)) = Announcement::parse(&bytes) {
                prop_assert_eq!(&announcement.emit(source)[..bytes.len()], &bytes[..]);
            }
        }

        #[test]
        fn one_changed_byte_is_refused_or_read_faithfully(at in 0..FRAME_LEN, byte in any::<u8>()) {
            let mut frame = canary().emit(SOURCE);
            frame[at] = byte;
            if let Ok((source, announcement)) = Announcement::parse(&frame) {
                prop_assert_eq!(announcement.emit(source), frame);
            }
        }
    }
}

//! The packets by which nodes pass records on: what each node knows of its own NICs and paths
//! (DESIGN section 7a). A packet goes from one node to a neighbour and holds any number of items.
//!
//! All numbers big endian. The packet:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | version, 1 |
//! | 1 | 1 | zero |
//! | 2 | 2 | number of the key of the packet's authentication tag; 0: none |
//! | 4 | 8 | FNV-1a hash of the fabric's name |
//! | 12 | | items |
//! | | 16 | the tag, where there is one: over the MAC addresses of sender and receiver, and all that comes before |
//!
//! An item, and likewise a field of a record:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | kind |
//! | 1 | 1 | zero |
//! | 2 | 2 | length of what follows |
//! | 4 | | its content |
//!
//! Kinds of items: 1 a record, 2 an offer, 3 a request, 4 an acknowledgement. Items of unknown kinds are
//! skipped. An offer, a request and an acknowledgement are a record's identity; a record is:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | origin: FNV-1a hash of the name of the node that made it |
//! | 8 | 8 | epoch: begins anew where the origin has lost its number |
//! | 16 | 4 | number within the epoch |
//! | 20 | 4 | FNV-1a hash (32 bits) of the fields |
//! | 24 | 2 | seconds for which it still holds (not in an identity) |
//! | 26 | 2 | number of the key of its authentication tag; 0: none (not in an identity) |
//! | 28 | | fields (not in an identity) |
//!
//! Nodes pass the fields on as they are, also those that they do not know.

mod ethernet;

use pnet::packet::Packet as _;
use serde::{Deserialize, Serialize};
use tresse_base::units::Mac;

pub use self::ethernet::{ETHERTYPE, FRAME_MOST, RecordsFrame};
use self::format::{
    Header, HeaderPacket, Identity, IdentityPacket, ItemHeader, ItemHeaderPacket,
    MutableHeaderPacket, MutableIdentityPacket, MutableItemHeaderPacket, MutableTermPacket, Term,
    TermPacket,
};
use crate::keys::{Keys, Purpose, TAG};

/// The largest packet in bytes, without tag.
pub const PACKET_MOST: usize = 1400;
/// The largest content of a record in bytes.
pub const FIELDS_MOST: usize = PACKET_MOST - HEADER - ITEM - IDENTITY - TERM;

const VERSION: u8 = 1;
const HEADER: usize = 12;
const ITEM: usize = 4;
const IDENTITY: usize = 24;
const TERM: usize = 4;

/// The parts of the tables above.
mod format {
    use pnet_macros::packet;
    use pnet_macros_support::types::{u16be, u32be, u64be};

    #[packet]
    pub struct Header {
        pub version: u8,
        pub zero: u8,
        pub key: u16be,
        pub fabric: u64be,
        #[payload]
        pub items: Vec<u8>,
    }

    #[packet]
    pub struct ItemHeader {
        pub kind: u8,
        pub zero: u8,
        pub length: u16be,
        #[payload]
        pub content: Vec<u8>,
    }

    #[packet]
    pub struct Identity {
        pub origin: u64be,
        pub epoch: u64be,
        pub number: u32be,
        pub digest: u32be,
        #[payload]
        pub rest: Vec<u8>,
    }

    #[packet]
    pub struct Term {
        pub seconds: u16be,
        pub key: u16be,
        #[payload]
        pub fields: Vec<u8>,
    }
}

/// A node, in all plans and releases: the FNV-1a hash of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin(pub u64);

/// The age of a record: of two of one origin the greater replaces the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// Begins anew where the origin has lost its number.
    pub epoch: u64,
    /// Counts within the epoch.
    pub number: u32,
    /// [`digest`] of its content. A node that was restarted may make another record of the same number.
    pub digest: u32,
}

impl Instance {
    /// The least of the next greater number; `None` after the last of all.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        let Self { epoch, number, .. } = self;
        let within = number.checked_add(1).map(|number| Self { epoch, number, digest: 0 });
        within.or_else(|| Some(Self { epoch: epoch.checked_add(1)?, number: 0, digest: 0 }))
    }
}

/// The identity of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// The node that made it.
    pub origin: Origin,
    /// Its age.
    pub instance: Instance,
}

/// One item of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A record.
    Record {
        /// Its identity.
        id: RecordId,
        /// Seconds for which it still holds.
        seconds: u16,
        /// Its content, at most [`FIELDS_MOST`] bytes: see [`fields`].
        fields: &'a [u8],
    },
    /// The sender has this record.
    Offer(RecordId),
    /// The sender wants a record that was offered.
    Request(RecordId),
    /// The sender has received this record, or had it.
    Acknowledgement(RecordId),
}

/// Why received bytes are not a valid packet of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// Too short for its fixed part.
    #[error("packet of records has {found} bytes, expected at least {HEADER}")]
    Short {
        /// Bytes there are.
        found: usize,
    },
    /// Longer than any packet.
    #[error("packet of records has {found} bytes, expected at most {PACKET_MOST}")]
    Long {
        /// Bytes there are.
        found: usize,
    },
    /// Another version.
    #[error("packet of records of version {found}, expected {VERSION}")]
    Version {
        /// The version.
        found: u8,
    },
    /// With an authentication tag, which nobody has taken off.
    #[error("packet of records with a tag by key {key}, expected none")]
    Tagged {
        /// Number of the key.
        key: u16,
    },
    /// Without an authentication tag, or with one that no key of this node makes.
    #[error("packet of records without a tag by a key of this node")]
    Unsigned,
    /// An item, or a field of a record, that ends after the packet, or has not the size of its kind.
    #[error("item of kind {kind} at byte {at} of a packet of records has the wrong length")]
    Length {
        /// Its kind.
        kind: u8,
        /// Where it begins.
        at: usize,
    },
}

/// The packet with a tag, from one NIC to another, if this node signs.
///
/// # Panics
/// If the packet is no whole one.
#[must_use]
pub fn sign(mut packet: Vec<u8>, keys: &Keys, from: Mac, to: Mac) -> Vec<u8> {
    let number = keys.number();
    let mut header = MutableHeaderPacket::new(&mut packet).expect("it begins with its header");
    header.set_key(number.into());
    let tag = keys.sign(Purpose::Records, &[&from.0, &to.0, &packet]);
    packet.extend(tag.into_iter().flat_map(|(_, tag)| tag));
    packet
}

/// The packet without the tag that it came with, from one NIC to another.
///
/// # Errors
/// [`RecordsError::Unsigned`] if this node does not take it.
pub fn open(mut packet: Vec<u8>, keys: &Keys, from: Mac, to: Mac) -> Result<Vec<u8>, RecordsError> {
    let unsigned = RecordsError::Unsigned;
    let key = HeaderPacket::new(&packet).map_or(0, |header| header.get_key());
    if key == 0 {
        return if keys.takes_unsigned() { Ok(packet) } else { Err(unsigned) };
    }
    let length = packet.len().checked_sub(TAG).filter(|length| *length >= HEADER);
    let (covered, tag) = packet.split_at(length.ok_or(unsigned)?);
    let tagged = u8::try_from(key).ok().zip(tag.first_chunk().copied()).ok_or(unsigned)?;
    if !keys.takes(Purpose::Records, &tagged, &[&from.0, &to.0, covered]) {
        return Err(unsigned);
    }
    packet.truncate(packet.len() - TAG);
    if let Some(mut header) = MutableHeaderPacket::new(&mut packet) {
        header.set_key(0);
    }
    Ok(packet)
}

/// A packet of records, read: the fabric and the items of known kinds, in order.
///
/// # Errors
/// As [`RecordsError`] lists; any bytes give an answer.
pub fn parse(bytes: &[u8]) -> Result<([u8; 8], Vec<Item<'_>>), RecordsError> {
    let found = bytes.len();
    if found > PACKET_MOST {
        return Err(RecordsError::Long { found });
    }
    let header = HeaderPacket::new(bytes).ok_or(RecordsError::Short { found })?;
    if header.get_version() != VERSION {
        return Err(RecordsError::Version { found: header.get_version() });
    }
    if header.get_key() != 0 {
        return Err(RecordsError::Tagged { key: header.get_key() });
    }
    let mut items = Vec::new();
    let mut at = HEADER;
    for part in parts(&bytes[HEADER..]) {
        let (kind, content) = part.map_err(|kind| RecordsError::Length { kind, at })?;
        let wrong = RecordsError::Length { kind, at };
        match kind {
            RECORD => items.push(record(content).ok_or(wrong)?),
            OFFER => items.push(Item::Offer(identity(content).ok_or(wrong)?)),
            REQUEST => items.push(Item::Request(identity(content).ok_or(wrong)?)),
            ACKNOWLEDGEMENT => items.push(Item::Acknowledgement(identity(content).ok_or(wrong)?)),
            _ => {}
        }
        at += ITEM + content.len();
    }
    Ok((header.get_fabric().to_be_bytes(), items))
}

/// The FNV-1a hash (32 bits) of a record's content.
#[must_use]
pub fn digest(content: &[u8]) -> u32 {
    content
        .iter()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The fields of a record in order, each with its kind; an error is the kind of one that ends after the record.
pub fn fields(content: &[u8]) -> impl Iterator<Item = Result<(u8, &[u8]), u8>> {
    parts(content)
}

/// Appends a field to the content of a record.
///
/// # Panics
/// If it is longer than 65,535 bytes, which no record can be.
pub fn push_field(content: &mut Vec<u8>, kind: u8, field: &[u8]) {
    let length = u16::try_from(field.len()).expect("a field is shorter than a record");
    let at = content.len();
    content.resize(at + ITEM, 0);
    let mut header = MutableItemHeaderPacket::new(&mut content[at..]).expect("4 bytes");
    header.populate(&ItemHeader { kind, zero: 0, length, content: Vec::new() });
    content.extend_from_slice(field);
}

/// A packet of records that is being made.
#[derive(Debug, Clone)]
pub struct Emitter {
    bytes: Vec<u8>,
}

impl Emitter {
    /// One without items.
    #[must_use]
    pub fn new(fabric: [u8; 8]) -> Self {
        let mut bytes = vec![0; HEADER];
        let mut header = MutableHeaderPacket::new(&mut bytes).expect("12 bytes");
        let fabric = u64::from_be_bytes(fabric);
        header.populate(&Header { version: VERSION, zero: 0, key: 0, fabric, items: Vec::new() });
        Self { bytes }
    }

    /// Has it no items?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER
    }

    /// Appends an item; returns false, and appends nothing, if there is no room for it.
    pub fn push(&mut self, item: &Item<'_>) -> bool {
        let (kind, id, term) = match item {
            Item::Record { id, seconds, fields } => (RECORD, id, Some((*seconds, *fields))),
            Item::Offer(id) => (OFFER, id, None),
            Item::Request(id) => (REQUEST, id, None),
            Item::Acknowledgement(id) => (ACKNOWLEDGEMENT, id, None),
        };
        let mut content = vec![0; IDENTITY];
        let mut identity = MutableIdentityPacket::new(&mut content).expect("24 bytes");
        let RecordId { origin: Origin(origin), instance: Instance { epoch, number, digest } } = *id;
        identity.populate(&Identity { origin, epoch, number, digest, rest: Vec::new() });
        if let Some((seconds, fields)) = term {
            content.resize(IDENTITY + TERM, 0);
            let mut term = MutableTermPacket::new(&mut content[IDENTITY..]).expect("4 bytes");
            term.populate(&Term { seconds, key: 0, fields: Vec::new() });
            content.extend_from_slice(fields);
        }
        if self.bytes.len() + ITEM + content.len() > PACKET_MOST {
            return false;
        }
        push_field(&mut self.bytes, kind, &content);
        true
    }

    /// The packet.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// What stands one after the other behind kind and length.
fn parts(mut bytes: &[u8]) -> impl Iterator<Item = Result<(u8, &[u8]), u8>> {
    std::iter::from_fn(move || {
        let kind = *bytes.first()?;
        let length = ItemHeaderPacket::new(bytes).map(|header| header.get_length().into());
        let content = length.and_then(|length: usize| bytes.get(ITEM..ITEM + length));
        bytes = content.map(|content| &bytes[ITEM + content.len()..]).unwrap_or_default();
        Some(content.map(|content| (kind, content)).ok_or(kind))
    })
}

fn identity(content: &[u8]) -> Option<RecordId> {
    let identity = IdentityPacket::new(content).filter(|it| it.payload().is_empty())?;
    Some(id_of(&identity))
}

fn id_of(identity: &IdentityPacket<'_>) -> RecordId {
    let instance = Instance {
        epoch: identity.get_epoch(),
        number: identity.get_number(),
        digest: identity.get_digest(),
    };
    RecordId { origin: Origin(identity.get_origin()), instance }
}

/// `None` also if one of its fields ends after it, or if its tag is by a key.
fn record(content: &[u8]) -> Option<Item<'_>> {
    let id = id_of(&IdentityPacket::new(content)?);
    let term = TermPacket::new(&content[IDENTITY..]).filter(|term| term.get_key() == 0)?;
    let content = &content[IDENTITY + TERM..];
    let whole = fields(content).all(|field| field.is_ok());
    whole.then_some(Item::Record { id, seconds: term.get_seconds(), fields: content })
}

const RECORD: u8 = 1;
const OFFER: u8 = 2;
const REQUEST: u8 = 3;
const ACKNOWLEDGEMENT: u8 = 4;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FABRIC: [u8; 8] = [9; 8];

    fn id(origin: u64, epoch: u64, number: u32) -> RecordId {
        RecordId {
            origin: Origin(origin),
            instance: Instance { epoch, number, digest: 0x3132_3334 },
        }
    }

    fn emit(items: &[Item<'_>]) -> Vec<u8> {
        let mut emitter = Emitter::new(FABRIC);
        assert!(items.iter().all(|item| emitter.push(item)));
        emitter.finish()
    }

    #[test]
    fn packet_is_the_documented_bytes() {
        let mut fields = Vec::new();
        push_field(&mut fields, 7, b"ab");
        let of = id(0x0102_0304_0506_0708, 0x1112_1314_1516_1718, 0x2122_2324);
        let items = [Item::Record { id: of, seconds: 3600, fields: &fields }, Item::Offer(of)];
        #[rustfmt::skip]
        let bytes = [
            1, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9,
            1, 0, 0, 34, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
            0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x0e, 0x10, 0, 0, 7, 0, 0, 2, b'a', b'b',
            2, 0, 0, 24, 1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
            0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
        ];
        assert_eq!(emit(&items), bytes);
        assert_eq!(parse(&bytes), Ok((FABRIC, items.to_vec())));
    }

    #[test]
    fn each_malformation_has_its_error() {
        let good = emit(&[Item::Offer(id(1, 2, 3)), Item::Request(id(4, 5, 6))]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            parse(&bytes).unwrap_err()
        };
        assert_eq!(parse(&good[..11]), Err(RecordsError::Short { found: 11 }));
        assert_eq!(parse(&[1; 1401]), Err(RecordsError::Long { found: 1401 }));
        assert_eq!(with(0, 2), RecordsError::Version { found: 2 });
        assert_eq!(with(3, 1), RecordsError::Tagged { key: 1 });
        assert_eq!(with(15, 23), RecordsError::Length { kind: 2, at: 12 });
        assert_eq!(with(43, 25), RecordsError::Length { kind: 3, at: 40 });
        assert_eq!(parse(&good[..14]), Err(RecordsError::Length { kind: 2, at: 12 }));
        // A field that ends after its record.
        let record = Item::Record { id: id(1, 2, 3), seconds: 1, fields: &[7, 0, 0, 1] };
        assert_eq!(parse(&emit(&[record])), Err(RecordsError::Length { kind: 1, at: 12 }));
        // What is not known is skipped.
        let mut bytes = good;
        bytes[12] = 9;
        assert_eq!(parse(&bytes), Ok((FABRIC, vec![Item::Request(id(4, 5, 6))])));
    }

    #[test]
    fn a_signed_packet_is_taken_from_its_sender_alone() {
        let keys = Keys::parse(&format!("{}\nnone", "01".repeat(32))).unwrap();
        let only = Keys::parse(&"01".repeat(32)).unwrap();
        let (from, to) = (Mac([2; 6]), Mac([4; 6]));
        let plain = emit(&[Item::Offer(id(1, 2, 3))]);
        let signed = sign(plain.clone(), &keys, from, to);
        assert_eq!(signed.len(), plain.len() + TAG);
        assert!(matches!(parse(&signed), Err(RecordsError::Tagged { .. })));
        assert_eq!(open(signed.clone(), &only, from, to), Ok(plain.clone()));
        for (keys, from, to) in
            [(&only, to, from), (&only, from, from), (&Keys::default(), from, to)]
        {
            assert_eq!(open(signed.clone(), keys, from, to), Err(RecordsError::Unsigned));
        }
        for at in 0..signed.len() {
            let mut changed = signed.clone();
            changed[at] ^= 1;
            assert_eq!(open(changed, &only, from, to), Err(RecordsError::Unsigned), "byte {at}");
            assert_eq!(open(signed[..at].to_vec(), &only, from, to), Err(RecordsError::Unsigned));
        }
        assert_eq!(sign(plain.clone(), &Keys::default(), from, to), plain);
        assert_eq!(open(plain.clone(), &keys, from, to), Ok(plain.clone()));
        assert_eq!(open(plain, &only, from, to), Err(RecordsError::Unsigned));
    }

    #[test]
    fn the_digest_is_the_published_one() {
        assert_eq!(
            [digest(b""), digest(b"a"), digest(b"foobar")],
            [0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968]
        );
    }

    #[test]
    fn the_largest_record_fills_a_packet() {
        let mut fields = Vec::new();
        push_field(&mut fields, 7, &[0; FIELDS_MOST - ITEM]);
        let record = Item::Record { id: id(1, 2, 3), seconds: 1, fields: &fields };
        let bytes = emit(&[record]);
        assert_eq!(bytes.len(), PACKET_MOST);
        assert_eq!(parse(&bytes), Ok((FABRIC, vec![record])));
        let mut full = Emitter::new(FABRIC);
        assert!(full.push(&record) && !full.push(&Item::Offer(id(1, 2, 3))));
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok((fabric, items)) = parse(&bytes) {
                let mut emitter = Emitter::new(fabric);
                prop_assert!(items.iter().all(|item| emitter.push(item)));
                let emitted = emitter.finish();
                prop_assert_eq!(parse(&emitted), Ok((fabric, items)));
            }
        }
    }
}

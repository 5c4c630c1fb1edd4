//! Netlink framing: reads the messages of a datagram and the attributes of a message with the types
//! of netlink-packet-core, and writes messages without an allocation each.
//!
//! Bounds-checked: a malformed length ends the iteration with [`MalformedMessage`], never with a panic.
//! Source: include/uapi/linux/netlink.h. Header, host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | nlmsg_len, header included |
//! | 4 | 2 | nlmsg_type |
//! | 6 | 2 | nlmsg_flags |
//! | 8 | 4 | nlmsg_seq |
//! | 12 | 4 | nlmsg_pid |

use netlink_packet_core::{DecodeError, Emitable, NLA_TYPE_MASK, NetlinkBuffer, NlasIterator};

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;

/// Error: a netlink message or attribute that cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed netlink data: {0}")]
pub struct MalformedMessage(String);

impl MalformedMessage {
    /// The error for a message that lacks `what`.
    pub(super) fn without(what: &str) -> Self {
        Self(format!("{what} is missing or cut off"))
    }
}

impl From<DecodeError> for MalformedMessage {
    fn from(error: DecodeError) -> Self {
        Self(error.to_string())
    }
}

/// One message of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

/// Iterator over the messages of one datagram.
pub(super) struct Messages<'a>(pub &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, MalformedMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.0);
        let header = match NetlinkBuffer::new_checked(bytes) {
            Ok(header) => header,
            Err(error) => return Some(Err(error.into())),
        };
        let length = header.length() as usize;
        self.0 = bytes.get(align(length)..).unwrap_or_default();
        Some(Ok(Message {
            kind: header.message_type(),
            flags: header.flags(),
            sequence: header.sequence_number(),
            payload: &bytes[HEADER..length],
        }))
    }
}

/// The attributes after the fixed part of `skip` bytes, which the kernel calls `what`.
pub(super) fn attributes<'a>(
    payload: &'a [u8],
    skip: usize,
    what: &str,
) -> Result<NlasIterator<&'a [u8]>, MalformedMessage> {
    payload.get(skip..).map(NlasIterator::new).ok_or_else(|| MalformedMessage::without(what))
}

/// Iterator over attributes without decoding, for the one table that has a hundred thousand
/// entries: `NlasIterator` calls into another crate three times per attribute, which showed when
/// 100,000 routes were observed.
pub(super) struct Attributes<'a>(pub &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    /// The type without its flags, the whole attribute, and its value.
    type Item = Result<(u16, &'a [u8], &'a [u8]), MalformedMessage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.0);
        let whole = bytes
            .first_chunk()
            .map(|[low, high]| usize::from(u16::from_ne_bytes([*low, *high])))
            .and_then(|length| bytes.get(..length));
        let Some((whole, [_, _, low, high, value @ ..])) = whole.map(|whole| (whole, whole)) else {
            return Some(Err(MalformedMessage::without("the end of an attribute")));
        };
        self.0 = bytes.get(align(whole.len())..).unwrap_or_default();
        Some(Ok((u16::from_ne_bytes([*low, *high]) & NLA_TYPE_MASK, whole, value)))
    }
}

/// Text up to its first NUL. Names and aliases that others set may be any bytes. The crate's
/// `parse_string` refuses those that are not UTF-8, so that one such alias would hide all
/// interfaces.
pub(super) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// Encodes a message body.
pub(super) fn bytes(body: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; body.buffer_len()];
    body.emit(&mut bytes);
    bytes
}

/// Appends one message to `buffer`; `body` writes what follows the header.
pub(super) fn write_message(
    buffer: &mut Vec<u8>,
    kind: u16,
    flags: u16,
    sequence: u32,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; HEADER]);
    body(buffer);
    let length = (buffer.len() - start) as u32;
    buffer.resize(start + align(length as usize), 0);
    let header = &mut buffer[start..start + HEADER];
    header[0..4].copy_from_slice(&length.to_ne_bytes());
    header[4..6].copy_from_slice(&kind.to_ne_bytes());
    header[6..8].copy_from_slice(&flags.to_ne_bytes());
    header[8..12].copy_from_slice(&sequence.to_ne_bytes());
}

/// Appends one attribute, with padding.
pub(super) fn write_attribute(buffer: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).expect("our attributes are far below 64 KiB");
    buffer.extend_from_slice(&length.to_ne_bytes());
    buffer.extend_from_slice(&kind.to_ne_bytes());
    buffer.extend_from_slice(value);
    buffer.resize(align(buffer.len()), 0);
}

/// The 32-bit word at `at`; the caller has checked the length.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const fn align(length: usize) -> usize {
    (length + 3) & !3
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_and_attributes_round_trip() {
        let mut buffer = Vec::new();
        for sequence in 1..4 {
            write_message(&mut buffer, 24, 5, sequence, |b| {
                b.extend_from_slice(&[2, 0, 0, 0]);
                write_attribute(b, 0x8000 | 7, b"abc");
                write_attribute(b, 9, &7_u32.to_ne_bytes());
            });
        }
        let messages: Vec<_> = Messages(&buffer).map(Result::unwrap).collect();
        assert_eq!(messages.iter().map(|m| m.sequence).collect::<Vec<_>>(), [1, 2, 3]);
        for message in messages {
            assert_eq!((message.kind, message.flags), (24, 5));
            let read = attributes(message.payload, 4, "x").unwrap().map(Result::unwrap);
            let read: Vec<_> = read.map(|a| (a.kind(), a.value().to_vec())).collect();
            assert_eq!(read, [(7, b"abc".to_vec()), (9, 7_u32.to_ne_bytes().to_vec())]);
        }
    }

    #[test]
    fn short_and_lying_lengths_are_refused() {
        assert!(Messages(&[0; 7]).next().unwrap().is_err());
        assert!(Messages(&[0; 16]).next().unwrap().is_err());
        assert!(Messages(&[17; 16]).next().unwrap().is_err());
        for attribute in [&[3, 0, 1, 0][..], &[9, 0, 1, 0, 0, 0, 0, 0], &[4, 0]] {
            assert!(attributes(attribute, 0, "x").unwrap().next().unwrap().is_err());
            assert!(Attributes(attribute).next().unwrap().is_err());
        }
        assert!(attributes(&[0; 3], 4, "x").is_err());
    }

    #[test]
    fn text_ends_at_its_first_nul_whatever_it_is() {
        assert_eq!(text(b"eth0\0rest"), "eth0");
        assert_eq!(text(b"\xff\0"), "\u{fffd}");
        assert_eq!(text(b""), "");
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for message in Messages(&bytes).flatten() {
                let _ = attributes(message.payload, 0, "x").unwrap().count();
            }
            let theirs = attributes(&bytes, 0, "x").unwrap().map_while(Result::ok);
            let theirs: Vec<_> = theirs.map(|a| (a.kind(), a.value().to_vec())).collect();
            let ours = Attributes(&bytes).map_while(Result::ok);
            let ours: Vec<_> = ours.map(|(kind, _, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}

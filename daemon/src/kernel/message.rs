//! Netlink framing, read without copying: messages of one datagram, attributes of one message.
//!
//! Bounds-checked; a malformed length ends the walk with [`Malformed`], never with a panic.
//! Source: include/uapi/linux/netlink.h. Header, host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | nlmsg_len, header included |
//! | 4 | 2 | nlmsg_type |
//! | 6 | 2 | nlmsg_flags |
//! | 8 | 4 | nlmsg_seq |
//! | 12 | 4 | nlmsg_pid |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;

/// A netlink message or attribute whose length does not fit what surrounds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed netlink data: {what} needs {needed} bytes, {found} are there")]
pub struct Malformed {
    /// What was being read.
    pub what: &'static str,
    /// How many bytes it needs.
    pub needed: usize,
    /// How many bytes there are.
    pub found: usize,
}

impl Malformed {
    pub(super) const fn new(what: &'static str, needed: usize, found: usize) -> Self {
        Self { what, needed, found }
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

/// Walks the messages of one datagram.
pub(super) struct Messages<'a>(pub &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        if bytes.is_empty() {
            return None;
        }
        self.0 = &[];
        if bytes.len() < HEADER {
            return Some(Err(Malformed::new("nlmsghdr", HEADER, bytes.len())));
        }
        let length = word(bytes, 0) as usize;
        if length < HEADER || length > bytes.len() {
            return Some(Err(Malformed::new("nlmsg_len", length.max(HEADER), bytes.len())));
        }
        self.0 = bytes.get(align(length)..).unwrap_or_default();
        Some(Ok(Message {
            kind: half(bytes, 4),
            flags: half(bytes, 6),
            sequence: word(bytes, 8),
            payload: &bytes[HEADER..length],
        }))
    }
}

/// One attribute: type without NLA_F_NESTED and NLA_F_NET_BYTEORDER, and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    pub kind: u16,
    pub value: &'a [u8],
}

impl Attribute<'_> {
    pub fn u8(&self, what: &'static str) -> Result<u8, Malformed> {
        self.value.first().copied().ok_or(Malformed::new(what, 1, 0))
    }

    pub fn u16(&self, what: &'static str) -> Result<u16, Malformed> {
        self.need(2, what).map(|v| half(v, 0))
    }

    pub fn u32(&self, what: &'static str) -> Result<u32, Malformed> {
        self.need(4, what).map(|v| word(v, 0))
    }

    pub fn address(&self, what: &'static str) -> Result<IpAddr, Malformed> {
        if let Ok(octets) = <[u8; 4]>::try_from(self.value) {
            Ok(Ipv4Addr::from(octets).into())
        } else if let Ok(octets) = <[u8; 16]>::try_from(self.value) {
            Ok(Ipv6Addr::from(octets).into())
        } else {
            Err(Malformed::new(what, 4, self.value.len()))
        }
    }

    pub fn text(&self) -> String {
        let end = self.value.iter().position(|b| *b == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }

    fn need(&self, bytes: usize, what: &'static str) -> Result<&[u8], Malformed> {
        self.value.get(..bytes).ok_or(Malformed::new(what, bytes, self.value.len()))
    }
}

/// Walks the attributes that follow a message's fixed part.
pub(super) struct Attributes<'a>(pub &'a [u8]);

impl<'a> Attributes<'a> {
    /// The attributes after a fixed part of `skip` bytes.
    pub fn after(payload: &'a [u8], skip: usize, what: &'static str) -> Result<Self, Malformed> {
        payload.get(skip..).map(Self).ok_or(Malformed::new(what, skip, payload.len()))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0;
        if bytes.is_empty() {
            return None;
        }
        self.0 = &[];
        if bytes.len() < 4 {
            return Some(Err(Malformed::new("nlattr", 4, bytes.len())));
        }
        let length = usize::from(half(bytes, 0));
        if length < 4 || length > bytes.len() {
            return Some(Err(Malformed::new("nla_len", length.max(4), bytes.len())));
        }
        self.0 = bytes.get(align(length)..).unwrap_or_default();
        Some(Ok(Attribute { kind: half(bytes, 2) & 0x3fff, value: &bytes[4..length] }))
    }
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

/// Appends one attribute, padded.
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

/// The 16-bit word at `at`; the caller has checked the length.
pub(super) fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
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
            let attributes: Vec<_> =
                Attributes::after(message.payload, 4, "x").unwrap().map(Result::unwrap).collect();
            assert_eq!(attributes[0], Attribute { kind: 7, value: b"abc" });
            assert_eq!(attributes[1].u32("x"), Ok(7));
        }
    }

    #[test]
    fn short_and_lying_lengths_are_refused() {
        assert!(Messages(&[0; 7]).next().unwrap().is_err());
        assert!(Messages(&[0; 16]).next().unwrap().is_err());
        assert!(Messages(&[17; 16]).next().unwrap().is_err());
        assert!(Attributes(&[3, 0, 1, 0]).next().unwrap().is_err());
        assert!(Attributes(&[9, 0, 1, 0, 0, 0, 0, 0]).next().unwrap().is_err());
        assert!(Attribute { kind: 1, value: &[1] }.u32("x").is_err());
        assert!(Attribute { kind: 1, value: &[1, 2, 3] }.address("x").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for message in Messages(&bytes).flatten() {
                let _ = Attributes(message.payload).count();
            }
            let _ = Attributes(&bytes).count();
        }
    }
}

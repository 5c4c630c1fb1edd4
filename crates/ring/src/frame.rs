//! Messages between two members of a copy on one connection. All numbers are big-endian. A *part*
//! is one copied file or directory, or a piece of a file; it is divided into stripes, and a stream
//! is one stripe of one part.
//!
//! After both ends have proved that they know the token of the run ([`crate::proof`]), the receiver
//! of the connection sends what it already has:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | number of parts |
//! | 4 | 4 | number of stripes of each part |
//! | 8 | 32 each | for each part: the checksum of its manifest (list of files); zeros if unknown |
//! | | 8 each | for each stripe of each part: number of bytes that the receiver has already |
//!
//! After that only the sender of data writes, in records:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | 1 manifest, 2 data, 3 end |
//! | 1 | 4 | number of the stream: part x number of stripes + stripe |
//! | 5 | 8 | of a data record: offset in the stream; of an end record: total bytes of the part |
//! | 13 | 4 | bytes that follow: the manifest, the data, the checksum of the part |

use std::io::{self, Read};

use crate::wrong;

/// Length of a BLAKE3 checksum in bytes.
pub const HASH: usize = 32;
/// Largest length in bytes of an encoded manifest (the list of the copied files) that a member
/// sends or accepts.
pub const MANIFEST: u32 = 256 << 20;

/// A BLAKE3 checksum.
pub type Hash = [u8; HASH];

/// The first message of the receiving member on a connection: the manifests that it knows, and how
/// many bytes it has of each stream (one stripe of one part of the copy).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Checksum of each part's manifest; zeros where it is unknown.
    pub manifests: Vec<Hash>,
    /// Bytes present of each stream.
    pub has: Vec<u64>,
}

impl Hello {
    /// Encodes the message for sending.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let stripes = self.has.len() / self.manifests.len().max(1);
        let mut bytes = Vec::new();
        bytes.extend((self.manifests.len() as u32).to_be_bytes());
        bytes.extend((stripes as u32).to_be_bytes());
        bytes.extend(self.manifests.iter().flatten());
        bytes.extend(self.has.iter().flat_map(|has| has.to_be_bytes()));
        bytes
    }

    /// Reads the message of a member that must have `parts` parts in `stripes` stripes each.
    ///
    /// # Errors
    /// Other numbers of parts or stripes, and errors of reading.
    pub fn read(input: &mut impl Read, parts: usize, stripes: usize) -> io::Result<Self> {
        let number = |bytes: [u8; 4]| u32::from_be_bytes(bytes) as usize;
        if (number(array(input)?), number(array(input)?)) != (parts, stripes) {
            return Err(wrong("other parts or stripes"));
        }
        let manifests = (0..parts).map(|_| array(input)).collect::<io::Result<_>>()?;
        let has = (0..parts * stripes).map(|_| Ok(u64::from_be_bytes(array(input)?)));
        Ok(Self { manifests, has: has.collect::<io::Result<_>>()? })
    }
}

/// The kind of a record: the manifest (list of files) of a part of the copy, data, or the end of a
/// part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The manifest of the stream's part.
    Manifest,
    /// Bytes of the stream.
    Data {
        /// Position in the stream.
        at: u64,
    },
    /// The end of a part: its length and checksum.
    End {
        /// Bytes of the part.
        total: u64,
    },
}

/// The header of a record that one member sends to another: stream, kind, and the number of bytes
/// that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHeader {
    /// Number of the stream: part x stripes + stripe.
    pub stream: u32,
    /// Kind of a record.
    pub what: What,
    /// Bytes that follow the header.
    pub bytes: u32,
}

impl RecordHeader {
    /// Bytes of an encoded header.
    pub const LEN: usize = 17;

    /// Encodes the message for sending.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let (what, number) = match self.what {
            What::Manifest => (1, 0),
            What::Data { at } => (2, at),
            What::End { total } => (3, total),
        };
        let mut bytes = [0; Self::LEN];
        bytes[0] = what;
        bytes[1..5].copy_from_slice(&self.stream.to_be_bytes());
        bytes[5..13].copy_from_slice(&number.to_be_bytes());
        bytes[13..].copy_from_slice(&self.bytes.to_be_bytes());
        bytes
    }

    /// Decodes a header on a connection with `streams` streams.
    ///
    /// # Errors
    /// A stream or kind that does not exist, or a length that its kind cannot have.
    pub fn parse(bytes: [u8; Self::LEN], streams: usize) -> io::Result<Self> {
        let mut rest = &bytes[1..];
        let stream = u32::from_be_bytes(array(&mut rest)?);
        let number = u64::from_be_bytes(array(&mut rest)?);
        let follow = u32::from_be_bytes(array(&mut rest)?);
        let (what, right) = match bytes[0] {
            1 => (What::Manifest, number == 0 && follow <= MANIFEST),
            2 => (What::Data { at: number }, number.checked_add(follow.into()).is_some()),
            3 => (What::End { total: number }, follow as usize == HASH),
            other => return Err(wrong(format!("a record of kind {other}"))),
        };
        if !right || stream as usize >= streams {
            return Err(wrong(format!("a record of stream {stream} with {follow} bytes")));
        }
        Ok(Self { stream, what, bytes: follow })
    }
}

/// Reads exactly `N` bytes from `input`.
///
/// # Errors
/// Errors of reading, and an end of input before `N` bytes.
pub fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_they_were() {
        for (what, bytes) in [
            (What::Manifest, 77),
            (What::Data { at: u64::MAX - 5 }, 5),
            (What::Data { at: 0 }, u32::MAX),
            (What::End { total: 1 << 40 }, 32),
        ] {
            let record = RecordHeader { stream: 6, what, bytes };
            assert_eq!(RecordHeader::parse(record.to_bytes(), 7).unwrap(), record);
            assert!(RecordHeader::parse(record.to_bytes(), 6).is_err());
        }
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        for (kind, number, bytes) in
            [(0, 0, 0), (1, 1, 5), (1, 0, MANIFEST + 1), (2, u64::MAX, 1), (3, 5, 31), (4, 0, 0)]
        {
            let what = What::Data { at: number };
            let mut record = RecordHeader { stream: 0, what, bytes }.to_bytes();
            record[0] = kind;
            assert!(RecordHeader::parse(record, 1).is_err(), "{kind} {number} {bytes}");
        }
    }

    #[test]
    fn a_hello_is_of_as_many_parts_as_it_has_to_be() {
        let hello = Hello { manifests: vec![[7; HASH], [0; HASH]], has: vec![1, 2, 3, 1 << 50] };
        let bytes = hello.to_bytes();
        assert_eq!(Hello::read(&mut &bytes[..], 2, 2).unwrap(), hello);
        for (parts, stripes) in [(1, 4), (2, 1), (4, 1)] {
            assert!(Hello::read(&mut &bytes[..], parts, stripes).is_err());
        }
        assert!(Hello::read(&mut &bytes[..bytes.len() - 1], 2, 2).is_err());
    }
}

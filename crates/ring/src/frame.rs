//! What members say to each other on a connection: numbers are big-endian.
//!
//! When both have proved that they know the token of the run ([`crate::proof`]), the one that is connected to says
//! what it has:
//!
//! | offset | octets | field |
//! |---|---|---|
//! | 0 | 4 | parts |
//! | 4 | 4 | stripes of each |
//! | 8 | 32 each | what is known of each part: the checksum of its manifest, or zeros |
//! | | 8 each | octets of each stripe of each part |
//!
//! Then the other one alone speaks, in records:
//!
//! | offset | octets | field |
//! |---|---|---|
//! | 0 | 1 | 1 manifest, 2 data, 3 end |
//! | 1 | 4 | stream: part x stripes + stripe |
//! | 5 | 8 | data: where in the stream; end: octets of the part |
//! | 13 | 4 | octets that follow: the manifest, the data, the checksum of the part |

use std::io::{self, Read};

use crate::wrong;

/// Octets of a checksum, BLAKE3.
pub const HASH: usize = 32;
/// Octets of a manifest at most.
pub const MANIFEST: u32 = 256 << 20;

/// BLAKE3.
pub type Hash = [u8; HASH];

/// What a member has when another one connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Of each part, zeros where nothing is known of it.
    pub manifests: Vec<Hash>,
    /// Octets of each stream.
    pub has: Vec<u64>,
}

impl Hello {
    /// As it is sent.
    #[must_use]
    pub fn to_octets(&self) -> Vec<u8> {
        let stripes = self.has.len() / self.manifests.len().max(1);
        let mut octets = Vec::new();
        octets.extend((self.manifests.len() as u32).to_be_bytes());
        octets.extend((stripes as u32).to_be_bytes());
        octets.extend(self.manifests.iter().flatten());
        octets.extend(self.has.iter().flat_map(|has| has.to_be_bytes()));
        octets
    }

    /// Reads what one says that has to have so many parts and stripes.
    ///
    /// # Errors
    /// Other numbers of them, and what reading gives.
    pub fn read(input: &mut impl Read, parts: usize, stripes: usize) -> io::Result<Self> {
        let number = |octets: [u8; 4]| u32::from_be_bytes(octets) as usize;
        if (number(array(input)?), number(array(input)?)) != (parts, stripes) {
            return Err(wrong("other parts or stripes"));
        }
        let manifests = (0..parts).map(|_| array(input)).collect::<io::Result<_>>()?;
        let has = (0..parts * stripes).map(|_| Ok(u64::from_be_bytes(array(input)?)));
        Ok(Self { manifests, has: has.collect::<io::Result<_>>()? })
    }
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The manifest of the stream's part.
    Manifest,
    /// Octets of the stream.
    Data {
        /// Where.
        at: u64,
    },
    /// The checksum of the part, which is at its end.
    End {
        /// Octets of the part.
        total: u64,
    },
}

/// What is in front of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// A stripe of a part.
    pub stream: u32,
    /// What follows.
    pub what: What,
    /// Octets that follow.
    pub octets: u32,
}

impl Record {
    /// Octets of it.
    pub const OCTETS: usize = 17;

    /// As it is sent.
    #[must_use]
    pub fn to_octets(self) -> [u8; Self::OCTETS] {
        let (what, number) = match self.what {
            What::Manifest => (1, 0),
            What::Data { at } => (2, at),
            What::End { total } => (3, total),
        };
        let mut octets = [0; Self::OCTETS];
        octets[0] = what;
        octets[1..5].copy_from_slice(&self.stream.to_be_bytes());
        octets[5..13].copy_from_slice(&number.to_be_bytes());
        octets[13..].copy_from_slice(&self.octets.to_be_bytes());
        octets
    }

    /// From what came, where there are so many streams.
    ///
    /// # Errors
    /// Another stream or kind, and octets that none of its kind have.
    pub fn parse(octets: [u8; Self::OCTETS], streams: usize) -> io::Result<Self> {
        let mut rest = &octets[1..];
        let stream = u32::from_be_bytes(array(&mut rest)?);
        let number = u64::from_be_bytes(array(&mut rest)?);
        let follow = u32::from_be_bytes(array(&mut rest)?);
        let (what, right) = match octets[0] {
            1 => (What::Manifest, number == 0 && follow <= MANIFEST),
            2 => (What::Data { at: number }, number.checked_add(follow.into()).is_some()),
            3 => (What::End { total: number }, follow as usize == HASH),
            other => return Err(wrong(format!("a record of kind {other}"))),
        };
        if !right || stream as usize >= streams {
            return Err(wrong(format!("a record of stream {stream} and {follow} octets")));
        }
        Ok(Self { stream, what, octets: follow })
    }
}

/// So many octets.
///
/// # Errors
/// What reading gives.
pub fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut octets = [0; N];
    input.read_exact(&mut octets)?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_what_they_were() {
        for (what, octets) in [
            (What::Manifest, 77),
            (What::Data { at: u64::MAX - 5 }, 5),
            (What::Data { at: 0 }, u32::MAX),
            (What::End { total: 1 << 40 }, 32),
        ] {
            let record = Record { stream: 6, what, octets };
            assert_eq!(Record::parse(record.to_octets(), 7).unwrap(), record);
            assert!(Record::parse(record.to_octets(), 6).is_err());
        }
    }

    #[test]
    fn records_that_cannot_be_are_refused() {
        for (kind, number, octets) in
            [(0, 0, 0), (1, 1, 5), (1, 0, MANIFEST + 1), (2, u64::MAX, 1), (3, 5, 31), (4, 0, 0)]
        {
            let what = What::Data { at: number };
            let mut record = Record { stream: 0, what, octets }.to_octets();
            record[0] = kind;
            assert!(Record::parse(record, 1).is_err(), "{kind} {number} {octets}");
        }
    }

    #[test]
    fn a_hello_is_of_as_many_parts_as_it_has_to_be() {
        let hello = Hello { manifests: vec![[7; HASH], [0; HASH]], has: vec![1, 2, 3, 1 << 50] };
        let octets = hello.to_octets();
        assert_eq!(Hello::read(&mut &octets[..], 2, 2).unwrap(), hello);
        for (parts, stripes) in [(1, 4), (2, 1), (4, 1)] {
            assert!(Hello::read(&mut &octets[..], parts, stripes).is_err());
        }
        assert!(Hello::read(&mut &octets[..octets.len() - 1], 2, 2).is_err());
    }
}

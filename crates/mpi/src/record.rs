//! What each rank tells all others when MPI starts.
//!
//! | offset | bytes | field, little-endian |
//! |---|---|---|
//! | 0 | 4 | version of this library's messages |
//! | 4 | 2 | TCP port on which it accepts connections |
//! | 6 | 1 | 1 if rings are switched on |
//! | 7 | 1 | zero |
//! | 8 | 8 | digest of the settings |
//! | 16 | 16 | token of the job; rank 0's counts |
//! | 32 | 32 | generation of the plan in force, zero-padded; none if the daemon does not answer |
//! | 64 | 64 | name of the node, zero-padded |
//! | 128 | 8 | digest of the machine and its network namespace |

use std::collections::HashMap;

use tresse_ring::proof::Token;

/// Bytes of a record.
pub const RECORD: usize = 136;
/// Version of the messages between ranks.
pub const VERSION: u32 = 2;

/// What a rank tells all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Version of its messages.
    pub version: u32,
    /// Where it accepts connections.
    pub port: u16,
    /// Whether it can use rings at all.
    pub on: bool,
    /// Digest of its settings.
    pub settings: u64,
    /// Its proposal for the token of the job.
    pub token: Token,
    /// Generation of its daemon's plan; empty if the daemon does not answer or has no plan.
    pub generation: String,
    /// Name of its node; empty likewise.
    pub node: String,
    /// Which machine this is, and which of its network namespaces.
    pub place: u64,
}

impl Record {
    /// That of a rank that uses no rings.
    #[must_use]
    pub fn off() -> Self {
        Self {
            version: VERSION,
            port: 0,
            on: false,
            settings: 0,
            token: Token::default(),
            generation: String::new(),
            node: String::new(),
            place: 0,
        }
    }

    /// The bytes of the table above. Longer texts are cut, and then fit nothing.
    #[must_use]
    pub fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..4].copy_from_slice(&self.version.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.port.to_le_bytes());
        bytes[6] = u8::from(self.on);
        bytes[8..16].copy_from_slice(&self.settings.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.token);
        for (start, room, text) in [(32, 32, &self.generation), (64, 64, &self.node)] {
            let len = text.len().min(room);
            bytes[start..start + len].copy_from_slice(&text.as_bytes()[..len]);
        }
        bytes[128..].copy_from_slice(&self.place.to_le_bytes());
        bytes
    }

    /// Reads the bytes of the table above.
    #[must_use]
    pub fn decode(bytes: &[u8; RECORD]) -> Self {
        let text = |range: std::ops::Range<usize>| {
            let text = String::from_utf8_lossy(&bytes[range]);
            text.trim_end_matches('\0').to_owned()
        };
        let mut token = Token::default();
        token.copy_from_slice(&bytes[16..32]);
        let number =
            |at: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|k| bytes[at + k]));
        Self {
            version: u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[k])),
            port: u16::from_le_bytes([bytes[4], bytes[5]]),
            on: bytes[6] == 1,
            settings: number(8),
            token,
            generation: text(32..64),
            node: text(64..128),
            place: number(128),
        }
    }
}

/// Why the ranks of these records use no rings, if so: in words that name the first rank that is in the way.
#[must_use]
pub fn objection(records: &[Record]) -> Option<String> {
    let first = records.first()?;
    let mut places: HashMap<&str, (usize, u64)> = HashMap::new();
    let (rank, other) = records.iter().enumerate().find_map(|(rank, it)| {
        let why = if it.version != first.version {
            format!("its library is of another version than that of rank 0 ({})", first.node)
        } else if !it.on {
            "it has switched them off, has a TRESSE_MPI_ variable that is not understood, or cannot accept connections".to_owned()
        } else if it.settings != first.settings {
            "its TRESSE_MPI_ variables differ from those of rank 0".to_owned()
        } else if it.node.is_empty() || it.generation.is_empty() {
            "tressed does not answer there, or has no plan".to_owned()
        } else if it.generation != first.generation {
            format!(
                "node {} has plan {}, node {} of rank 0 has {}",
                it.node, it.generation, first.node, first.generation
            )
        } else {
            let (other, place) = *places.entry(&it.node).or_insert((rank, it.place));
            if place == it.place {
                return None;
            }
            format!(
                "it asks the daemon of node {}, as rank {other} does in another network namespace or on another \
                 machine: TRESSE_SOCKET has to lead to its own",
                it.node
            )
        };
        Some((rank, why))
    })?;
    Some(format!("rank {rank}: {other}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            version: VERSION,
            port: 4711,
            on: true,
            settings: 0x0123_4567_89ab_cdef,
            token: [7; 16],
            generation: "8447dd613dfb6f99".to_owned(),
            node: "n00".to_owned(),
            place: 0xfedc_ba98_7654_3210,
        }
    }

    #[test]
    fn a_record_is_what_it_was() {
        assert_eq!(Record::decode(&record().encode()), record());
    }

    #[test]
    fn ranks_that_differ_are_named() {
        assert_eq!(objection(&[record(), record()]), None);
        assert_eq!(objection(&[]), None);
        let other = |change: fn(&mut Record)| {
            let mut other = record();
            change(&mut other);
            objection(&[record(), record(), other]).unwrap()
        };
        assert!(other(|it| it.version += 1).contains("another version"));
        assert!(other(|it| it.on = false).contains("switched them off"));
        assert!(other(|it| it.settings = 0).contains("TRESSE_MPI_"));
        assert!(other(|it| it.node.clear()).contains("tressed does not answer"));
        assert!(
            other(|it| it.place = 1)
                .contains("rank 2: it asks the daemon of node n00, as rank 0 does")
        );
        let plans = other(|it| it.generation = "0".to_owned());
        assert_eq!(plans, "rank 2: node n00 has plan 0, node n00 of rank 0 has 8447dd613dfb6f99");
    }
}

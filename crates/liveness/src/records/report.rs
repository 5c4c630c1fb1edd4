//! The content of a record: what a node says of itself.
//!
//! | field | content |
//! |---|---|
//! | 1 | the generation of its plan: FNV-1a hash, 8 bytes |
//! | 2 | its NICs without carrier: a bit for each NIC, the first NIC in the lowest bit of the first byte |
//! | 4 | the paths that end at it: the number of ranks (1 byte), and 2 bits for each path: by source in the order of the plan, which leaves out the node itself, and rank; the first path in the lowest bits of the first byte. 0: unknown, 1: sound, 2: broken, 3: sound again, but broken a short while ago |
//! | 5 | where nodes route: its hops to its neighbours, by NIC, then by the neighbour's number: 2 bits for each, as above |
//! | 6 | of the hops of field 5 those whose neighbours are there by echoes alone, as their sessions are not up: a bit for each, as in field 2 |
//! | 7 | of the hops of field 5 those that an operator keeps free: a bit for each, as in field 2 |
//! | 8 | where detours are used as they are needed: what it sends over the wires of the fabric, 6 bytes for each load (see `load`) |
//! | 9 | at a gateway: the families for which it has no way out: the bits 0 (IPv4) and 1 (IPv6) of a byte |
//!
//! Fields that are absent are empty. Unknown fields are ignored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tresse_frame::records::{fields, push_field};

use super::load::WireLoad;

/// What a node says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// FNV-1a hash of the generation of the plan that its paths are of.
    pub generation: [u8; 8],
    /// Places of its NICs without carrier, in the order of the cluster file.
    pub dark: BTreeSet<usize>,
    /// Number of path ranks of a pair.
    pub ranks: u8,
    /// The planned paths that end at it, by source and rank: `ranks` for each other node.
    pub paths: Vec<PathState>,
    /// Where nodes route: its hops to its neighbours, by NIC, then by the neighbour's number.
    pub hops: Vec<PathState>,
    /// Places in `hops` of those whose neighbours are there by echoes alone: their daemons may be dead.
    pub silent: BTreeSet<usize>,
    /// Places in `hops` of those that an operator keeps free.
    #[serde(default, rename = "drained_hops")]
    pub drained: BTreeSet<usize>,
    /// Where detours are used as they are needed: what it sends over wires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<WireLoad>,
    /// The families for which it is a gateway without a way out: 0 for IPv4, 1 for IPv6.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shut: BTreeSet<usize>,
}

/// What a node knows of a path or hop.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum PathState {
    /// Nothing.
    #[default]
    Unknown,
    /// Packets arrive by it.
    Sound,
    /// Nothing arrives by it.
    Broken,
    /// Packets arrive by it again, but it broke a short while ago.
    Held,
}

/// Why the content of a record cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedReport {
    /// A field that ends after the record.
    #[error("field {kind} of a record ends after it")]
    Length {
        /// Its kind.
        kind: u8,
    },
    /// A field with a value that has no meaning.
    #[error("field {kind} of a record has no valid content")]
    Content {
        /// Its kind.
        kind: u8,
    },
}

impl Report {
    /// The content of a record that says this.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut content = Vec::new();
        push_field(&mut content, GENERATION, &self.generation);
        push_places(&mut content, DARK, &self.dark);
        if !self.paths.is_empty() {
            let mut field = vec![self.ranks];
            field.extend(PathState::pack(&self.paths));
            push_field(&mut content, PATHS, &field);
        }
        if !self.hops.is_empty() {
            let field: Vec<u8> = PathState::pack(&self.hops).collect();
            push_field(&mut content, HOPS, &field);
        }
        push_places(&mut content, SILENT, &self.silent);
        push_places(&mut content, DRAINED, &self.drained);
        if !self.loads.is_empty() {
            push_field(&mut content, LOADS, &WireLoad::emit(&self.loads));
        }
        push_places(&mut content, SHUT, &self.shut);
        content
    }

    /// Reads the content of a record. The states after the last one are unknown ones, up to a whole byte.
    ///
    /// # Errors
    /// [`MalformedReport`]; any bytes give an answer.
    pub fn parse(content: &[u8]) -> Result<Self, MalformedReport> {
        let mut report = Self::default();
        for field in fields(content) {
            let (kind, field) = field.map_err(|kind| MalformedReport::Length { kind })?;
            let wrong = MalformedReport::Content { kind };
            match kind {
                GENERATION => report.generation = field.try_into().map_err(|_| wrong)?,
                DARK => report.dark = places(field),
                SILENT => report.silent = places(field),
                DRAINED => report.drained = places(field),
                SHUT => report.shut = places(field),
                PATHS => {
                    let (ranks, states) = field.split_first().ok_or(wrong)?;
                    (report.ranks, report.paths) = (*ranks, PathState::unpack(states));
                }
                HOPS => report.hops = PathState::unpack(field),
                LOADS => report.loads = WireLoad::parse(field).ok_or(wrong)?,
                _ => {}
            }
        }
        Ok(report)
    }
}

/// Appends a field with a bit for each place, if there are any.
fn push_places(content: &mut Vec<u8>, kind: u8, places: &BTreeSet<usize>) {
    if let Some(last) = places.last() {
        let mut bits = vec![0; last / 8 + 1];
        places.iter().for_each(|place| bits[place / 8] |= 1 << (place % 8));
        push_field(content, kind, &bits);
    }
}

fn places(field: &[u8]) -> BTreeSet<usize> {
    let is_set = |place: &usize| field[place / 8] >> (place % 8) & 1 == 1;
    (0..field.len() * 8).filter(is_set).collect()
}

impl PathState {
    /// Four states a byte, the first one in the lowest bits.
    fn pack(states: &[Self]) -> impl Iterator<Item = u8> {
        let byte =
            |states: &[Self]| states.iter().rev().fold(0, |byte, state| byte << 2 | *state as u8);
        states.chunks(4).map(byte)
    }

    fn unpack(bytes: &[u8]) -> Vec<Self> {
        let states = bytes.iter().flat_map(|byte| [0, 2, 4, 6].map(|at| byte >> at & 3));
        states.map(Self::of).collect()
    }

    /// By its two bits.
    const fn of(bits: u8) -> Self {
        match bits {
            1 => Self::Sound,
            2 => Self::Broken,
            3 => Self::Held,
            _ => Self::Unknown,
        }
    }
}

const GENERATION: u8 = 1;
const DARK: u8 = 2;
const PATHS: u8 = 4;
const HOPS: u8 = 5;
const SILENT: u8 = 6;
const DRAINED: u8 = 7;
const LOADS: u8 = 8;
const SHUT: u8 = 9;

#[cfg(test)]
mod tests {
    use super::super::load::{LoadKind, Rate};
    use super::*;

    #[test]
    fn report_is_the_documented_bytes() {
        use PathState::{Broken, Sound, Unknown};
        let report = Report {
            generation: [8; 8],
            dark: [0, 9].into(),
            ranks: 2,
            paths: vec![Sound, Broken, Unknown, Sound, Broken, Unknown, Unknown, Unknown],
            hops: vec![Broken, Sound, Unknown, Unknown],
            silent: [1].into(),
            drained: [2].into(),
            loads: vec![WireLoad { wire: 9, kind: LoadKind::Counted, rate: Rate::of(64) }],
            shut: [1].into(),
        };
        #[rustfmt::skip]
        let bytes = [
            1, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8, 8,
            2, 0, 0, 2, 1, 2,
            4, 0, 0, 3, 2, 0b0100_1001, 0b0000_0010,
            5, 0, 0, 1, 0b0000_0110,
            6, 0, 0, 1, 2,
            7, 0, 0, 1, 4,
            8, 0, 0, 6, 0, 0, 0, 38, 0, 2,
            9, 0, 0, 1, 2,
        ];
        assert_eq!(report.emit(), bytes);
        assert_eq!(Report::parse(&bytes), Ok(report));
    }

    #[test]
    fn what_is_not_known_is_ignored_and_what_is_wrong_is_named() {
        assert_eq!(Report::parse(&[10, 0, 0, 1, 5]), Ok(Report::default()));
        assert_eq!(Report::parse(&[10, 0, 0, 2, 5]), Err(MalformedReport::Length { kind: 10 }));
        for bytes in [&[1, 0, 0, 1, 5][..], &[4, 0, 0, 0], &[8, 0, 0, 1, 0]] {
            assert_eq!(Report::parse(bytes), Err(MalformedReport::Content { kind: bytes[0] }));
        }
    }

    #[test]
    fn a_thousand_nodes_with_two_ranks_take_five_hundred_bytes() {
        let paths = vec![PathState::Broken; 2 * 999];
        let report = Report { ranks: 2, paths, ..Report::default() };
        assert!(report.emit().len() <= 520, "{}", report.emit().len());
    }
}

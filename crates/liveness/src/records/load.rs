//! What a node sends over the wires of the fabric, as it says it to all others.
//!
//! A load is 6 bytes, big endian: 30 bits for the wire, 2 for the kind of traffic, 16 for the rate: 5 bits of exponent, 11
//! of mantissa, in units of 32 bytes a second.

use serde::{Deserialize, Serialize};

/// Traffic over one wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WireLoad {
    /// The wire, by a number that all nodes with the same plan know it by; below 2^30.
    pub wire: u32,
    /// Which traffic.
    pub kind: LoadKind,
    /// How much.
    pub rate: Rate,
}

/// Which traffic a node speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoadKind {
    /// What it sends by the paths to which the plan gives a share.
    Planned,
    /// What it sends by other paths: detours.
    Detour,
    /// All that one of its NICs sends or receives, whoever it is from.
    Counted,
}

/// Bytes a second, to about a thousandth.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Rate(u16);

impl Rate {
    /// The nearest one that is not above, at most 2^47.
    #[must_use]
    pub const fn of(bytes_per_second: u64) -> Self {
        let mut mantissa = bytes_per_second / UNIT;
        let mut exponent = 0;
        while mantissa > MANTISSA {
            (mantissa, exponent) = (mantissa >> 1, exponent + 1);
        }
        if exponent > EXPONENT { Self(u16::MAX) } else { Self(exponent << BITS | mantissa as u16) }
    }

    /// Bytes a second.
    #[must_use]
    pub const fn bytes_per_second(self) -> u64 {
        ((self.0 as u64 & MANTISSA) * UNIT) << (self.0 >> BITS)
    }
}

const UNIT: u64 = 32;
const BITS: u16 = 11;
const MANTISSA: u64 = (1 << BITS) - 1;
const EXPONENT: u16 = 31;
/// Bytes of a load.
const LEN: usize = 6;

impl WireLoad {
    /// The bytes of some loads.
    pub(super) fn emit(loads: &[Self]) -> Vec<u8> {
        let bytes = |load: &Self| {
            let head = (load.wire << 2 | load.kind as u32).to_be_bytes();
            let rate = load.rate.0.to_be_bytes();
            [head[0], head[1], head[2], head[3], rate[0], rate[1]]
        };
        loads.iter().flat_map(bytes).collect()
    }

    /// Reads loads; `None` if they are not whole. Kinds that are not known are left out.
    pub(super) fn parse(bytes: &[u8]) -> Option<Vec<Self>> {
        let (loads, []) = bytes.as_chunks::<LEN>() else { return None };
        let load = |[a, b, c, d, e, f]: &[u8; LEN]| {
            let head = u32::from_be_bytes([*a, *b, *c, *d]);
            let kind = match head & 3 {
                0 => LoadKind::Planned,
                1 => LoadKind::Detour,
                2 => LoadKind::Counted,
                _ => return None,
            };
            Some(Self { wire: head >> 2, kind, rate: Rate(u16::from_be_bytes([*e, *f])) })
        };
        Some(loads.iter().filter_map(load).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_near() {
        for bytes in [0, 32, 65_504, 125_000, 125_000_000, 50_000_000_000, 1 << 46] {
            let near = Rate::of(bytes).bytes_per_second();
            assert!(near <= bytes && bytes - near <= bytes / 1000, "{bytes}: {near}");
        }
        assert_eq!(Rate::of(31).bytes_per_second(), 0);
        assert_eq!(Rate::of(u64::MAX).bytes_per_second(), (2047 * 32) << 31);
    }

    #[test]
    fn loads_are_the_documented_bytes() {
        let load =
            WireLoad { wire: 0x0102_0304, kind: LoadKind::Detour, rate: Rate::of(64 * 2000) };
        let bytes = [0x04, 0x08, 0x0c, 0x11, 0x0f, 0xd0];
        assert_eq!(WireLoad::emit(&[load]), bytes);
        assert_eq!(WireLoad::parse(&bytes), Some(vec![load]));
        assert_eq!(WireLoad::parse(&bytes[..5]), None);
        assert_eq!(WireLoad::parse(&[0, 0, 0, 3, 0, 0]), Some(vec![]));
    }
}

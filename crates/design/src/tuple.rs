//! Routing tables of a flat neighbourhood as tuples: one tuple per destination gives, for each NIC of the source,
//! the NIC of the destination on the same switch (flat-neighborhood-network-compiler, section 3.3).
//!
//! A tuple has one field per NIC of the source. The field is the number of the NIC of the
//! destination, from 1, or 0 if the destination is not on that switch. A tuple is packed into one
//! integer, field 0 in the lowest bits; a shift and an AND extract a field.

use tresse_base::wiring::Wiring;

/// The routing table of one source PC: a tuple for each destination PC, which gives for each NIC of
/// the source the NIC of the destination on the same switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tuples {
    fields: u32,
    bits: u32,
    /// Indexed by destination; 0 for the source itself.
    packed: Vec<u64>,
}

impl Tuples {
    /// Builds the table of a source in a wiring of `pcs` PCs; `None` if a tuple has more than 64 bits.
    #[must_use]
    pub fn of(wiring: &Wiring, pcs: usize, source: u32) -> Option<Self> {
        let rows = wiring.rows(pcs);
        let most = rows.iter().map(Vec::len).max()? as u32;
        let own = rows.get(source as usize)?;
        let bits = u32::BITS - most.leading_zeros();
        let fields = own.len() as u32;
        if fields * bits > u64::BITS {
            return None;
        }
        let pack = |(destination, row): (usize, &Vec<u32>)| {
            let mut packed = 0;
            for (field, switch) in own.iter().enumerate().filter(|_| destination as u32 != source) {
                if let Ok(at) = row.binary_search(switch) {
                    packed |= (at as u64 + 1) << (field as u32 * bits);
                }
            }
            packed
        };
        Some(Self { fields, bits, packed: rows.iter().enumerate().map(pack).collect() })
    }

    /// Returns the tuple for a destination.
    #[must_use]
    pub fn tuple(&self, destination: u32) -> Vec<u32> {
        let packed = self.packed.get(destination as usize).copied().unwrap_or(0);
        let mask = (1u64 << self.bits) - 1;
        (0..self.fields).map(|field| (packed >> (field * self.bits) & mask) as u32).collect()
    }

    /// Returns the tuples as integers, by destination, and the number of bits of a field.
    #[must_use]
    pub fn packed(&self) -> (&[u64], u32) {
        (&self.packed, self.bits)
    }

    /// Returns the size of the table in bytes, with the smallest integers that hold a tuple: 128 on KLAT2.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.packed.len() * (self.fields * self.bits).div_ceil(8).next_power_of_two() as usize
    }

    /// Returns the size of the table in bytes if it held MAC addresses instead: 1,536 on KLAT2.
    #[must_use]
    pub fn mac_bytes(&self) -> usize {
        self.packed.len() * self.fields as usize * 6
    }
}

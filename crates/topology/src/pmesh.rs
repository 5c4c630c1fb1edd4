//! The addresses of NICs on a P-Mesh: `d.[n].h` below the base network, for dimension, subnet vector and host (p-mesh,
//! section 4.1). All nodes that differ only in coordinate k share a subnet, in which the host field distinguishes
//! them.
//!
//! | bits, from the highest | field | values |
//! |---|---|---|
//! | ceil(log2 d) | dimension k of the NIC, of d dimensions | 0 to d-1 |
//! | ceil(log2 n) for each other dimension, the highest first | subnet vector | coordinates, from 0 |
//! | ceil(log2(n + 2)) | host | coordinate k plus 1 |
//!
//! n is the size to which the field's own dimension may grow, its entry of the key `grow_to`. If sizes differ, each
//! dimension splits the bits below the dimension field in its own way, and the widest of them determines where the
//! dimension field starts. With equal sizes this is exactly the paper's encoding. Host 0 and the highest host are
//! reserved for the network and broadcast addresses.

use tresse_base::units::Prefix;

/// The encoding of NIC addresses on a P-Mesh: how many bits each field of an address has, so that the P-Mesh can grow
/// up to given sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding {
    /// Per dimension, the bits of its coordinate in a subnet vector.
    subnet: Vec<u32>,
    /// Per dimension, the bits of its coordinate as a host.
    host: Vec<u32>,
    /// Bits below the dimension field.
    below: u32,
}

impl Encoding {
    /// Builds the encoding whose fields hold these sizes, each at least 1.
    #[must_use]
    pub fn new(grow_to: &[u32]) -> Self {
        let subnet: Vec<u32> = grow_to.iter().map(|n| bits(*n)).collect();
        let host: Vec<u32> = grow_to.iter().map(|n| bits(n + 2)).collect();
        let all: u32 = subnet.iter().sum();
        let widths = subnet.iter().zip(&host).map(|(own, host)| all - own + host);
        let below = widths.max().unwrap_or(0);
        Self { subnet, host, below }
    }

    /// Returns the number of bits of an address below the base network.
    #[must_use]
    pub fn bits(&self) -> u32 {
        bits(self.subnet.len() as u32) + self.below
    }

    /// Returns the longest base prefix length that leaves enough bits, in a family of `width` bits.
    #[must_use]
    pub fn longest_prefix(&self, width: u8) -> u8 {
        width.saturating_sub(u8::try_from(self.bits()).unwrap_or(u8::MAX))
    }

    /// Returns the offset, from the base network address, of the NIC for dimension `dim` of the node at `x`.
    #[must_use]
    pub fn offset(&self, dim: usize, x: &[u32]) -> u128 {
        self.subnet_offset(dim, x) + u128::from(x[dim]) + 1
    }

    /// Returns the subnet, within `base`, of the line in dimension `dim` through `x`; `None` if `base` is too
    /// small.
    #[must_use]
    pub fn subnet(&self, base: &Prefix, dim: usize, x: &[u32]) -> Option<Prefix> {
        let address = base.nth(self.subnet_offset(dim, x))?;
        let len = base.width() - u8::try_from(self.host[dim]).ok()?;
        Some(Prefix { address, len })
    }

    fn subnet_offset(&self, dim: usize, x: &[u32]) -> u128 {
        let others = (0..x.len()).rev().filter(|d| *d != dim);
        let vector = others.fold(0, |vector, d| vector << self.subnet[d] | u128::from(x[d]));
        ((dim as u128) << self.below) + (vector << self.host[dim])
    }
}

/// The error for a base network (the prefix of NIC addresses) that has too few bits for the addresses of a P-Mesh.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{prefix} of `nics` is too small for the addresses of a P-Mesh of {sizes}, which take {bits} \
     bits: use a /{longest} or larger"
)]
pub struct BaseTooSmall {
    /// The base network.
    pub prefix: Prefix,
    /// The sizes for which the addresses must have room, such as `3 x 3`.
    pub sizes: String,
    /// Bits of an address below the base network.
    pub bits: u32,
    /// The longest prefix length that has room for them.
    pub longest: u8,
}

/// Checks that `prefix`, the network that NIC addresses are taken from, has room for all NIC addresses of a P-Mesh: a
/// grid of nodes in which a switch joins the nodes of each row, column and so on. `grow_to` is the largest number of
/// nodes in each dimension to which the grid may grow later.
///
/// # Errors
/// [`BaseTooSmall`], with the prefix length that has room.
pub fn fits(prefix: &Prefix, grow_to: &[u32]) -> Result<(), BaseTooSmall> {
    let encoding = Encoding::new(grow_to);
    let longest = encoding.longest_prefix(prefix.width());
    if encoding.bits() <= u32::from(prefix.width()) && prefix.len <= longest {
        return Ok(());
    }
    let sizes = grow_to.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
    Err(BaseTooSmall { prefix: *prefix, sizes, bits: encoding.bits(), longest })
}

/// Returns ceil(log2 n), the number of bits for n values.
const fn bits(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;
    use crate::Layout;
    use crate::cluster::TopologyShape;
    use tresse_base::id::NodeId;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    /// Section 4.1: 24 x 24 and 30 x 30 in 11 bits of a class B network; 2048 x 2048 in a class A.
    #[test]
    fn the_bit_counts_of_the_paper() {
        for sizes in [[24, 24], [30, 30]] {
            assert_eq!(Encoding::new(&sizes).bits(), 1 + 5 + 5);
            assert!(Encoding::new(&sizes).longest_prefix(32) >= 16);
        }
        assert_eq!(Encoding::new(&[31, 31]).bits(), 1 + 5 + 6);
        assert_eq!(Encoding::new(&[2048, 2048]).bits(), 1 + 11 + 12);
        assert_eq!(Encoding::new(&[2048, 2048]).longest_prefix(32), 8);
        assert!(Encoding::new(&[2049, 2049]).bits() > 24);
        assert_eq!(Encoding::new(&[4, 4, 4]).bits(), 2 + 2 * 2 + 3);
    }

    /// Section 4.1: 0.[m2 m1].m0, 1.[m2 m0].m1, 2.[m1 m0].m2.
    #[test]
    fn the_fields_are_those_of_the_paper() {
        let encoding = Encoding::new(&[4, 4, 4]);
        let x = [1, 2, 3];
        assert_eq!(encoding.offset(0, &x), 0b0_0111_0010);
        assert_eq!(encoding.offset(1, &x), 0b0_1110_1011);
        assert_eq!(encoding.offset(2, &x), 0b1_0100_1100);
        let base = prefix("10.78.0.0/16");
        let subnet = encoding.subnet(&base, 1, &x).unwrap();
        assert_eq!(subnet.to_string(), "10.78.0.232/29");
        assert!(subnet.contains(base.nth(encoding.offset(1, &x)).unwrap()));
    }

    #[test]
    fn addresses_are_distinct_inside_their_subnets_and_stay_as_the_fabric_grows() {
        for (dims, grow_to) in [
            (&[4, 4][..], &[4, 4][..]),
            (&[2, 3, 5], &[2, 3, 5]),
            (&[12, 24], &[30, 30]),
            (&[3, 7, 2], &[8, 7, 3]),
        ] {
            let encoding = Encoding::new(grow_to);
            let base = Prefix::containing("10.0.0.0".parse().unwrap(), encoding.longest_prefix(32));
            let layout = Layout::of(&TopologyShape::Pmesh {
                dims: dims.into(),
                grow_to: grow_to.into(),
                lines_per_switch: 1,
            })
            .unwrap();
            let (mut seen, mut lines) = (HashSet::new(), BTreeMap::new());
            for node in (0..layout.nodes()).map(NodeId::from) {
                for dim in 0..dims.len() {
                    let x = layout.coordinates(node);
                    let address = base.nth(encoding.offset(dim, x)).unwrap();
                    let subnet = encoding.subnet(&base, dim, x).unwrap();
                    assert!(seen.insert(address) && subnet.contains(address), "{address} {subnet}");
                    assert!(address != subnet.address);
                    let line = lines.entry(layout.line(node, dim)).or_insert(subnet);
                    assert_eq!(*line, subnet);
                }
            }
            let distinct: HashSet<_> = lines.values().map(|p| p.address).collect();
            assert_eq!(distinct.len(), layout.lines());
            let pairs = lines.values().flat_map(|a| lines.values().map(move |b| (a, b)));
            assert!(pairs.into_iter().all(|(a, b)| a == b || !a.overlaps(b)));
        }
        let (small, large) = (Encoding::new(&[30, 30]), Encoding::new(&[30, 30]));
        assert_eq!(small.offset(1, &[11, 23]), large.offset(1, &[11, 23]));
    }
}

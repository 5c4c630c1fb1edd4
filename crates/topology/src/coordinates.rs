//! Node addresses that carry the coordinates (`[addressing] layout = "coordinates"`): the nodes of one block of
//! addresses are those that lie in one direction, so that one route serves many nodes. In the p-mesh paper only the
//! addresses of NICs do that (section 4.1).
//!
//! | bits, from the highest | field | values |
//! |---|---|---|
//! | ceil(log2 n) for each dimension but the last, dimension 0 first | coordinate | from 0 |
//! | ceil(log2(n + 2)) | coordinate of the last dimension, plus 1 | 1 to n |
//!
//! Dimension 0 is the highest field because packets move along it first. n is the size to which the dimension may grow
//! (`grow_to` of a P-Mesh, else its size). As in the paper, 0 and the highest value of the last field are left free for
//! the network and broadcast addresses.

use tresse_base::units::Prefix;

use crate::cluster::{AddressLayout, TopologyShape};

/// The encoding of node addresses by coordinates: how many bits each field has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEncoding {
    /// Bits of each dimension's field, by dimension.
    widths: Vec<u32>,
}

impl NodeEncoding {
    /// Returns the encoding of a kind of fabric; `None` if its nodes have no coordinates, that is, do not route.
    #[must_use]
    pub fn of(kind: &TopologyShape) -> Option<Self> {
        let sizes: &[u32] = match kind {
            TopologyShape::Pmesh { grow_to, .. } => grow_to,
            TopologyShape::DirectMesh { dims } | TopologyShape::DirectTorus { dims } => dims,
            TopologyShape::Ring { nodes } | TopologyShape::FullMesh { nodes } => {
                std::slice::from_ref(nodes)
            }
            _ => return None,
        };
        let (last, others) = sizes.split_last()?;
        let widths = others.iter().map(|n| bits(*n)).chain([bits(last + 2)]);
        Some(Self { widths: widths.collect() })
    }

    /// Returns the number of bits of an address below its prefix.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.widths.iter().sum()
    }

    /// Whether `prefix` has so many bits.
    #[must_use]
    pub fn fits(&self, prefix: &Prefix) -> bool {
        self.bits() <= u32::from(prefix.width() - prefix.len)
    }

    /// Returns the longest prefix length that leaves enough bits, in the family of `prefix`.
    #[must_use]
    pub fn longest_prefix(&self, prefix: &Prefix) -> u8 {
        prefix.width().saturating_sub(u8::try_from(self.bits()).unwrap_or(u8::MAX))
    }

    /// Returns the offset of the address of the node at `x` from the network address.
    #[must_use]
    pub fn offset(&self, x: &[u32]) -> u128 {
        let fields = self.widths.iter().zip(x);
        fields.fold(0, |address, (width, x)| address << width | u128::from(*x)) + 1
    }
}

/// Returns the layout of node addresses that a new fabric of this kind gets with these prefixes, if the cluster file
/// names none: `coordinates` on a P-Mesh, a direct torus and a direct mesh, where all prefixes have enough bits.
#[must_use]
pub fn default_layout(kind: &TopologyShape, prefixes: &[Prefix]) -> AddressLayout {
    match grid(kind).is_some() && too_small(kind, prefixes).is_none() {
        true => AddressLayout::Coordinates,
        false => AddressLayout::Sequential,
    }
}

/// Returns the first of these prefixes that keeps a new fabric of this kind from addresses by coordinates, with the
/// encoding that it has no room for.
#[must_use]
pub fn too_small<'a>(
    kind: &TopologyShape,
    prefixes: &'a [Prefix],
) -> Option<(&'a Prefix, NodeEncoding)> {
    let encoding = grid(kind)?;
    Some((prefixes.iter().find(|prefix| !encoding.fits(prefix))?, encoding))
}

/// The encoding of the kinds whose new fabrics have addresses by coordinates.
fn grid(kind: &TopologyShape) -> Option<NodeEncoding> {
    let grid = matches!(
        kind,
        TopologyShape::Pmesh { .. }
            | TopologyShape::DirectMesh { .. }
            | TopologyShape::DirectTorus { .. }
    );
    NodeEncoding::of(kind).filter(|_| grid)
}

/// Returns ceil(log2 n), the number of bits for n values.
const fn bits(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tresse_base::id::NodeId;

    use super::*;
    use crate::Layout;

    fn pmesh(dims: &[u32], grow_to: &[u32]) -> TopologyShape {
        TopologyShape::Pmesh { dims: dims.into(), grow_to: grow_to.into(), lines_per_switch: 1 }
    }

    #[test]
    fn addresses_are_distinct_and_stay_as_the_fabric_grows() {
        let kinds = [
            pmesh(&[4, 4], &[4, 4]),
            pmesh(&[2, 3, 5], &[4, 3, 9]),
            TopologyShape::DirectTorus { dims: vec![4, 3] },
            TopologyShape::Ring { nodes: 6 },
        ];
        for kind in kinds {
            let (encoding, layout) = (NodeEncoding::of(&kind).unwrap(), Layout::of(&kind).unwrap());
            let mut seen = HashSet::new();
            for node in (0..layout.nodes()).map(NodeId::from) {
                let offset = encoding.offset(layout.coordinates(node));
                assert!(offset > 0 && offset < (1 << encoding.bits()) - 1, "{kind:?} {offset}");
                assert!(seen.insert(offset));
            }
        }
        let [small, large] = [[12, 12], [30, 30]].map(|dims| pmesh(&dims, &[30, 30]));
        let [small, large] = [small, large].map(|kind| NodeEncoding::of(&kind).unwrap());
        assert_eq!(small.offset(&[11, 7]), large.offset(&[11, 7]));
        assert_eq!(large.offset(&[11, 7]), 11 << 5 | 8);
        // The highest field has no end but the prefix.
        let [small, large] = [[4, 4], [9, 4]].map(|dims| pmesh(&dims, &dims));
        let [small, large] = [small, large].map(|kind| NodeEncoding::of(&kind).unwrap());
        assert_eq!(small.offset(&[3, 2]), large.offset(&[3, 2]));
    }

    #[test]
    fn only_grids_with_room_get_coordinates_by_themselves() {
        let layout = |kind: &TopologyShape, prefixes: &[&str]| {
            let prefixes: Vec<Prefix> = prefixes.iter().map(|p| p.parse().unwrap()).collect();
            default_layout(kind, &prefixes)
        };
        let grid = pmesh(&[4, 4], &[4, 4]);
        assert_eq!(layout(&grid, &["10.77.0.0/27", "fd77::/64"]), AddressLayout::Coordinates);
        assert_eq!(layout(&grid, &["10.77.0.0/28", "fd77::/64"]), AddressLayout::Sequential);
        let prefixes = ["10.77.0.0/28", "fd77::/64"].map(|p| p.parse().unwrap());
        let (prefix, encoding) = too_small(&grid, &prefixes).unwrap();
        assert_eq!((prefix.to_string(), encoding.bits()), ("10.77.0.0/28".into(), 5));
        assert_eq!(encoding.longest_prefix(&"10.77.0.0/28".parse().unwrap()), 27);
        let ring = TopologyShape::Ring { nodes: 4 };
        assert_eq!(layout(&ring, &["10.77.0.0/16"]), AddressLayout::Sequential);
        let torus = TopologyShape::Torus { dims: vec![4, 4] };
        assert_eq!(layout(&torus, &["10.77.0.0/16"]), AddressLayout::Sequential);
    }
}

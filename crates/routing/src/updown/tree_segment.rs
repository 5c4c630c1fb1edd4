//! The parts of a path between two switches, one per VLAN tree.

use tresse_base::id::{SwitchId, TreeId};

/// The part of a path between two switches that lies on one tree. It ends at the destination, or at a
/// switch where a transit node moves the packet to the next tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSegment {
    /// The tree.
    pub tree: TreeId,
    /// The switch where the part ends.
    pub to: SwitchId,
}

//! The segments of a path between two switches, one for each VLAN tree that it uses, in order.

use tresse_base::id::{SwitchId, TreeId};

/// The part of a path between two switches that lies in one VLAN tree. It ends at the destination, or at a switch
/// where a transit node sends the packet on in the next tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSegment {
    /// The tree.
    pub tree: TreeId,
    /// The switch where the part ends.
    pub to: SwitchId,
}

//! Paths of an ordered node pair: one or more segments, each what plain L2 does in one go.

use serde::Serialize;
use smallvec::SmallVec;
use tresse_base::id::{NodeId, TreeId};

/// One path. `rank` 0 is the primary; its weighted siblings follow, then backups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Source node.
    pub src: NodeId,
    /// Destination node.
    pub dst: NodeId,
    /// 0 for the primary, then its weighted siblings, then backups in order of preference.
    pub rank: u32,
    /// Share of the pair's traffic, of the sum over all its paths; backups carry 0 until something fails.
    pub weight: u32,
    /// The segments in order; one, unless the path has transit nodes.
    pub segments: Segments,
}

/// The segments of a path, in order: mostly one.
pub type Segments = SmallVec<[Segment; 1]>;

/// Leave `from` by its NIC `nic`, tagged with the VID of `tree`, to NIC `to_nic` of `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Segment {
    /// Sending node.
    pub from: NodeId,
    /// Index into its NICs.
    pub nic: usize,
    /// The VLAN tree.
    pub tree: TreeId,
    /// Receiving node.
    pub to: NodeId,
    /// Index into its NICs.
    pub to_nic: usize,
}

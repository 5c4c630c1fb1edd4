//! The paths from one node to another. A path consists of segments: over a segment plain Ethernet carries a frame from
//! one node to the next, and the nodes between segments forward it.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use tresse_base::id::{NodeId, PathId, TreeId};

/// One path from a source node to a destination node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Its source node, its destination node and its rank.
    pub id: PathId,
    /// Share of the pair's traffic, relative to the sum over all its paths; 0 for backups, which carry traffic
    /// only after a failure.
    pub weight: u32,
    /// The segments in order; more than one only if the path has transit nodes.
    pub segments: Segments,
}

/// The segments of a path, in order. Most paths have one.
pub type Segments = SmallVec<[Segment; 1]>;

/// The part of a path that plain Ethernet carries in one go: a frame leaves node `from` by its NIC `nic`, with the VID
/// of the VLAN tree `tree`, and reaches node `to` at its NIC `to_nic`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Segment {
    /// Sending node.
    pub from: NodeId,
    /// Index into its NICs.
    pub nic: usize,
    /// The VLAN tree; [`TreeId::NONE`] if frames are untagged.
    pub tree: TreeId,
    /// Receiving node.
    pub to: NodeId,
    /// Index into its NICs.
    pub to_nic: usize,
}

/// What a path crosses in one direction at one place: out of a NIC, through a channel between two switches, or into a
/// NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Crossing {
    /// Out of a NIC of a node, by its index.
    Out(NodeId, usize),
    /// Between two switches: the plan's number of the directed channel.
    Between(u32),
    /// Into a NIC of a node.
    In(NodeId, usize),
}

//! Paths of an ordered node pair. A path has one or more segments; plain Ethernet carries a frame over one
//! segment without help of a node.

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

/// A part of a path between two nodes: frames leave `from` by its NIC `nic`, tagged with the VID of `tree`,
/// and reach `to` at its NIC `to_nic`.
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

/// What a frame crosses in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Crossing {
    /// Out of a NIC of a node, by its index.
    Out(NodeId, usize),
    /// Between two switches: the plan's number of the directed channel.
    Between(u32),
    /// Into a NIC of a node.
    In(NodeId, usize),
}

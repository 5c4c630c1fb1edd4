//! The ends of cables between nodes.

use serde::Serialize;
use tresse_base::id::NodeId;

/// Identifies a NIC as the end of a cable, by node and index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NicEnd {
    /// The node.
    pub node: NodeId,
    /// Index into the NICs of the node.
    pub nic: usize,
}

/// A cable between two nodes, as the pairs of NICs that it joins. Most cables join one pair; the port of some adapters is
/// two network devices, and a cable between two such ports joins two pairs, which fail together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cable(pub Vec<[NicEnd; 2]>);

//! One hop between nodes that route.

use serde::{Deserialize, Serialize};
use tresse_base::id::NodeId;

/// One hop between nodes that route: the NIC by which a packet leaves a node, the next node, and the NIC by which it
/// arrives there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hop {
    /// Index of the sender's NIC.
    pub nic: usize,
    /// The receiving node.
    pub to: NodeId,
    /// Index of the receiver's NIC.
    pub to_nic: usize,
}

//! What is chosen for one destination.

use serde::{Deserialize, Serialize};

/// Stands for no NIC.
pub(super) const NONE: u16 = u16::MAX;

/// The NICs by which nodes send to one destination, by node; [`NONE`] at the destination itself, and where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Toward {
    /// The primary's next hop.
    pub(super) hop: Vec<u16>,
    /// The next hop while the primary's is unreachable.
    pub(super) spare: Vec<u16>,
    /// The next hop of packets that arrive by the NIC of the primary's next hop.
    pub(super) redirected: Vec<u16>,
}

//! The meaning of an MPLS label at a transit node.

use serde::{Deserialize, Serialize};

use crate::id::Vid;
use crate::units::Mac;

/// The meaning of an MPLS label at a transit node: after the label is popped, the frame leaves by
/// this NIC, on this VID, to this MAC address (DESIGN section 6).
///
/// `N` identifies the NIC: by name, or by index in a forwarding table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelExit<N> {
    /// The NIC that the frame leaves by.
    pub nic: N,
    /// The VID that it leaves on; `None`: without a tag.
    pub vid: Option<Vid>,
    /// MAC address of the NIC that it goes to.
    pub mac: Mac,
}

impl<N> LabelExit<N> {
    /// Returns the same exit with the NIC named otherwise.
    pub fn by<M>(&self, nic: M) -> LabelExit<M> {
        LabelExit { nic, vid: self.vid, mac: self.mac }
    }
}

//! Defines the meaning of an MPLS label at a transit node (a node that forwards frames for other nodes):
//! by which NIC, on which VID and to which MAC address the frame leaves.

use serde::{Deserialize, Serialize};

use crate::id::Vid;
use crate::units::Mac;

/// What a transit node does with a frame that carries a certain MPLS label: it pops the label and sends
/// the frame out of this NIC, on this VID, to this MAC address (DESIGN section 6).
///
/// `N` is the type that identifies the NIC: its name, or its index in a forwarding table.
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

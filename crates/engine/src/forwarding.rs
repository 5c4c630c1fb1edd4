//! What the packet engine is told.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::units::Mac;

/// What the packet engine is to do: nothing where there are no labels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarding {
    /// The NICs that it needs, by name.
    pub nics: BTreeMap<String, ForwardingNic>,
    /// By label: the NIC, the VID (0: untagged) and the neighbour that frames go to.
    pub labels: BTreeMap<u32, (String, u16, Mac)>,
}

/// A NIC of [`Forwarding`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingNic {
    /// Its MAC.
    pub mac: Mac,
    /// Octets of payload that a frame may have.
    pub mtu: u32,
    /// From whom labelled frames are taken, by VID (0: untagged).
    pub neighbours: BTreeSet<(u16, Mac)>,
}

//! The forwarding table of the `packet` engine, with which the daemon instead of the kernel
//! forwards MPLS frames of other nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

/// Forwarding table of the `packet` engine, by which the daemon forwards MPLS frames of other
/// nodes: the NICs to use, and where a frame goes for each incoming label. With no label in the
/// table the engine does not run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarding {
    /// The NICs needed, by name.
    pub nics: BTreeMap<String, ForwardingNic>,
    /// The meaning of each incoming label.
    pub labels: BTreeMap<Label, LabelExit<String>>,
}

/// A NIC in a [`Forwarding`] table: its MAC address, its MTU, and the neighbours from which
/// labelled frames are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingNic {
    /// Its MAC address.
    pub mac: Mac,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// Neighbours from which labelled frames are accepted: VID (`None`: untagged) and MAC address.
    pub neighbours: BTreeSet<(Option<Vid>, Mac)>,
}

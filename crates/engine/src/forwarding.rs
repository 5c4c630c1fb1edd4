//! The forwarding table for the `packet` engine.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

/// The forwarding table of the `packet` engine: NICs and labels. Without labels the engine is not
/// needed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarding {
    /// The NICs needed, by name.
    pub nics: BTreeMap<String, ForwardingNic>,
    /// The meaning of each incoming label.
    pub labels: BTreeMap<Label, LabelExit<String>>,
}

/// A NIC in a [`Forwarding`] table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingNic {
    /// Its MAC address.
    pub mac: Mac,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// Neighbours from which labelled frames are accepted: VID (`None`: untagged) and MAC address.
    pub neighbours: BTreeSet<(Option<Vid>, Mac)>,
}

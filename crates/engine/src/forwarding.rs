//! What the packet engine is told.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::label::LabelExit;
use tresse_base::units::Mac;

/// What the packet engine is to do: nothing where there are no labels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forwarding {
    /// The NICs that it needs, by name.
    pub nics: BTreeMap<String, ForwardingNic>,
    /// What each label means.
    pub labels: BTreeMap<Label, LabelExit<String>>,
}

/// A NIC of [`Forwarding`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingNic {
    /// Its MAC.
    pub mac: Mac,
    /// Octets of payload that a frame may have.
    pub mtu: u32,
    /// From whom labelled frames are taken, each with the VID; `None`: untagged.
    pub neighbours: BTreeSet<(Option<Vid>, Mac)>,
}

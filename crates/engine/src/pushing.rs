//! What the daemon pushes onto what the TUN interface gives it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::units::Mac;

/// What the daemon pushes: nothing where there are no routes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pushing {
    /// The NICs that paths leave by, by name: MAC and octets of payload that a frame may have.
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// By destination: its labelled paths.
    pub routes: BTreeMap<IpAddr, Vec<PushPath>>,
}

/// A labelled path of [`Pushing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushPath {
    /// The NIC it leaves by.
    pub nic: String,
    /// The VLAN it leaves on; `None`: untagged.
    pub vid: Option<Vid>,
    /// The NIC of the first transit node.
    pub mac: Mac,
    /// The label stack, outermost first.
    pub labels: Vec<Label>,
    /// Its share beside other paths to the destination.
    pub weight: u8,
}

impl Pushing {
    /// These routes, and those of `other` for other destinations.
    pub(super) fn over(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.nics.extend(self.nics.clone());
        both.routes.extend(self.routes.clone());
        both
    }
}

//! The table of the source engine, by which the daemon pushes MPLS labels onto packets that it
//! reads from a TUN interface, on nodes whose kernel cannot push labels.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, Vid};
use tresse_base::units::{Mac, Prefix};

/// Table by which the daemon pushes MPLS labels onto this node's own packets, if the kernel cannot:
/// the labelled paths by destination address. Without a destination in the table the daemon pushes
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pushing {
    /// The NICs that paths leave by, by name: MAC address and MTU in bytes.
    pub nics: BTreeMap<String, (Mac, u32)>,
    /// By destination address: its labelled paths.
    pub routes: BTreeMap<IpAddr, Vec<PushPath>>,
    /// The networks behind nodes: the destinations whose paths lead there.
    pub networks: BTreeMap<Prefix, IpAddr>,
}

/// One path in a [`Pushing`] table: the NIC, VID and MAC address to send to, the MPLS labels to
/// push, and the weight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushPath {
    /// The NIC it leaves by.
    pub nic: String,
    /// The VLAN it leaves on; `None`: untagged.
    pub vid: Option<Vid>,
    /// MAC address of the first transit node's NIC.
    pub mac: Mac,
    /// The label stack, outermost first.
    pub labels: Vec<Label>,
    /// Its weight among the paths to the destination.
    pub weight: u8,
}

impl Pushing {
    /// This table, completed with the destinations of `other` that it lacks.
    pub(super) fn over(&self, other: &Self) -> Self {
        let mut both = other.clone();
        both.nics.extend(self.nics.clone());
        both.routes.extend(self.routes.clone());
        both.networks.extend(self.networks.clone());
        both
    }
}

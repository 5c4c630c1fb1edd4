//! A nexthop (interface, gateway, labels and weight) as a member of a nexthop group.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;

/// One nexthop of a nexthop group: interface, gateway, label stack and weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nexthop {
    /// Outgoing interface.
    pub interface: String,
    /// Gateway: the NIC address of the peer or of the first transit node.
    pub via: IpAddr,
    /// MPLS label stack, outermost first; empty for one-segment paths.
    pub labels: Vec<Label>,
    /// Weight in the group, 1 to 255.
    pub weight: u8,
}

//! One nexthop.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;

/// One nexthop of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Leg {
    /// Outgoing interface.
    pub interface: String,
    /// Gateway: the NIC address of the peer (or of the first transit node).
    pub via: IpAddr,
    /// MPLS label stack, outermost first; empty for one-segment paths.
    pub labels: Vec<Label>,
    /// 1 to 255.
    pub weight: u8,
}

impl Leg {
    /// The same way as the only one: what tells ways apart.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self { weight: 1, ..self.clone() }
    }
}

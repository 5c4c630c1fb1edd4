//! A nexthop (interface, gateway, labels and weight) as a member of a nexthop group.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;

/// One nexthop of a nexthop group: interface, gateway, label stack and weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Nexthop {
    /// Outgoing interface.
    pub interface: String,
    /// Gateway: the NIC address of the peer or of the first transit node. Unspecified (0.0.0.0 or ::) if there is none,
    /// because all destinations are on the link.
    pub via: IpAddr,
    /// MPLS label stack, outermost first; empty for one-segment paths.
    pub labels: Vec<Label>,
    /// Weight in the group, 1 to 255.
    pub weight: u8,
}

impl Nexthop {
    /// The nexthop of destinations that are on the link of `interface` themselves.
    #[must_use]
    pub const fn on_link(interface: String, ipv4: bool) -> Self {
        let via = if ipv4 { NONE_V4 } else { NONE_V6 };
        Self { interface, via, labels: Vec::new(), weight: 1 }
    }

    /// Is the destination itself the neighbour that packets are sent to?
    #[must_use]
    pub const fn is_on_link(&self) -> bool {
        self.via.is_unspecified()
    }
}

/// The gateway of a nexthop that has none, of an address family: 2 (AF_INET) or 10 (AF_INET6); `None` of others.
#[must_use]
pub const fn no_gateway(family: u8) -> Option<IpAddr> {
    match family {
        2 => Some(NONE_V4),
        10 => Some(NONE_V6),
        _ => None,
    }
}

const NONE_V4: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const NONE_V6: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

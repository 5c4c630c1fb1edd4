//! The packets that BFD sessions send and receive, as values. The owner of the sockets turns them
//! into bytes.

use std::net::IpAddr;

use tresse_base::id::Label;
use tresse_base::units::Mac;

use crate::{MULTI_HOP_PORT, Packet, SINGLE_HOP_PORT};

/// A packet that a BFD session wants sent, and how: along a planned path, or by the kernel's
/// routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sending {
    /// A frame that follows a planned path, whatever routes are in force (K10).
    Planned(Encapsulation, PacketContent),
    /// A control packet to [`MULTI_HOP_PORT`](crate::MULTI_HOP_PORT), by the routes of the kernel.
    Routed {
        /// From this address.
        source: IpAddr,
        /// To this address.
        destination: IpAddr,
        /// The ends of the path whose session it is of: this node's address and the peer's.
        ends: (IpAddr, IpAddr),
        /// The packet.
        packet: Packet,
    },
}

/// The Ethernet, MPLS and IP headers of a packet that follows a planned path. Both IP addresses are
/// of the same family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encapsulation {
    /// Outgoing interface.
    pub ifindex: u32,
    /// Source MAC address.
    pub from: Mac,
    /// Destination MAC address: that of the first nexthop.
    pub to: Mac,
    /// MPLS label stack, outermost first.
    pub labels: Vec<Label>,
    /// Source IP address.
    pub source: IpAddr,
    /// Destination IP address.
    pub destination: IpAddr,
}

/// The part of a packet after the IP header: a BFD control packet or an ICMP echo request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PacketContent {
    /// A control packet by UDP.
    Control {
        /// Source and destination port.
        ports: (u16, u16),
        /// The packet.
        packet: Packet,
    },
    /// An ICMP echo request.
    Echo(Echo),
}

/// The fields of an ICMP echo request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Identifier, the same for all requests of a daemon.
    pub identifier: u16,
    /// Sequence number within the session.
    pub sequence: u16,
    /// The session's discriminator, which is the data of the request.
    pub session: u32,
}

/// A UDP datagram received on a BFD port.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// Interface on which it arrived.
    pub ifindex: u32,
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The port that it came from.
    pub from: u16,
    /// Its TTL or hop limit.
    pub ttl: u8,
    /// Was it sent to [`MULTI_HOP_PORT`](crate::MULTI_HOP_PORT)?
    pub multi_hop: bool,
    /// Its payload.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    /// The port that it was sent to.
    #[must_use]
    pub const fn port(&self) -> u16 {
        if self.multi_hop { MULTI_HOP_PORT } else { SINGLE_HOP_PORT }
    }
}

/// Why a received datagram or echo reply was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// It is no control packet.
    Malformed,
    /// It came through more routers than a planned path has (RFC 5881 section 5).
    Ttl,
    /// For no session of ours, or none that is planned.
    Unknown,
    /// Not signed by a key of this node.
    Unsigned,
    /// It may be a copy of an older packet.
    Replayed,
}

//! Reads who has sent a frame to all stations, and what for (flat-neighborhood-network-compiler, section 3.4: unintended
//! broadcasts, ARP above all, cripple a network whose switches an uplink joins).

use std::fmt;
use std::net::Ipv4Addr;

use pnet::packet::Packet;
use pnet::packet::arp::{ArpHardwareTypes, ArpPacket};
use pnet::packet::ethernet::{EtherType, EtherTypes, EthernetPacket};
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::Ipv4Packet;
use pnet::packet::udp::UdpPacket;
use tresse_base::units::Mac;

/// So many bytes of a frame say all that is read of it: Ethernet with a VLAN tag, IPv4 with options, UDP.
pub const ENOUGH: usize = 14 + 4 + 60 + 8;

/// A frame to all stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broadcast {
    /// Who has sent it.
    pub source: Mac,
    /// What it is.
    pub kind: BroadcastKind,
}

/// What a frame to all stations is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BroadcastKind {
    /// An ARP request or announcement (RFC 826).
    Arp {
        /// The protocol address that is looked for.
        target: Ipv4Addr,
        /// The protocol address of the sender.
        sender: Ipv4Addr,
    },
    /// A UDP datagram by IPv4 to this port, such as 67 of DHCP.
    Udp(u16),
    /// Something else of this EtherType.
    Other(u16),
}

impl Broadcast {
    /// Reads a frame; `None` if it is none to all stations.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let frame = EthernetPacket::new(frame)?;
        if !frame.get_destination().is_broadcast() {
            return None;
        }
        let other = BroadcastKind::Other(frame.get_ethertype().0);
        let kind = kind(frame.get_ethertype(), frame.payload()).unwrap_or(other);
        Some(Self { source: Mac(frame.get_source().octets()), kind })
    }
}

fn kind(of: EtherType, payload: &[u8]) -> Option<BroadcastKind> {
    match of {
        EtherTypes::Arp => {
            let arp = ArpPacket::new(payload)?;
            let known = arp.get_hardware_type() == ArpHardwareTypes::Ethernet
                && arp.get_protocol_type() == EtherTypes::Ipv4
                && (arp.get_hw_addr_len(), arp.get_proto_addr_len()) == (6, 4);
            let (target, sender) = (arp.get_target_proto_addr(), arp.get_sender_proto_addr());
            known.then_some(BroadcastKind::Arp { target, sender })
        }
        EtherTypes::Ipv4 => {
            let ip = Ipv4Packet::new(payload)?;
            let first = ip.get_fragment_offset() == 0;
            let udp = ip.get_next_level_protocol() == IpNextHeaderProtocols::Udp && first;
            let header = usize::from(ip.get_header_length()) * 4;
            let udp = UdpPacket::new(payload.get(header..).filter(|_| udp && header >= 20)?)?;
            Some(BroadcastKind::Udp(udp.get_destination()))
        }
        _ => None,
    }
}

impl fmt::Display for BroadcastKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arp { target, sender } => write!(f, "ARP of {sender} for {target}"),
            Self::Udp(67) => write!(f, "DHCP"),
            Self::Udp(port) => write!(f, "UDP to port {port}"),
            Self::Other(ethertype) => write!(f, "EtherType 0x{ethertype:04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: u8, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = [[to; 6], [2, 0, 0, 0, 0, 9]].concat();
        frame.extend(ethertype.to_be_bytes());
        frame.extend(payload);
        frame
    }

    #[test]
    fn what_it_is_and_who_sent_it() {
        let arp = [
            &[0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 192, 0, 2, 9][..],
            &[0, 0, 0, 0, 0, 0, 192, 0, 2, 1],
        ]
        .concat();
        let udp =
            [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0][..], &[0; 8], &[0, 68, 0, 67], &[0; 4]];
        let said = |frame: &[u8]| Broadcast::parse(frame).map(|of| of.kind.to_string());
        let says = |text: &str| Some(text.to_owned());
        assert_eq!(said(&frame(255, 0x0806, &arp)), says("ARP of 192.0.2.9 for 192.0.2.1"));
        assert_eq!(said(&frame(255, 0x0800, &udp.concat())), says("DHCP"));
        assert_eq!(said(&frame(255, 0x0800, &udp.concat()[..20])), says("EtherType 0x0800"));
        assert_eq!(said(&frame(255, 0x88b5, &[])), says("EtherType 0x88b5"));
        assert_eq!(said(&frame(1, 0x0806, &arp)), None);
        assert_eq!(said(&[255; 13]), None);
        let source = Broadcast::parse(&frame(255, 0x0806, &arp)).unwrap().source;
        assert_eq!(source, Mac([2, 0, 0, 0, 0, 9]));
    }
}

//! Encodes BFD control packets and ICMP echo requests with the Ethernet, MPLS and IP headers of
//! their path (RFC 5881 section 4, RFC 5883, RFC 3032, RFC 792, RFC 4443).

use std::net::IpAddr;

use pnet::packet::ethernet::{EtherTypes, MutableEthernetPacket};
use pnet::packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet::packet::ipv4::{self, MutableIpv4Packet};
use pnet::packet::ipv6::MutableIpv6Packet;
use pnet::packet::udp::{self, MutableUdpPacket};
use pnet::util::MacAddr;
use tresse_base::id::Label;
use tresse_base::units::Mac;
use tresse_frame::echo;
use tresse_frame::mpls;

use crate::seal::Seal;
use crate::sending::{Echo, Encapsulation, PacketContent};

/// Class selector 6, of network control (RFC 2474).
const DSCP: u8 = 48;
const UDP_HEADER: usize = 8;

/// From whom to whom; both of one family.
type Ends = (IpAddr, IpAddr);

/// The frame of a packet that follows a planned path, signed by `seal`.
pub fn planned(headers: &Encapsulation, content: &PacketContent, seal: &mut Seal) -> Vec<u8> {
    let ends = (headers.source, headers.destination);
    let packet = match content {
        PacketContent::Control { ports, packet } => {
            datagram(ends, *ports, &seal.sign(ends, ports.1, &packet.emit()))
        }
        PacketContent::Echo(echo) => request(*echo, ends),
    };
    ethernet(headers.from, headers.to, &headers.labels, &packet)
}

/// An IP packet with a UDP datagram, TTL 255 (RFC 5881 section 5); `ports`: from and to.
fn datagram(ends: Ends, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let length = UDP_HEADER + payload.len();
    let mut bytes = vec![0; length];
    if let Some(mut udp) = MutableUdpPacket::new(&mut bytes) {
        udp.set_source(ports.0);
        udp.set_destination(ports.1);
        udp.set_length(length as u16);
        udp.set_payload(payload);
        let sum = match ends {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                udp::ipv4_checksum(&udp.to_immutable(), &from, &to)
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                udp::ipv6_checksum(&udp.to_immutable(), &from, &to)
            }
            _ => 0,
        };
        // 0 says that there is none (RFC 768).
        udp.set_checksum(if sum == 0 { 0xffff } else { sum });
    }
    packet(ends, IpNextHeaderProtocols::Udp, &bytes)
}

/// An IP packet with an echo request.
fn request(asked: Echo, ends: Ends) -> Vec<u8> {
    let Echo { identifier, sequence, session } = asked;
    let bytes = echo::request(ends.0, ends.1, identifier, sequence, &session.to_be_bytes());
    let ipv6 = ends.0.is_ipv6();
    packet(
        ends,
        if ipv6 { IpNextHeaderProtocols::Icmpv6 } else { IpNextHeaderProtocols::Icmp },
        &bytes,
    )
}

fn packet((from, to): Ends, protocol: IpNextHeaderProtocol, payload: &[u8]) -> Vec<u8> {
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let length = MutableIpv4Packet::minimum_packet_size() + payload.len();
            let mut bytes = vec![0; length];
            if let Some(mut ip) = MutableIpv4Packet::new(&mut bytes) {
                ip.set_version(4);
                ip.set_header_length(5);
                ip.set_dscp(DSCP);
                ip.set_total_length(length as u16);
                ip.set_flags(ipv4::Ipv4Flags::DontFragment);
                ip.set_ttl(255);
                ip.set_next_level_protocol(protocol);
                ip.set_source(from);
                ip.set_destination(to);
                ip.set_payload(payload);
                ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
            }
            bytes
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let length = MutableIpv6Packet::minimum_packet_size() + payload.len();
            let mut bytes = vec![0; length];
            if let Some(mut ip) = MutableIpv6Packet::new(&mut bytes) {
                ip.set_version(6);
                ip.set_traffic_class(DSCP << 2);
                ip.set_payload_length(payload.len() as u16);
                ip.set_next_header(protocol);
                ip.set_hop_limit(255);
                ip.set_source(from);
                ip.set_destination(to);
                ip.set_payload(payload);
            }
            bytes
        }
        _ => Vec::new(),
    }
}

/// The frame that carries an IP packet to the first neighbour of a path.
fn ethernet(from: Mac, to: Mac, labels: &[Label], packet: &[u8]) -> Vec<u8> {
    let ethertype = match (labels.is_empty(), packet.first().map(|byte| byte >> 4)) {
        (false, _) => EtherTypes::Mpls,
        (true, Some(6)) => EtherTypes::Ipv6,
        (true, _) => EtherTypes::Ipv4,
    };
    let header = MutableEthernetPacket::minimum_packet_size();
    let mut frame = vec![0; header];
    if let Some(mut ethernet) = MutableEthernetPacket::new(&mut frame) {
        ethernet.set_destination(MacAddr::from(to.0));
        ethernet.set_source(MacAddr::from(from.0));
        ethernet.set_ethertype(ethertype);
    }
    frame.extend(mpls::stack(labels, DSCP >> 3, 255));
    frame.extend(packet);
    frame
}

#[cfg(test)]
mod tests {
    use pnet::packet::Packet as _;
    use pnet::packet::ipv4::Ipv4Packet;
    use pnet::packet::udp::UdpPacket;

    use super::*;

    fn ends(ipv4: bool) -> Ends {
        match ipv4 {
            true => ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            false => ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap()),
        }
    }

    #[test]
    fn a_datagram_has_sound_checksums_and_ttl_255() {
        let bytes = datagram(ends(true), (50_000, 3784), b"payload");
        let ip = Ipv4Packet::new(&bytes).unwrap();
        assert_eq!((ip.get_ttl(), ip.get_total_length()), (255, 35));
        assert_eq!(ipv4::checksum(&ip), ip.get_checksum());
        let udp = UdpPacket::new(ip.payload()).unwrap();
        assert_eq!((udp.get_source(), udp.get_destination()), (50_000, 3784));
        assert_eq!(udp.payload(), b"payload");
        let bytes = datagram(ends(false), (50_000, 4784), b"payload");
        assert_eq!((bytes[0] >> 4, bytes[7], bytes.len()), (6, 255, 40 + 8 + 7));
    }

    #[test]
    fn labels_come_before_the_packet() {
        let (from, to) = (Mac([1; 6]), Mac([2; 6]));
        let packet = datagram(ends(true), (50_000, 4784), &[]);
        let plain = ethernet(from, to, &[], &packet);
        assert_eq!(plain[..14], [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 8, 0]);
        let labelled = ethernet(from, to, &[Label(16), Label(17)], &packet);
        assert_eq!(labelled[12..22], [0x88, 0x47, 0, 1, 0x0c, 255, 0, 1, 0x1d, 255]);
        assert_eq!(labelled[22..], packet);
        let (source, destination) = ends(true);
        let headers =
            Encapsulation { ifindex: 1, from, to, labels: vec![Label(16)], source, destination };
        let echo = Echo { identifier: 7, sequence: 9, session: 5 };
        let mut seal = Seal::new(Box::new(|| 1));
        let echoed = planned(&headers, &PacketContent::Echo(echo), &mut seal);
        assert_eq!(echoed[..14], labelled[..14]);
        assert_eq!(echoed[18..], request(echo, ends(true)));
        let ipv6 = ethernet(from, to, &[], &datagram(ends(false), (1, 2), &[]));
        assert_eq!(ipv6[12..14], [0x86, 0xdd]);
    }
}

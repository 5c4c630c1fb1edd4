//! Decodes received frames: BFD control packets in UDP, and answers to echoes. They come before the kernel's own checks
//! of IP and UDP, so all that the kernel would check of them is checked here, but for `rp_filter` and netfilter.
//!
//! A frame begins with a `struct virtio_net_hdr` (10 bytes, include/uapi/linux/virtio_net.h) and its Ethernet header,
//! without VLAN tag. The first byte of the former tells whether the checksum behind the IP header is not computed yet:
//! so it is with what the host at the other end of a veth or virtio cable leaves to hardware.

use std::net::IpAddr;

use pnet::packet::icmp::{self, IcmpPacket};
use pnet::packet::icmpv6::{self, Icmpv6Packet};
use pnet::packet::ip::{IpNextHeaderProtocol, IpNextHeaderProtocols};
use pnet::packet::ipv4::{self, Ipv4Flags, Ipv4Packet};
use pnet::packet::ipv6::Ipv6Packet;
use pnet::packet::udp::{self, UdpPacket};
use tresse_frame::echo::{self, EchoReply};

use crate::sending::{Datagram, Echo};
use crate::{MULTI_HOP_PORT, SINGLE_HOP_PORT};

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// Bytes of an IPv6 header.
pub const IPV6: usize = 40;
/// Bytes of a `struct virtio_net_hdr`.
const OFFLOAD: usize = 10;
const NEEDS_CHECKSUM: u8 = 1;
const UDP: usize = 8;

/// What came in.
#[derive(Debug)]
pub enum Arrival<'a> {
    /// A control packet, whose content is not looked at yet.
    Control(Datagram<'a>),
    /// The answer to an echo of ours, or of another program's.
    Echo(Echo),
}

/// An IP packet without its header.
struct Packet<'a> {
    source: IpAddr,
    destination: IpAddr,
    ttl: u8,
    protocol: IpNextHeaderProtocol,
    payload: &'a [u8],
}

/// What a frame carries that came in on an interface; none if it is no packet of BFD, or damaged.
pub fn decode(bytes: &[u8], ifindex: u32) -> Option<Arrival<'_>> {
    let complete = bytes.first()? & NEEDS_CHECKSUM == 0;
    let bytes = bytes.get(OFFLOAD + ETHERNET..)?;
    let packet = match bytes.first()? >> 4 {
        4 => from_ipv4(bytes)?,
        6 => from_ipv6(bytes)?,
        _ => return None,
    };
    match packet.protocol {
        IpNextHeaderProtocols::Udp => datagram(&packet, complete, ifindex).map(Arrival::Control),
        IpNextHeaderProtocols::Icmp | IpNextHeaderProtocols::Icmpv6 => {
            answer(&packet, complete).map(Arrival::Echo)
        }
        _ => None,
    }
}

fn from_ipv4(bytes: &[u8]) -> Option<Packet<'_>> {
    let ip = Ipv4Packet::new(bytes)?;
    let header = usize::from(ip.get_header_length()) * 4;
    let is_fragment =
        ip.get_flags() & Ipv4Flags::MoreFragments != 0 || ip.get_fragment_offset() != 0;
    if header < Ipv4Packet::minimum_packet_size() || header > bytes.len() || is_fragment {
        return None;
    }
    (ipv4::checksum(&ip) == ip.get_checksum()).then_some(Packet {
        source: ip.get_source().into(),
        destination: ip.get_destination().into(),
        ttl: ip.get_ttl(),
        protocol: ip.get_next_level_protocol(),
        payload: bytes.get(header..ip.get_total_length().into())?,
    })
}

fn from_ipv6(bytes: &[u8]) -> Option<Packet<'_>> {
    let ip = Ipv6Packet::new(bytes)?;
    let payload = bytes.get(IPV6..)?.get(..ip.get_payload_length().into())?;
    Some(Packet {
        source: ip.get_source().into(),
        destination: ip.get_destination().into(),
        ttl: ip.get_hop_limit(),
        protocol: ip.get_next_header(),
        payload,
    })
}

fn datagram<'a>(packet: &Packet<'a>, complete: bool, ifindex: u32) -> Option<Datagram<'a>> {
    let length = UdpPacket::new(packet.payload)?.get_length().into();
    let bytes = packet.payload.get(..length)?;
    let udp = UdpPacket::new(bytes)?;
    let multi_hop = match udp.get_destination() {
        SINGLE_HOP_PORT => false,
        MULTI_HOP_PORT => true,
        _ => return None,
    };
    // IPv4 may go without (RFC 768), IPv6 may not (RFC 8200, section 8.1).
    let absent = udp.get_checksum() == 0 && packet.source.is_ipv4();
    if complete && !absent {
        let sum = match (packet.source, packet.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => udp::ipv4_checksum(&udp, &from, &to),
            (IpAddr::V6(from), IpAddr::V6(to)) => udp::ipv6_checksum(&udp, &from, &to),
            _ => return None,
        };
        if udp.get_checksum() != if sum == 0 { 0xffff } else { sum } {
            return None;
        }
    }
    let Packet { source, destination, ttl, .. } = *packet;
    let (from, payload) = (udp.get_source(), &bytes[UDP..]);
    Some(Datagram { ifindex, source, destination, from, ttl, multi_hop, payload })
}

/// An answer to an echo of BFD: its data are the number of a session.
fn answer(packet: &Packet<'_>, complete: bool) -> Option<Echo> {
    let bytes = packet.payload;
    let EchoReply { identifier, sequence, data } = echo::message(bytes, packet.source.is_ipv4())?;
    let session = u32::from_be_bytes(*data.first_chunk()?);
    let sound = match (packet.source, packet.destination) {
        _ if !complete => true,
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let icmp = Icmpv6Packet::new(bytes)?;
            icmpv6::checksum(&icmp, &from, &to) == icmp.get_checksum()
        }
        _ => {
            let icmp = IcmpPacket::new(bytes)?;
            icmp::checksum(&icmp) == icmp.get_checksum()
        }
    };
    sound.then_some(Echo { identifier, sequence, session })
}

#[cfg(test)]
mod tests {
    use crate::sending::{Encapsulation, PacketContent};
    use crate::{Seal, packet};
    use tresse_base::units::Mac;

    use super::super::frame;
    use super::*;

    const V4: [&str; 2] = ["10.0.0.1", "10.0.0.2"];
    const V6: [&str; 2] = ["fd00::1", "fd00::2"];

    /// As the kernel gives the frame of a packet from the first to the second of `ends`.
    fn frame(ends: [&str; 2], content: &PacketContent) -> Vec<u8> {
        let [source, destination] = ends.map(|end| end.parse().unwrap());
        let headers = Encapsulation {
            ifindex: 1,
            from: Mac([1; 6]),
            to: Mac([2; 6]),
            labels: Vec::new(),
            source,
            destination,
        };
        let mut seal = Seal::new(Box::new(|| 1));
        [vec![0; OFFLOAD], frame::planned(&headers, content, &mut seal)].concat()
    }

    fn control(port: u16) -> PacketContent {
        let mut bytes = [0; 24];
        // Version 1, state Up, multiplier 3, length, and two numbers of sessions.
        bytes[..12].copy_from_slice(&[0x20, 0xc0, 3, 24, 0, 0, 0, 1, 0, 0, 0, 2]);
        let packet = packet::Packet::parse(&bytes).unwrap();
        PacketContent::Control { ports: (50_000, port), packet }
    }

    #[test]
    fn what_we_send_is_read_again() {
        for ends in [V4, V6] {
            for port in [SINGLE_HOP_PORT, MULTI_HOP_PORT] {
                let bytes = frame(ends, &control(port));
                let Some(Arrival::Control(read)) = decode(&bytes, 7) else { panic!("{ends:?}") };
                let [source, destination] = ends.map(|end| end.parse::<IpAddr>().unwrap());
                assert_eq!((read.source, read.destination), (source, destination));
                assert_eq!((read.ifindex, read.ttl), (7, 255));
                assert_eq!(read.multi_hop, port == MULTI_HOP_PORT);
                let PacketContent::Control { packet, .. } = control(port) else { unreachable!() };
                assert_eq!(read.payload, packet.emit());
            }
            assert!(decode(&frame(ends, &control(3785)), 7).is_none(), "another port");
        }
    }

    #[test]
    fn padding_of_short_frames_is_left_out() {
        let mut bytes = frame(V4, &control(SINGLE_HOP_PORT));
        bytes.extend([0xff; 8]);
        let Some(Arrival::Control(read)) = decode(&bytes, 7) else { panic!() };
        assert_eq!(read.payload.len(), 24);
    }

    #[test]
    fn an_answer_is_read_and_a_request_is_not() {
        let echo = Echo { identifier: 7, sequence: 9, session: 0x0102_0304 };
        for (ends, header, kind) in [(V4, 20, 0), (V6, IPV6, 129)] {
            let mut bytes = frame(ends, &PacketContent::Echo(echo));
            assert!(decode(&bytes, 7).is_none());
            let at = OFFLOAD + ETHERNET + header;
            // The sum is of ones' complement: what the type falls by, the checksum rises by.
            let change = (i32::from(bytes[at]) - kind) << 8;
            let sum = i32::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]])) + change;
            bytes[at] = kind as u8;
            let sum = ((sum & 0xffff) + (sum >> 16)) as u16;
            bytes[at + 2..at + 4].copy_from_slice(&sum.to_be_bytes());
            let Some(Arrival::Echo(read)) = decode(&bytes, 7) else { panic!("{ends:?}") };
            assert_eq!(read, echo);
        }
    }

    /// But for bits of the Ethernet header, and of what IPv6 covers by no checksum, every bit counts.
    #[test]
    fn a_damaged_frame_is_dropped() {
        let bytes = frame(V4, &control(SINGLE_HOP_PORT));
        for bit in (OFFLOAD + ETHERNET) * 8..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged, 7).is_none(), "bit {bit}");
        }
        let bytes = frame(V6, &control(SINGLE_HOP_PORT));
        for bit in (OFFLOAD + ETHERNET + 8) * 8..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged, 7).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], 7).is_none(), "{length}");
        }
    }

    /// The kernel at the other end of a cable between network namespaces leaves the checksum to hardware.
    #[test]
    fn an_unfinished_checksum_is_not_judged() {
        let mut bytes = frame(V4, &control(SINGLE_HOP_PORT));
        bytes[OFFLOAD + ETHERNET + 26] ^= 1;
        assert!(decode(&bytes, 7).is_none());
        bytes[0] = NEEDS_CHECKSUM;
        assert!(decode(&bytes, 7).is_some());
    }
}

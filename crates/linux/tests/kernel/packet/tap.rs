//! The far end of a cable: sends any bytes, and reads what arrives with its tag.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use pnet::packet::Packet as _;
use pnet::packet::ethernet::{EtherTypes, EthernetPacket, MutableEthernetPacket};
use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::udp::{self, MutableUdpPacket, UdpPacket};
use pnet::packet::vlan::MutableVlanPacket;
use pnet::util::MacAddr;
use socket2::{Domain, Protocol, Socket, Type};
use tresse_base::id::Label;
use tresse_base::units::Mac;
use tresse_frame::forward::OFFLOAD_HEADER;
use tresse_frame::mpls;
use tresse_linux::sys::packet;
use tresse_linux::sys::ring::PacketRing;

/// Bytes of an IPv4 header without options.
const IPV4: usize = 20;
/// Bytes of a UDP header.
const UDP: usize = 8;

/// The MAC of eth0 or eth1.
pub fn own(nic: usize) -> Mac {
    tresse_linux::kernel::nic(&format!("eth{nic}")).unwrap().mac.unwrap()
}

/// Somebody on the fabric.
pub fn peer(n: u8) -> Mac {
    Mac([2, 0x77, 0, 0, 0, n])
}

/// A labelled UDP packet.
#[derive(Clone)]
pub struct Sent<'a> {
    pub to: Mac,
    pub from: Mac,
    pub vid: Option<u16>,
    pub labels: &'a [u32],
    pub ttl: u8,
    pub sequence: u32,
    /// Bytes of the UDP payload, at least 8.
    pub length: usize,
}

impl Sent<'_> {
    /// Without tag and labels, from neighbour 1.
    pub fn new(to: Mac, sequence: u32) -> Self {
        Self { to, from: peer(1), vid: None, labels: &[], ttl: 64, sequence, length: 18 }
    }

    /// Offload header and frame, all checksums right.
    pub fn frame(&self) -> Vec<u8> {
        let (mut frame, at) = self.bytes();
        let ip = Ipv4Packet::new(&frame[at - IPV4..]).unwrap();
        let sum = udp_checksum(&ip);
        MutableUdpPacket::new(&mut frame[at..]).unwrap().set_checksum(sum);
        frame
    }

    /// The same with the UDP checksum left to do: the kernel has summed the pseudo header.
    pub fn with_checksum_left(&self) -> Vec<u8> {
        let (mut frame, at) = self.bytes();
        let sum = sum(&frame[at - 8..at]) + 17 + sum(&frame[at + 4..at + 6]);
        frame[at + 6..at + 8].copy_from_slice(&fold(sum).to_be_bytes());
        frame[0] = 1;
        frame[6..8].copy_from_slice(&((at - OFFLOAD_HEADER) as u16).to_ne_bytes());
        frame[8..10].copy_from_slice(&6_u16.to_ne_bytes());
        frame
    }

    /// Without UDP checksum, and where the UDP header begins.
    fn bytes(&self) -> (Vec<u8>, usize) {
        let mut frame = vec![0; OFFLOAD_HEADER + MutableEthernetPacket::minimum_packet_size()];
        let mut ethernet = MutableEthernetPacket::new(&mut frame[OFFLOAD_HEADER..]).unwrap();
        ethernet.set_destination(MacAddr::from(self.to.0));
        ethernet.set_source(MacAddr::from(self.from.0));
        ethernet.set_ethertype(match self.vid {
            Some(_) => EtherTypes::Vlan,
            None => EtherTypes::Mpls,
        });
        if let Some(vid) = self.vid {
            let mut tag = [0; 4];
            let mut vlan = MutableVlanPacket::new(&mut tag).unwrap();
            vlan.set_vlan_identifier(vid);
            vlan.set_ethertype(EtherTypes::Mpls);
            frame.extend(tag);
        }
        let labels: Vec<_> = self.labels.iter().copied().map(Label).collect();
        frame.extend(mpls::stack(&labels, 0, self.ttl));
        let start = frame.len();
        let at = start + IPV4;
        frame.resize(at + UDP + self.length, self.sequence as u8);
        frame[start..at + UDP].fill(0);
        let mut ip = MutableIpv4Packet::new(&mut frame[start..]).unwrap();
        ip.set_version(4);
        ip.set_header_length(5);
        ip.set_total_length((IPV4 + UDP + self.length) as u16);
        ip.set_ttl(200);
        ip.set_next_level_protocol(IpNextHeaderProtocols::Udp);
        ip.set_source([10, 9, 0, 1].into());
        ip.set_destination([10, 9, 0, 2].into());
        ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
        let mut udp = MutableUdpPacket::new(&mut frame[at..]).unwrap();
        udp.set_source(0x1234);
        udp.set_destination(0x5678);
        udp.set_length((UDP + self.length) as u16);
        frame[at + UDP..at + UDP + 4].copy_from_slice(&self.sequence.to_be_bytes());
        (frame, at)
    }
}

/// A frame as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub to: Mac,
    pub from: Mac,
    pub vid: Option<u16>,
    pub ethertype: u16,
    pub ttl: u8,
    pub sequence: u32,
    /// The offload header.
    header: Vec<u8>,
    /// Behind the Ethernet header.
    packet: Vec<u8>,
}

impl Seen {
    fn parse(bytes: &[u8], tag: Option<(u16, u16)>) -> Option<Self> {
        let (header, frame) = bytes.split_at_checked(OFFLOAD_HEADER)?;
        let ethernet = EthernetPacket::new(frame)?;
        let ethertype = ethernet.get_ethertype();
        matches!(ethertype, EtherTypes::Ipv4 | EtherTypes::Mpls).then_some(())?;
        let packet = ethernet.payload();
        let number = packet.get(IPV4 + UDP..).and_then(|p| p.first_chunk());
        Some(Self {
            to: Mac(ethernet.get_destination().octets()),
            from: Mac(ethernet.get_source().octets()),
            vid: tag.map(|(tpid, vid)| if tpid == EtherTypes::Vlan.0 { vid } else { u16::MAX }),
            ethertype: ethertype.0,
            ttl: packet[8],
            sequence: u32::from_be_bytes(*number?),
            header: header.to_vec(),
            packet: packet.to_vec(),
        })
    }

    /// Its label stack, each with its TTL.
    pub fn labels(&self) -> Vec<(u32, u8)> {
        if self.ethertype != EtherTypes::Mpls.0 {
            return Vec::new();
        }
        mpls::entries(&self.packet).iter().map(|entry| (entry.label.0, entry.ttl)).collect()
    }

    /// What is behind its Ethernet header.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// The last byte of its packet.
    pub fn last_byte(&self) -> u8 {
        self.packet.last().copied().unwrap_or_default()
    }

    /// Are the checksums of header and content right?
    pub fn is_sound(&self) -> bool {
        let ip = Ipv4Packet::new(&self.packet).unwrap();
        ipv4::checksum(&ip) == ip.get_checksum() && has_right_udp_checksum(&ip)
    }

    /// Is the UDP checksum right once what is left to the NIC is done?
    pub fn has_right_udp_checksum(&self) -> bool {
        let mut frame = [&[0; 14], &self.packet[..]].concat();
        if self.header[0] & 1 != 0 {
            let number =
                |at: usize| usize::from(u16::from_ne_bytes([self.header[at], self.header[at + 1]]));
            let (start, offset) = (number(6), number(8));
            let done = !fold(sum(&frame[start..]));
            frame[start + offset..start + offset + 2].copy_from_slice(&done.to_be_bytes());
        }
        let packet = &frame[14 + mpls::ENTRY_LEN * self.labels().len()..];
        has_right_udp_checksum(&Ipv4Packet::new(packet).unwrap())
    }
}

/// One end of a cable.
pub struct Tap {
    socket: Socket,
    ring: PacketRing,
}

impl Tap {
    pub fn open(interface: &str) -> Self {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).unwrap();
        packet::ignore_outgoing(socket.as_fd()).unwrap();
        packet::offload_header(socket.as_fd()).unwrap();
        let ring = PacketRing::map(socket.as_fd(), 2048, 4096).unwrap();
        let index = nix::net::if_::if_nametoindex(interface).unwrap();
        packet::bind(socket.as_fd(), index, 3).unwrap();
        Self { socket, ring }
    }

    /// Sends frames, each behind its offload header.
    pub fn send(&self, frames: &[Vec<u8>]) {
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let mut sent = 0;
        while sent < frames.len() {
            match packet::send_many(self.socket.as_fd(), &frames[sent..]) {
                Ok(more) => sent += more,
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => std::thread::yield_now(),
                Err(e) => panic!("send: {e}"),
            }
        }
    }

    /// What has arrived of IP and labelled frames, in order.
    pub fn take(&mut self) -> Vec<Seen> {
        let mut count = 0;
        let counted = self.ring.frames(64).inspect(|_| count += 1);
        let seen = counted.filter_map(|slot| Seen::parse(slot.bytes, slot.tag)).collect();
        self.ring.release(count);
        seen
    }

    /// Waits for `count` frames, and a little longer for none beyond.
    pub fn expect(&mut self, count: usize) -> Vec<Seen> {
        let mut seen = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(60);
        while seen.len() < count && Instant::now() < deadline {
            seen.extend(self.take());
            std::thread::yield_now();
        }
        let quiet = Instant::now() + Duration::from_millis(20);
        while Instant::now() < quiet {
            seen.extend(self.take());
            std::thread::yield_now();
        }
        assert_eq!(seen.len(), count, "{seen:?}");
        seen
    }
}

/// Sums big-endian words, as far as the kernel does it before it leaves the rest to a NIC.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn udp_checksum(ip: &Ipv4Packet<'_>) -> u16 {
    let udp = UdpPacket::new(ip.payload()).unwrap();
    udp::ipv4_checksum(&udp, &ip.get_source(), &ip.get_destination())
}

fn has_right_udp_checksum(ip: &Ipv4Packet<'_>) -> bool {
    UdpPacket::new(ip.payload()).unwrap().get_checksum() == udp_checksum(ip)
}

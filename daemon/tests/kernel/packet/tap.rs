//! The far end of a cable: sends any bytes, and reads what arrives with its tag.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use tresse_fabric::id::Label;
use tresse_fabric::units::Mac;
use tresse_fabric::wire::mpls::Entry;
use tressed::sys::packet;
use tressed::sys::ring::{OFFLOAD_HEADER, Ring};

/// The MAC of eth0 or eth1.
pub fn own(nic: usize) -> Mac {
    tressed::kernel::nic(&format!("eth{nic}")).unwrap().mac.unwrap()
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
    /// Octets of the UDP payload, at least 8.
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
        let sum = !udp_sum(&frame[at - 20..]);
        frame[at + 6..at + 8].copy_from_slice(&sum.to_be_bytes());
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
        let mut frame = vec![0; OFFLOAD_HEADER];
        frame.extend(self.to.0);
        frame.extend(self.from.0);
        if let Some(vid) = self.vid {
            frame.extend([0x81, 0]);
            frame.extend(vid.to_be_bytes());
        }
        frame.extend([0x88, 0x47]);
        for (n, label) in self.labels.iter().enumerate() {
            let bottom = n + 1 == self.labels.len();
            let entry = Entry { label: Label(*label), class: 0, bottom, ttl: self.ttl };
            frame.extend(entry.emit());
        }
        let total = (28 + self.length) as u16;
        let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 200, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        let header = !fold(sum(&ip));
        ip[10..12].copy_from_slice(&header.to_be_bytes());
        frame.extend(ip);
        let at = frame.len();
        frame.extend([0x12, 0x34, 0x56, 0x78]);
        frame.extend((total - 20).to_be_bytes());
        frame.extend([0, 0]);
        frame.extend(self.sequence.to_be_bytes());
        frame.resize(at + 8 + self.length, self.sequence as u8);
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
        let mac = |at: usize| Some(Mac(*frame.get(at..)?.first_chunk()?));
        let packet = frame.get(14..)?;
        let number = packet.get(28..).and_then(|p| p.first_chunk());
        let ethertype = u16::from_be_bytes(*frame[12..].first_chunk()?);
        matches!(ethertype, 0x0800 | 0x8847).then_some(())?;
        Some(Self {
            to: mac(0)?,
            from: mac(6)?,
            vid: tag.map(|(tpid, vid)| if tpid == 0x8100 { vid } else { u16::MAX }),
            ethertype,
            ttl: packet[8],
            sequence: u32::from_be_bytes(*number?),
            header: header.to_vec(),
            packet: packet.to_vec(),
        })
    }

    /// Its label stack, each with its TTL.
    pub fn labels(&self) -> Vec<(u32, u8)> {
        let mut labels: Vec<(bool, u32, u8)> = Vec::new();
        let mut entries = self.packet.chunks_exact(4).filter_map(Entry::parse);
        while self.ethertype == 0x8847 && labels.last().is_none_or(|(bottom, ..)| !bottom) {
            let Some(entry) = entries.next() else { break };
            labels.push((entry.bottom, entry.label.0, entry.ttl));
        }
        labels.into_iter().map(|(_, label, ttl)| (label, ttl)).collect()
    }

    /// The last octet of its packet.
    pub fn last_octet(&self) -> u8 {
        self.packet.last().copied().unwrap_or_default()
    }

    /// Are the checksums of header and content right?
    pub fn is_sound(&self) -> bool {
        let udp = udp_sum(&self.packet[..usize::from(self.packet[3])]);
        fold(sum(&self.packet[..20])) == 0xffff && udp == 0xffff
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
        let packet = &frame[14 + 4 * self.labels().len()..];
        let length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        udp_sum(&packet[..length]) == 0xffff
    }
}

/// One end of a cable.
pub struct Tap {
    socket: Socket,
    ring: Ring,
}

impl Tap {
    pub fn open(interface: &str) -> Self {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).unwrap();
        packet::ignore_outgoing(socket.as_fd()).unwrap();
        packet::offload_header(socket.as_fd()).unwrap();
        let ring = Ring::map(socket.as_fd(), 2048, 4096).unwrap();
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
        let deadline = Instant::now() + Duration::from_secs(5);
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

/// Sums big-endian words.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | u64::from(*w.get(1).unwrap_or(&0))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Over pseudo header, UDP header and payload of an IPv4 packet without options; 0xffff when right.
fn udp_sum(packet: &[u8]) -> u16 {
    fold(sum(&packet[12..20]) + 17 + packet.len() as u64 - 20 + sum(&packet[20..]))
}

//! Puts TCP segments of one flow that follow each other into one frame again, which the kernel, or the NIC, cuts into
//! exactly these segments (generic receive offload): a frame costs less to send than each of its segments.
//!
//! The rules are those of Linux (net/ipv4/tcp_offload.c, `tcp_gro_receive`; net/ipv4/af_inet.c, `inet_gro_receive`), and
//! stricter in one: IPv4 identifications have to rise by one, as they will when the frame is cut. A checksum that is
//! not known to be right is computed, so that a damaged segment goes on by itself and damaged.

use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::ipv6::{Ipv6Packet, MutableIpv6Packet};
use pnet::packet::tcp::{MutableTcpPacket, TcpFlags, TcpPacket};

/// Bytes of the longest headers: Ethernet with a tag, IPv6, TCP with options.
pub const MOST_HEADERS: usize = 18 + 40 + 60;

/// Segments that go as one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// How many.
    pub segments: usize,
    /// Bytes of the headers of each, from the Ethernet header on; behind them is the payload.
    pub headers: usize,
    /// Where TCP's header begins.
    pub transport: usize,
    /// Bytes of payload of each but the last, which may have less.
    pub size: usize,
    /// IPv6? Otherwise IPv4.
    pub ipv6: bool,
    /// Bytes of payload in all.
    payload: usize,
    /// Does the last one end what an application wrote?
    push: bool,
}

/// A segment: where its headers end, and what has to go on in the next one.
#[derive(Debug, Clone, Copy)]
struct Segment {
    network: usize,
    transport: usize,
    headers: usize,
    payload: usize,
    sequence: u32,
    number: u16,
    push: bool,
}

const C_TAG: u16 = 0x8100;
const S_TAG: u16 = 0x88a8;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl Merged {
    /// The first of these frames (from their Ethernet headers on), as many as can go as one; `None` if that is not two
    /// at least. Beside each frame: is its checksum known to be right, or left to be done?
    pub fn of<'f>(frames: impl IntoIterator<Item = (&'f [u8], bool)>) -> Option<Self> {
        let mut frames = frames.into_iter();
        let (first, known) = frames.next()?;
        let start = Segment::of(first)?;
        let Segment { network, transport, headers, payload: size, .. } = start;
        let ipv6 = transport - network == Ipv6Packet::minimum_packet_size();
        let mut merged =
            Self { segments: 1, headers, transport, size, ipv6, payload: size, push: start.push };
        let (mut last, mut checked) = (start, known);
        for (frame, known) in frames {
            let full = merged.headers - network + merged.payload;
            let next = Segment::of(frame).filter(|next| {
                last.payload == size
                    && !last.push
                    && next.payload <= size
                    && full + next.payload <= usize::from(u16::MAX)
                    && next.sequence == last.sequence.wrapping_add(last.payload as u32)
                    && (ipv6 || next.number == last.number.wrapping_add(1))
                    && start.is_like(first, *next, frame)
            });
            let Some(next) = next else { break };
            // Of a frame that goes by itself nobody asks for the checksum here.
            if !checked && !start.is_sound(first) || !known && !next.is_sound(frame) {
                break;
            }
            checked = true;
            merged.segments += 1;
            merged.payload += next.payload;
            merged.push = next.push;
            last = next;
        }
        (merged.segments > 1).then_some(merged)
    }

    /// Writes the headers of the frame, made of those of the first segment. TCP's checksum is left to be done: it is the
    /// sum of the pseudo header.
    ///
    /// # Panics
    /// If `first` is not the first of the segments, or `to` is shorter than their headers.
    pub fn write_headers(&self, first: &[u8], to: &mut [u8]) {
        let to = &mut to[..self.headers];
        to.copy_from_slice(&first[..self.headers]);
        let (network, tcp) = to.split_at_mut(self.transport);
        let ip = self.transport - if self.ipv6 { 40 } else { 20 };
        let length = tcp.len() + self.payload;
        let sum = if self.ipv6 {
            if let Some(mut header) = MutableIpv6Packet::new(&mut network[ip..]) {
                header.set_payload_length(length as u16);
            }
            sum(&network[ip + 8..ip + 40])
        } else {
            if let Some(mut header) = MutableIpv4Packet::new(&mut network[ip..]) {
                header.set_total_length((20 + length) as u16);
                header.set_checksum(ipv4::checksum(&header.to_immutable()));
            }
            sum(&network[ip + 12..ip + 20])
        };
        let Some(mut header) = MutableTcpPacket::new(tcp) else { return };
        if self.push {
            header.set_flags(header.get_flags() | TcpFlags::PSH);
        }
        header.set_checksum(folded(sum + PROTOCOL + length as u64));
    }
}

/// TCP's number in the pseudo header.
const PROTOCOL: u64 = IpNextHeaderProtocols::Tcp.0 as u64;

impl Segment {
    /// A frame with data of TCP alone; `None` for all others.
    #[inline]
    fn of(frame: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let (network, ethertype) = match word(12)? {
            C_TAG | S_TAG => (18, word(16)?),
            ethertype => (14, ethertype),
        };
        let packet = frame.get(network..)?;
        let (transport, number) = match ethertype {
            IPV4 => {
                let ip = Ipv4Packet::new(packet)?;
                let header = packet.get(..Ipv4Packet::minimum_packet_size())?;
                let whole = packet[0] == 0x45
                    && folded(sum(header)) == u16::MAX
                    && usize::from(ip.get_total_length()) == packet.len()
                    // Neither a fragment nor followed by one.
                    && packet[6] & 0xbf == 0 && packet[7] == 0
                    && ip.get_next_level_protocol() == IpNextHeaderProtocols::Tcp;
                (whole.then_some(network + 20)?, ip.get_identification())
            }
            IPV6 => {
                let ip = Ipv6Packet::new(packet)?;
                let whole = packet[0] >> 4 == 6
                    && usize::from(ip.get_payload_length()) + 40 == packet.len()
                    && ip.get_next_header() == IpNextHeaderProtocols::Tcp;
                (whole.then_some(network + 40)?, 0)
            }
            _ => return None,
        };
        let tcp = TcpPacket::new(&frame[transport..])?;
        let length = usize::from(tcp.get_data_offset()) * 4;
        let headers = transport + length;
        let plain = tcp.get_flags() & !TcpFlags::PSH == TcpFlags::ACK
            && tcp.get_reserved() == 0
            && length >= TcpPacket::minimum_packet_size();
        let payload = frame.len().checked_sub(headers).filter(|payload| plain && *payload > 0)?;
        Some(Self {
            network,
            transport,
            headers,
            payload,
            sequence: tcp.get_sequence(),
            number,
            push: tcp.get_flags() & TcpFlags::PSH != 0,
        })
    }

    /// Do the headers of another segment differ from those of this one only in what changes from one to the next?
    #[inline]
    fn is_like(&self, own: &[u8], other: Self, theirs: &[u8]) -> bool {
        if (self.network, self.transport, self.headers)
            != (other.network, other.transport, other.headers)
        {
            return false;
        }
        let same = |from: usize, to: usize| own[from..to] == theirs[from..to];
        let (network, tcp) = (self.network, self.transport);
        let ip = match tcp - network {
            // But the length, the number and the checksum.
            20 => {
                same(network, network + 2)
                    && same(network + 6, network + 10)
                    && same(network + 12, tcp)
            }
            _ => same(network, network + 4) && same(network + 6, tcp),
        };
        // But the sequence, the flags (both have been looked at) and the checksum.
        ip && same(0, network)
            && same(tcp, tcp + 4)
            && same(tcp + 8, tcp + 13)
            && same(tcp + 14, tcp + 16)
            && same(tcp + 18, self.headers)
    }

    /// Is TCP's checksum right?
    #[inline]
    fn is_sound(&self, frame: &[u8]) -> bool {
        let addresses = match self.transport - self.network {
            20 => self.network + 12,
            _ => self.network + 8,
        };
        let length = (frame.len() - self.transport) as u64;
        let total = sum(&frame[addresses..self.transport]) + sum(&frame[self.transport..]);
        folded(total + PROTOCOL + length) == u16::MAX
    }
}

/// The sum of all words of 16 bits, in network order.
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    // In words of 32 bits, as their sum is congruent.
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word =
        |chunk: &[u8]| u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    words.map(word).sum::<u64>() + u64::from(u32::from_be_bytes(last))
}

/// The ones' complement sum of 16 bits.
const fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use pnet::packet::{MutablePacket as _, util};
    use proptest::prelude::*;

    use super::super::TcpSegments;
    use super::*;

    /// A frame of one flow with this payload, all checksums right.
    fn frame(ipv6: bool, tagged: bool, payload: usize, options: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if tagged {
            frame.extend([0x81, 0, 0, 100]);
        }
        frame.extend(if ipv6 { IPV6 } else { IPV4 }.to_be_bytes());
        let network = frame.len();
        let length = 20 + options + payload;
        if ipv6 {
            frame.extend([0x60, 1, 2, 3]);
            frame.extend((length as u16).to_be_bytes());
            frame.extend([6, 63]);
            frame.extend([0xfd; 32]);
        } else {
            frame.extend([0x45, 0]);
            frame.extend((20 + length as u16).to_be_bytes());
            frame.extend([0xff, 0xfe, 0x40, 0, 63, 6, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2]);
        }
        let transport = frame.len();
        frame.extend([0x14, 0x51, 0x1f, 0x90, 0xff, 0xff, 0xf0, 0, 0, 0, 0, 9]);
        frame.extend([((20 + options) << 2) as u8, 0x18, 1, 0, 0, 0, 0, 0]);
        frame.extend((0..options).map(|_| 1));
        frame.extend((0..payload).map(|n| (n * 7) as u8));
        complete(&mut frame, network, transport);
        frame
    }

    /// Fills the checksums in, by pnet.
    fn complete(frame: &mut [u8], network: usize, transport: usize) {
        let (ip, tcp) = frame.split_at_mut(transport);
        let mut header = MutableTcpPacket::new(tcp).unwrap();
        header.set_checksum(0);
        let next = IpNextHeaderProtocols::Tcp;
        let sum = if ip[network] >> 4 == 6 {
            let ip = Ipv6Packet::new(&ip[network..]).unwrap();
            util::ipv6_checksum(
                header.packet_mut(),
                8,
                &[],
                &ip.get_source(),
                &ip.get_destination(),
                next,
            )
        } else {
            let mut ip = MutableIpv4Packet::new(&mut ip[network..]).unwrap();
            ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
            util::ipv4_checksum(
                header.packet_mut(),
                8,
                &[],
                &ip.get_source(),
                &ip.get_destination(),
                next,
            )
        };
        header.set_checksum(sum);
    }

    /// The segments of a frame, each complete.
    fn cut(frame: &[u8], size: usize) -> Vec<Vec<u8>> {
        let start = Segment::of(frame).unwrap();
        let packet = &frame[start.network..];
        let mut segments = TcpSegments::new(packet, start.transport - start.network, size).unwrap();
        let mut all = Vec::new();
        let mut room = vec![0; 70_000];
        while let Some(length) = segments.write(&mut room) {
            let mut segment = [&frame[..start.network], &room[..length]].concat();
            complete(&mut segment, start.network, start.transport);
            all.push(segment);
        }
        all
    }

    fn merged(frames: &[Vec<u8>]) -> Option<Merged> {
        Merged::of(frames.iter().map(|frame| (&frame[..], false)))
    }

    /// The frame that these segments become, complete.
    fn whole(frames: &[Vec<u8>], merged: &Merged) -> Vec<u8> {
        let mut whole = vec![0; merged.headers];
        merged.write_headers(&frames[0], &mut whole);
        let sum = Segment::of(&frames[0]).unwrap();
        whole.extend(frames[..merged.segments].iter().flat_map(|frame| &frame[merged.headers..]));
        complete(&mut whole, sum.network, sum.transport);
        whole
    }

    proptest! {
        #[test]
        fn what_was_cut_is_whole_again(
            ipv6: bool,
            tagged: bool,
            payload in 2..30_000usize,
            options in 0..11usize,
            size in 1..2000usize,
        ) {
            let frame = frame(ipv6, tagged, payload, 4 * options);
            let size = size.max(payload / 40 + 1).min(payload - 1);
            let segments = cut(&frame, size);
            let merged = merged(&segments).unwrap();
            prop_assert_eq!((merged.segments, merged.size, merged.ipv6), (segments.len(), size, ipv6));
            prop_assert_eq!(whole(&segments, &merged), frame);
        }

        /// Whatever is changed in a segment, cutting again what was put together gives the segments as they were.
        #[test]
        fn nothing_changes_on_the_way(
            ipv6: bool,
            changes in proptest::collection::vec((0..6usize, 0..1600usize, any::<u8>()), 0..4),
            sums: bool,
        ) {
            let frame = frame(ipv6, false, 6 * 1400 - 3, 12);
            let mut segments = cut(&frame, 1400);
            let start = Segment::of(&frame).unwrap();
            for (which, at, value) in changes {
                let segment = &mut segments[which];
                let at = at % segment.len();
                segment[at] = value;
                if sums && at >= start.transport {
                    complete(segment, start.network, start.transport);
                }
            }
            let mut left = &segments[..];
            while !left.is_empty() {
                let Some(merged) = merged(left) else {
                    left = &left[1..];
                    continue;
                };
                let whole = whole(left, &merged);
                prop_assert_eq!(&cut(&whole, merged.size)[..], &left[..merged.segments]);
                left = &left[merged.segments..];
            }
        }

        #[test]
        fn any_bytes_are_looked_at(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..4)) {
            let _ = merged(&frames);
        }
    }

    #[test]
    fn a_damaged_segment_and_what_is_not_data_go_by_themselves() {
        let frame = frame(false, true, 5000, 12);
        let segments = cut(&frame, 1000);
        assert_eq!(merged(&segments).unwrap().segments, 5);
        let mut damaged = segments.clone();
        *damaged[2].last_mut().unwrap() ^= 1;
        assert_eq!(merged(&damaged).unwrap().segments, 2);
        assert!(merged(&damaged[2..]).is_none(), "nor with the one behind it");
        let known = Merged::of(damaged.iter().map(|frame| (&frame[..], true)));
        assert_eq!(known.unwrap().segments, 5, "if somebody else has looked at the checksum");
        for (at, value) in
            [(18 + 20 + 13, 0x11), (18 + 20 + 13, 0x30), (18 + 8, 62), (18 + 6, 0x20)]
        {
            let mut other = segments.clone();
            other[1][at] = value;
            complete(&mut other[1], 18, 38);
            assert!(merged(&other).is_none(), "{at} {value}");
        }
        // A header that somebody damaged must not get a right checksum again.
        let mut wrong = segments.clone();
        wrong[1][18 + 10] ^= 1;
        assert!(merged(&wrong).is_none() && merged(&wrong[1..]).is_none());
        let known = Merged::of(wrong.iter().map(|frame| (&frame[..], true)));
        assert!(known.is_none(), "nobody else has looked at that one");
        let lost = [segments[0].clone(), segments[2].clone()];
        assert!(merged(&lost).is_none());
    }
}

//! Cuts a TCP packet that the host left unsegmented (segmentation offload) into segments before
//! labels are pushed: kernels without MPLS segmentation refuse such packets once they have labels.
//!
//! As in Linux (net/ipv4/tcp_offload.c, `tcp_gso_segment`): headers are copied; IPv4
//! identifications and sequence numbers are incremented; FIN and PSH are set on the last segment
//! only, CWR on the first. TCP checksums remain partial (the pseudo header only): whoever sends or
//! carries the frame completes them. No allocation; any bytes are valid input.

use pnet::packet::ip::IpNextHeaderProtocols;
use pnet::packet::ipv4::{self, Ipv4Packet, MutableIpv4Packet};
use pnet::packet::ipv6::{Ipv6Packet, MutableIpv6Packet};
use pnet::packet::tcp::{MutableTcpPacket, TcpFlags, TcpPacket};
use pnet::packet::util;

use super::DropReason;

/// Cuts one TCP packet into segments: each call of [`TcpSegments::write`] writes the next one.
#[derive(Debug, Clone)]
pub struct TcpSegments<'packet> {
    packet: &'packet [u8],
    /// Where TCP's header begins.
    transport: usize,
    /// Bytes of all headers.
    headers: usize,
    /// Most payload bytes of a segment.
    size: usize,
    /// Payload bytes already sent.
    done: usize,
    /// The ones' complement sum of the pseudo header, without the length.
    pseudo: u16,
}

impl<'packet> TcpSegments<'packet> {
    /// Prepares an IP packet, whose TCP header begins at `transport`, to be cut into segments of at
    /// most `size` payload bytes.
    ///
    /// # Errors
    /// [`DropReason::Uncuttable`] where that is no such packet, [`DropReason::Truncated`].
    pub fn new(packet: &'packet [u8], transport: usize, size: usize) -> Result<Self, DropReason> {
        let pseudo = match packet.first().map(|b| b >> 4) {
            Some(4) => pseudo4(packet, transport),
            Some(6) => pseudo6(packet, transport),
            _ => None,
        };
        let pseudo = pseudo.filter(|_| size > 0).ok_or(DropReason::Uncuttable)?;
        let tcp = packet.get(transport..).and_then(TcpPacket::new).ok_or(DropReason::Truncated)?;
        let length = usize::from(tcp.get_data_offset()) * 4;
        let headers = transport + length;
        if length < TcpPacket::minimum_packet_size() {
            return Err(DropReason::Uncuttable);
        }
        if headers > packet.len() {
            return Err(DropReason::Truncated);
        }
        Ok(Self { packet, transport, headers, size, done: 0, pseudo })
    }

    /// Returns the bytes of the longest segment, headers included.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.packet.len().min(self.headers + self.size)
    }

    /// Writes the next segment to the beginning of `to`, which has room for [`Self::longest`]
    /// bytes, and returns its length. `None` after the last one.
    ///
    /// # Panics
    /// Where `to` is too small.
    pub fn write(&mut self, to: &mut [u8]) -> Option<usize> {
        let payload = self.packet.len() - self.headers;
        if self.done > 0 && self.done >= payload {
            return None;
        }
        let end = (self.done + self.size).min(payload);
        let length = self.headers + end - self.done;
        let to = &mut to[..length];
        to[..self.headers].copy_from_slice(&self.packet[..self.headers]);
        to[self.headers..]
            .copy_from_slice(&self.packet[self.headers + self.done..self.headers + end]);
        let (network, transport) = to.split_at_mut(self.transport);
        self.network(network, length);
        self.transport(transport, end == payload);
        // A packet without payload is one segment.
        self.done = end.max(1);
        Some(length)
    }

    /// Completes the IP header of a segment of `length` bytes.
    fn network(&self, header: &mut [u8], length: usize) {
        if header[0] >> 4 == 6 {
            if let Some(mut ip) = MutableIpv6Packet::new(header) {
                ip.set_payload_length((length - Ipv6Packet::minimum_packet_size()) as u16);
            }
        } else if let Some(mut ip) = MutableIpv4Packet::new(header) {
            let number = (self.done / self.size) as u16;
            ip.set_total_length(length as u16);
            ip.set_identification(ip.get_identification().wrapping_add(number));
            ip.set_checksum(ipv4::checksum(&ip.to_immutable()));
        }
    }

    /// Completes the TCP header of a segment.
    fn transport(&self, segment: &mut [u8], last: bool) {
        let sum = folded(u32::from(self.pseudo) + segment.len() as u32);
        let Some(mut tcp) = MutableTcpPacket::new(segment) else { return };
        let mut cleared = 0;
        if !last {
            cleared |= TcpFlags::FIN | TcpFlags::PSH;
        }
        if self.done > 0 {
            cleared |= TcpFlags::CWR;
        }
        tcp.set_sequence(tcp.get_sequence().wrapping_add(self.done as u32));
        tcp.set_flags(tcp.get_flags() & !cleared);
        tcp.set_checksum(sum);
    }
}

/// The ones' complement sum of TCP's pseudo header over IPv4, without the length; `None` for another
/// packet than a whole one of TCP whose header ends at `transport`.
fn pseudo4(packet: &[u8], transport: usize) -> Option<u16> {
    let ip = Ipv4Packet::new(packet)?;
    let fits = transport >= Ipv4Packet::minimum_packet_size()
        && usize::from(ip.get_header_length()) * 4 == transport
        && ip.get_next_level_protocol() == IpNextHeaderProtocols::Tcp
        && !super::push::is_fragment(&ip);
    let (from, to) = (ip.get_source(), ip.get_destination());
    let sum = util::ipv4_checksum(&[], 0, &[], &from, &to, IpNextHeaderProtocols::Tcp);
    fits.then_some(!sum)
}

/// As [`pseudo4`] over IPv6, whose header may have extensions behind it.
fn pseudo6(packet: &[u8], transport: usize) -> Option<u16> {
    let ip = Ipv6Packet::new(packet)?;
    let (from, to) = (ip.get_source(), ip.get_destination());
    let sum = util::ipv6_checksum(&[], 0, &[], &from, &to, IpNextHeaderProtocols::Tcp);
    (transport >= Ipv6Packet::minimum_packet_size()).then_some(!sum)
}

/// The ones' complement sum of 16 bits.
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

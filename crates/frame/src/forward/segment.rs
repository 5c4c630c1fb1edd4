//! Cuts a TCP packet that the host left unsegmented (segmentation offload) into segments before
//! labels are pushed: kernels without MPLS segmentation refuse such packets once they have labels.
//!
//! As in Linux (net/ipv4/tcp_offload.c, `tcp_gso_segment`): headers are copied; IPv4
//! identifications and sequence numbers are incremented; FIN and PSH are set on the last segment
//! only, CWR on the first. TCP checksums remain partial (the pseudo header only): whoever sends or
//! carries the frame completes them. No allocation; any bytes are valid input.

use super::DropReason;

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const TCP_HEADER: usize = 20;
const TCP: u8 = 6;
const CHECKSUM: usize = 16;
const FIN: u8 = 1;
const PSH: u8 = 8;
const CWR: u8 = 0x80;

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
}

impl<'packet> TcpSegments<'packet> {
    /// Prepares an IP packet, whose TCP header begins at `transport`, to be cut into segments of at
    /// most `size` payload bytes.
    ///
    /// # Errors
    /// [`DropReason::Uncuttable`] where that is no such packet, [`DropReason::Truncated`].
    pub fn new(packet: &'packet [u8], transport: usize, size: usize) -> Result<Self, DropReason> {
        let plain = match packet.first().map(|b| b >> 4) {
            Some(4) if transport >= IPV4_HEADER => {
                let fragment = packet.get(6..8).is_none_or(|w| w[0] & 0x3f != 0 || w[1] != 0);
                usize::from(packet[0] & 15) * 4 == transport
                    && packet.get(9) == Some(&TCP)
                    && !fragment
            }
            Some(6) => transport >= IPV6_HEADER,
            _ => false,
        };
        if !plain || size == 0 {
            return Err(DropReason::Uncuttable);
        }
        let length = packet.get(transport + 12).ok_or(DropReason::Truncated)?;
        let length = usize::from(length >> 4) * 4;
        let headers = transport + length;
        if length < TCP_HEADER {
            return Err(DropReason::Uncuttable);
        }
        if headers > packet.len() {
            return Err(DropReason::Truncated);
        }
        Ok(Self { packet, transport, headers, size, done: 0 })
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
        self.network(&mut to[..self.transport], length);
        let sum = self.pseudo(length - self.transport);
        let (first, last) = (self.done == 0, end == payload);
        let tcp = &mut to[self.transport..];
        let mut sequence = [0; 4];
        sequence.copy_from_slice(&tcp[4..8]);
        let sequence = u32::from_be_bytes(sequence).wrapping_add(self.done as u32);
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        tcp[13] &= if last { 0xff } else { !(FIN | PSH) } & if first { 0xff } else { !CWR };
        tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        // A packet without payload is one segment.
        self.done = end.max(1);
        Some(length)
    }

    /// Completes the IP header of a segment of `length` bytes.
    fn network(&self, header: &mut [u8], length: usize) {
        if header[0] >> 4 == 6 {
            header[4..6].copy_from_slice(&((length - IPV6_HEADER) as u16).to_be_bytes());
            return;
        }
        let number = (self.done / self.size) as u16;
        let id = u16::from_be_bytes([header[4], header[5]]).wrapping_add(number);
        header[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        header[4..6].copy_from_slice(&id.to_be_bytes());
        header[10..12].copy_from_slice(&[0, 0]);
        let sum = !folded(header.chunks(2).map(word).sum());
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Returns the checksum of the pseudo header of a segment with `length` bytes of TCP.
    fn pseudo(&self, length: usize) -> u16 {
        let addresses = if self.packet[0] >> 4 == 6 { 8..40 } else { 12..20 };
        let sum: u32 = self.packet[addresses].chunks(2).map(word).sum();
        folded(sum + u32::from(TCP) + length as u32)
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) << 8 | bytes.get(1).copied().map_or(0, u32::from)
}

/// The ones' complement sum of 16 bits.
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

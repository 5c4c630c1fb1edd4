//! The checksum and segmentation that the kernel has not done yet on a frame that never crossed a
//! real cable (veth, virtio). The engine passes this work on with the frame, so that nothing is
//! left out or done twice.
//!
//! `struct virtio_net_hdr` (include/uapi/linux/virtio_net.h), host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | flags: 1 needs checksum, 2 somebody has found it right |
//! | 1 | 1 | gso_type: 0 none, 1 TCP over IPv4, 4 TCP over IPv6, 5 UDP; 0x80 with ECN |
//! | 2 | 2 | hdr_len |
//! | 4 | 2 | gso_size, bytes of each segment |
//! | 6 | 2 | csum_start, from the beginning of the frame |
//! | 8 | 2 | csum_offset, from csum_start |

use super::Merged;

/// Bytes of the header.
pub const OFFLOAD_HEADER: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const CHECKED: u8 = 2;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;
/// Where TCP's header has its checksum.
const TCP_CHECKSUM: u16 = 16;

/// The offload header of one frame: the checksum and segmentation that are still to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload {
    segments: u8,
    size: u16,
    start: u16,
    offset: u16,
}

impl Offload {
    /// Reads the header before a frame; `None` if nothing is to be done.
    #[inline]
    pub fn parse(header: [u8; OFFLOAD_HEADER]) -> Option<Self> {
        let [flags, segments, _, _, s0, s1, c0, c1, o0, o1] = header;
        (flags & NEEDS_CHECKSUM != 0 || segments != 0).then_some(Self {
            segments,
            size: u16::from_ne_bytes([s0, s1]),
            start: u16::from_ne_bytes([c0, c1]),
            offset: u16::from_ne_bytes([o0, o1]),
        })
    }

    /// What is left of the header of a frame to which nothing is to be done: whether its checksum was found right.
    #[inline]
    pub fn nothing(header: [u8; OFFLOAD_HEADER]) -> [u8; OFFLOAD_HEADER] {
        let mut left = [0; OFFLOAD_HEADER];
        left[0] = header[0] & CHECKED;
        left
    }

    /// Is the checksum of the frame behind this header known to be right, or left to be done?
    #[inline]
    pub const fn knows_checksum(header: [u8; OFFLOAD_HEADER]) -> bool {
        header[0] & (NEEDS_CHECKSUM | CHECKED) != 0
    }

    /// The header of a frame that is made of several segments.
    #[inline]
    pub fn of_merged(merged: &Merged) -> [u8; OFFLOAD_HEADER] {
        let segments = if merged.ipv6 { TCP_IPV6 } else { TCP_IPV4 };
        let offload = Self {
            segments,
            size: merged.size as u16,
            start: merged.transport as u16,
            offset: TCP_CHECKSUM,
        };
        offload.emit(0, merged.headers)
    }

    /// Must the frame be cut into segments?
    #[inline]
    pub const fn is_segmented(self) -> bool {
        self.segments != 0
    }

    /// Bytes of the headers that every segment repeats.
    #[inline]
    pub fn headers(self, frame: &[u8]) -> Option<usize> {
        let start = usize::from(self.start);
        match self.segments & !ECN {
            TCP_IPV4 | TCP_IPV6 => Some(start + usize::from(frame.get(start + 12)? >> 4) * 4),
            UDP => Some(start + 8),
            _ => None,
        }
    }

    /// Bytes of the longest segment.
    #[inline]
    pub fn longest(self, frame: &[u8]) -> Option<usize> {
        Some((self.headers(frame)? + usize::from(self.size)).min(frame.len()))
    }

    /// For a frame that must be cut into TCP segments: offset of the TCP header, and bytes of
    /// payload per segment.
    #[inline]
    pub fn tcp(self) -> Option<(usize, usize)> {
        let tcp = matches!(self.segments, TCP_IPV4 | TCP_IPV6);
        tcp.then_some((usize::from(self.start), usize::from(self.size)))
    }

    /// The offload header of a frame that needs only its checksum, after `before` bytes were put at
    /// its beginning.
    #[inline]
    pub fn emit_checksum(self, before: usize) -> [u8; OFFLOAD_HEADER] {
        let [c0, c1] = self.start.saturating_add(before as u16).to_ne_bytes();
        let [o0, o1] = self.offset.to_ne_bytes();
        [NEEDS_CHECKSUM, 0, 0, 0, 0, 0, c0, c1, o0, o1]
    }

    /// The offload header of a frame that now begins `later` bytes further on and, if it must be
    /// segmented, has `headers` bytes of headers.
    #[inline]
    pub fn emit(self, later: usize, headers: usize) -> [u8; OFFLOAD_HEADER] {
        let [h0, h1] = (headers as u16).to_ne_bytes();
        let [s0, s1] = self.size.to_ne_bytes();
        let [c0, c1] = self.start.saturating_sub(later as u16).to_ne_bytes();
        let [o0, o1] = self.offset.to_ne_bytes();
        [NEEDS_CHECKSUM, self.segments, h0, h1, s0, s1, c0, c1, o0, o1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, segments: u8, numbers: [u16; 4]) -> [u8; OFFLOAD_HEADER] {
        let mut header = [flags, segments, 0, 0, 0, 0, 0, 0, 0, 0];
        for (n, number) in numbers.into_iter().enumerate() {
            header[2 + 2 * n..4 + 2 * n].copy_from_slice(&number.to_ne_bytes());
        }
        header
    }

    #[test]
    fn what_is_left_moves_with_the_frame() {
        assert_eq!(Offload::parse(header(0, 0, [9, 9, 9, 9])), None);
        assert_eq!(Offload::parse(header(2, 0, [9, 9, 9, 9])), None, "a checksum that was checked");
        let checksum = Offload::parse(header(1, 0, [0, 0, 38, 16])).unwrap();
        assert_eq!(checksum.emit(4, 0), header(1, 0, [0, 0, 34, 16]));
        assert!(!checksum.is_segmented());
    }

    #[test]
    fn longest_segment_is_headers_and_segment_size() {
        let mut frame = vec![0; 5000];
        frame[38 + 12] = 0x80;
        let tcp = Offload::parse(header(1, 0x81, [0, 1448, 38, 16])).unwrap();
        assert_eq!(tcp.longest(&frame), Some(38 + 32 + 1448));
        assert_eq!(tcp.emit(0, 70), header(1, 0x81, [70, 1448, 38, 16]));
        let udp = Offload::parse(header(1, 5, [0, 1000, 38, 6])).unwrap();
        assert_eq!(udp.longest(&frame), Some(38 + 8 + 1000));
        assert_eq!(udp.longest(&frame[..500]), Some(500));
        assert_eq!(Offload::parse(header(1, 3, [0, 1000, 38, 6])).unwrap().longest(&frame), None);
        assert_eq!(tcp.longest(&frame[..40]), None);
    }
}

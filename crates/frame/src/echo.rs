//! ICMP echo requests and replies (RFC 792; RFC 4443, section 4), without the IP header before them.
//! ICMPv6 has the same fields at the same places as ICMP, big endian:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | type |
//! | 1 | 1 | code: 0 |
//! | 2 | 2 | checksum; ICMPv6's also covers a pseudo header |
//! | 4 | 2 | identifier |
//! | 6 | 2 | sequence number |
//! | 8 | | data, which a reply repeats |

use std::net::IpAddr;

use pnet::packet::icmp::echo_reply::EchoReplyPacket;
use pnet::packet::icmp::echo_request::MutableEchoRequestPacket;
use pnet::packet::icmp::{self, IcmpTypes, MutableIcmpPacket};
use pnet::packet::icmpv6::{self, Icmpv6Types, MutableIcmpv6Packet};
use pnet::packet::ipv4::Ipv4Packet;

const HEADER: usize = 8;

/// Encodes an echo request from address `from` to `to`, which are of one family.
#[must_use]
pub fn request(from: IpAddr, to: IpAddr, identifier: u16, sequence: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + data.len()];
    if let Some(mut echo) = MutableEchoRequestPacket::new(&mut bytes) {
        echo.set_icmp_type(IcmpTypes::EchoRequest);
        echo.set_identifier(identifier);
        echo.set_sequence_number(sequence);
        echo.set_payload(data);
    }
    if let (IpAddr::V6(from), IpAddr::V6(to)) = (from, to) {
        if let Some(mut echo) = MutableIcmpv6Packet::new(&mut bytes) {
            echo.set_icmpv6_type(Icmpv6Types::EchoRequest);
            echo.set_checksum(icmpv6::checksum(&echo.to_immutable(), &from, &to));
        }
    } else if let Some(mut echo) = MutableIcmpPacket::new(&mut bytes) {
        echo.set_checksum(icmp::checksum(&echo.to_immutable()));
    }
    bytes
}

/// The content of an echo reply: identifier, sequence number and data, as in its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoReply<'a> {
    /// The identifier.
    pub identifier: u16,
    /// The sequence number.
    pub sequence: u16,
    /// What follows the header.
    pub data: &'a [u8],
}

/// Decodes an echo reply as a raw socket returns it: ICMP behind its IPv4 header, ICMPv6 without
/// header. `None` for any other bytes. The checksum is left alone.
#[must_use]
pub fn reply(bytes: &[u8], ipv4: bool) -> Option<EchoReply<'_>> {
    let header = match ipv4 {
        true => usize::from(Ipv4Packet::new(bytes)?.get_header_length()) * 4,
        false => 0,
    };
    message(bytes.get(header..)?, ipv4)
}

/// Decodes an echo reply without the IP header before it. `None` for any other bytes. The checksum is left alone.
#[must_use]
pub fn message(bytes: &[u8], ipv4: bool) -> Option<EchoReply<'_>> {
    let echo = EchoReplyPacket::new(bytes)?;
    let kind = if ipv4 { IcmpTypes::EchoReply.0 } else { Icmpv6Types::EchoReply.0 };
    if (echo.get_icmp_type().0, echo.get_icmp_code().0) != (kind, 0) {
        return None;
    }
    Some(EchoReply {
        identifier: echo.get_identifier(),
        sequence: echo.get_sequence_number(),
        data: &bytes[HEADER..],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(ipv4: bool) -> (IpAddr, IpAddr) {
        match ipv4 {
            true => ([10, 0, 0, 1].into(), [10, 0, 0, 2].into()),
            false => ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap()),
        }
    }

    /// Checksums worked out by hand.
    #[test]
    fn requests_are_the_documented_bytes() {
        let (from, to) = ends(true);
        assert_eq!(request(from, to, 7, 9, b"ab"), [8, 0, 0x96, 0x8d, 0, 7, 0, 9, b'a', b'b']);
        let (from, to) = ends(false);
        assert_eq!(request(from, to, 7, 9, b"ab"), [128, 0, 0x24, 0x44, 0, 7, 0, 9, b'a', b'b']);
    }

    #[test]
    fn a_reply_repeats_its_request_and_nothing_else_is_one() {
        for ipv4 in [true, false] {
            let (from, to) = ends(ipv4);
            let mut bytes = request(from, to, 7, 9, b"data");
            if ipv4 {
                bytes.splice(..0, [0x45].into_iter().chain([0; 19]));
            }
            assert_eq!(reply(&bytes, ipv4), None, "a request");
            let at = if ipv4 { 20 } else { 0 };
            bytes[at] = if ipv4 { 0 } else { 129 };
            let read = EchoReply { identifier: 7, sequence: 9, data: b"data" };
            assert_eq!(reply(&bytes, ipv4), Some(read));
            assert_eq!(reply(&bytes[..at + 7], ipv4), None, "cut short");
            bytes[at + 1] = 1;
            assert_eq!(reply(&bytes, ipv4), None, "another code");
        }
        assert_eq!(reply(&[0x4f], true), None);
        assert_eq!(reply(&[0x4f; 30], true), None);
        assert_eq!(reply(&[], true), None);
    }
}

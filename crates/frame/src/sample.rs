//! Reads what a sampled frame of this node says of its path: VLAN, labels, source and destination.

use std::net::IpAddr;

use pnet::packet::ethernet::EtherTypes;
use pnet::packet::ipv4::Ipv4Packet;
use pnet::packet::ipv6::Ipv6Packet;
use tresse_base::id::{Label, Vid};

use crate::mpls;

/// Bytes of a frame that are enough: Ethernet, a tag, sixteen labels, IPv6.
pub const BYTES_MOST: usize = 14 + 4 + 16 * mpls::ENTRY_LEN + 40;

/// The headers of a sampled frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledHeaders {
    /// The VLAN tag in the frame.
    pub vid: Option<Vid>,
    /// The labels, outermost first.
    pub labels: Vec<Label>,
    /// The packet's source.
    pub source: IpAddr,
    /// The packet's destination.
    pub destination: IpAddr,
}

impl SampledHeaders {
    /// Of an Ethernet frame with at most one tag; `None` for what carries no whole header of IP.
    #[must_use]
    pub fn of_frame(frame: &[u8]) -> Option<Self> {
        let ethertype = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        let (vid, at) = match ethertype(12)? {
            tag if tag == EtherTypes::Vlan.0 => (Some(Vid(ethertype(14)? & 0xfff)), 16),
            _ => (None, 12),
        };
        let rest = frame.get(at + 2..)?;
        match ethertype(at)? {
            mpls::ETHERTYPE => {
                let length = mpls::stack_len(rest)?;
                let (stack, packet) = rest.split_at_checked(length)?;
                let labels = mpls::entries(stack).iter().map(|entry| entry.label).collect();
                Some(Self { vid, labels, ..Self::of_packet(packet)? })
            }
            ip if [EtherTypes::Ipv4.0, EtherTypes::Ipv6.0].contains(&ip) => {
                Some(Self { vid, ..Self::of_packet(rest)? })
            }
            _ => None,
        }
    }

    /// Of an IP packet.
    #[must_use]
    pub fn of_packet(packet: &[u8]) -> Option<Self> {
        let (source, destination) = match packet.first()? >> 4 {
            4 => {
                let ip = Ipv4Packet::new(packet)?;
                (ip.get_source().into(), ip.get_destination().into())
            }
            6 => {
                let ip = Ipv6Packet::new(packet)?;
                (ip.get_source().into(), ip.get_destination().into())
            }
            _ => return None,
        };
        Some(Self { vid: None, labels: Vec::new(), source, destination })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4() -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45;
        packet[12..16].copy_from_slice(&[10, 77, 0, 1]);
        packet[16..20].copy_from_slice(&[10, 77, 0, 2]);
        packet
    }

    fn frame(headers: &[u8], packet: &[u8]) -> Vec<u8> {
        [&[0; 12], headers, packet].concat()
    }

    #[test]
    fn frames_with_and_without_tags_and_labels() {
        let plain = SampledHeaders {
            vid: None,
            labels: vec![],
            source: "10.77.0.1".parse().unwrap(),
            destination: "10.77.0.2".parse().unwrap(),
        };
        let of = |headers: &[u8]| SampledHeaders::of_frame(&frame(headers, &ipv4()));
        assert_eq!(of(&[0x08, 0]), Some(plain.clone()));
        let tagged = SampledHeaders { vid: Some(Vid(100)), ..plain.clone() };
        assert_eq!(of(&[0x81, 0, 0x20, 100, 0x08, 0]), Some(tagged));
        let labelled = SampledHeaders { labels: vec![Label(16), Label(17)], ..plain };
        assert_eq!(of(&[0x88, 0x47, 0, 1, 0, 64, 0, 1, 0x11, 64]), Some(labelled));
        assert_eq!(of(&[0x08, 6]), None);
    }

    #[test]
    fn what_is_cut_says_nothing() {
        let whole = frame(&[0x81, 0, 0, 100, 0x88, 0x47, 0, 1, 1, 64], &ipv4());
        assert!(SampledHeaders::of_frame(&whole).is_some());
        assert!((0..whole.len()).all(|end| SampledHeaders::of_frame(&whole[..end]).is_none()));
    }
}

//! Encodes and decodes nexthop objects (`RTM_NEWNEXTHOP`, `RTM_DELNEXTHOP`), which
//! netlink-packet-route lacks. Their `encap mpls` is that of routes, for which the crate has types.
//!
//! Source: include/uapi/linux/nexthop.h. The fixed part:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 1 | nh_family |
//! | 1 | 1 | nh_scope |
//! | 2 | 1 | nh_protocol |
//! | 3 | 1 | reserved |
//! | 4 | 4 | nh_flags, host byte order |
//!
//! A group is `NHA_GROUP`, an array of `struct nexthop_grp`, host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | id |
//! | 4 | 1 | weight - 1, low byte |
//! | 5 | 1 | weight - 1, high byte (Linux 6.12 and later; 0 for all that we write) |
//! | 6 | 2 | reserved |

use std::net::IpAddr;

use netlink_packet_core::{
    NlaBuffer, NlasIterator, Parseable as _, parse_ip, parse_u16, parse_u32,
};
use netlink_packet_route::route::{RouteLwEnCapType, RouteMplsIpTunnel};
use tresse_base::id::Label;
use tresse_frame::mpls::ENTRY_LEN;
use tresse_reconcile::no_gateway;

use super::message::{MalformedMessage, attributes, bytes, word, write_attribute};
use super::{bulk, label};

/// Create or replace.
pub(super) const RTM_NEWNEXTHOP: u16 = 104;
/// Delete.
pub(super) const RTM_DELNEXTHOP: u16 = 105;
/// Dump.
pub(super) const RTM_GETNEXTHOP: u16 = 106;

const HEADER: usize = 8;
const GROUP_ENTRY: usize = 8;
const RTNH_F_ONLINK: u32 = 4;
const NHA_ID: u16 = 1;
const NHA_GROUP: u16 = 2;
const NHA_OIF: u16 = 5;
const NHA_GATEWAY: u16 = 6;
const NHA_ENCAP_TYPE: u16 = 7;
const NHA_ENCAP: u16 = 8;
const NLA_F_NESTED: u16 = 0x8000;

/// One nexthop object or group as it is encoded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Nexthop {
    /// NHA_ID; 0 is never used by the kernel.
    pub id: u32,
    /// nh_protocol.
    pub protocol: u8,
    /// NHA_OIF.
    pub ifindex: Option<u32>,
    /// NHA_GATEWAY; written with RTNH_F_ONLINK. Unspecified: none, of this family.
    pub via: Option<IpAddr>,
    /// Label stack of `encap mpls`, outermost first.
    pub labels: Vec<Label>,
    /// Members of a group: (id, weight). The kernel's weight of 1 to 65536 is capped to `u16`.
    pub group: Vec<(u32, u16)>,
}

impl Nexthop {
    /// Appends the message body.
    pub fn emit(&self, buffer: &mut Vec<u8>) {
        let family = self.via.map_or(libc::AF_UNSPEC as u8, bulk::family);
        let gateway = self.via.filter(|via| !via.is_unspecified());
        let flags = gateway.map_or(0, |_| RTNH_F_ONLINK);
        buffer.extend_from_slice(&[family, 0, self.protocol, 0]);
        buffer.extend_from_slice(&flags.to_ne_bytes());
        write_attribute(buffer, NHA_ID, &self.id.to_ne_bytes());
        if !self.group.is_empty() {
            let mut entries = Vec::with_capacity(self.group.len() * GROUP_ENTRY);
            for (id, weight) in &self.group {
                let [low, high] = weight.saturating_sub(1).to_le_bytes();
                entries.extend_from_slice(&id.to_ne_bytes());
                entries.extend_from_slice(&[low, high, 0, 0]);
            }
            write_attribute(buffer, NHA_GROUP, &entries);
        }
        if let Some(ifindex) = self.ifindex {
            write_attribute(buffer, NHA_OIF, &ifindex.to_ne_bytes());
        }
        match gateway {
            Some(IpAddr::V4(a)) => write_attribute(buffer, NHA_GATEWAY, &a.octets()),
            Some(IpAddr::V6(a)) => write_attribute(buffer, NHA_GATEWAY, &a.octets()),
            None => {}
        }
        if !self.labels.is_empty() {
            let encap = RouteMplsIpTunnel::Destination(label::stack(&self.labels));
            write_attribute(buffer, NHA_ENCAP_TYPE, &bytes(&RouteLwEnCapType::Mpls));
            write_attribute(buffer, NHA_ENCAP | NLA_F_NESTED, &bytes(&encap));
        }
    }

    /// Decodes a message body.
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        let attributes = attributes(payload, HEADER, "nhmsg")?;
        let mut nexthop = Self { protocol: payload[2], ..Self::default() };
        let (mut encap_type, mut encap) = (RouteLwEnCapType::None, None);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind() {
                NHA_ID => nexthop.id = parse_u32(attribute.value())?,
                NHA_GROUP => nexthop.group = members(attribute.value())?,
                NHA_OIF => nexthop.ifindex = Some(parse_u32(attribute.value())?),
                NHA_GATEWAY => nexthop.via = Some(parse_ip(attribute.value())?),
                NHA_ENCAP_TYPE => encap_type = parse_u16(attribute.value())?.into(),
                NHA_ENCAP => encap = Some(attribute),
                _ => {}
            }
        }
        let on_link = nexthop.ifindex.and(no_gateway(payload[0]));
        nexthop.via = nexthop.via.or(on_link);
        if nexthop.id == 0 {
            return Err(MalformedMessage::without("NHA_ID"));
        }
        if let (RouteLwEnCapType::Mpls, Some(encap)) = (encap_type, encap) {
            for attribute in NlasIterator::new(encap.value()) {
                if let Some(labels) = labels(&attribute?)? {
                    nexthop.labels = labels;
                }
            }
        }
        Ok(nexthop)
    }
}

/// Appends the body of an `RTM_DELNEXTHOP`.
pub(super) fn emit_delete(id: u32, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&[0; HEADER]);
    write_attribute(buffer, NHA_ID, &id.to_ne_bytes());
}

fn members(bytes: &[u8]) -> Result<Vec<(u32, u16)>, MalformedMessage> {
    if !bytes.len().is_multiple_of(GROUP_ENTRY) {
        return Err(MalformedMessage::without("the end of NHA_GROUP"));
    }
    Ok(bytes
        .chunks_exact(GROUP_ENTRY)
        .map(|entry| (word(entry, 0), u16::from_le_bytes([entry[4], entry[5]]).saturating_add(1)))
        .collect())
}

/// The labels that `encap mpls` pushes; `None` if `attribute` is another attribute of it.
fn labels(attribute: &NlaBuffer<&[u8]>) -> Result<Option<Vec<Label>>, MalformedMessage> {
    let RouteMplsIpTunnel::Destination(stack) = RouteMplsIpTunnel::parse(attribute)? else {
        return Ok(None);
    };
    // The crate passes over an entry that is cut off.
    if attribute.value().len() != stack.len() * ENTRY_LEN {
        return Err(MalformedMessage::without("the end of MPLS_IPTUNNEL_DST"));
    }
    Ok(Some(stack.iter().map(|entry| Label(entry.label)).collect()))
}

/// The body of a dump request.
pub(super) const DUMP: [u8; HEADER] = [0; HEADER];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(nexthop: &Nexthop) -> Vec<u8> {
        let mut buffer = Vec::new();
        nexthop.emit(&mut buffer);
        buffer
    }

    #[test]
    fn plain_nexthop_is_the_kernels_bytes() {
        let nexthop = Nexthop {
            id: 0x5400_0001,
            protocol: 78,
            ifindex: Some(3),
            via: Some("10.78.0.2".parse().unwrap()),
            ..Nexthop::default()
        };
        #[rustfmt::skip]
        let expected = [
            2, 0, 78, 0, 4, 0, 0, 0,
            8, 0, 1, 0, 1, 0, 0, 0x54,
            8, 0, 5, 0, 3, 0, 0, 0,
            8, 0, 6, 0, 10, 78, 0, 2,
        ];
        assert_eq!(written(&nexthop), expected);
        assert_eq!(Nexthop::parse(&expected), Ok(nexthop));
    }

    #[test]
    fn a_nexthop_on_the_link_has_a_family_and_no_gateway() {
        for (via, family) in [("0.0.0.0", 2), ("::", 10)] {
            let via = Some(via.parse().unwrap());
            let nexthop = Nexthop { id: 1, ifindex: Some(3), via, ..Nexthop::default() };
            let expected =
                [family, 0, 0, 0, 0, 0, 0, 0, 8, 0, 1, 0, 1, 0, 0, 0, 8, 0, 5, 0, 3, 0, 0, 0];
            assert_eq!(written(&nexthop), expected);
            assert_eq!(Nexthop::parse(&expected), Ok(nexthop));
        }
    }

    #[test]
    fn labels_are_a_stack_with_one_bottom() {
        let labels = vec![Label(100), Label(1_048_575)];
        let nexthop = Nexthop {
            id: 1,
            ifindex: Some(1),
            via: Some("fd78::1".parse().unwrap()),
            labels,
            ..Nexthop::default()
        };
        let wire = written(&nexthop);
        #[rustfmt::skip]
        let encap = [
            6, 0, 7, 0, 1, 0, 0, 0,
            16, 0, 8, 0x80,
            12, 0, 1, 0, 0, 6, 0x40, 0, 0xff, 0xff, 0xf1, 0,
        ];
        assert_eq!(wire[wire.len() - encap.len()..], encap);
        assert_eq!(Nexthop::parse(&wire), Ok(nexthop));
        let mut short = wire;
        let at = short.len() - 12;
        short[at] = 11;
        assert!(Nexthop::parse(&short).is_err(), "an entry of three bytes");
    }

    #[test]
    fn group_weights_are_stored_less_one() {
        let nexthop =
            Nexthop { id: 9, group: vec![(1, 1), (2, 255), (3, 256)], ..Nexthop::default() };
        let wire = written(&nexthop);
        assert_eq!(wire[20..28], [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(wire[28..36], [2, 0, 0, 0, 254, 0, 0, 0]);
        assert_eq!(wire[36..44], [3, 0, 0, 0, 255, 0, 0, 0]);
        assert_eq!(Nexthop::parse(&wire), Ok(nexthop));
    }

    #[test]
    fn malformed_replies_are_errors() {
        assert!(Nexthop::parse(&[]).is_err());
        assert!(Nexthop::parse(&[0; 8]).is_err(), "no id");
        let mut group = vec![0; 8];
        write_attribute(&mut group, NHA_ID, &[1, 0, 0, 0]);
        write_attribute(&mut group, NHA_GROUP, &[0; 7]);
        assert!(Nexthop::parse(&group).is_err());
        let mut gateway = vec![0; 8];
        write_attribute(&mut gateway, NHA_ID, &[1, 0, 0, 0]);
        write_attribute(&mut gateway, NHA_GATEWAY, &[0; 5]);
        assert!(Nexthop::parse(&gateway).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Nexthop::parse(&bytes);
        }

        #[test]
        fn groups_round_trip(group in proptest::collection::vec((1..u32::MAX, 1..=u16::MAX), 1..64)) {
            let nexthop = Nexthop { id: 1, protocol: 78, group, ..Nexthop::default() };
            prop_assert_eq!(Nexthop::parse(&written(&nexthop)), Ok(nexthop));
        }
    }
}

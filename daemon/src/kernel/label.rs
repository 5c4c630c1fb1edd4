//! The codec of label routes: AF_MPLS in `RTM_NEWROUTE` and `RTM_DELROUTE`.
//!
//! Source: include/uapi/linux/{rtnetlink,mpls}.h, net/mpls/af_mpls.c (`rtm_to_route_config`), RFC
//! 3032 section 2.1. `struct rtmsg` is as in `bulk`: destination length 20 bits, main table, scope
//! universe, unicast. Attributes:
//!
//! | attribute | bytes | content |
//! |---|---|---|
//! | RTA_DST | 4 | the label as a stack entry with its bottom bit, big endian |
//! | RTA_VIA | 2 + 4 or 16 | address family, host byte order, and address |
//! | RTA_OIF | 4 | ifindex |
//! | RTA_NEWDST | 4 each | labels pushed instead; ours have none |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tresse_fabric::id::Label;
use tresse_fabric::reconcile::PROTOCOL;

use super::message::{Attributes, Malformed, half, write_attribute};
use super::nexthop::{labels, stack};
use super::observe::{RTA_DST, RTA_OIF, RTMSG};

/// `struct rtmsg` of a dump request.
pub(super) const DUMP: [u8; RTMSG] = [AF_MPLS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

const AF_MPLS: u8 = 28;
const LABEL_BITS: u8 = 20;
const RTA_VIA: u16 = 18;
const RTA_NEWDST: u16 = 19;

/// One label route, as on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LabelRoute {
    pub label: Label,
    /// rtm_protocol.
    pub protocol: u8,
    /// RTA_OIF.
    pub ifindex: Option<u32>,
    /// RTA_VIA, where it is an IP address.
    pub via: Option<IpAddr>,
    /// RTA_NEWDST, outermost first.
    pub swap: Vec<Label>,
}

impl LabelRoute {
    /// A label of ours that is popped.
    pub const fn pop(label: Label, ifindex: u32, via: IpAddr) -> Self {
        let (ifindex, via) = (Some(ifindex), Some(via));
        Self { label, protocol: PROTOCOL, ifindex, via, swap: Vec::new() }
    }

    /// Appends the message body.
    pub fn emit(&self, buffer: &mut Vec<u8>) {
        fixed(self.label, self.protocol, buffer);
        if !self.swap.is_empty() {
            write_attribute(buffer, RTA_NEWDST, &stack(&self.swap));
        }
        let via = |family: i32, octets: &[u8]| {
            let family = (family as u16).to_ne_bytes();
            [&family[..], octets].concat()
        };
        match self.via {
            Some(IpAddr::V4(a)) => {
                write_attribute(buffer, RTA_VIA, &via(libc::AF_INET, &a.octets()));
            }
            Some(IpAddr::V6(a)) => {
                write_attribute(buffer, RTA_VIA, &via(libc::AF_INET6, &a.octets()));
            }
            None => {}
        }
        if let Some(ifindex) = self.ifindex {
            write_attribute(buffer, RTA_OIF, &ifindex.to_ne_bytes());
        }
    }

    /// Reads a message body; `None` where it is of another family.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let attributes = Attributes::after(payload, RTMSG, "rtmsg")?;
        if payload[0] != AF_MPLS {
            return Ok(None);
        }
        let (mut label, protocol) = (None, payload[5]);
        let (mut ifindex, mut via, mut swap) = (None, None, Vec::new());
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                RTA_DST => label = labels(attribute.value)?.first().copied(),
                RTA_OIF => ifindex = Some(attribute.u32("RTA_OIF")?),
                RTA_VIA => via = address(attribute.value),
                RTA_NEWDST => swap = labels(attribute.value)?,
                _ => {}
            }
        }
        let label = label.ok_or(Malformed::new("RTA_DST", 4, 0))?;
        Ok(Some(Self { label, protocol, ifindex, via, swap }))
    }
}

/// Appends the body of an `RTM_DELROUTE` of ours.
pub(super) fn emit_delete(label: Label, buffer: &mut Vec<u8>) {
    fixed(label, PROTOCOL, buffer);
}

fn fixed(label: Label, protocol: u8, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(&[AF_MPLS, LABEL_BITS, 0, 0]);
    let scope = libc::RT_SCOPE_UNIVERSE;
    buffer.extend_from_slice(&[libc::RT_TABLE_MAIN, protocol, scope, libc::RTN_UNICAST]);
    buffer.extend_from_slice(&[0; 4]);
    write_attribute(buffer, RTA_DST, &stack(&[label]));
}

/// The address in a `struct rtvia`; `None` where it is a MAC address or the like.
fn address(via: &[u8]) -> Option<IpAddr> {
    let (family, octets) = via.split_at_checked(2)?;
    match i32::from(half(family, 0)) {
        libc::AF_INET => Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into()),
        libc::AF_INET6 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use netlink_packet_route::AddressFamily;
    use netlink_packet_route::route::{
        MplsLabel, RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol,
        RouteScope, RouteType, RouteVia,
    };
    use proptest::prelude::*;

    use super::*;

    fn bytes(route: &LabelRoute) -> Vec<u8> {
        let mut buffer = Vec::new();
        route.emit(&mut buffer);
        buffer
    }

    #[test]
    fn label_routes_are_what_the_crate_emits() {
        for (via, theirs) in [
            ("10.78.0.3", RouteVia::Inet(Ipv4Addr::new(10, 78, 0, 3))),
            ("fd78::3", RouteVia::Inet6("fd78::3".parse().unwrap())),
        ] {
            let route = LabelRoute::pop(Label(100), 7, via.parse().unwrap());
            let mut message = RouteMessage::default();
            message.header.address_family = AddressFamily::Mpls;
            message.header.destination_prefix_length = 20;
            message.header.table = RouteHeader::RT_TABLE_MAIN;
            message.header.protocol = RouteProtocol::Other(PROTOCOL);
            message.header.scope = RouteScope::Universe;
            message.header.kind = RouteType::Unicast;
            let label = MplsLabel { label: 100, traffic_class: 0, bottom_of_stack: true, ttl: 0 };
            message.attributes = vec![
                RouteAttribute::Destination(RouteAddress::Mpls(label)),
                RouteAttribute::Via(theirs),
                RouteAttribute::Oif(7),
            ];
            let mut expected = vec![0; message.buffer_len()];
            message.emit(&mut expected);
            assert_eq!(bytes(&route), expected, "{via}");
        }
    }

    #[test]
    fn label_routes_of_others_are_told_apart() {
        let via = Some("10.78.0.3".parse().unwrap());
        let swap = vec![Label(17), Label(1_048_575)];
        let swap = LabelRoute { label: Label(16), protocol: 4, ifindex: Some(2), via, swap };
        assert_eq!(LabelRoute::parse(&bytes(&swap)), Ok(Some(swap.clone())));
        let by_mac = LabelRoute { via: None, swap: vec![], ..swap };
        let mut buffer = bytes(&by_mac);
        write_attribute(&mut buffer, RTA_VIA, &[17, 0, 2, 0, 0, 0, 0, 1]);
        assert_eq!(LabelRoute::parse(&buffer), Ok(Some(by_mac)));
        let mut ipv4 = buffer;
        ipv4[0] = libc::AF_INET as u8;
        assert_eq!(LabelRoute::parse(&ipv4), Ok(None));
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(family) = bytes.first_mut() {
                *family = AF_MPLS;
            }
            let _ = LabelRoute::parse(&bytes);
        }
    }
}

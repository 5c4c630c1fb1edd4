//! Routes of the tables that rules lead to ([`super::rule`]).
//!
//! Written as messages of netlink-packet-route, read in place. Source: include/uapi/linux/rtnetlink.h.
//! `struct rtmsg`, host byte order:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | family, dst_len, src_len, tos |
//! | 4 | 1 | table, 0 or RT_TABLE_COMPAT: see RTA_TABLE |
//! | 5 | 2 | protocol, scope |
//! | 7 | 1 | type |
//! | 8 | 4 | flags, RTNH_F_ONLINK |

use std::net::IpAddr;

use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use tresse_fabric::reconcile::{METRIC_PRIMARY, PROTOCOL, TABLES, TurnKey};
use tresse_fabric::units::Prefix;

use super::message::{Attributes, Malformed};
use super::observe::{RTA_DST, RTA_NH_ID, RTA_OIF, RTA_PRIORITY, RTMSG};
use super::rule::family;

const RTA_GATEWAY: u16 = 5;
const RTA_TABLE: u16 = 15;
const RTA_ENCAP: u16 = 22;

/// The body of an RTM_NEWROUTE to go `way` (ifindex, gateway), or without one of the RTM_DELROUTE.
pub(super) fn route_message(table: u32, dst: Prefix, way: Option<(u32, IpAddr)>) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(dst.address.is_ipv4());
    message.header.destination_prefix_length = dst.len;
    message.header.protocol = RouteProtocol::Other(PROTOCOL);
    message.header.scope = RouteScope::NoWhere;
    message.header.kind = RouteType::Unicast;
    message.attributes = vec![
        RouteAttribute::Destination(dst.address.into()),
        RouteAttribute::Table(table),
        RouteAttribute::Priority(METRIC_PRIMARY),
    ];
    if let Some((ifindex, via)) = way {
        message.header.scope = RouteScope::Universe;
        message.header.flags = RouteFlags::Onlink;
        let gateway = RouteAttribute::Gateway(via.into());
        message.attributes.extend([gateway, RouteAttribute::Oif(ifindex)]);
    }
    message
}

/// A unicast route of a table of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenTurn {
    pub key: TurnKey,
    /// rtm_protocol.
    pub protocol: u8,
    /// ifindex and gateway, where there is one way and nothing is put before the packet.
    pub way: Option<(u32, IpAddr)>,
}

impl SeenTurn {
    /// Reads a message body; `None` where it is another route.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let attributes = Attributes::after(payload, RTMSG, "rtmsg")?;
        let unspecified = match i32::from(payload[0]) {
            libc::AF_INET => IpAddr::from([0; 4]),
            libc::AF_INET6 => IpAddr::from([0; 16]),
            _ => return Ok(None),
        };
        let mut dst = Prefix { address: unspecified, len: payload[1] };
        let (mut table, mut metric) = (u32::from(payload[4]), 0);
        let (mut oif, mut gateway, mut plain) = (None, None, true);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                RTA_DST => dst.address = attribute.address("RTA_DST")?,
                RTA_TABLE => table = attribute.u32("RTA_TABLE")?,
                RTA_PRIORITY => metric = attribute.u32("RTA_PRIORITY")?,
                RTA_OIF => oif = Some(attribute.u32("RTA_OIF")?),
                RTA_GATEWAY => gateway = Some(attribute.address("RTA_GATEWAY")?),
                RTA_NH_ID | RTA_ENCAP => plain = false,
                _ => {}
            }
        }
        if payload[7] != libc::RTN_UNICAST || !TABLES.contains(&table) {
            return Ok(None);
        }
        let way = oif.zip(gateway).filter(|_| plain);
        Ok(Some(Self { key: (table, dst, metric), protocol: payload[5], way }))
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use proptest::prelude::*;

    use super::super::message::write_attribute;
    use super::*;

    #[test]
    fn routes_are_what_is_written() {
        for (dst, via) in [("10.77.0.2/32", "10.78.0.9"), ("fd77::2/128", "fd78::9")] {
            let (dst, via) = (dst.parse().unwrap(), via.parse().unwrap());
            let message = route_message(7863, dst, Some((3, via)));
            let mut written = vec![0; message.buffer_len()];
            message.emit(&mut written);
            let key = (7863, dst, METRIC_PRIMARY);
            let turn = SeenTurn { key, protocol: PROTOCOL, way: Some((3, via)) };
            assert_eq!(SeenTurn::parse(&written), Ok(Some(turn)));
            let mut object = written.clone();
            write_attribute(&mut object, RTA_NH_ID, &[1, 0, 0, 0]);
            assert_eq!(SeenTurn::parse(&object).unwrap().unwrap().way, None);
            let mut main = written;
            write_attribute(&mut main, RTA_TABLE, &[254, 0, 0, 0]);
            assert_eq!(SeenTurn::parse(&main), Ok(None));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = SeenTurn::parse(&bytes);
        }
    }
}

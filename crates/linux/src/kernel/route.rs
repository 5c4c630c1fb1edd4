//! Decodes the kernel's routes: IPv4, IPv6 and MPLS, for all modules that read them.
//!
//! The fixed part and the attributes of label routes are decoded by netlink-packet-route. All other
//! attributes are read in place with netlink-packet-core, because there may be a hundred thousand
//! routes: nothing is allocated, and an unknown attribute cannot hide a route. Decoding them takes a
//! seventh of the processor time of netlink-packet-route's own messages (`examples/dump.rs`,
//! docs/benchmarks.md). Source: include/uapi/linux/rtnetlink.h.

use std::net::IpAddr;

use netlink_packet_core::{NlaBuffer, ParseableParametrized as _, parse_ip, parse_u32};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    MplsLabel, RouteAddress, RouteAttribute, RouteHeader, RouteLwEnCapType, RouteVia,
};
use tresse_base::units::Prefix;

use super::message::{Attributes, MalformedMessage};

/// Bytes of `struct rtmsg`.
const RTMSG: usize = 12;
pub(super) const RTA_NH_ID: u16 = 30;
pub(super) const RTAX_MTU: u16 = 2;
pub(super) const RTAX_ADVMSS: u16 = 8;

/// A route; interfaces are given by ifindex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub family: AddressFamily,
    pub protocol: u8,
    pub table: u32,
    pub metric: u32,
    /// Destination address of an IP route; `None` for the default route.
    pub dst: Option<IpAddr>,
    /// The label of a label route.
    pub label: Option<MplsLabel>,
    pub dst_len: u8,
    /// The preferred source address.
    pub src: Option<IpAddr>,
    /// The interface of its only nexthop.
    pub interface: Option<u32>,
    /// The gateway of its only nexthop, of the same family.
    pub gateway: Option<IpAddr>,
    /// The gateway of its only nexthop, of another family.
    pub via: Option<RouteVia>,
    /// The id of its nexthop object.
    pub nexthop: Option<u32>,
    pub mtu: Option<u32>,
    pub advmss: Option<u32>,
    /// Does the route put an encapsulation, such as labels, before its packets?
    pub encapsulated: bool,
    /// Labels that replace the incoming label of a label route, outermost first.
    pub swap: Vec<MplsLabel>,
}

impl Route {
    /// Decodes the body of an `RTM_NEWROUTE` or `RTM_DELROUTE`.
    #[cfg(test)]
    pub fn parse(payload: &[u8]) -> Result<Self, MalformedMessage> {
        Self::with(&RouteHeader::parse(payload)?, payload)
    }

    /// Decodes the body of an `RTM_NEWROUTE` or `RTM_DELROUTE` whose fixed part is already decoded.
    pub fn with(header: &RouteHeader, payload: &[u8]) -> Result<Self, MalformedMessage> {
        let mut route = Self {
            family: header.address_family,
            protocol: header.protocol.into(),
            table: header.table.into(),
            metric: 0,
            dst: None,
            label: None,
            dst_len: header.destination_prefix_length,
            src: None,
            interface: None,
            gateway: None,
            via: None,
            nexthop: None,
            mtu: None,
            advmss: None,
            encapsulated: false,
            swap: Vec::new(),
        };
        let attributes = payload.get(RTMSG..).ok_or_else(|| MalformedMessage::without("rtmsg"))?;
        for attribute in Attributes(attributes) {
            let (kind, whole, value) = attribute?;
            match kind {
                libc::RTA_DST if header.address_family != AddressFamily::Mpls => {
                    route.dst = Some(parse_ip(value)?);
                }
                libc::RTA_OIF => route.interface = Some(parse_u32(value)?),
                libc::RTA_GATEWAY => route.gateway = parse_ip(value).ok(),
                libc::RTA_PRIORITY => route.metric = parse_u32(value)?,
                libc::RTA_PREFSRC => route.src = parse_ip(value).ok(),
                libc::RTA_METRICS => route.take_metrics(value)?,
                libc::RTA_TABLE => route.table = parse_u32(value)?,
                RTA_NH_ID => route.nexthop = Some(parse_u32(value)?),
                libc::RTA_ENCAP => route.encapsulated = true,
                libc::RTA_DST | libc::RTA_VIA | libc::RTA_NEWDST => {
                    route.take_labelled(header, &NlaBuffer::new_checked(whole)?)?;
                }
                _ => {}
            }
        }
        Ok(route)
    }

    /// The destination; `None` if it is not an IP prefix.
    pub fn prefix(&self) -> Option<Prefix> {
        let address = match (self.family, self.dst) {
            (AddressFamily::Inet, None) => IpAddr::from([0; 4]),
            (AddressFamily::Inet6, None) => IpAddr::from([0; 16]),
            (_, dst) => dst?,
        };
        Some(Prefix { address, len: self.dst_len })
    }

    /// Decodes attributes that label routes have and IP routes rarely have.
    fn take_labelled(
        &mut self,
        header: &RouteHeader,
        attribute: &NlaBuffer<&[u8]>,
    ) -> Result<(), MalformedMessage> {
        let of = (header.address_family, header.kind, RouteLwEnCapType::None);
        match RouteAttribute::parse_with_param(attribute, of)? {
            RouteAttribute::Destination(RouteAddress::Mpls(label)) => self.label = Some(label),
            RouteAttribute::Via(via) => self.via = Some(via),
            RouteAttribute::NewDestination(swap) => self.swap = swap,
            _ => {}
        }
        Ok(())
    }

    fn take_metrics(&mut self, metrics: &[u8]) -> Result<(), MalformedMessage> {
        for metric in Attributes(metrics) {
            let (kind, _, value) = metric?;
            match kind {
                RTAX_MTU => self.mtu = Some(parse_u32(value)?),
                RTAX_ADVMSS => self.advmss = Some(parse_u32(value)?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The IP address in an attribute, if it is one.
pub(super) fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::route::{RouteMessage, RouteMetric, RouteProtocol};
    use proptest::prelude::*;

    use super::super::label::LabelRoute;
    use super::super::message::{bytes, write_attribute};
    use super::super::table_route::SeenTableRoute;
    use super::*;

    fn message() -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = 254;
        message.header.protocol = RouteProtocol::Other(78);
        message.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet([10, 77, 0, 2].into())),
            RouteAttribute::Priority(7800),
            RouteAttribute::NhId(0x5400_0001),
            RouteAttribute::PrefSource(RouteAddress::Inet([10, 77, 0, 1].into())),
            RouteAttribute::Metrics(vec![
                RouteMetric::Lock(4),
                RouteMetric::Mtu(1500),
                RouteMetric::Advmss(1460),
            ]),
        ];
        message
    }

    #[test]
    fn a_route_is_read_as_written() {
        let route = Route::parse(&bytes(&message())).unwrap();
        assert_eq!(route.prefix(), Some("10.77.0.2/32".parse().unwrap()));
        assert_eq!((route.table, route.protocol, route.metric), (254, 78, 7800));
        assert_eq!((route.nexthop, route.src), (Some(0x5400_0001), "10.77.0.1".parse().ok()));
        assert_eq!((route.mtu, route.advmss), (Some(1500), Some(1460)));
        assert!(!route.encapsulated && route.interface.is_none() && route.gateway.is_none());
    }

    #[test]
    fn the_default_route_leads_everywhere_and_a_label_to_no_prefix() {
        let mut default = message();
        default.header.destination_prefix_length = 0;
        default.attributes.clear();
        assert_eq!(
            Route::parse(&bytes(&default)).unwrap().prefix(),
            Some("0.0.0.0/0".parse().unwrap())
        );
        default.header.address_family = AddressFamily::Mpls;
        assert_eq!(Route::parse(&bytes(&default)).unwrap().prefix(), None);
    }

    #[test]
    fn only_what_concerns_us_has_to_be_whole() {
        let mut written = bytes(&message());
        write_attribute(&mut written, libc::RTA_CACHEINFO, &[1]);
        write_attribute(&mut written, libc::RTA_ENCAP, &[1]);
        assert!(Route::parse(&written).unwrap().encapsulated);
        write_attribute(&mut written, libc::RTA_TABLE, &[1]);
        assert!(Route::parse(&written).is_err());
        assert!(Route::parse(&[0; 11]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_without_panic(
            family in proptest::sample::select(vec![2u8, 10, 28, 7]),
            noise in proptest::collection::vec((0usize..100, any::<u8>()), 0..9),
            cut in 0usize..120,
        ) {
            let mut bytes = bytes(&message());
            bytes[0] = family;
            for (at, value) in noise {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            bytes.truncate(cut);
            let _ = Route::parse(&bytes).map(|route| (route.prefix(), SeenTableRoute::of(&route)));
            let _ = LabelRoute::parse(&bytes);
        }
    }
}

//! Routes as the kernel tells of them, of every family: one reader for all that look at them.
//!
//! Decodes by netlink-packet-route, attribute by attribute: of a route of ours nothing is allocated, and
//! what a foreign route says beyond that cannot hide it. Source: include/uapi/linux/rtnetlink.h.

use std::net::IpAddr;

use netlink_packet_core::{NlaBuffer, NlasIterator, Parseable as _, ParseableParametrized as _};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    MplsLabel, RouteAddress, RouteAttribute, RouteHeader, RouteLwEnCapType, RouteMetric, RouteVia,
};
use tresse_fabric::units::Prefix;

use super::message::{Malformed, attributes};

/// Bytes of `struct rtmsg`.
const RTMSG: usize = 12;
pub(super) const RTA_NH_ID: u16 = 30;
pub(super) const RTAX_MTU: u16 = 2;
pub(super) const RTAX_ADVMSS: u16 = 8;

/// A route; interfaces are named by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub family: AddressFamily,
    pub protocol: u8,
    pub table: u32,
    pub metric: u32,
    /// RTA_DST; `None` for the default route.
    pub dst: Option<RouteAddress>,
    pub dst_len: u8,
    /// The preferred source address.
    pub src: Option<IpAddr>,
    /// The interface of its only nexthop.
    pub interface: Option<u32>,
    /// The gateway of its only nexthop, of the same family.
    pub gateway: Option<IpAddr>,
    /// The same, of another family.
    pub via: Option<RouteVia>,
    /// Its nexthop object.
    pub nexthop: Option<u32>,
    pub mtu: Option<u32>,
    pub advmss: Option<u32>,
    /// Is something put before its packets?
    pub encapsulated: bool,
    /// The labels that replace the one of a label route, outermost first.
    pub swap: Vec<MplsLabel>,
}

impl Route {
    /// Reads the body of an `RTM_NEWROUTE` or `RTM_DELROUTE`.
    #[cfg(test)]
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        Self::with(&RouteHeader::parse(payload)?, payload)
    }

    /// Reads the body of an `RTM_NEWROUTE` or `RTM_DELROUTE`, whose fixed part is read already.
    pub fn with(header: &RouteHeader, payload: &[u8]) -> Result<Self, Malformed> {
        let mut route = Self {
            family: header.address_family,
            protocol: header.protocol.into(),
            table: header.table.into(),
            metric: 0,
            dst: None,
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
        for attribute in attributes(payload, RTMSG, "rtmsg")? {
            route.take(header, &attribute?)?;
        }
        Ok(route)
    }

    /// Where it leads; `None` where that is no IP prefix.
    pub fn prefix(&self) -> Option<Prefix> {
        let address = match (self.family, &self.dst) {
            (AddressFamily::Inet, None) => IpAddr::from([0; 4]),
            (AddressFamily::Inet6, None) => IpAddr::from([0; 16]),
            (_, dst) => ip(dst.as_ref()?)?,
        };
        Some(Prefix { address, len: self.dst_len })
    }

    fn take(
        &mut self,
        header: &RouteHeader,
        attribute: &NlaBuffer<&[u8]>,
    ) -> Result<(), Malformed> {
        match attribute.kind() {
            libc::RTA_METRICS => return self.take_metrics(attribute.value()),
            libc::RTA_ENCAP => self.encapsulated = true,
            libc::RTA_DST
            | libc::RTA_OIF
            | libc::RTA_GATEWAY
            | libc::RTA_PRIORITY
            | libc::RTA_PREFSRC
            | libc::RTA_TABLE
            | libc::RTA_VIA
            | libc::RTA_NEWDST
            | RTA_NH_ID => {
                let family = (header.address_family, header.kind, RouteLwEnCapType::None);
                match RouteAttribute::parse_with_param(attribute, family)? {
                    RouteAttribute::Destination(dst) => self.dst = Some(dst),
                    RouteAttribute::Oif(index) => self.interface = Some(index),
                    RouteAttribute::Gateway(gateway) => self.gateway = ip(&gateway),
                    RouteAttribute::Priority(metric) => self.metric = metric,
                    RouteAttribute::PrefSource(src) => self.src = ip(&src),
                    RouteAttribute::Table(table) => self.table = table,
                    RouteAttribute::Via(via) => self.via = Some(via),
                    RouteAttribute::NewDestination(swap) => self.swap = swap,
                    RouteAttribute::NhId(id) => self.nexthop = Some(id),
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_metrics(&mut self, metrics: &[u8]) -> Result<(), Malformed> {
        for metric in NlasIterator::new(metrics) {
            let metric = metric?;
            if !matches!(metric.kind(), RTAX_MTU | RTAX_ADVMSS) {
                continue;
            }
            match RouteMetric::parse(&metric)? {
                RouteMetric::Mtu(mtu) => self.mtu = Some(mtu),
                RouteMetric::Advmss(advmss) => self.advmss = Some(advmss),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The IP address that a route holds.
pub(super) fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::route::{RouteMessage, RouteProtocol};
    use proptest::prelude::*;

    use super::super::label::LabelRoute;
    use super::super::message::{bytes, write_attribute};
    use super::super::turn::SeenTurn;
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
            let _ = Route::parse(&bytes).map(|route| (route.prefix(), SeenTurn::of(&route)));
            let _ = LabelRoute::parse(&bytes);
        }
    }
}

//! Encodes and decodes table routes: routes in this project's routing tables, to which policy rules
//! lead ([`super::rule`]).

use std::net::IpAddr;

use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use tresse_base::units::Prefix;
use tresse_reconcile::{GuardRule, METRIC_PRIMARY, PROTOCOL, TABLES, TableRouteKey};

use super::route::Route;
use super::rule::family;

/// The body of the RTM_NEWROUTE of a table route through `nexthop` (ifindex, gateway); without it, of
/// its RTM_DELROUTE.
pub(super) fn route_message(
    table: u32,
    dst: Prefix,
    nexthop: Option<(u32, IpAddr)>,
) -> RouteMessage {
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
    if let Some((ifindex, via)) = nexthop {
        message.header.scope = RouteScope::Universe;
        message.header.flags = RouteFlags::Onlink;
        let gateway = RouteAttribute::Gateway(via.into());
        message.attributes.extend([gateway, RouteAttribute::Oif(ifindex)]);
    }
    message
}

/// A unicast route in a table of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenTableRoute {
    pub key: TableRouteKey,
    /// rtm_protocol.
    pub protocol: u8,
    /// ifindex and gateway, if it has one nexthop and no encapsulation.
    pub nexthop: Option<(u32, IpAddr)>,
}

impl SeenTableRoute {
    /// The table route that `route` is; `None` if it is in another table.
    pub fn of(route: &Route) -> Option<Self> {
        if !TABLES.contains(&route.table) && route.table != GuardRule::BACK_TABLE {
            return None;
        }
        let plain = route.nexthop.is_none() && !route.encapsulated;
        let nexthop = route.interface.zip(route.gateway).filter(|_| plain);
        let key = (route.table, route.prefix()?, route.metric);
        Some(Self { key, protocol: route.protocol, nexthop })
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{bytes, write_attribute};
    use super::super::route::RTA_NH_ID;
    use super::*;

    fn seen(written: &[u8]) -> Option<SeenTableRoute> {
        SeenTableRoute::of(&Route::parse(written).unwrap())
    }

    #[test]
    fn routes_are_what_is_written() {
        for (dst, via) in [("10.77.0.2/32", "10.78.0.9"), ("fd77::2/128", "fd78::9")] {
            let (dst, via) = (dst.parse().unwrap(), via.parse().unwrap());
            let written = bytes(&route_message(7863, dst, Some((3, via))));
            let key = (7863, dst, METRIC_PRIMARY);
            let table_route = SeenTableRoute { key, protocol: PROTOCOL, nexthop: Some((3, via)) };
            assert_eq!(seen(&written), Some(table_route));
            let mut object = written.clone();
            write_attribute(&mut object, RTA_NH_ID, &[1, 0, 0, 0]);
            assert_eq!(seen(&object).unwrap().nexthop, None);
            let mut main = written;
            write_attribute(&mut main, libc::RTA_TABLE, &[254, 0, 0, 0]);
            assert_eq!(seen(&main), None);
        }
    }
}

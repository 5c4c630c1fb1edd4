//! Encodes and decodes unreachable routes of the main table.

use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use tresse_base::units::Prefix;
use tresse_reconcile::{METRIC_UNREACHABLE, PROTOCOL};

use super::route::Route;
use super::rule::family;

/// The body of the RTM_NEWROUTE of an unreachable route, and of its RTM_DELROUTE.
pub(super) fn unreachable_message(dst: Prefix) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(dst.address.is_ipv4());
    message.header.destination_prefix_length = dst.len;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Other(PROTOCOL);
    message.header.scope = RouteScope::Universe;
    message.header.kind = RouteType::Unreachable;
    message.attributes = vec![
        RouteAttribute::Destination(dst.address.into()),
        RouteAttribute::Priority(METRIC_UNREACHABLE),
    ];
    message
}

/// The prefix of an unreachable route, if its metric is that of ours.
pub(super) fn prefix(route: &Route) -> Option<Prefix> {
    route.prefix().filter(|_| route.metric == METRIC_UNREACHABLE)
}

#[cfg(test)]
mod tests {
    use super::super::message::bytes;
    use super::*;

    #[test]
    fn routes_are_what_is_written() {
        for dst in ["10.77.0.0/16", "fd77::/64"] {
            let dst = dst.parse().unwrap();
            let route = Route::parse(&bytes(&unreachable_message(dst))).unwrap();
            assert_eq!((prefix(&route), route.protocol), (Some(dst), PROTOCOL));
            let other = Route { metric: 1024, ..route };
            assert_eq!(prefix(&other), None);
        }
    }
}

//! Reads nexthop objects, and the unicast routes of the main table and of this project's tables.
//! Source: include/uapi/linux/rtnetlink.h.

use std::collections::BTreeMap;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{RouteHeader, RouteMessage, RouteType};
use tresse_base::units::Prefix;
use tresse_reconcile::{
    GuardRule, METRIC_ICMP, ObservedNexthop, ObservedRoute, ObservedRoutes, ObservedTableRoute,
    RouteList, TableRouteKey,
};

use super::super::channel::{DumpError, Tables};
use super::super::message::bytes;
use super::super::nexthop::{self, Nexthop};
use super::super::route::Route;
use super::super::unreachable;
use super::names::Names;
use super::table_routes;

pub(super) fn nexthops(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<u32, ObservedNexthop>, DumpError> {
    let mut nexthops = BTreeMap::new();
    channel.dump(nexthop::RTM_GETNEXTHOP, &nexthop::DUMP, |message| {
        let nexthop = Nexthop::parse(message.payload)?;
        let interface = nexthop.ifindex.map(|i| names.name(i)).transpose()?.map(str::to_owned);
        let observed = ObservedNexthop {
            protocol: nexthop.protocol,
            interface,
            via: nexthop.via,
            labels: nexthop.labels,
            group: nexthop.group,
        };
        nexthops.insert(nexthop.id, observed);
        Ok(())
    })?;
    Ok(nexthops)
}

/// The routes of one dump.
pub(super) struct Routes {
    /// Unicast routes of the main table, and those for ICMP alone.
    pub main: ObservedRoutes,
    /// Unreachable routes of the main table, at the metric of ours, with their protocols.
    pub unreachable: BTreeMap<Prefix, u8>,
    /// Unicast routes of tables of ours.
    pub tables: BTreeMap<TableRouteKey, ObservedTableRoute>,
}

/// Reads the routes of the main table and of tables of ours. One dump of all tables, because
/// nothing else reveals a route left in a table of ours that has no rule.
pub(super) fn routes(channel: &mut impl Tables, names: &Names) -> Result<Routes, DumpError> {
    let (mut routes, mut table_routes) = (RouteList::default(), BTreeMap::new());
    let mut refusing = BTreeMap::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut all = RouteMessage::default();
        all.header.address_family = family;
        let result = channel.dump(libc::RTM_GETROUTE, &bytes(&all), |message| {
            if message.kind != libc::RTM_NEWROUTE {
                return Ok(());
            }
            let header = RouteHeader::parse(message.payload)?;
            if header.kind == RouteType::Unreachable && header.table == libc::RT_TABLE_MAIN {
                let route = Route::with(&header, message.payload)?;
                refusing.extend(unreachable::prefix(&route).map(|dst| (dst, route.protocol)));
            }
            if header.kind != RouteType::Unicast {
                return Ok(());
            }
            match header.table {
                // A table above 255 is given by an attribute.
                libc::RT_TABLE_COMPAT => {
                    let found = Route::with(&header, message.payload)?;
                    match is_for_icmp(&found) {
                        true => route(&found, names, &mut routes),
                        false => table_routes::table_route(&found, names, &mut table_routes),
                    }
                }
                libc::RT_TABLE_MAIN => {
                    route(&Route::with(&header, message.payload)?, names, &mut routes)
                }
                _ => Ok(()),
            }
        });
        match result {
            Err(DumpError::Kernel(source, _))
                if matches!(source.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => {
            }
            result => result?,
        }
    }
    Ok(Routes { main: routes.finish(), unreachable: refusing, tables: table_routes })
}

/// Is it in the table of routes for ICMP alone, at the metric of those?
pub(in crate::kernel) fn is_for_icmp(route: &Route) -> bool {
    (route.table, route.metric) == (GuardRule::ICMP_TABLE, METRIC_ICMP)
}

/// Adds a unicast route of the main table, or one for ICMP alone.
fn route(route: &Route, names: &Names, routes: &mut RouteList) -> Result<(), DumpError> {
    let Some(prefix) = route.prefix() else { return Ok(()) };
    let interface = match route.nexthop {
        None => route.interface.map(|index| names.name(index)).transpose()?.map(str::to_owned),
        Some(_) => None,
    };
    let observed = ObservedRoute {
        protocol: route.protocol,
        nexthop: route.nexthop,
        interface,
        src: route.src,
        mtu: route.mtu,
        advmss: route.advmss,
    };
    routes.push((prefix, route.metric), observed);
    Ok(())
}

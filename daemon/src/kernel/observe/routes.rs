//! Nexthop objects, and the routes of the main table and of tables of ours. Source:
//! include/uapi/linux/rtnetlink.h.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_fabric::reconcile::{
    ObservedNexthop, ObservedRoute, ObservedTurn, RouteList, Routes, TurnKey,
};
use tresse_fabric::units::Prefix;

use super::super::channel::{DumpError, Tables};
use super::super::message::{Attributes, Message};
use super::super::nexthop::{self, Nexthop};
use super::{Names, turns};

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

pub(in crate::kernel) const RTA_OIF: u16 = 4;
pub(in crate::kernel) const RTA_DST: u16 = 1;
pub(in crate::kernel) const RTA_PRIORITY: u16 = 6;
pub(in crate::kernel) const RTA_PREFSRC: u16 = 7;
pub(in crate::kernel) const RTA_METRICS: u16 = 8;
pub(in crate::kernel) const RTA_NH_ID: u16 = 30;
pub(in crate::kernel) const RTAX_MTU: u16 = 2;
pub(in crate::kernel) const RTAX_ADVMSS: u16 = 8;
/// Bytes of `struct rtmsg`.
pub(in crate::kernel) const RTMSG: usize = 12;

/// The routes of the main table, and those of tables of ours. All tables in one dump: what is left in
/// a table of ours without a rule is known by nothing else.
pub(super) fn routes(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<(Routes, BTreeMap<TurnKey, ObservedTurn>), DumpError> {
    let (mut routes, mut turns) = (RouteList::default(), BTreeMap::new());
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut body = [0; RTMSG];
        body[0] = family as u8;
        body[7] = libc::RTN_UNICAST;
        let result = channel.dump(libc::RTM_GETROUTE, &body, |message| {
            match message.payload.get(4) {
                // A table above 255 is told by an attribute.
                Some(&libc::RT_TABLE_COMPAT) => turns::turn(message, names, &mut turns),
                _ => route(message, names, &mut routes),
            }
        });
        match result {
            Err(DumpError::Kernel(source, _))
                if matches!(source.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => {
            }
            result => result?,
        }
    }
    Ok((routes.finish(), turns))
}

/// Adds the route that a message tells of, if it is one of those that concern us.
fn route(message: &Message<'_>, names: &Names, routes: &mut RouteList) -> Result<(), DumpError> {
    let payload = message.payload;
    let attributes = Attributes::after(payload, RTMSG, "rtmsg")?;
    let (table, kind) = (payload[4], payload[7]);
    if message.kind != libc::RTM_NEWROUTE
        || table != libc::RT_TABLE_MAIN
        || kind != libc::RTN_UNICAST
    {
        return Ok(());
    }
    let unspecified = match i32::from(payload[0]) {
        libc::AF_INET => IpAddr::from([0; 4]),
        libc::AF_INET6 => IpAddr::from([0; 16]),
        _ => return Ok(()),
    };
    let mut prefix = Prefix { address: unspecified, len: payload[1] };
    let (mut metric, mut oif) = (0, None);
    let mut route = ObservedRoute {
        protocol: payload[5],
        nexthop: None,
        interface: None,
        src: None,
        mtu: None,
        advmss: None,
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            RTA_DST => prefix.address = attribute.address("RTA_DST")?,
            RTA_OIF => oif = Some(attribute.u32("RTA_OIF")?),
            RTA_PRIORITY => metric = attribute.u32("RTA_PRIORITY")?,
            RTA_PREFSRC => route.src = Some(attribute.address("RTA_PREFSRC")?),
            RTA_NH_ID => route.nexthop = Some(attribute.u32("RTA_NH_ID")?),
            RTA_METRICS => {
                for value in Attributes(attribute.value) {
                    let value = value?;
                    match value.kind {
                        RTAX_MTU => route.mtu = Some(value.u32("RTAX_MTU")?),
                        RTAX_ADVMSS => route.advmss = Some(value.u32("RTAX_ADVMSS")?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if route.nexthop.is_none() {
        route.interface = oif.map(|i| names.name(i)).transpose()?.map(str::to_owned);
    }
    routes.push((prefix, metric), route);
    Ok(())
}

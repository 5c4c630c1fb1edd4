//! Writes the netlink messages for routes and neighbours, which come by the ten thousand, straight
//! into the buffer of a batch (many messages that one system call sends). No allocation per message
//! halves this process's cost of installing many routes.
//!
//! The bytes equal those that netlink-packet-route emits for the same message; the tests compare
//! them. Source: include/uapi/linux/{rtnetlink,neighbour}.h. After the header, host byte order:
//!
//! | offset | bytes | `struct rtmsg` | `struct ndmsg` |
//! |---|---|---|---|
//! | 0 | 1 | rtm_family | ndm_family |
//! | 1 | 1 | rtm_dst_len | padding |
//! | 2 | 2 | rtm_src_len, rtm_tos | padding |
//! | 4 | 4 | rtm_table, protocol, scope, type | ndm_ifindex |
//! | 8 | 4 | rtm_flags | ndm_state (2), ndm_flags, ndm_type |

use std::net::IpAddr;

use tresse_base::units::{Mac, Prefix};
use tresse_reconcile::{GuardRule, METRIC_ICMP, PROTOCOL};

use super::message::{write_attribute, write_message};
use super::observe::NDA_PROTOCOL;
use super::route::{RTA_NH_ID, RTAX_ADVMSS, RTAX_MTU};

/// The attributes of a new route, besides destination and metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewRoute {
    pub group: u32,
    pub src: Option<IpAddr>,
    pub mtu: Option<u32>,
    pub advmss: Option<u32>,
}

/// Appends the RTM_NEWROUTE of a route; without `new`, its RTM_DELROUTE. In the main table, but for the routes of
/// [`METRIC_ICMP`].
pub(super) fn route(
    buffer: &mut Vec<u8>,
    flags: u16,
    sequence: u32,
    (dst, metric): (Prefix, u32),
    new: Option<NewRoute>,
) {
    let (kind, scope) = match new {
        Some(_) => (libc::RTM_NEWROUTE, libc::RT_SCOPE_UNIVERSE),
        None => (libc::RTM_DELROUTE, libc::RT_SCOPE_NOWHERE),
    };
    // A table above 255 is given by an attribute.
    let (table, beyond) = match metric {
        METRIC_ICMP => (libc::RT_TABLE_UNSPEC, Some(GuardRule::ICMP_TABLE)),
        _ => (libc::RT_TABLE_MAIN, None),
    };
    write_message(buffer, kind, flags, sequence, |b| {
        b.extend_from_slice(&[family(dst.address), dst.len, 0, 0]);
        b.extend_from_slice(&[table, PROTOCOL, scope, libc::RTN_UNICAST]);
        b.extend_from_slice(&[0; 4]);
        write_address(b, libc::RTA_DST, dst.address);
        if let Some(table) = beyond {
            write_attribute(b, libc::RTA_TABLE, &table.to_ne_bytes());
        }
        write_attribute(b, libc::RTA_PRIORITY, &metric.to_ne_bytes());
        let Some(new) = new else { return };
        write_attribute(b, RTA_NH_ID, &new.group.to_ne_bytes());
        if let Some(src) = new.src {
            write_address(b, libc::RTA_PREFSRC, src);
        }
        let metrics = [(RTAX_MTU, new.mtu), (RTAX_ADVMSS, new.advmss)];
        if metrics.iter().any(|(_, value)| value.is_some()) {
            let at = b.len();
            write_attribute(b, libc::RTA_METRICS, &[]);
            for (kind, value) in metrics {
                if let Some(value) = value {
                    write_attribute(b, kind, &value.to_ne_bytes());
                }
            }
            let length = (b.len() - at) as u16;
            b[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        }
    });
}

/// Appends the RTM_NEWNEIGH of a permanent neighbour; without `mac`, its RTM_DELNEIGH.
pub(super) fn neighbour(
    buffer: &mut Vec<u8>,
    flags: u16,
    sequence: u32,
    (ifindex, address): (u32, IpAddr),
    mac: Option<Mac>,
) {
    let (kind, state) = match mac {
        Some(_) => (libc::RTM_NEWNEIGH, libc::NUD_PERMANENT),
        None => (libc::RTM_DELNEIGH, 0),
    };
    write_message(buffer, kind, flags, sequence, |b| {
        b.extend_from_slice(&[family(address), 0, 0, 0]);
        b.extend_from_slice(&ifindex.to_ne_bytes());
        b.extend_from_slice(&state.to_ne_bytes());
        b.extend_from_slice(&[0; 2]);
        write_address(b, libc::NDA_DST, address);
        if let Some(mac) = mac {
            write_attribute(b, libc::NDA_LLADDR, &mac.0);
            write_attribute(b, NDA_PROTOCOL, &[PROTOCOL]);
        }
    });
}

/// Appends the RTM_NEWNEIGH of a permanent forwarding entry (FDB) of a VXLAN interface; without `at`, its RTM_DELNEIGH.
pub(super) fn fdb(
    buffer: &mut Vec<u8>,
    flags: u16,
    sequence: u32,
    (ifindex, mac): (u32, Mac),
    at: Option<IpAddr>,
) {
    let kind = if at.is_some() { libc::RTM_NEWNEIGH } else { libc::RTM_DELNEIGH };
    write_message(buffer, kind, flags, sequence, |b| {
        b.extend_from_slice(&[libc::AF_BRIDGE as u8, 0, 0, 0]);
        b.extend_from_slice(&ifindex.to_ne_bytes());
        b.extend_from_slice(&libc::NUD_PERMANENT.to_ne_bytes());
        b.extend_from_slice(&[libc::NTF_SELF, 0]);
        write_attribute(b, libc::NDA_LLADDR, &mac.0);
        if let Some(at) = at {
            write_address(b, libc::NDA_DST, at);
        }
    });
}

fn write_address(buffer: &mut Vec<u8>, kind: u16, address: IpAddr) {
    match address {
        IpAddr::V4(a) => write_attribute(buffer, kind, &a.octets()),
        IpAddr::V6(a) => write_attribute(buffer, kind, &a.octets()),
    }
}

pub(super) const fn family(address: IpAddr) -> u8 {
    (match address {
        IpAddr::V4(_) => libc::AF_INET,
        IpAddr::V6(_) => libc::AF_INET6,
    }) as u8
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Emitable;
    use netlink_packet_route::AddressFamily;
    use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
    use netlink_packet_route::route::{
        RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
        RouteType,
    };

    use tresse_reconcile::METRIC_PRIMARY;

    use super::*;

    const ADDRESSES: [&str; 3] = ["10.77.0.5", "0.0.0.0", "fd77::5"];

    fn address_family(address: IpAddr) -> AddressFamily {
        if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
    }

    /// The crate's message behind the header that `write_message` gives it.
    fn emitted(kind: u16, flags: u16, sequence: u32, message: &impl Emitable) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_message(&mut bytes, kind, flags, sequence, |b| {
            let start = b.len();
            b.resize(start + message.buffer_len(), 0);
            message.emit(&mut b[start..]);
        });
        bytes
    }

    fn crates_route(dst: Prefix, metric: u32, new: Option<NewRoute>) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = address_family(dst.address);
        message.header.destination_prefix_length = dst.len;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Other(PROTOCOL);
        message.header.kind = RouteType::Unicast;
        message.attributes.push(RouteAttribute::Destination(dst.address.into()));
        if metric == METRIC_ICMP {
            message.header.table = RouteHeader::RT_TABLE_UNSPEC;
            message.attributes.push(RouteAttribute::Table(GuardRule::ICMP_TABLE));
        }
        message.attributes.push(RouteAttribute::Priority(metric));
        let Some(new) = new else {
            message.header.scope = RouteScope::NoWhere;
            return message;
        };
        message.header.scope = RouteScope::Universe;
        message.attributes.push(RouteAttribute::NhId(new.group));
        message.attributes.extend(new.src.map(|src| RouteAttribute::PrefSource(src.into())));
        let mtu = new.mtu.map(RouteMetric::Mtu).into_iter();
        let metrics: Vec<_> = mtu.chain(new.advmss.map(RouteMetric::Advmss)).collect();
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        message
    }

    #[test]
    fn routes_are_what_the_crate_emits() {
        for address in ADDRESSES {
            let dst = Prefix::host(address.parse().unwrap());
            for (src, mtu, advmss) in [
                (Some(dst.address), Some(1500), Some(1460)),
                (None, Some(9000), None),
                (None, None, Some(1)),
                (None, None, None),
            ] {
                let new = NewRoute { group: 0x5400_0001, src, mtu, advmss };
                for metric in [METRIC_PRIMARY, METRIC_ICMP] {
                    let mut bytes = Vec::new();
                    route(&mut bytes, 0x601, 7, (dst, metric), Some(new));
                    let message = crates_route(dst, metric, Some(new));
                    assert_eq!(bytes, emitted(libc::RTM_NEWROUTE, 0x601, 7, &message), "{new:?}");
                }
            }
            let mut bytes = Vec::new();
            route(&mut bytes, 1, 8, (dst, 7801), None);
            let message = crates_route(dst, 7801, None);
            assert_eq!(bytes, emitted(libc::RTM_DELROUTE, 1, 8, &message));
        }
    }

    #[test]
    fn neighbours_are_what_the_crate_emits() {
        for address in ADDRESSES.map(|a| a.parse::<IpAddr>().unwrap()) {
            for mac in [Some(Mac([2, 0x54, 0, 0, 1, 0])), None] {
                let mut message = NeighbourMessage::default();
                message.header.family = address_family(address);
                message.header.ifindex = 3;
                message.attributes.push(NeighbourAttribute::Destination(address.into()));
                if let Some(mac) = mac {
                    message.header.state = NeighbourState::Permanent;
                    let protocol = RouteProtocol::Other(PROTOCOL);
                    message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
                    message.attributes.push(NeighbourAttribute::Protocol(protocol));
                }
                let kind = if mac.is_some() { libc::RTM_NEWNEIGH } else { libc::RTM_DELNEIGH };
                let mut bytes = Vec::new();
                neighbour(&mut bytes, 0x601, 9, (3, address), mac);
                assert_eq!(bytes, emitted(kind, 0x601, 9, &message), "{address} {mac:?}");
            }
        }
    }
}

//! One operation to one or two netlink messages, on the types of netlink-packet-route; what comes
//! by the ten thousand is written by `bulk`.
//!
//! Interfaces are looked up by name when their operation is encoded, after the operations before
//! it took effect. Source: rtnetlink(7), include/uapi/linux/rtnetlink.h.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;

use netlink_packet_core::{Emitable, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeaderFlags, AddressMessage, AddressProtocol,
    AddressScope,
};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVlan, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use tresse_fabric::reconcile::{LinkKind, NODE_INTERFACE, Operation, PROTOCOL};

use super::bulk::{self, NewRoute};
use super::filter::{self, Filter};
use super::label::{self, LabelRoute};
use super::message::write_message;
use super::nexthop::{self, Nexthop};
use super::rule::{from_rule_message, rule_message};
use super::turn::route_message;

const NEW: u16 = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL;

/// ifindices by name, asked of the kernel once per name.
#[derive(Default)]
pub(super) struct Interfaces(HashMap<String, u32>);

impl Interfaces {
    /// Forgets everything: interfaces came or went.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The ifindex, or the name back.
    pub fn index<'a>(&mut self, name: &'a str) -> Result<u32, NoInterface<'a>> {
        if let Some(index) = self.0.get(name) {
            return Ok(*index);
        }
        let index = super::ifindex(name).map_err(|_| NoInterface(name))?;
        self.0.insert(name.to_owned(), index);
        Ok(index)
    }
}

/// The interface that an operation names does not exist.
#[derive(Debug)]
pub(super) struct NoInterface<'a>(pub &'a str);

/// How a new link is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewLink {
    /// As asked for.
    AsAsked,
    /// A bridge without ports in place of a dummy (K8).
    BridgeForDummy,
}

/// Appends the message that carries out `operation`. A created link gets its alias by a second
/// message, [`finish_link`]: the kernel ignores both alias and addrgenmode at creation.
///
/// `replace_dynamic` lets a new neighbour take the place of one that is not permanent.
pub(super) fn encode<'a>(
    buffer: &mut Vec<u8>,
    sequence: u32,
    operation: &'a Operation,
    interfaces: &mut Interfaces,
    replace_dynamic: bool,
    new_link: NewLink,
) -> Result<(), NoInterface<'a>> {
    match operation {
        Operation::AddLink { name, link, mtu, .. } => {
            let message = add_link(name, link, *mtu, new_link, interfaces)?;
            emit(buffer, libc::RTM_NEWLINK, NEW, sequence, &message);
        }
        Operation::ChangeLink { name, mtu, alias } => {
            let mut message = link_message(interfaces.index(name)?);
            message.attributes =
                vec![LinkAttribute::Mtu(*mtu), LinkAttribute::IfAlias(alias.clone())];
            emit(buffer, libc::RTM_SETLINK, NLM_F_REQUEST, sequence, &message);
        }
        Operation::SetLinkState { name, up } => {
            let mut message = link_message(interfaces.index(name)?);
            message.header.change_mask = LinkFlags::Up;
            message.header.flags = if *up { LinkFlags::Up } else { LinkFlags::empty() };
            emit(buffer, libc::RTM_SETLINK, NLM_F_REQUEST, sequence, &message);
        }
        Operation::DeleteLink { name } => {
            let message = link_message(interfaces.index(name)?);
            emit(buffer, libc::RTM_DELLINK, NLM_F_REQUEST, sequence, &message);
        }
        Operation::WriteSysctl { .. }
        | Operation::AddEndpoint { .. }
        | Operation::DeleteEndpoint { .. }
        | Operation::LimitSubflows { .. } => unreachable!("not messages of rtnetlink"),
        Operation::AddAddress { interface, address } => {
            let message = address_message(interfaces.index(interface)?, interface, *address);
            emit(buffer, libc::RTM_NEWADDR, NEW, sequence, &message);
        }
        Operation::DeleteAddress { interface, address } => {
            let message = address_message(interfaces.index(interface)?, interface, *address);
            emit(buffer, libc::RTM_DELADDR, NLM_F_REQUEST, sequence, &message);
        }
        Operation::AddNeighbour { interface, address, mac, replace } => {
            let key = (interfaces.index(interface)?, *address);
            let flags = if *replace {
                NLM_F_REQUEST | NLM_F_REPLACE
            } else if replace_dynamic {
                NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE
            } else {
                NEW
            };
            bulk::neighbour(buffer, flags, sequence, key, Some(*mac));
        }
        Operation::DeleteNeighbour { interface, address } => {
            let key = (interfaces.index(interface)?, *address);
            bulk::neighbour(buffer, NLM_F_REQUEST, sequence, key, None);
        }
        Operation::AddNexthop { id, interface, via, labels } => {
            let nexthop = Nexthop {
                id: *id,
                protocol: PROTOCOL,
                ifindex: Some(interfaces.index(interface)?),
                via: Some(*via),
                labels: labels.clone(),
                group: Vec::new(),
            };
            write_message(buffer, nexthop::RTM_NEWNEXTHOP, NEW, sequence, |b| nexthop.emit(b));
        }
        Operation::AddGroup { id, members, replace } => {
            let group = members.iter().map(|(id, weight)| (*id, u16::from(*weight))).collect();
            let nexthop = Nexthop { id: *id, protocol: PROTOCOL, group, ..Nexthop::default() };
            let flags = new_or_replace(*replace);
            write_message(buffer, nexthop::RTM_NEWNEXTHOP, flags, sequence, |b| nexthop.emit(b));
        }
        Operation::DeleteNexthop { id } => {
            write_message(buffer, nexthop::RTM_DELNEXTHOP, NLM_F_REQUEST, sequence, |b| {
                nexthop::emit_delete(*id, b);
            });
        }
        Operation::AddRoute { dst, metric, group, src, mtu, advmss, replace } => {
            let new = NewRoute { group: *group, src: *src, mtu: *mtu, advmss: *advmss };
            bulk::route(buffer, new_or_replace(*replace), sequence, (*dst, *metric), Some(new));
        }
        Operation::DeleteRoute { dst, metric } => {
            bulk::route(buffer, NLM_F_REQUEST, sequence, (*dst, *metric), None);
        }
        Operation::AddTurn { table, dst, interface, via, replace } => {
            let message = route_message(*table, *dst, Some((interfaces.index(interface)?, *via)));
            emit(buffer, libc::RTM_NEWROUTE, new_or_replace(*replace), sequence, &message);
        }
        Operation::DeleteTurn { table, dst } => {
            let message = route_message(*table, *dst, None);
            emit(buffer, libc::RTM_DELROUTE, NLM_F_REQUEST, sequence, &message);
        }
        Operation::AddRule { rule } => {
            emit(buffer, libc::RTM_NEWRULE, NEW, sequence, &rule_message(rule));
        }
        Operation::DeleteRule { rule } => {
            emit(buffer, libc::RTM_DELRULE, NLM_F_REQUEST, sequence, &rule_message(rule));
        }
        Operation::AddFromRule { rule } => {
            emit(buffer, libc::RTM_NEWRULE, NEW, sequence, &from_rule_message(rule));
        }
        Operation::DeleteFromRule { rule } => {
            emit(buffer, libc::RTM_DELRULE, NLM_F_REQUEST, sequence, &from_rule_message(rule));
        }
        Operation::AddLabel { label, way, replace } => {
            let route = LabelRoute::pop(*label, interfaces.index(&way.interface)?, way.via);
            let flags = new_or_replace(*replace);
            emit(buffer, libc::RTM_NEWROUTE, flags, sequence, &route.message());
        }
        Operation::DeleteLabel { label, .. } => {
            let message = label::delete_message(*label);
            emit(buffer, libc::RTM_DELROUTE, NLM_F_REQUEST, sequence, &message);
        }
        Operation::AddIngress { interface } | Operation::DeleteIngress { interface } => {
            let (kind, flags) = match operation {
                Operation::AddIngress { .. } => (libc::RTM_NEWQDISC, NEW),
                _ => (libc::RTM_DELQDISC, NLM_F_REQUEST),
            };
            let index = interfaces.index(interface)?;
            write_message(buffer, kind, flags, sequence, |b| filter::emit_clsact(index, b));
        }
        Operation::AddFilter { interface, handle, source } => {
            let index = interfaces.index(interface)?;
            let filter = Filter { handle: *handle, source: *source };
            write_message(buffer, libc::RTM_NEWTFILTER, NEW, sequence, |b| {
                filter.emit(index, b);
            });
        }
        Operation::DeleteFilter { interface, handle, source } => {
            let index = interfaces.index(interface)?;
            let filter = Filter { handle: *handle, source: *source };
            write_message(buffer, libc::RTM_DELTFILTER, NLM_F_REQUEST, sequence, |b| {
                filter.emit_key(index, b);
            });
        }
    }
    Ok(())
}

/// Appends the message that completes a link just created: MTU, alias, and no link-local address, so
/// that nothing is flooded before the canary (K5).
pub(super) fn finish_link(buffer: &mut Vec<u8>, sequence: u32, name: &str, mtu: u32, alias: &str) {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::Mtu(mtu),
        LinkAttribute::IfAlias(alias.to_owned()),
    ];
    if Path::new("/proc/sys/net/ipv6/conf").exists() {
        let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        message.attributes.push(LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])]));
    }
    emit(buffer, libc::RTM_SETLINK, NLM_F_REQUEST, sequence, &message);
}

/// An absent object is never created by a replacement: after a carrier loss the kernel would
/// build a group that no route uses any more (K1).
const fn new_or_replace(replace: bool) -> u16 {
    if replace { NLM_F_REQUEST | NLM_F_REPLACE } else { NEW }
}

fn emit(buffer: &mut Vec<u8>, kind: u16, flags: u16, sequence: u32, body: &impl Emitable) {
    write_message(buffer, kind, flags, sequence, |b| {
        let start = b.len();
        b.resize(start + body.buffer_len(), 0);
        body.emit(&mut b[start..]);
    });
}

fn link_message(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

fn add_link<'a>(
    name: &str,
    link: &'a LinkKind,
    mtu: u32,
    new_link: NewLink,
    interfaces: &mut Interfaces,
) -> Result<LinkMessage, NoInterface<'a>> {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(name.to_owned()), LinkAttribute::Mtu(mtu)];
    let info = match (link, new_link) {
        (LinkKind::Vlan { parent, vid }, _) => {
            message.attributes.push(LinkAttribute::Link(interfaces.index(parent)?));
            let data = InfoData::Vlan(vec![InfoVlan::Id(vid.0)]);
            vec![LinkInfo::Kind(InfoKind::Vlan), LinkInfo::Data(data)]
        }
        (LinkKind::Dummy, NewLink::AsAsked) => vec![LinkInfo::Kind(InfoKind::Dummy)],
        (LinkKind::Dummy, NewLink::BridgeForDummy) => vec![LinkInfo::Kind(InfoKind::Bridge)],
        (LinkKind::Tun, _) => unreachable!("TUN interfaces are made by /dev/net/tun"),
    };
    message.attributes.push(LinkAttribute::LinkInfo(info));
    Ok(message)
}

/// IFA_PROTO came with Linux 5.18; older kernels ignore the attribute, and the state file keeps
/// the mark instead.
fn address_message(index: u32, interface: &str, address: IpAddr) -> AddressMessage {
    let mut message = AddressMessage::default();
    let mut flags = AddressFlags::Noprefixroute;
    (message.header.family, message.header.prefix_len) = match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => {
            flags |= AddressFlags::Nodad;
            (AddressFamily::Inet6, 128)
        }
    };
    message.header.index = index;
    message.header.flags = AddressHeaderFlags::empty();
    message.header.scope = match address {
        IpAddr::V4(_) if interface != NODE_INTERFACE => AddressScope::Link,
        _ => AddressScope::Universe,
    };
    message.attributes = vec![
        AddressAttribute::Local(address),
        AddressAttribute::Address(address),
        AddressAttribute::Flags(flags),
        AddressAttribute::Protocol(AddressProtocol::Other(PROTOCOL)),
    ];
    message
}

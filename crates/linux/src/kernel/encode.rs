//! Encodes an operation as one netlink message of a batch: neighbours, forwarding entries, nexthop objects, routes,
//! label routes and filters. Routes and neighbours are written by `bulk`; operations that are sent
//! one by one are in `requests`.
//!
//! The ifindex of an interface is looked up by name when its operation is encoded, that is, after
//! the earlier operations took effect. Source: rtnetlink(7), include/uapi/linux/rtnetlink.h.

use std::collections::HashMap;

use netlink_packet_core::{Emitable, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST};
use tresse_reconcile::{Operation, PROTOCOL};

use super::bulk::{self, NewRoute};
use super::filter::{self, Filter};
use super::label::{self, LabelRoute};
use super::message::write_message;
use super::nexthop::{self, Nexthop};
use super::table_route::route_message;
use super::unreachable::unreachable_message;

const NEW: u16 = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL;

/// ifindexes by interface name; the kernel is asked once per name.
#[derive(Default)]
pub(super) struct Interfaces(HashMap<String, u32>);

impl Interfaces {
    /// Forgets all names, because interfaces came or went.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the ifindex, or an error that holds the name.
    pub fn index<'a>(&mut self, name: &'a str) -> Result<u32, NoInterface<'a>> {
        if let Some(index) = self.0.get(name) {
            return Ok(*index);
        }
        let index = super::ifindex(name).map_err(|_| NoInterface(name))?;
        self.0.insert(name.to_owned(), index);
        Ok(index)
    }
}

/// Error: an operation names an interface that does not exist.
#[derive(Debug)]
pub(super) struct NoInterface<'a>(pub &'a str);

/// Appends the message for `operation`, which must be of a kind that is sent in batches.
///
/// With `replace_dynamic` a new neighbour replaces one that is not permanent.
pub(super) fn encode<'a>(
    buffer: &mut Vec<u8>,
    sequence: u32,
    operation: &'a Operation,
    interfaces: &mut Interfaces,
    replace_dynamic: bool,
) -> Result<(), NoInterface<'a>> {
    match operation {
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
        Operation::AddFdb { interface, mac, at, replace } => {
            let key = (interfaces.index(interface)?, *mac);
            bulk::fdb(buffer, new_or_replace(*replace), sequence, key, Some(*at));
        }
        Operation::DeleteFdb { interface, mac } => {
            let key = (interfaces.index(interface)?, *mac);
            bulk::fdb(buffer, NLM_F_REQUEST, sequence, key, None);
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
        Operation::AddUnreachable { dst } => {
            emit(buffer, libc::RTM_NEWROUTE, NEW, sequence, &unreachable_message(*dst));
        }
        Operation::DeleteUnreachable { dst } => {
            emit(buffer, libc::RTM_DELROUTE, NLM_F_REQUEST, sequence, &unreachable_message(*dst));
        }
        Operation::AddTableRoute { table, dst, interface, via, replace } => {
            let message = route_message(*table, *dst, Some((interfaces.index(interface)?, *via)));
            emit(buffer, libc::RTM_NEWROUTE, new_or_replace(*replace), sequence, &message);
        }
        Operation::DeleteTableRoute { table, dst } => {
            let message = route_message(*table, *dst, None);
            emit(buffer, libc::RTM_DELROUTE, NLM_F_REQUEST, sequence, &message);
        }
        Operation::AddLabel { label, nexthop, replace } => {
            let route = LabelRoute::pop(*label, interfaces.index(&nexthop.interface)?, nexthop.via);
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
        _ => unreachable!("carried out by single requests, files or the path manager"),
    }
    Ok(())
}

/// Flags of a creation or a replacement. A replacement never creates an absent object: after a
/// carrier loss the kernel would build a group that no route uses any more (K1).
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

//! Compares the wanted with the observed addresses (K2) and permanent neighbour entries (K16), and
//! adds the operations that make them equal.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use super::context::{Context, leftover};
use super::foreign::{Hangers, is_our_address, is_our_neighbour};
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{Object, Operation, Refusal, Why};

/// Adds the operations on addresses; returns the addresses that this node has afterwards.
pub(super) fn addresses(context: &Context<'_>, steps: &mut Steps) -> HashSet<IpAddr> {
    let Context { wanted, observed, saved, interfaces } = context;
    let mut locals = HashSet::new();
    let mut unwanted = Vec::new();
    let mut ipv4: HashMap<&str, usize> = HashMap::new();
    let all = wanted.addresses.iter().map(|key| (key, ()));
    for (key, want, have) in join(all, observed.addresses.iter()) {
        let (interface, address) = key;
        let want = want.filter(|()| !interfaces.is_fused(interface));
        let ours = have.is_some_and(|have| is_our_address(key, have, observed, saved));
        match (want, have) {
            (Some(()), None) => {
                if let Some(reason) = interfaces.hold(interface) {
                    steps.wait(Object::Address(interface.clone(), *address), reason);
                    continue;
                }
                let operation =
                    Operation::AddAddress { interface: interface.clone(), address: *address };
                steps.push(Phase::Addresses, operation, Why::Missing);
            }
            (Some(()), Some(_)) if !ours => {
                let (interface, address) = key.clone();
                steps.drift.push(Refusal::ForeignAddress { interface, address });
            }
            (None, Some(_)) if ours => unwanted.push(key),
            (None, None) => continue,
            _ => {}
        }
        locals.insert(*address);
        *ipv4.entry(interface).or_default() += usize::from(address.is_ipv4());
    }
    if !unwanted.is_empty() {
        remove(context, &unwanted, &mut ipv4, steps);
        for operation in &steps.phases[Phase::DropAddresses as usize] {
            if let Operation::DeleteAddress { address, .. } = &operation.operation {
                locals.remove(address);
            }
        }
        locals.extend(
            wanted
                .addresses
                .iter()
                .filter(|key| observed.addresses.contains_key(*key))
                .map(|k| k.1),
        );
    }
    locals
}

/// Removes addresses, but never the last IPv4 address of an interface that stays in use, nor the
/// source of a foreign route: the kernel would delete what depends on it.
fn remove<'a>(
    context: &Context<'a>,
    unwanted: &[&'a (String, IpAddr)],
    ipv4: &mut HashMap<&'a str, usize>,
    steps: &mut Steps,
) {
    let hangers = Hangers::new(context.observed);
    let leaving: HashSet<&String> = leftover(context).collect();
    let used = used(context);
    for &key in unwanted {
        let (interface, address) = key.clone();
        let last = address.is_ipv4() && ipv4.get(interface.as_str()) == Some(&1);
        if hangers.is_source(&address) {
            let user = context.observed.routes.iter().find(|(_, r)| r.src == Some(address));
            if let Some(((dst, metric), _)) = user {
                let user = Object::Route(*dst, *metric);
                let object = Object::Address(interface, address);
                steps.refused.push(Refusal::InUse { object, user });
            }
            continue;
        }
        if last && let Some(user) = hangers.ipv4(&interface) {
            let object = Object::Address(interface, address);
            steps.refused.push(Refusal::InUse { object, user: user.clone() });
            continue;
        }
        if last && !leaving.contains(&key.0) && used.contains(interface.as_str()) {
            steps.refused.push(Refusal::LastAddress { interface, address });
            continue;
        }
        if address.is_ipv4()
            && let Some(left) = ipv4.get_mut(key.0.as_str())
        {
            *left -= 1;
        }
        let operation = Operation::DeleteAddress { interface, address };
        steps.push(Phase::DropAddresses, operation, Why::Leftover);
    }
}

/// Interfaces that wanted IPv4 neighbours and nexthops need.
fn used<'a>(context: &Context<'a>) -> HashSet<&'a str> {
    let Context { wanted, interfaces, .. } = context;
    let neighbours =
        wanted.neighbours.keys().filter(|key| key.1.is_ipv4()).map(|key| key.0.as_str());
    let nexthops = wanted.routes.values().flat_map(|route| &route.nexthops);
    let nexthops = nexthops.chain(wanted.xy.tables.values()).chain(wanted.mptcp.tables.values());
    let nexthops =
        nexthops.filter(|nexthop| nexthop.via.is_ipv4()).map(|nexthop| nexthop.interface.as_str());
    neighbours.chain(nexthops).filter(|name| !interfaces.is_fused(name)).collect()
}

/// Adds the operations on permanent neighbours.
pub(super) fn neighbours(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, interfaces, .. } = context;
    for (key, want, have) in join(wanted.neighbours.iter(), observed.neighbours.iter()) {
        let want = want.filter(|_| !interfaces.is_fused(&key.0));
        let (interface, address) = (|| key.0.clone(), key.1);
        match (want, have) {
            (Some(want), Some(have)) if !is_our_neighbour(have) => {
                let (found, protocol) = (have.mac, have.protocol);
                let interface = interface();
                let wanted = want.mac;
                let list = if found == wanted { &mut steps.drift } else { &mut steps.refused };
                list.push(Refusal::ForeignNeighbour {
                    interface,
                    address,
                    wanted,
                    found,
                    protocol,
                });
            }
            (Some(want), Some(have)) if want.mac == have.mac => {}
            (Some(want), have) => {
                if let Some(reason) = interfaces.hold(&key.0) {
                    steps.wait(Object::Neighbour(interface(), address), reason);
                    continue;
                }
                let why = have.map_or(Why::Missing, |h| Why::Changed { from: h.mac.to_string() });
                let operation = Operation::AddNeighbour {
                    interface: interface(),
                    address,
                    mac: want.mac,
                    replace: have.is_some(),
                };
                steps.push(Phase::Neighbours, operation, why);
            }
            (None, Some(have)) if is_our_neighbour(have) => {
                let operation = Operation::DeleteNeighbour { interface: interface(), address };
                steps.push(Phase::DropNeighbours, operation, Why::Leftover);
            }
            (None, _) => {}
        }
    }
}

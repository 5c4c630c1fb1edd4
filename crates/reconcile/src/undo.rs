//! Computes the operations that undo an operation, from the kernel state before the transaction.
//!
//! Undoing the executed operations of a transaction from last to first restores the observed state,
//! ids included; only the ifindexes of deleted interfaces are new.

use std::net::IpAddr;

use tresse_base::id::Label;
use tresse_base::units::{Mac, Prefix};

use super::diff::narrow;
use super::{METRIC_PRIMARY, Observed, Operation, WantedLabel, sysctl_interface};

/// Returns the operations, in order, that undo `operation`. `before` is the kernel state that was
/// observed before the transaction of which the operation is a part. The result is empty if undoing
/// an earlier operation of the transaction undoes this one too.
#[must_use]
pub fn inverse(operation: &Operation, before: &Observed) -> Vec<Operation> {
    match operation {
        Operation::AddLink { name, .. } => vec![Operation::DeleteLink { name: name.clone() }],
        Operation::ChangeLink { name, .. } => before
            .links
            .get(name)
            .map(|link| Operation::ChangeLink {
                name: name.clone(),
                mtu: link.mtu,
                alias: link.alias.clone().unwrap_or_default(),
                mac: link.planned_mac(),
            })
            .into_iter()
            .collect(),
        Operation::SetLinkState { name, .. } => before
            .links
            .get(name)
            .map(|link| Operation::SetLinkState { name: name.clone(), up: link.up })
            .into_iter()
            .collect(),
        Operation::DeleteLink { name } => recreate(name, before),
        Operation::WriteSysctl { key, value, before } => before
            .iter()
            .map(|old| Operation::WriteSysctl {
                key: key.clone(),
                value: old.clone(),
                before: Some(value.clone()),
            })
            .collect(),
        Operation::AddAddress { interface, address } => {
            vec![Operation::DeleteAddress { interface: interface.clone(), address: *address }]
        }
        Operation::DeleteAddress { interface, address } => {
            vec![Operation::AddAddress { interface: interface.clone(), address: *address }]
        }
        Operation::AddNeighbour { interface, address, replace: false, .. } => {
            vec![Operation::DeleteNeighbour { interface: interface.clone(), address: *address }]
        }
        Operation::AddNeighbour { interface, address, replace: true, .. } => {
            neighbour(interface, *address, true, before)
        }
        Operation::DeleteNeighbour { interface, address } => {
            neighbour(interface, *address, false, before)
        }
        Operation::AddFdb { interface, mac, replace: false, .. } => {
            vec![Operation::DeleteFdb { interface: interface.clone(), mac: *mac }]
        }
        Operation::AddFdb { interface, mac, replace: true, .. } => {
            fdb(interface, *mac, true, before)
        }
        Operation::DeleteFdb { interface, mac } => fdb(interface, *mac, false, before),
        Operation::AddNexthop { id, .. } | Operation::AddGroup { id, replace: false, .. } => {
            vec![Operation::DeleteNexthop { id: *id }]
        }
        Operation::AddGroup { id, replace: true, .. } => nexthop(*id, true, before),
        Operation::DeleteNexthop { id } => nexthop(*id, false, before),
        Operation::AddRoute { dst, metric, replace: false, .. } => {
            vec![Operation::DeleteRoute { dst: *dst, metric: *metric }]
        }
        Operation::AddRoute { dst, metric, replace: true, .. } => {
            route(*dst, *metric, true, before)
        }
        Operation::DeleteRoute { dst, metric } => route(*dst, *metric, false, before),
        &Operation::AddUnreachable { dst } => vec![Operation::DeleteUnreachable { dst }],
        &Operation::DeleteUnreachable { dst } => vec![Operation::AddUnreachable { dst }],
        Operation::AddTableRoute { table, dst, replace: false, .. } => {
            vec![Operation::DeleteTableRoute { table: *table, dst: *dst }]
        }
        Operation::AddTableRoute { table, dst, replace: true, .. } => {
            table_route(*table, *dst, true, before)
        }
        Operation::DeleteTableRoute { table, dst } => table_route(*table, *dst, false, before),
        Operation::AddRule { rule } => vec![Operation::DeleteRule { rule: rule.clone() }],
        Operation::DeleteRule { rule } => vec![Operation::AddRule { rule: rule.clone() }],
        Operation::AddSourceRule { rule } => {
            vec![Operation::DeleteSourceRule { rule: rule.clone() }]
        }
        Operation::DeleteSourceRule { rule } => {
            vec![Operation::AddSourceRule { rule: rule.clone() }]
        }
        Operation::AddGuardRule { rule } => {
            vec![Operation::DeleteGuardRule { rule: rule.clone() }]
        }
        Operation::DeleteGuardRule { rule } => vec![Operation::AddGuardRule { rule: rule.clone() }],
        &Operation::AddLocalRule { ipv4 } => vec![Operation::DeleteLocalRule { ipv4 }],
        &Operation::DeleteLocalRule { ipv4 } => vec![Operation::AddLocalRule { ipv4 }],
        &Operation::AddEndpoint { id, address } => vec![Operation::DeleteEndpoint { id, address }],
        &Operation::DeleteEndpoint { id, address } => vec![Operation::AddEndpoint { id, address }],
        &Operation::LimitSubflows { limit, before } => {
            vec![Operation::LimitSubflows { limit: before, before: limit }]
        }
        Operation::AddLabel { label, nexthop, replace: false } => {
            vec![Operation::DeleteLabel { label: *label, nexthop: nexthop.clone() }]
        }
        Operation::AddLabel { label, replace: true, .. } => self::label(*label, before),
        Operation::DeleteLabel { label, nexthop } => {
            vec![Operation::AddLabel { label: *label, nexthop: nexthop.clone(), replace: false }]
        }
        Operation::AddIngress { interface } => {
            vec![Operation::DeleteIngress { interface: interface.clone() }]
        }
        Operation::DeleteIngress { interface } => {
            vec![Operation::AddIngress { interface: interface.clone() }]
        }
        Operation::AddFilter { interface, handle, source } => vec![Operation::DeleteFilter {
            interface: interface.clone(),
            handle: *handle,
            source: *source,
        }],
        Operation::DeleteFilter { interface, handle, source } => vec![Operation::AddFilter {
            interface: interface.clone(),
            handle: *handle,
            source: *source,
        }],
    }
}

/// Creates the interface again, with the sysctls and the state that it had.
fn recreate(name: &str, before: &Observed) -> Vec<Operation> {
    let Some(link) = before.links.get(name) else { return Vec::new() };
    let Some(kind) = link.kind.clone() else { return Vec::new() };
    let mut operations = vec![Operation::AddLink {
        name: name.into(),
        link: kind,
        mtu: link.mtu,
        alias: link.alias.clone().unwrap_or_default(),
        mac: link.planned_mac(),
    }];
    let sysctls = before.sysctls.iter().filter(|(key, _)| sysctl_interface(key) == Some(name));
    operations.extend(sysctls.map(|(key, value)| Operation::WriteSysctl {
        key: key.clone(),
        value: value.clone(),
        before: None,
    }));
    if let Some(ingress) = before.ingress.get(name) {
        operations.push(Operation::AddIngress { interface: name.into() });
        let passed = ingress.passed.iter().map(|(handle, mac)| (*handle, Some(*mac)));
        let dropped = ingress.dropped.iter().map(|handle| (*handle, None));
        operations.extend(passed.chain(dropped).map(|(handle, source)| Operation::AddFilter {
            interface: name.into(),
            handle,
            source,
        }));
    }
    if link.up {
        operations.push(Operation::SetLinkState { name: name.into(), up: true });
    }
    operations
}

fn label(label: Label, before: &Observed) -> Vec<Operation> {
    let found = before.labels.get(&label).and_then(|found| {
        Some(WantedLabel { interface: found.interface.clone()?, via: found.via? })
    });
    let operation = found.map(|nexthop| Operation::AddLabel { label, nexthop, replace: true });
    operation.into_iter().collect()
}

fn neighbour(interface: &str, address: IpAddr, replace: bool, before: &Observed) -> Vec<Operation> {
    let key = (interface.to_owned(), address);
    let found = before.neighbours.get(&key);
    let operation =
        found.map(|n| Operation::AddNeighbour { interface: key.0, address, mac: n.mac, replace });
    operation.into_iter().collect()
}

fn fdb(interface: &str, mac: Mac, replace: bool, before: &Observed) -> Vec<Operation> {
    let key = (interface.to_owned(), mac);
    let found = before.fdb.get(&key);
    let operation = found.map(|at| Operation::AddFdb { interface: key.0, mac, at: *at, replace });
    operation.into_iter().collect()
}

fn nexthop(id: u32, replace: bool, before: &Observed) -> Vec<Operation> {
    let Some(found) = before.nexthops.get(&id) else { return Vec::new() };
    if !found.group.is_empty() {
        return vec![Operation::AddGroup { id, members: narrow(&found.group), replace }];
    }
    let plain = found.interface.clone().zip(found.via);
    let operation = plain.map(|(interface, via)| Operation::AddNexthop {
        id,
        interface,
        via,
        labels: found.labels.clone(),
    });
    operation.into_iter().collect()
}

fn route(dst: Prefix, metric: u32, replace: bool, before: &Observed) -> Vec<Operation> {
    let found = before.routes.get(&(dst, metric));
    let operation = found.and_then(|r| {
        let group = r.nexthop?;
        let (src, mtu, advmss) = (r.src, r.mtu, r.advmss);
        Some(Operation::AddRoute { dst, metric, group, src, mtu, advmss, replace })
    });
    operation.into_iter().collect()
}

fn table_route(table: u32, dst: Prefix, replace: bool, before: &Observed) -> Vec<Operation> {
    let found = before.table_routes.get(&(table, dst, METRIC_PRIMARY)).and_then(|table_route| {
        let (interface, via) = (table_route.interface.clone()?, table_route.via?);
        Some(Operation::AddTableRoute { table, dst, interface, via, replace })
    });
    found.into_iter().collect()
}

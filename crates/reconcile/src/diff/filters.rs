//! Compares the wanted with the observed filters for MPLS frames on the ingress of each interface,
//! and adds the operations that make them equal (K11). One filter per planned neighbour passes its
//! labelled frames, and one after them drops all other labelled frames.
//!
//! ```text
//! clsact, ingress   preference 7800: MPLS from 02:..:01 pass    handle 1
//!                                    MPLS from 02:..:02 pass    handle 2
//!                   preference 7801: MPLS drop                  handle 1
//! ```
//!
//! All filters are in place before label input is switched on or the interface is set up, and are
//! removed after label input is off. A clsact qdisc that somebody else created is used and left in
//! place. Ours is removed, unless somebody else's filter is in it.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;

use super::context::{Context, leftover};
use super::steps::{Phase, Steps};
use crate::{Object, ObservedIngress, Operation, PendingReason, Refusal, Why};

/// Adds the operations on the filters of all interfaces.
pub(super) fn filters(context: &Context<'_>, steps: &mut Steps) {
    let Context { wanted, observed, saved, interfaces } = context;
    for (interface, sources) in &wanted.label_sources {
        let state = interfaces.find(interface);
        let reason = match (state, state.and_then(|s| s.hold.as_ref())) {
            (None, _) => Some(PendingReason::Absent(interface.clone())),
            (_, Some(reason @ (PendingReason::Absent(_) | PendingReason::Refused(_)))) => {
                Some(reason.clone())
            }
            _ => None,
        };
        let present = observed.ingress.get(interface);
        if let Some(reason) = reason {
            steps.wait(Object::Filter(interface.clone(), None), reason);
        } else if let Some(preference) = present.and_then(|p| p.taken) {
            let interface = interface.clone();
            steps.refused.push(Refusal::ForeignFilter { interface, preference });
        } else {
            install(interface, sources, present, steps);
        }
    }
    let leaving: BTreeSet<&String> = leftover(context).collect();
    for (interface, present) in &observed.ingress {
        if wanted.label_sources.contains_key(interface) || leaving.contains(interface) {
            continue;
        }
        for handle in &present.dropped {
            delete(interface, *handle, None, steps);
        }
        for (handle, mac) in &present.passed {
            delete(interface, *handle, Some(*mac), steps);
        }
        if saved.ingress.contains(interface) && !present.foreign {
            let operation = Operation::DeleteIngress { interface: interface.clone() };
            steps.push(Phase::DropFilters, operation, Why::Leftover);
        }
    }
}

fn install(
    interface: &str,
    sources: &BTreeSet<Mac>,
    present: Option<&ObservedIngress>,
    steps: &mut Steps,
) {
    let none = ObservedIngress::default();
    let ObservedIngress { passed, dropped, .. } = present.unwrap_or(&none);
    if present.is_none() {
        let operation = Operation::AddIngress { interface: interface.into() };
        steps.push(Phase::Filters, operation, Why::Missing);
    }
    let mut kept: BTreeMap<Mac, u32> = BTreeMap::new();
    for (handle, mac) in passed {
        if !sources.contains(mac) || kept.contains_key(mac) {
            delete(interface, *handle, Some(*mac), steps);
        } else {
            kept.insert(*mac, *handle);
        }
    }
    // Handles of deleted filters are free only after the additions.
    let mut free = (1..).filter(|handle| !passed.contains_key(handle));
    for mac in sources.iter().filter(|mac| !kept.contains_key(*mac)) {
        if let Some(handle) = free.next() {
            add(interface, handle, Some(*mac), steps);
        }
    }
    match dropped.first() {
        None => add(interface, 1, None, steps),
        Some(_) => dropped.iter().skip(1).for_each(|h| delete(interface, *h, None, steps)),
    }
}

fn add(interface: &str, handle: u32, source: Option<Mac>, steps: &mut Steps) {
    let operation = Operation::AddFilter { interface: interface.into(), handle, source };
    steps.push(Phase::Filters, operation, Why::Missing);
}

fn delete(interface: &str, handle: u32, source: Option<Mac>, steps: &mut Steps) {
    let operation = Operation::DeleteFilter { interface: interface.into(), handle, source };
    steps.push(Phase::DropFilters, operation, Why::Leftover);
}

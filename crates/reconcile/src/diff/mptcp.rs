//! Compares the wanted with the observed MPTCP endpoints, limit of subflows, and policy rules by
//! source address, and adds the operations that make them equal.
//!
//! Policy rules and routes are added before the endpoints and removed after them, so that no
//! subflow uses a wrong NIC.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::context::Context;
use super::steps::{Phase, Steps};
use super::table_routes::Taken;
use crate::{ENDPOINT_IDS, ENDPOINTS_MAX, ObservedMptcp, Operation, Refusal, Why};

pub(super) fn mptcp(context: &Context<'_>, taken: &Taken<'_>, steps: &mut Steps) {
    source_rules(context, taken, steps);
    match &context.observed.mptcp {
        Some(found) => {
            limit(context, found, steps);
            endpoints(context, found, steps);
        }
        None if context.wanted.mptcp.is_empty() => {}
        None => steps.drift.push(Refusal::NoMptcp),
    }
}

fn source_rules(context: &Context<'_>, taken: &Taken<'_>, steps: &mut Steps) {
    let Context { wanted, observed, .. } = context;
    let wanted = match &observed.mptcp {
        Some(_) => wanted.source_rules(),
        None => BTreeSet::new(),
    };
    for rule in wanted.difference(&observed.source_rules) {
        let table = (rule.table, rule.source.is_ipv4());
        if let (Some(&(&(table, dst, metric), protocol)), false) =
            (taken.get(&table), rule.unreachable)
        {
            steps.refused.push(Refusal::ForeignTableRoute { table, dst, metric, protocol });
        } else {
            let operation = Operation::AddSourceRule { rule: rule.clone() };
            steps.push(Phase::Rules, operation, Why::Missing);
        }
    }
    for rule in observed.source_rules.difference(&wanted) {
        let operation = Operation::DeleteSourceRule { rule: rule.clone() };
        steps.push(Phase::DropRules, operation, Why::Leftover);
    }
}

/// The limit is raised if it is too low, and never lowered while a plan is installed.
fn limit(context: &Context<'_>, found: &ObservedMptcp, steps: &mut Steps) {
    let before = found.subflows;
    let needed = context.wanted.subflows();
    if needed > before {
        let operation = Operation::LimitSubflows { limit: needed, before };
        let why = Why::Changed { from: before.to_string() };
        steps.push(Phase::Endpoints, operation, why);
    }
    let original = context.saved.subflows.filter(|original| needed == 0 && *original != before);
    if let Some(limit) = original {
        let operation = Operation::LimitSubflows { limit, before };
        steps.push(Phase::RestoreGlobalSysctls, operation, Why::Restored);
    }
}

fn endpoints(context: &Context<'_>, found: &ObservedMptcp, steps: &mut Steps) {
    let wanted = &context.wanted.mptcp.endpoints;
    let mut ids: BTreeSet<u8> = found.endpoints.keys().copied().collect();
    let mut there: BTreeMap<IpAddr, (u8, bool)> = BTreeMap::new();
    for (&id, endpoint) in &found.endpoints {
        let (address, ours) = (endpoint.address, ObservedMptcp::is_ours(id, endpoint));
        if ours && !wanted.contains_key(&address) {
            ids.remove(&id);
            let operation = Operation::DeleteEndpoint { id, address };
            steps.push(Phase::DropEndpoints, operation, Why::Leftover);
        } else {
            there.insert(address, (id, ours));
        }
    }
    let others = there.values().filter(|(_, ours)| !ours).count();
    for &address in wanted.keys() {
        match there.get(&address) {
            Some((_, true)) => continue,
            Some(&(id, false)) => steps.drift.push(Refusal::ForeignEndpoint { address, id }),
            None => {
                let free = ENDPOINT_IDS.clone().find(|id| !ids.contains(id));
                let Some(id) = free.filter(|_| ids.len() < ENDPOINTS_MAX) else {
                    steps.drift.push(Refusal::EndpointsFull { address, others });
                    continue;
                };
                ids.insert(id);
                let operation = Operation::AddEndpoint { id, address };
                steps.push(Phase::Endpoints, operation, Why::Missing);
            }
        }
    }
}

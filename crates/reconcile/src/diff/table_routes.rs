//! Compares the wanted with the observed policy rules by arrival interface, and the routes in the
//! tables that these rules lead to, and adds the operations that make them equal. They serve
//! strategy `xy`: a packet that the main table would send out of the NIC by which it arrived takes
//! another path.
//!
//! ```text
//! 7800: from all iif eth0 lookup 7800      10.77.0.2 via 10.78.0.9 dev eth1
//! 7801: from all iif eth1 lookup 7801      10.77.0.9 via 10.78.0.2 dev eth0
//! ```
//!
//! A policy rule is added after its table is filled, and removed before the table is reused. Table
//! routes have no nexthop objects, so they survive the loss of carrier (K1). While their NIC has no
//! carrier, the kernel skips them (`ignore_routes_with_linkdown`), and the main table decides. The
//! kernel also accepts new ones then. A table with a foreign route gets no policy rule of ours,
//! because the rule would send packets along that route.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Context;
use super::foreign::is_our_table_route;
use super::join::join;
use super::steps::{Phase, Steps};
use crate::{
    GuardRule, Object, Observed, Operation, PendingReason, Refusal, Rule, TableRouteKey, Why,
};

/// The first foreign route of each table and family (IPv4?).
pub(super) type Taken<'a> = BTreeMap<(u32, bool), (&'a TableRouteKey, u8)>;

/// Adds the operations on policy rules and on their table routes.
pub(super) fn table_routes(context: &Context<'_>, taken: &Taken<'_>, steps: &mut Steps) {
    let kept = kept(context);
    rules(context, taken, &kept, steps);
    routes(context, taken, &kept, steps);
}

/// The tables that hold a foreign route.
pub(super) fn taken(observed: &Observed) -> Taken<'_> {
    let mut taken = Taken::new();
    for (key, table_route) in &observed.table_routes {
        if is_our_table_route(key, table_route).is_none() {
            taken.entry((key.0, key.1.address.is_ipv4())).or_insert((key, table_route.protocol));
        }
    }
    taken
}

/// The tables by arrival interface, each with its family (IPv4?), that keep their interface or are not
/// needed any more: no policy rule that is still to be added leads to them.
fn kept(context: &Context<'_>) -> BTreeSet<(u32, bool)> {
    let Context { wanted, observed, .. } = context;
    let wanted = wanted.rules();
    let table = |rule: &Rule| (rule.table, rule.ipv4);
    let mut kept: BTreeSet<_> = observed.rules.iter().map(table).collect();
    for rule in wanted.difference(&observed.rules) {
        kept.remove(&table(rule));
    }
    kept
}

fn rules(
    context: &Context<'_>,
    taken: &Taken<'_>,
    kept: &BTreeSet<(u32, bool)>,
    steps: &mut Steps,
) {
    let Context { wanted, observed, interfaces, .. } = context;
    let wanted = wanted.rules();
    for rule in &wanted {
        if let Some(&(&(table, dst, metric), protocol)) = taken.get(&(rule.table, rule.ipv4)) {
            steps.refused.push(Refusal::ForeignTableRoute { table, dst, metric, protocol });
        } else if !observed.rules.contains(rule) {
            match interfaces.hold(&rule.interface) {
                Some(reason @ (PendingReason::Absent(_) | PendingReason::Refused(_))) => {
                    steps.wait(Object::Rule(rule.clone()), reason);
                }
                _ => {
                    let operation = Operation::AddRule { rule: rule.clone() };
                    steps.push(Phase::Rules, operation, Why::Missing);
                }
            }
        }
    }
    for dst in context.wanted.back.keys() {
        let table = (GuardRule::BACK_TABLE, dst.address.is_ipv4());
        if let Some(&(&(table, dst, metric), protocol)) = taken.get(&table) {
            steps.refused.push(Refusal::ForeignTableRoute { table, dst, metric, protocol });
            break;
        }
    }
    for rule in observed.rules.difference(&wanted) {
        let operation = Operation::DeleteRule { rule: rule.clone() };
        let phase = match kept.contains(&(rule.table, rule.ipv4)) {
            true => Phase::DropUnusedRules,
            false => Phase::DropRules,
        };
        steps.push(phase, operation, Why::Leftover);
    }
}

fn routes(
    context: &Context<'_>,
    taken: &Taken<'_>,
    kept: &BTreeSet<(u32, bool)>,
    steps: &mut Steps,
) {
    let Context { wanted, observed, interfaces, .. } = context;
    let wanted = wanted.table_routes();
    let ours = observed.table_routes.iter();
    let ours: BTreeMap<_, _> = ours
        .filter_map(|(key, table_route)| {
            Some(((key.0, key.1), is_our_table_route(key, table_route)?))
        })
        .collect();
    for (&(table, dst), want, have) in join(wanted.iter(), ours.iter()) {
        let delete = || Operation::DeleteTableRoute { table, dst };
        let Some(nexthop) = want else {
            let phase = match kept.contains(&(table, dst.address.is_ipv4())) {
                true => Phase::DropUnusedTableRoutes,
                false => Phase::DropTableRoutes,
            };
            steps.push(phase, delete(), Why::Leftover);
            continue;
        };
        let same = have.is_some_and(|have| *have == (nexthop.interface.as_str(), nexthop.via));
        if same || taken.contains_key(&(table, dst.address.is_ipv4())) {
            continue;
        }
        if let Some(reason) = interfaces.hold(&nexthop.interface) {
            steps.wait(Object::TableRoute(table, dst), reason);
            // The old route must not stay in use meanwhile.
            if have.is_some() {
                steps.push(Phase::DropTableRoutes, delete(), Why::Leftover);
            }
            continue;
        }
        let why = have.map_or(Why::Missing, |(interface, via)| Why::Changed {
            from: format!("via {via} dev {interface}"),
        });
        let (interface, via, replace) = (nexthop.interface.clone(), nexthop.via, have.is_some());
        let operation = Operation::AddTableRoute { table, dst, interface, via, replace };
        steps.push(Phase::TableRoutes, operation, why);
    }
}

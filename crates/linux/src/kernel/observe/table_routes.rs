//! Reads this project's policy rules, which choose a routing table by arrival interface or source
//! address, and the routes of the tables that they lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::rule::RuleMessage;
use tresse_reconcile::{GuardRule, ObservedTableRoute, PROTOCOL, Rule, SourceRule, TableRouteKey};

use super::super::channel::{DumpError, Tables};
use super::super::message::bytes;
use super::super::route::Route;
use super::super::rule::SeenRule;
use super::super::table_route::SeenTableRoute;
use super::names::Names;

/// Our policy rules.
#[derive(Default)]
pub(super) struct Rules {
    /// By arrival interface.
    pub(super) rules: BTreeSet<Rule>,
    /// By source address.
    pub(super) source_rules: BTreeSet<SourceRule>,
    /// That keep packets of the fabric inside it.
    pub(super) guard: BTreeSet<GuardRule>,
    /// The families whose table `local` is looked up first, by the kernel's own rule.
    pub(super) local: BTreeSet<bool>,
    /// Those whose table `local` is looked up by a rule of somebody else at another priority.
    pub(super) local_elsewhere: BTreeSet<bool>,
}

/// Reads our rules. A foreign rule that looks like ours is a different rule to the kernel, which
/// compares the protocol number too, also in a deletion.
pub(super) fn rules(source: &mut impl Tables) -> Result<Rules, DumpError> {
    let mut rules = Rules::default();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut all = RuleMessage::default();
        all.header.family = family;
        let result = source.dump(libc::RTM_GETRULE, &bytes(&all), |message| {
            if message.kind == libc::RTM_NEWRULE {
                let seen = SeenRule::parse(message.payload)?;
                rules.rules.extend(seen.arriving);
                rules.source_rules.extend(seen.from);
                rules.guard.extend(seen.guard);
                rules.local.extend(seen.local);
                rules.local_elsewhere.extend(seen.local_elsewhere);
            }
            Ok(())
        });
        match result {
            // The kernel has no policy rules, or lacks this family.
            Err(DumpError::Kernel(source, _)) if lacks(&source) => {}
            result => result?,
        }
    }
    Ok(rules)
}

fn lacks(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP))
}

/// Adds a unicast route if it is in a table of ours. Of several with the same key ours is kept, or
/// else the first.
pub(super) fn table_route(
    route: &Route,
    names: &Names,
    table_routes: &mut BTreeMap<TableRouteKey, ObservedTableRoute>,
) -> Result<(), DumpError> {
    let Some(SeenTableRoute { key, protocol, nexthop }) = SeenTableRoute::of(route) else {
        return Ok(());
    };
    let interface = nexthop.map(|(index, _)| names.name(index)).transpose()?.map(str::to_owned);
    let found = ObservedTableRoute { protocol, interface, via: nexthop.map(|(_, via)| via) };
    let kept = table_routes.entry(key).or_insert_with(|| found.clone());
    if kept.protocol != PROTOCOL {
        *kept = found;
    }
    Ok(())
}

//! IPv6 forwarding where nodes route (K7). From Linux 6.17 on it is per interface, by
//! `force_forwarding`; before that there is only a switch for all interfaces, which makes every one of
//! them forget the routes of router advertisements unless its `accept_ra` is 2.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{Observed, Wanted, sysctl_interface};

/// Lets all interfaces forward IPv6.
pub const ALL_FORWARDING: &str = "net/ipv6/conf/all/forwarding";
/// The sysctls that say whether router advertisements are heard; `*` stands for every interface.
const ACCEPT_RA: &str = "net/ipv6/conf/*/accept_ra";

/// The sysctl that lets what comes in by `interface` be forwarded, where the kernel has it.
#[must_use]
pub fn force_forwarding(interface: &str) -> String {
    format!("net/ipv6/conf/{interface}/force_forwarding")
}

/// Does a sysctl say whether an interface hears router advertisements?
#[must_use]
pub fn is_accept_ra(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/accept_ra")
}

/// Adds what must be observed as well for `possible`.
pub fn also_observed(keys: &mut BTreeSet<String>) {
    if keys.iter().any(|key| is_forced(key)) {
        keys.extend([ALL_FORWARDING, ACCEPT_RA].map(str::to_owned));
    }
}

/// What is wanted as this kernel can do it: without `force_forwarding`, all interfaces forward, and
/// those that hear router advertisements go on hearing them.
pub(super) fn possible<'a>(wanted: &'a Wanted, observed: &Observed) -> Cow<'a, Wanted> {
    let there = |key: &str| sysctl_interface(key).is_some_and(|i| observed.links.contains_key(i));
    let lacks = |key: &String| is_forced(key) && there(key) && !observed.sysctls.contains_key(key);
    if !wanted.sysctls.keys().any(lacks) {
        return Cow::Borrowed(wanted);
    }
    let mut possible = wanted.clone();
    possible.sysctls.retain(|key, _| !is_forced(key));
    possible.sysctls.insert(ALL_FORWARDING.into(), "1".into());
    for (key, value) in observed.sysctls.iter().filter(|(key, _)| is_accept_ra(key) && there(key)) {
        let foreign = sysctl_interface(key).and_then(|name| observed.links.get(name));
        if matches!(value.as_str(), "1" | "2") && foreign.is_some_and(|link| !link.is_ours()) {
            possible.sysctls.entry(key.clone()).or_insert_with(|| "2".into());
        }
    }
    Cow::Owned(possible)
}

fn is_forced(key: &str) -> bool {
    key.starts_with("net/ipv6/conf/") && key.ends_with("/force_forwarding")
}

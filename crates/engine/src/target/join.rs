//! Lets this node forward for pairs of others whose planned paths are all broken (DESIGN section 7a): by plain IP, on the
//! interfaces of the plan alone (K7), and only from one address of the fabric to another (K25).
//!
//! IPv6 is forwarded where the kernel can do so by interface (Linux 6.17): the switch of older kernels makes all
//! interfaces forward, which is too much for what is seldom needed. Nor does a NIC forward that a default route of
//! somebody else leaves by: what arrives there for other networks is not the fabric's business.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Prefix;
use tresse_reconcile::{
    GuardRule, METRIC_UNREACHABLE, Observed, Wanted, force_forwarding, is_force_forwarding,
};

use crate::Settings;
use crate::prepared::Prepared;

/// The sysctls by which interfaces of a plan forward, or by which our own do not: those are there as long as the
/// interface. None where nodes route, as the plan has them.
pub(crate) fn join_sysctls(prepared: &Prepared, settings: &Settings) -> BTreeMap<String, String> {
    let joins = joins(prepared, settings);
    let fabric = &prepared.wanted.unreachable;
    let families = [true, false].map(|ipv4| fabric.iter().any(|of| of.address.is_ipv4() == ipv4));
    let mut sysctls = BTreeMap::new();
    for interface in prepared.interfaces.keys() {
        let ours = prepared.wanted.links.contains_key(interface);
        let keys = [format!("net/ipv4/conf/{interface}/forwarding"), force_forwarding(interface)];
        for (key, has_prefix) in keys.into_iter().zip(families) {
            match joins && has_prefix {
                true => drop(sysctls.insert(key, "1".into())),
                false if ours => drop(sysctls.insert(key, "0".into())),
                false => {}
            }
        }
    }
    sysctls
}

/// Do others send over this node, once all planned paths of a pair are broken?
fn joins(prepared: &Prepared, settings: &Settings) -> bool {
    settings.bfd && prepared.index.joins_through(prepared.id)
}

/// Adds what makes this node forward for others by the interfaces of a plan, and what keeps that inside the fabric.
pub(super) fn join(
    wanted: &mut Wanted,
    prepared: &Prepared,
    settings: &Settings,
    observed: &Observed,
) {
    let uplinks = uplinks(observed);
    let of_uplink = |key: &str| uplinks.iter().any(|nic| key.split('/').any(|part| part == *nic));
    for (key, value) in join_sysctls(prepared, settings) {
        let able = !is_force_forwarding(&key) || observed.sysctls.contains_key(&key);
        if able && !of_uplink(&key) {
            // Another plan that is in use may forward by it.
            let wants = wanted.sysctls.entry(key).or_insert_with(|| value.clone());
            if value == "1" {
                *wants = value;
            }
        }
    }
    if joins(prepared, settings) {
        let Wanted { unreachable, networks, open, .. } = &prepared.wanted;
        let fabric: Vec<Prefix> = unreachable.difference(networks).copied().collect();
        let networks: Vec<Prefix> = networks.iter().copied().collect();
        for interface in prepared.interfaces.keys() {
            wanted.guard.extend(GuardRule::of_all(interface, &fabric, &networks, *open));
        }
    }
}

/// Takes away what drops packets on NICs that a default route of somebody else leaves by: others forward there too, for
/// containers of this host for instance, and who is on their wire needs no node of the fabric to leave it.
pub(super) fn exempt_uplinks(wanted: &mut Wanted, observed: &Observed) {
    let uplinks = uplinks(observed);
    wanted.guard.retain(|rule| rule.arriving().is_none_or(|nic| !uplinks.contains(nic)));
}

/// The interfaces that IPv4 default routes of others leave by. IPv6 ones may be told by anybody on a wire.
pub(super) fn uplinks(observed: &Observed) -> BTreeSet<&str> {
    let default = |(dst, metric): &(Prefix, u32)| {
        dst.len == 0 && dst.address.is_ipv4() && *metric != METRIC_UNREACHABLE
    };
    let routes = observed.routes.iter().filter(|(key, _)| default(key));
    routes.filter_map(|(_, route)| route.interface.as_deref()).collect()
}

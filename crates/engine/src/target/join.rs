//! Lets this node forward for pairs of others whose planned paths are all broken (DESIGN section 7a): by plain IP, on the
//! interfaces of the plan alone (K7), and only from one address of the fabric to another.
//!
//! IPv6 is forwarded where the kernel can do so by interface (Linux 6.17): the switch of older kernels makes all
//! interfaces forward, which is too much for what is seldom needed.

use std::collections::BTreeMap;

use tresse_base::units::Prefix;
use tresse_reconcile::{GuardRule, Observed, Wanted, force_forwarding, is_force_forwarding};

use crate::Settings;
use crate::prepared::Prepared;

/// The sysctls that make this node forward for others, if it may, and if paths are watched.
pub(crate) fn join_sysctls(prepared: &Prepared, settings: &Settings) -> BTreeMap<String, String> {
    let may = settings.bfd && prepared.index.joins_through(prepared.id);
    let ipv6 = prepared.wanted.addresses.iter().any(|(_, address)| address.is_ipv6());
    let keys = prepared.interfaces.keys().filter(|_| may).flat_map(|interface| {
        let ipv4 = format!("net/ipv4/conf/{interface}/forwarding");
        [ipv4].into_iter().chain(ipv6.then(|| force_forwarding(interface)))
    });
    keys.map(|key| (key, "1".into())).collect()
}

/// Adds what makes this node forward for others by the interfaces of a plan, and what keeps that inside the fabric.
pub(super) fn join(
    wanted: &mut Wanted,
    prepared: &Prepared,
    settings: &Settings,
    observed: &Observed,
) {
    let sysctls = join_sysctls(prepared, settings);
    if sysctls.is_empty() {
        return;
    }
    let able = |key: &String| !is_force_forwarding(key) || observed.sysctls.contains_key(key);
    wanted.sysctls.extend(sysctls.into_iter().filter(|(key, _)| able(key)));
    // A gateway forwards to other networks.
    if prepared.index.is_gateway {
        return;
    }
    let prefixes: Vec<Prefix> = prepared.wanted.unreachable.iter().copied().collect();
    for interface in prepared.interfaces.keys() {
        wanted.guard.extend(GuardRule::of(interface, &prefixes));
    }
}

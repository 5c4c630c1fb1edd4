//! The original values of kernel settings, which a node remembers across restarts so that withdraw
//! can restore them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{Observed, Operation, Planned, Wanted};

/// Original values of the kernel settings that we changed, and those of our objects that cannot
/// bear a mark. The daemon stores [`Saved::before`] before it executes operations, and
/// [`Saved::settled`] after all succeeded, so that a crash in between loses nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Saved {
    /// Values of sysctls before we first wrote them, by path below `/proc/sys`. Those of our own
    /// interfaces are not kept, because the file vanishes with the interface. Label input is kept,
    /// because K11 wants it off where no label arrives any more.
    pub sysctls: BTreeMap<String, String>,
    /// Our addresses on interfaces that others use too: the only mark where the kernel has no
    /// IFA_PROTO.
    pub addresses: BTreeSet<(String, IpAddr)>,
    /// Interfaces to which we added a clsact qdisc, which cannot bear a mark.
    #[serde(default)]
    pub ingress: BTreeSet<String>,
    /// The limit of MPTCP subflows before we first raised it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subflows: Option<u32>,
    /// The families whose rule for the table `local` at priority 0 we deleted: `true` is IPv4.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub local_rules: BTreeSet<bool>,
}

impl Saved {
    /// The values to store before `operations` are executed on `observed`.
    #[must_use]
    pub fn before(&self, operations: &[Planned], observed: &Observed) -> Self {
        let mut saved = self.clone();
        let created: BTreeSet<&str> = operations
            .iter()
            .filter_map(|p| match &p.operation {
                Operation::AddLink { name, .. } => Some(name.as_str()),
                _ => None,
            })
            .collect();
        let ours = |name: &str| {
            created.contains(name) || observed.links.get(name).is_some_and(|l| l.is_ours())
        };
        for planned in operations {
            match &planned.operation {
                Operation::WriteSysctl { key, before: Some(before), .. }
                    if !sysctl_interface(key).is_some_and(ours) =>
                {
                    saved.sysctls.entry(key.clone()).or_insert_with(|| before.clone());
                }
                Operation::WriteSysctl { key, before, .. } if is_label_input(key) => {
                    let off = || before.clone().unwrap_or_else(|| "0".into());
                    saved.sysctls.entry(key.clone()).or_insert_with(off);
                }
                Operation::AddAddress { interface, address } if !ours(interface) => {
                    saved.addresses.insert((interface.clone(), *address));
                }
                Operation::AddIngress { interface } => {
                    saved.ingress.insert(interface.clone());
                }
                Operation::DeleteLocalRule { ipv4 } => {
                    saved.local_rules.insert(*ipv4);
                }
                Operation::LimitSubflows { before, .. } => {
                    saved.subflows.get_or_insert(*before);
                }
                _ => {}
            }
        }
        saved
    }

    /// The values to store after `wanted` is installed; `observed` was dumped afterwards.
    #[must_use]
    pub fn settled(mut self, wanted: &Wanted, observed: &Observed) -> Self {
        self.sysctls.retain(|key, original| {
            wanted.sysctls.contains_key(key)
                || observed.sysctls.get(key).is_some_and(|now| now != original)
        });
        self.addresses
            .retain(|key| wanted.addresses.contains(key) || observed.addresses.contains_key(key));
        self.subflows = self.subflows.filter(|original| {
            let now = observed.mptcp.as_ref().map(|mptcp| mptcp.subflows);
            !wanted.mptcp.is_empty() || now.is_some_and(|now| now != *original)
        });
        self.local_rules.retain(|family| !observed.local_rules.contains(family));
        self.ingress.retain(|interface| {
            observed
                .ingress
                .get(interface)
                .is_some_and(|found| wanted.label_sources.contains_key(interface) || !found.foreign)
        });
        self
    }
}

fn is_label_input(key: &str) -> bool {
    key.starts_with("net/mpls/conf/") && key.ends_with("/input")
}

/// Returns the interface that a sysctl belongs to, from the path of the sysctl below `/proc/sys`:
/// `eth0.100` for `net/ipv4/conf/eth0.100/rp_filter`, `eth0` for
/// `net/ipv6/neigh/eth0/mcast_solicit` or `net/mpls/conf/eth0/input`. `None` for sysctls of the
/// whole network namespace, including `all` and `default`.
#[must_use]
pub fn sysctl_interface(key: &str) -> Option<&str> {
    let mut parts = key.split('/');
    match (parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?) {
        ("net", "ipv4" | "ipv6" | "mpls", "conf" | "neigh", name, _)
            if name != "all" && name != "default" =>
        {
            Some(name)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysctls_name_their_interface() {
        for (key, interface) in [
            ("net/ipv4/conf/eth0.100/rp_filter", Some("eth0.100")),
            ("net/ipv6/neigh/eth0/mcast_solicit", Some("eth0")),
            ("net/mpls/conf/eth0/input", Some("eth0")),
            ("net/ipv6/conf/all/forwarding", None),
            ("net/ipv4/conf/default/rp_filter", None),
            ("net/ipv4/fib_multipath_hash_policy", None),
            ("net/mpls/platform_labels", None),
        ] {
            assert_eq!(sysctl_interface(key), interface, "{key}");
        }
    }
}

//! Reduces the wanted kernel objects to what the running kernel supports: IPv6 forwarding per
//! interface or for all interfaces (K7), which routers are heard, and MPTCP only if the kernel has it.
//!
//! Linux 6.17 and later set IPv6 forwarding per interface, by the sysctl `force_forwarding`. Older
//! kernels have one sysctl for all interfaces. When it is set, every interface drops the routes
//! that it learned from router advertisements, unless its `accept_ra` is 2.

use std::collections::{BTreeMap, BTreeSet};

use tresse_reconcile::{
    ALL_FORWARDING, MPTCP_ENABLED, Observed, Wanted, is_accept_ra, is_force_forwarding,
    is_from_router, sysctl_interface,
};

/// The sysctls that decide whether interfaces accept router advertisements; `*` stands for every
/// interface.
const ACCEPT_RA: &str = "net/ipv6/conf/*/accept_ra";

/// Adds the sysctls that [`able`] needs to see besides the wanted ones.
pub(crate) fn also_observed(keys: &mut BTreeSet<String>) {
    if keys.iter().any(|key| is_force_forwarding(key)) {
        keys.extend([ALL_FORWARDING, ACCEPT_RA].map(str::to_owned));
    }
}

/// The part of a target that the observed kernel can hold, and that cuts no administrator off. `guarded`: the interfaces
/// that carry management traffic.
pub(super) fn able(
    wanted: Wanted,
    observed: &Observed,
    guarded: &BTreeMap<String, String>,
) -> Wanted {
    let wanted = with_routers(with_forwarding(wanted, observed), observed, guarded);
    without_mptcp(wanted, observed)
}

/// An interface that carries management traffic goes on hearing routers, and a kernel without IPv6 hears none.
fn with_routers(
    mut wanted: Wanted,
    observed: &Observed,
    guarded: &BTreeMap<String, String>,
) -> Wanted {
    wanted.sysctls.retain(|key, value| {
        let Some(interface) = sysctl_interface(key) else { return true };
        let hears = is_accept_ra(key) && value == "0" && guarded.contains_key(interface);
        let there = observed.links.contains_key(interface);
        let lacks = is_from_router(key) && there && !observed.sysctls.contains_key(key);
        !hears && !lacks
    });
    wanted
}

/// Without `force_forwarding`, makes all interfaces forward, and those that accept router
/// advertisements go on accepting them.
fn with_forwarding(mut wanted: Wanted, observed: &Observed) -> Wanted {
    let there = |key: &str| sysctl_interface(key).is_some_and(|i| observed.links.contains_key(i));
    let lacks = |key: &String| {
        is_force_forwarding(key) && there(key) && !observed.sysctls.contains_key(key)
    };
    if !wanted.sysctls.keys().any(lacks) {
        return wanted;
    }
    wanted.sysctls.retain(|key, _| !is_force_forwarding(key));
    wanted.sysctls.insert(ALL_FORWARDING.into(), "1".into());
    for (key, value) in observed.sysctls.iter().filter(|(key, _)| is_accept_ra(key) && there(key)) {
        let foreign = sysctl_interface(key).and_then(|name| observed.links.get(name));
        if matches!(value.as_str(), "1" | "2") && foreign.is_some_and(|link| !link.is_ours()) {
            wanted.sysctls.entry(key.clone()).or_insert_with(|| "2".into());
        }
    }
    wanted
}

/// Without MPTCP, removes the rules by source address and their tables.
fn without_mptcp(mut wanted: Wanted, observed: &Observed) -> Wanted {
    if observed.mptcp.is_none() && !wanted.mptcp.is_empty() {
        wanted.mptcp.tables.clear();
        wanted.sysctls.remove(MPTCP_ENABLED);
    }
    wanted
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use tresse_base::units::Prefix;
    use tresse_reconcile::model::KernelModel;
    use tresse_reconcile::{
        Nexthop, ObservedLink, ObservedMptcp, Saved, force_forwarding, reconcile,
    };

    use super::*;

    fn node() -> KernelModel {
        let mut model = KernelModel::default();
        for (index, name) in (2..).zip(["eth0", "eth1"]) {
            let link = ObservedLink {
                index,
                kind: None,
                mac: None,
                mtu: 1500,
                up: true,
                carrier: true,
                alias: None,
                master: None,
                lower: None,
            };
            model.observed.links.insert(name.into(), link);
        }
        model
    }

    /// Makes the model hold what it is able to; the operations in words.
    fn converge(model: &mut KernelModel, wanted: &Wanted, saved: &mut Saved) -> Vec<String> {
        let held = able(wanted.clone(), &model.observed, &BTreeMap::new());
        let operations = reconcile(&held, &model.observed, saved).operations;
        *saved = saved.before(&operations, &model.observed);
        operations.iter().for_each(|planned| model.apply(&planned.operation).unwrap());
        *saved = saved.clone().settled(&held, &model.observed);
        operations.iter().map(|planned| planned.operation.to_string()).collect()
    }

    fn forwards() -> Wanted {
        let mut wanted = Wanted::default();
        wanted.sysctls.insert(force_forwarding("eth0"), "1".into());
        wanted
    }

    #[test]
    fn routers_are_heard_where_management_goes_and_nowhere_else() {
        let wanted = || {
            let mut wanted = Wanted::default();
            for nic in ["eth0", "eth1", "eth2"] {
                wanted.sysctls.insert(format!("net/ipv6/conf/{nic}/accept_ra"), "0".into());
            }
            wanted
        };
        let mut model = node();
        let guarded = [("eth1".to_owned(), "the default route".to_owned())].into();
        let held = |model: &KernelModel| -> Vec<String> {
            able(wanted(), &model.observed, &guarded).sysctls.into_keys().collect()
        };
        // A kernel without IPv6; of an interface that is not there yet nothing is known.
        assert_eq!(held(&model), ["net/ipv6/conf/eth2/accept_ra"]);
        for nic in ["eth0", "eth1"] {
            let key = format!("net/ipv6/conf/{nic}/accept_ra");
            model.observed.sysctls.insert(key, "1".into());
        }
        assert_eq!(
            held(&model),
            ["eth0", "eth2"].map(|nic| format!("net/ipv6/conf/{nic}/accept_ra"))
        );
    }

    #[test]
    fn k7_ipv6_forwarding_stays_per_interface_where_the_kernel_can() {
        let mut model = node();
        model.observed.sysctls.insert(force_forwarding("eth0"), "0".into());
        assert_eq!(able(forwards(), &model.observed, &BTreeMap::new()), forwards());
    }

    #[test]
    fn k7_ipv6_forwarding_of_all_leaves_routers_heard_and_is_taken_back() {
        let wanted = forwards();
        let mut keys = wanted.sysctls.keys().cloned().collect();
        also_observed(&mut keys);
        assert!(keys.contains("net/ipv6/conf/*/accept_ra") && keys.contains(ALL_FORWARDING));
        let mut model = node();
        for (key, value) in [
            ("all/forwarding", "0"),
            ("all/accept_ra", "1"),
            ("eth0/accept_ra", "0"),
            ("eth1/accept_ra", "1"),
        ] {
            model.observed.sysctls.insert(format!("net/ipv6/conf/{key}"), value.into());
        }
        let before = model.observed.sysctls.clone();
        let mut saved = Saved::default();
        let lines = converge(&mut model, &wanted, &mut saved);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("eth1/accept_ra"), "{lines:?}");
        assert!(lines[1].contains(ALL_FORWARDING), "{lines:?}");
        assert_eq!(converge(&mut model, &wanted, &mut saved), [""; 0]);
        converge(&mut model, &Wanted::default(), &mut saved);
        assert_eq!(model.observed.sysctls, before);
    }

    #[test]
    fn a_kernel_without_mptcp_gets_no_tables_for_it() {
        let mut wanted = Wanted::default();
        let address: IpAddr = "10.78.0.1".parse().unwrap();
        let nexthop =
            Nexthop { interface: "eth0".into(), via: address, labels: Vec::new(), weight: 1 };
        wanted.mptcp.tables.insert(("eth0".into(), Prefix::host(address)), nexthop);
        wanted.mptcp.endpoints.insert(address, "eth0".into());
        wanted.sysctls.insert(MPTCP_ENABLED.into(), "1".into());
        let mut model = node();
        let held = able(wanted.clone(), &model.observed, &BTreeMap::new());
        assert!(held.mptcp.tables.is_empty() && held.sysctls.is_empty());
        assert_eq!(held.mptcp.endpoints, wanted.mptcp.endpoints);
        model.observed.mptcp = Some(ObservedMptcp::default());
        assert_eq!(able(wanted.clone(), &model.observed, &BTreeMap::new()), wanted);
    }
}

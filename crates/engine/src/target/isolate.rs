//! Hides the addresses that this node has elsewhere from the fabric, if the settings say so: kernels take a packet
//! for any address of the host by whatever NIC it comes (weak host model).

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_reconcile::{GuardRule, Observed, Wanted};

use super::join::uplinks;
use crate::prepared::Prepared;
use crate::{Settings, View};

/// Adds the policy rules that drop what arrives by an interface of these plans for an address that is on none of
/// them, nor one of the plan. Not on interfaces that others use too: those carry management traffic, have
/// addresses of others, or a default route leaves by them.
pub(super) fn isolate<'a>(
    wanted: &mut Wanted,
    plans: impl Iterator<Item = &'a Prepared> + Clone,
    settings: &Settings,
    view: &View,
) {
    if !settings.isolate {
        return;
    }
    let observed = &view.observed;
    let interfaces = plans.clone().flat_map(|plan| &plan.interfaces);
    let interfaces: BTreeSet<&str> =
        interfaces.flat_map(|(name, planned)| [name.as_str(), &planned.parent]).collect();
    let addresses = addresses(wanted, settings, observed);
    let shared: BTreeSet<&str> = addresses.iter().map(|(interface, _)| *interface).collect();
    let uplinks = uplinks(observed);
    let alone = |interface: &&&str| {
        let used = shared.contains(**interface) || uplinks.contains(**interface);
        !used && !view.guarded.contains_key(**interface)
    };
    for (_, address) in addresses.iter().filter(|(on, _)| !interfaces.contains(on)) {
        let ipv4 = address.is_ipv4();
        let local = GuardRule::Local { ipv4 };
        // Where neither rule is there the kernel lacks the family, or somebody else has changed its rules.
        if !observed.local_rules.contains(&ipv4) && !observed.guard.contains(&local) {
            continue;
        }
        wanted.guard.insert(local);
        let hide = |interface: &&str| GuardRule::Hide {
            interface: (*interface).to_owned(),
            address: *address,
        };
        wanted.guard.extend(interfaces.iter().filter(alone).map(hide));
    }
}

/// The addresses that somebody else gave this node, with their interfaces, but those of no use to another
/// host and those that the settings open to the fabric.
fn addresses<'a>(
    wanted: &Wanted,
    settings: &Settings,
    observed: &'a Observed,
) -> Vec<(&'a str, IpAddr)> {
    let ours = |interface: &str, address: IpAddr| {
        let link = observed.links.get(interface).is_some_and(|link| link.is_ours());
        link || wanted.addresses.iter().any(|(_, own)| *own == address)
    };
    let on_one_wire = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
    };
    let open = |address| settings.forward_to.iter().any(|network| network.contains(address));
    let all = observed.addresses.keys().map(|(interface, address)| (interface.as_str(), *address));
    all.filter(|(interface, address)| {
        !(ours(interface, *address) || on_one_wire(*address) || open(*address))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tresse_reconcile::ObservedAddress;
    use tresse_topology::cluster::Strategy;

    use super::*;
    use crate::tests::{prepared, settings};

    #[test]
    fn addresses_of_others_are_hidden_from_interfaces_of_the_fabric_alone() {
        let plan = prepared(Strategy::Dor, &[4, 4]);
        let interfaces: BTreeSet<String> = plan
            .interfaces
            .iter()
            .flat_map(|(name, planned)| [name.clone(), planned.parent.clone()])
            .collect();
        let [shared, guarded] = [interfaces.first(), interfaces.last()].map(|name| name.unwrap());
        let mut view = View::default();
        for (interface, address) in [
            ("lo", "127.0.0.1"),
            ("lo", "::1"),
            ("mgmt0", "192.0.2.7"),
            ("mgmt0", "2001:db8::7"),
            ("mgmt0", "fe80::7"),
            ("docker0", "172.17.0.1"),
            (shared, "198.51.100.7"),
        ]
        .map(|(interface, address)| (interface.to_owned(), address.parse().unwrap()))
        .into_iter()
        .chain(plan.wanted.addresses.iter().cloned())
        {
            let found = ObservedAddress { len: 24, protocol: 0 };
            view.observed.addresses.insert((interface, address), found);
        }
        view.guarded = BTreeMap::from([(guarded.clone(), "a login".to_owned())]);
        let hidden = |settings: &Settings, view: &View| -> BTreeSet<String> {
            let mut wanted = Wanted { guard: BTreeSet::new(), ..plan.wanted.clone() };
            isolate(&mut wanted, [&plan].into_iter(), settings, view);
            wanted.guard.iter().map(ToString::to_string).collect()
        };
        let mut isolated = settings(true, 0);
        isolated.forward_to = vec!["172.17.0.0/16".parse().unwrap()];
        assert!(hidden(&isolated, &view).is_empty());
        isolated.isolate = true;
        assert!(hidden(&isolated, &view).is_empty(), "no rule to stand in for");
        view.observed.local_rules = [true, false].into();
        let mut expected = BTreeSet::from(["IPv4", "IPv6"].map(|f| format!("{f} lookup local")));
        for interface in interfaces.iter().filter(|name| ![shared, guarded].contains(name)) {
            expected.insert(format!("IPv4 to 192.0.2.7 iif {interface} blackhole"));
            expected.insert(format!("IPv6 to 2001:db8::7 iif {interface} blackhole"));
        }
        assert!(expected.len() > 4);
        assert_eq!(hidden(&isolated, &view), expected);
    }
}

//! Hides the addresses that this node has elsewhere from the fabric, if the settings say so: kernels take a packet
//! for any address of the host by whatever NIC it comes (weak host model).

use std::collections::BTreeSet;
use std::net::IpAddr;

use tresse_reconcile::{GuardRule, Observed, Wanted};

use super::join::uplinks;
use crate::prepared::Prepared;
use crate::{Settings, View};

/// Adds the policy rules that drop what arrives by an interface of these plans for an address that is on none of
/// them, nor one of the plan. Not on interfaces that others use too: those have addresses of others, a default route
/// leaves by them, or an operator is logged in by them from outside of the fabric.
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
    let own_wire = |address: &IpAddr| matches!(address, IpAddr::V4(v4) if v4.is_link_local());
    let shared = addresses.iter().filter(|(_, address)| !own_wire(address));
    let mut used: BTreeSet<&str> = shared.map(|(interface, _)| *interface).collect();
    used.extend(uplinks(observed));
    // A station of the fabric cannot open an interface by a connection of its own.
    let of_fabric = |peer: &str| {
        let peer = peer.parse::<IpAddr>();
        peer.is_ok_and(|peer| wanted.unreachable.iter().any(|prefix| prefix.contains(peer)))
    };
    let outside = view.management.iter().filter(|(peer, _)| !of_fabric(peer));
    used.extend(outside.filter_map(|(_, route)| route.strip_prefix("dev ")?.split(' ').next()));
    let mut rules = BTreeSet::new();
    for (_, address) in addresses.iter().filter(|(on, _)| !interfaces.contains(on)) {
        // Somebody else has moved the rule for the table `local`, maybe behind ours.
        if observed.local_elsewhere.contains(&address.is_ipv4()) {
            continue;
        }
        rules.insert(GuardRule::Local { ipv4: address.is_ipv4() });
        let hide = |interface: &&str| GuardRule::Hide {
            interface: (*interface).to_owned(),
            address: *address,
        };
        rules.extend(interfaces.iter().filter(|name| !used.contains(**name)).map(hide));
    }
    wanted.guard.extend(rules);
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
    // IPv6 takes packets for a link-local address by its own interface alone, IPv4 by any.
    let is_own = |address: IpAddr| match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
    };
    let networks = settings.forward_to.iter().chain(&wanted.networks);
    let open = |address| networks.clone().any(|network| network.contains(address));
    let all = observed.addresses.keys().map(|(interface, address)| (interface.as_str(), *address));
    all.filter(|(interface, address)| {
        !(ours(interface, *address) || is_own(*address) || open(*address))
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
        let login = |peer: &str| (peer.to_owned(), format!("dev {guarded} src 10.77.0.1"));
        // Those of nodes of the fabric open nothing.
        view.management = BTreeMap::from([login("10.77.0.9")]);
        let hidden = |settings: &Settings, view: &View| -> BTreeSet<String> {
            let mut wanted = Wanted { guard: BTreeSet::new(), ..plan.wanted.clone() };
            isolate(&mut wanted, [&plan].into_iter(), settings, view);
            wanted.guard.iter().map(ToString::to_string).collect()
        };
        let mut isolated = settings(true, 0);
        isolated.forward_to = vec!["172.17.0.0/16".parse().unwrap()];
        assert!(hidden(&isolated, &view).is_empty());
        isolated.isolate = true;
        let expected = |open: &[&String]| {
            let mut expected =
                BTreeSet::from(["IPv4", "IPv6"].map(|family| format!("{family} lookup local")));
            for interface in interfaces.iter().filter(|name| !open.contains(name)) {
                expected.insert(format!("IPv4 to 192.0.2.7 iif {interface} blackhole"));
                expected.insert(format!("IPv6 to 2001:db8::7 iif {interface} blackhole"));
            }
            expected
        };
        assert!(expected(&[shared, guarded]).len() > 4);
        assert_eq!(hidden(&isolated, &view), expected(&[shared]));
        view.management.extend([login("203.0.113.9")]);
        assert_eq!(hidden(&isolated, &view), expected(&[shared, guarded]));
        view.observed.local_elsewhere = [true, false].into();
        assert!(hidden(&isolated, &view).is_empty(), "somebody else has moved the rule");
    }
}

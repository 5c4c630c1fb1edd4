//! Random wanted states, foreign objects and failures on the fake kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::prelude::*;
use tresse_base::id::Label;
use tresse_base::units::Prefix;

use super::scene::*;
use crate::model::KernelModel;
use crate::{
    METRIC_BACKUP, METRIC_PRIMARY, NEXTHOP_BASE, ObservedAddress, ObservedIngress, ObservedLabel,
    ObservedNeighbour, ObservedNexthop, ObservedTableRoute, PLATFORM_LABELS, PROTOCOL, Planned,
    ReconcileOptions, Saved, TABLES, Wanted, inverse, reconcile, reconcile_with,
};

#[derive(Debug, Clone)]
enum Foreign {
    Route { third: u8, metric: u32, nic: u8 },
    Nexthop { offset: u32, nic: u8 },
    Neighbour { nic: u8, host: u8 },
    Address { nic: u8, host: u8 },
    OursElsewhere { host: u8 },
    Label { label: u32, swap: bool, nic: u8 },
    Ingress { nic: u8, filter: bool },
    TableRoute { table: u32, host: u8, metric: u32 },
}

#[derive(Debug, Clone)]
enum Failure {
    Carrier(u8),
    LinkGone(u8, u16),
    LinkDown(u8, u16),
    Operation(usize),
    Neighbours,
    Mtu(usize),
    Sysctl(usize),
    Labels,
    Filters,
    Fdb,
    Rules(usize),
    TableRoutes(usize),
}

fn nexthops(v6: bool) -> impl Strategy<Value = Vec<crate::Nexthop>> {
    let one = (0u8..2, 100u16..103, 2u8..5, prop::collection::vec(16u32..18, 0..2), 1u8..4)
        .prop_map(move |(nic, vid, peer, labels, weight)| {
            let mut nexthop = nexthop(nic, vid, peer, &labels, v6);
            nexthop.weight = weight;
            nexthop
        });
    prop::collection::vec(one, 1..4)
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let routes =
        |v6| prop::collection::vec((2u8..7, prop::bool::ANY, nexthops(v6), 1400u32..1402), 0..8);
    let mtu = 1496u32..1499;
    let label = (16u32..20, (0u8..2, 100u16..103), 2u8..5);
    let labels = prop::collection::vec(label, 0..4);
    let table_route = ((0u8..3, 0u8..2), 2u8..5, any::<bool>());
    let table_routes = prop::collection::vec(table_route, 0..6);
    let tunnel = prop::option::of(1u8..3);
    let more = (0u8..4, labels, table_routes, tunnel);
    (any::<bool>(), routes(false), routes(true), mtu, any::<bool>(), more).prop_map(
        |(v6, four, six, mtu, shared, (own, labels, table_routes, tunnel))| {
            let six = if v6 { six } else { Vec::new() };
            let nexthops = four.iter().chain(&six).flat_map(|r| &r.2);
            let mut vlans: BTreeSet<(u8, u16)> = nexthops
                .map(|l| {
                    let (nic, vid) = l.interface[3..].split_once('.').unwrap();
                    (nic.parse().unwrap(), vid.parse().unwrap())
                })
                .collect();
            vlans.extend(labels.iter().map(|l| l.1));
            let vlans: Vec<_> = vlans.into_iter().collect();
            let mut wanted = base(&vlans, v6);
            for (name, link) in &mut wanted.links {
                link.mtu = if name.starts_with("eth") { mtu } else { 1500 };
            }
            for (peer, backup, nexthops, mtu) in four.into_iter().chain(six) {
                let metric = if backup { METRIC_BACKUP } else { METRIC_PRIMARY };
                let v6 = nexthops[0].via.is_ipv6();
                add_route(&mut wanted, peer, metric, nexthops);
                let key = (Prefix::host(node_address(peer, v6)), metric);
                wanted.routes.get_mut(&key).unwrap().mtu = mtu;
            }
            if shared {
                wanted.addresses.insert(("eth2".into(), nic_address(1, 2, false)));
                wanted.label_sources.insert("eth2".into(), [mac(2, 2), mac(3, 2)].into());
            }
            for (label, vlan, peer) in labels {
                add_label(&mut wanted, label, vlan, peer);
            }
            by_kernel(&mut wanted);
            for (ways, peer, v6) in table_routes {
                add_table_route(&mut wanted, ways, peer, v6);
            }
            if own == 0 {
                // The node address itself changes.
                wanted.addresses.remove(&("tresse0".to_owned(), node_address(1, false)));
                wanted.addresses.insert(("tresse0".to_owned(), ip("10.77.0.99")));
                for route in wanted.routes.values_mut().filter(|r| r.src.is_ipv4()) {
                    route.src = ip("10.77.0.99");
                }
            }
            if let Some(k) = tunnel {
                add_tunnel(&mut wanted, mac(9, k));
            }
            wanted.followed()
        },
    )
}

/// Three that plans use, and one that none does.
fn tables() -> impl Strategy<Value = u32> {
    TABLES.start..TABLES.start + 4
}

fn foreign() -> impl Strategy<Value = Vec<Foreign>> {
    let metric = prop_oneof![Just(0u32), Just(100), Just(7800), Just(7801)];
    prop::collection::vec(
        prop_oneof![
            (0u8..5, metric, 0u8..3).prop_map(|(third, metric, nic)| Foreign::Route {
                third,
                metric,
                nic
            }),
            (0u32..6, 0u8..3).prop_map(|(offset, nic)| Foreign::Nexthop { offset, nic }),
            (0u8..3, 1u8..4).prop_map(|(nic, host)| Foreign::Neighbour { nic, host }),
            (0u8..3, 1u8..4).prop_map(|(nic, host)| Foreign::Address { nic, host }),
            (2u8..7).prop_map(|host| Foreign::OursElsewhere { host }),
            (18u32..24, any::<bool>(), 0u8..3).prop_map(|(label, swap, nic)| Foreign::Label {
                label,
                swap,
                nic
            }),
            (0u8..3, any::<bool>()).prop_map(|(nic, filter)| Foreign::Ingress { nic, filter }),
            (tables(), 2u8..5, prop_oneof![Just(0u32), Just(METRIC_PRIMARY)])
                .prop_map(|(table, host, metric)| Foreign::TableRoute { table, host, metric }),
        ],
        0..6,
    )
}

fn failures() -> impl Strategy<Value = Vec<Failure>> {
    prop::collection::vec(
        prop_oneof![
            (0u8..2).prop_map(Failure::Carrier),
            (0u8..2, 100u16..103).prop_map(|(nic, vid)| Failure::LinkGone(nic, vid)),
            (0u8..2, 100u16..103).prop_map(|(nic, vid)| Failure::LinkDown(nic, vid)),
            (0usize..64).prop_map(Failure::Operation),
            Just(Failure::Neighbours),
            (0usize..8).prop_map(Failure::Mtu),
            (0usize..8).prop_map(Failure::Sysctl),
            Just(Failure::Labels),
            Just(Failure::Filters),
            Just(Failure::Fdb),
            (0usize..4).prop_map(Failure::Rules),
            (0usize..8).prop_map(Failure::TableRoutes),
        ],
        0..4,
    )
}

/// A node with foreign objects that overlap no destination, unless told so.
fn populated(foreign: &[Foreign], ifa_proto: bool) -> KernelModel {
    let mut model = node();
    model.ifa_proto = ifa_proto;
    for object in foreign {
        match object {
            Foreign::Route { third, metric, nic } => {
                let dst = prefix(&format!("10.{}.0.0/16", 200 + third));
                model.observed.routes.insert((dst, *metric), foreign_route(&format!("eth{nic}")));
            }
            Foreign::Nexthop { offset, nic } => {
                let nexthop = ObservedNexthop {
                    protocol: 4,
                    interface: Some(format!("eth{nic}")),
                    via: Some(ip("192.168.1.1")),
                    labels: vec![],
                    group: vec![],
                };
                model.observed.nexthops.insert(NEXTHOP_BASE + offset, nexthop);
            }
            Foreign::Neighbour { nic, host } => {
                let key = (format!("eth{nic}"), ip(&format!("192.168.1.{host}")));
                let neighbour = ObservedNeighbour { mac: mac(9, *host), protocol: 0 };
                model.observed.neighbours.insert(key, neighbour);
            }
            Foreign::Address { nic, host } => {
                let key = (format!("eth{nic}"), ip(&format!("192.168.{nic}.{host}")));
                let address = ObservedAddress { len: 24, protocol: 0 };
                model.observed.addresses.insert(key, address);
            }
            Foreign::OursElsewhere { host } => {
                let dst = Prefix::host(node_address(*host, false));
                let mut route = foreign_route("eth2");
                route.protocol = PROTOCOL;
                model.observed.routes.insert((dst, 50), route);
            }
            Foreign::Label { label, swap, nic } => {
                let route = ObservedLabel {
                    protocol: if *swap { PROTOCOL } else { 4 },
                    interface: Some(format!("eth{nic}")),
                    via: Some(ip("192.168.1.1")),
                    swap: if *swap { vec![Label(99)] } else { vec![] },
                };
                model.observed.labels.insert(Label(*label), route);
                model.observed.sysctls.insert(PLATFORM_LABELS.into(), "1000".into());
            }
            Foreign::Ingress { nic, filter } => {
                let ingress = ObservedIngress { foreign: *filter, ..Default::default() };
                model.observed.ingress.insert(format!("eth{nic}"), ingress);
            }
            Foreign::TableRoute { table, host, metric } => {
                let dst = Prefix::host(node_address(*host, false));
                let (interface, via) = (Some("eth2".into()), Some(ip("192.168.2.1")));
                let table_route = ObservedTableRoute { protocol: 4, interface, via };
                model.observed.table_routes.insert((*table, dst, *metric), table_route);
            }
        }
    }
    model
}

fn without_overlap(mut foreign: Vec<Foreign>) -> Vec<Foreign> {
    foreign.retain(|f| {
        let used = |table: u32| table < TABLES.start + 3;
        match f {
            Foreign::OursElsewhere { .. } | Foreign::Label { label: ..20, .. } => false,
            Foreign::TableRoute { table, .. } => !used(*table),
            _ => true,
        }
    });
    foreign
}

fn fail(model: &mut KernelModel, operations: &[Planned], failure: &Failure) {
    match failure {
        Failure::Carrier(nic) => model.set_carrier(&format!("eth{nic}"), false),
        Failure::LinkGone(nic, vid) => model.remove_link(&format!("eth{nic}.{vid}")),
        Failure::LinkDown(nic, vid) => model.set_admin(&format!("eth{nic}.{vid}"), false),
        Failure::Operation(n) => {
            // Someone takes back what was done.
            if let Some(planned) = operations.get(n % operations.len().max(1)) {
                for operation in inverse(&planned.operation, &node().observed) {
                    let _ = model.apply(&operation);
                }
            }
        }
        Failure::Fdb => {
            let first = model.observed.fdb.pop_first();
            if let Some(other) = model.observed.fdb.values_mut().next().filter(|_| first.is_some())
            {
                *other = ip("10.77.0.66");
            }
        }
        Failure::Neighbours => model.observed.neighbours.retain(|_, n| n.protocol != PROTOCOL),
        Failure::Mtu(n) => {
            let ours = model.observed.routes.values_mut().filter(|r| r.protocol == PROTOCOL);
            if let Some(route) = ours.into_iter().nth(*n) {
                (route.mtu, route.src) = (None, None);
            }
        }
        Failure::Sysctl(n) => {
            // Somebody who lowers `platform_labels` deletes label routes: `Labels` does.
            let mut files =
                model.observed.sysctls.iter_mut().filter(|(key, _)| *key != PLATFORM_LABELS);
            if let Some((_, value)) = files.nth(*n) {
                *value = "7".into();
            }
        }
        Failure::Labels => {
            model.observed.labels.retain(|_, l| l.protocol != PROTOCOL || !l.swap.is_empty());
        }
        Failure::Filters => {
            for ingress in model.observed.ingress.values_mut() {
                ingress.passed.pop_first();
                ingress.dropped.clear();
            }
        }
        Failure::Rules(n) => {
            if let Some(rule) = model.observed.rules.iter().nth(*n).cloned() {
                model.observed.rules.remove(&rule);
            }
        }
        Failure::TableRoutes(n) => {
            let ours = model.observed.table_routes.iter().filter(|(_, t)| t.protocol == PROTOCOL);
            let keys: Vec<_> = ours.map(|(key, _)| *key).skip(*n).take(2).collect();
            for (n, key) in keys.into_iter().enumerate() {
                match model.observed.table_routes.get_mut(&key) {
                    Some(route) if n == 0 => route.interface = Some("eth2".into()),
                    _ => drop(model.observed.table_routes.remove(&key)),
                }
            }
        }
    }
}

fn sources_are_there(model: &KernelModel) -> bool {
    let held = |src: IpAddr| model.observed.addresses.keys().any(|(_, address)| *address == src);
    model.observed.routes.values().filter_map(|r| r.src).all(held)
}

fn destinations(model: &KernelModel) -> BTreeSet<Prefix> {
    model.observed.routes.iter().filter(|(_, r)| r.protocol == PROTOCOL).map(|(k, _)| k.0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn reconcile_converges_and_is_then_empty(a in wanted(), b in wanted(), others in foreign(), ifa in any::<bool>()) {
        let before = populated(&without_overlap(others), ifa);
        let (mut model, mut saved) = (before.clone(), Saved::default());
        for wanted in [&a, &b, &a] {
            let outcome = converge(&mut model, wanted, &mut saved);
            prop_assert!(outcome.refused.is_empty() && outcome.pending.is_empty(), "{:#?}", outcome);
            let again = reconcile(wanted, &model.observed, &saved);
            prop_assert!(again.in_sync(), "{:#?}", again);
            prop_assert!(model.damage.is_empty(), "{:?}", model.damage);
            // The kernel holds each wanted route through exactly its nexthops.
            for (key, route) in &wanted.routes {
                let found = &model.observed.routes[key];
                let group = &model.observed.nexthops[&found.nexthop.unwrap()].group;
                let nexthops: BTreeSet<_> = route.nexthops.iter().map(|l| (&l.interface, l.via, &l.labels)).collect();
                let have: BTreeSet<_> = group
                    .iter()
                    .map(|(id, _)| &model.observed.nexthops[id])
                    .map(|n| (n.interface.as_ref().unwrap(), n.via.unwrap(), &n.labels))
                    .collect();
                prop_assert_eq!(nexthops, have);
            }
            for (label, nexthop) in &wanted.labels {
                let found = &model.observed.labels[label];
                prop_assert_eq!((&found.interface, found.via), (&Some(nexthop.interface.clone()), Some(nexthop.via)));
            }
            prop_assert_eq!(&model.observed.rules, &wanted.rules());
            let ours = model.observed.table_routes.iter().filter(|(_, t)| t.protocol == PROTOCOL);
            let table_routes: BTreeSet<_> = ours.map(|(key, _)| (key.0, key.1)).collect();
            prop_assert_eq!(&table_routes, &wanted.table_routes().into_keys().collect());
            for ((table, dst), nexthop) in wanted.table_routes() {
                let found = &model.observed.table_routes[&(table, dst, METRIC_PRIMARY)];
                prop_assert_eq!((&found.interface, found.via), (&Some(nexthop.interface.clone()), Some(nexthop.via)));
            }
            for (interface, sources) in &wanted.label_sources {
                let found = &model.observed.ingress[interface];
                prop_assert_eq!(&found.passed.values().copied().collect::<BTreeSet<_>>(), sources);
                prop_assert_eq!(found.dropped.len(), 1);
            }
            let options = ReconcileOptions { merge_groups: true, ..ReconcileOptions::default() };
            let merged = reconcile_with(wanted, &model.observed, &saved, &options);
            execute(&mut model, &merged.operations);
            prop_assert!(model.damage.is_empty(), "{:?}", model.damage);
            let ours = model.observed.routes.values().filter(|route| route.protocol == PROTOCOL);
            let mut groups = BTreeMap::new();
            for id in ours.filter_map(|route| route.nexthop) {
                let mut members = model.observed.nexthops[&id].group.clone();
                members.sort_unstable();
                prop_assert_eq!(*groups.entry(members).or_insert(id), id);
            }
            for options in [options, ReconcileOptions::default()] {
                let again = reconcile_with(wanted, &model.observed, &saved, &options);
                prop_assert!(again.in_sync(), "{:#?}", again);
            }
        }
        converge(&mut model, &Wanted::default(), &mut saved);
        prop_assert!(model.damage.is_empty(), "{:?}", model.damage);
        prop_assert_eq!(model.comparable(), before.comparable());
        prop_assert_eq!(saved, Saved::default());
    }

    #[test]
    fn foreign_objects_are_never_touched(a in wanted(), b in wanted(), others in foreign(), failed in failures()) {
        let before = populated(&others, true);
        let (mut model, mut saved) = (before.clone(), Saved::default());
        for wanted in [&a, &b] {
            let outcome = converge(&mut model, wanted, &mut saved);
            prop_assert!(model.damage.is_empty(), "{:?}", model.damage);
            for failure in &failed {
                fail(&mut model, &outcome.operations, failure);
            }
            model.damage.clear();
            let again = converge(&mut model, wanted, &mut saved);
            prop_assert!(model.damage.is_empty(), "{:?}\n{:#?}", model.damage, again);
            let last = reconcile(wanted, &model.observed, &saved);
            prop_assert!(last.operations.is_empty(), "{:#?}", last);
            for nic in ["eth0", "eth1"] {
                model.set_carrier(nic, true);
            }
        }
        let foreign_routes = |m: &KernelModel| -> Vec<_> {
            m.observed.routes.iter().filter(|(_, r)| r.nexthop.is_none()).map(|(k, r)| (*k, r.clone())).collect()
        };
        prop_assert_eq!(foreign_routes(&model), foreign_routes(&before));
        for (label, route) in &before.observed.labels {
            prop_assert_eq!(model.observed.labels.get(label), Some(route));
        }
        for (key, table_route) in &before.observed.table_routes {
            prop_assert_eq!(model.observed.table_routes.get(key), Some(table_route));
        }
        for (interface, ingress) in &before.observed.ingress {
            prop_assert_eq!(model.observed.ingress[interface].foreign, ingress.foreign);
        }
    }

    #[test]
    fn every_common_destination_keeps_a_route(a in wanted(), b in wanted(), others in foreign()) {
        let (mut model, mut saved) = (populated(&without_overlap(others), true), Saved::default());
        converge(&mut model, &a, &mut saved);
        let of = |w: &Wanted| -> BTreeSet<Prefix> { w.routes.keys().map(|k| k.0).collect() };
        let common: BTreeSet<_> = of(&a).intersection(&of(&b)).copied().collect();
        let outcome = reconcile(&b, &model.observed, &saved);
        for planned in &outcome.operations {
            model.apply(&planned.operation).unwrap();
            let now = destinations(&model);
            prop_assert!(common.is_subset(&now), "{} lost {:?}", planned.operation, common.difference(&now));
        }
    }

    #[test]
    fn undoing_any_prefix_restores_the_observation(
        a in wanted(), b in wanted(), others in foreign(), failed in failures(), cut in 0usize..80,
    ) {
        let (mut model, mut saved) = (populated(&others, true), Saved::default());
        let first = converge(&mut model, &a, &mut saved);
        for failure in &failed {
            fail(&mut model, &first.operations, failure);
        }
        // An IPv6 route outlives its source address, and no kernel would take it anew without: what
        // somebody else broke so cannot be undone to.
        prop_assume!(sources_are_there(&model));
        let before = model.clone();
        let outcome = reconcile(&b, &model.observed, &saved);
        let cut = cut.min(outcome.operations.len());
        execute(&mut model, &outcome.operations[..cut]);
        for planned in outcome.operations[..cut].iter().rev() {
            for operation in inverse(&planned.operation, &before.observed) {
                if let Err(error) = model.apply(&operation) {
                    return Err(TestCaseError::fail(format!("{error}: undo of {}", planned.operation)));
                }
            }
        }
        prop_assert_eq!(model.comparable(), before.comparable());
    }

    #[test]
    fn failures_heal_and_withdraw_works_from_any_state(
        a in wanted(), others in foreign(), failed in failures(), ifa in any::<bool>(), heal in any::<bool>(),
    ) {
        let before = populated(&without_overlap(others), ifa);
        let (mut model, mut saved) = (before.clone(), Saved::default());
        let first = converge(&mut model, &a, &mut saved);
        let owned: BTreeSet<_> = a.sysctls.keys().collect();
        for failure in &failed {
            fail(&mut model, &first.operations, failure);
        }
        // Only sysctls that are ours to restore can be restored.
        for (key, value) in &before.observed.sysctls {
            if !owned.contains(key) {
                model.observed.sysctls.insert(key.clone(), value.clone());
            }
        }
        if heal {
            converge(&mut model, &a, &mut saved);
            for nic in ["eth0", "eth1"] {
                model.set_carrier(nic, true);
            }
            converge(&mut model, &a, &mut saved);
            let again = reconcile(&a, &model.observed, &saved);
            prop_assert!(again.in_sync(), "{:#?}", again);
        }
        converge(&mut model, &Wanted::default(), &mut saved);
        for nic in ["eth0", "eth1"] {
            model.set_carrier(nic, true);
        }
        // A pulled cable takes foreign nexthops with it; that is not ours to restore.
        let mut before = before.comparable();
        let mut after = model.comparable();
        if failed.iter().any(|f| matches!(f, Failure::Carrier(_))) {
            before.nexthops.clear();
            after.nexthops.clear();
        }
        prop_assert_eq!(after, before);
    }
}

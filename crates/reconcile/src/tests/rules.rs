//! One test or more per rule of the kernel's, named after it.

use tresse_base::units::Prefix;

use super::scene::*;
use crate::model::KernelModel;
use crate::{
    METRIC_BACKUP, METRIC_PRIMARY, NEXTHOP_BASE, Object, ObservedAddress, ObservedNeighbour,
    ObservedNexthop, Operation, PendingReason, ReconcileOptions, Refusal, Saved, Wanted,
    force_forwarding, inverse, reconcile, reconcile_with,
};

fn verbs(operations: &[crate::Planned]) -> Vec<String> {
    operations.iter().map(|p| p.operation.describe()).collect()
}

#[test]
fn operations_come_in_the_order_the_kernel_needs() {
    let wanted = two_nics();
    let outcome = reconcile(&wanted, &node().observed, &Saved::default());
    let kinds: Vec<_> = outcome
        .operations
        .iter()
        .map(|p| (p.operation.verb(), p.operation.object().kind()))
        .collect();
    let mut runs = kinds.clone();
    runs.dedup();
    let expected = [
        ("write", "sysctl"),
        ("add", "link"),
        ("write", "sysctl"),
        ("add", "link"),
        ("write", "sysctl"),
        ("add", "link"),
        ("up", "link"),
        ("add", "address"),
        ("add", "neighbour"),
        ("add", "nexthop"),
        ("add", "group"),
        ("add", "route"),
    ];
    assert_eq!(runs, expected);
    let last = outcome.operations.last().unwrap();
    assert_eq!(last.operation.describe(), "add route 10.77.0.3/32 metric 7800 group 0x54000006");
    let line = last.line();
    assert_eq!((line.op, line.kind, line.why), ("add".into(), "route".into(), "missing".into()));
}

#[test]
fn withdraw_restores_everything() {
    let before = node();
    let (mut model, mut saved) = installed(&two_nics());
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!(model.comparable(), before.comparable());
    assert_eq!(saved, Saved::default());
}

#[test]
fn withdraw_without_ifa_proto_uses_the_state_file() {
    let mut model = node();
    model.ifa_proto = false;
    model
        .observed
        .addresses
        .insert(("eth2".into(), ip("192.168.1.5")), ObservedAddress { len: 32, protocol: 0 });
    let before = model.clone();
    let mut wanted = two_nics();
    wanted.addresses.insert(("eth2".into(), ip("10.78.2.1")));
    let mut saved = Saved::default();
    converge(&mut model, &wanted, &mut saved);
    assert!(saved.addresses.contains(&("eth2".to_owned(), ip("10.78.2.1"))));
    assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!(model.comparable(), before.comparable());
}

#[test]
fn a_changed_path_is_one_group_replacement() {
    let (model, saved) = installed(&two_nics());
    let mut wanted = two_nics();
    add_route(&mut wanted, 2, METRIC_PRIMARY, vec![nexthop(1, 101, 2, &[], false)]);
    let outcome = reconcile(&wanted, &model.observed, &saved);
    let lines = verbs(&outcome.operations);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("replace group 0x54000004 0x54000001,1"), "{lines:?}");
    assert_eq!(lines[1], "delete nexthop 0x54000000");
}

#[test]
fn a_group_whose_routes_part_is_not_changed_under_them() {
    let mut wanted = base(&[(0, 100), (1, 101)], false);
    let shared = nexthop(0, 100, 9, &[], false);
    add_route(&mut wanted, 2, METRIC_PRIMARY, vec![shared.clone()]);
    add_route(&mut wanted, 3, METRIC_PRIMARY, vec![shared]);
    let (model, saved) = installed(&wanted);
    add_route(&mut wanted, 2, METRIC_PRIMARY, vec![nexthop(0, 100, 2, &[], false)]);
    add_route(&mut wanted, 3, METRIC_PRIMARY, vec![nexthop(1, 101, 3, &[17, 18], false)]);
    let outcome = reconcile(&wanted, &model.observed, &saved);
    assert!(
        outcome
            .operations
            .iter()
            .all(|p| !matches!(p.operation, Operation::AddGroup { replace: true, .. })),
        "{:?}",
        verbs(&outcome.operations)
    );
    let mut model = model;
    execute(&mut model, &outcome.operations);
    assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
}

#[test]
fn k1_carrier_loss_is_pending_and_heals() {
    let wanted = two_nics();
    let (mut model, mut saved) = installed(&wanted);
    let healthy = model.observed.clone();
    model.set_carrier("eth0", false);
    let dst = Prefix::host(node_address(2, false));
    assert!(!model.observed.routes.contains_key(&(dst, METRIC_PRIMARY)));
    assert!(model.observed.routes.contains_key(&(dst, METRIC_BACKUP)));
    let outcome = converge(&mut model, &wanted, &mut saved);
    assert!(outcome.operations.is_empty(), "{:?}", verbs(&outcome.operations));
    assert!(outcome.pending.iter().any(|p| p.object == Object::Route(dst, METRIC_PRIMARY)));
    assert!(outcome.pending.iter().any(|p| p.why == PendingReason::NoCarrier("eth0".into())));
    model.set_carrier("eth0", true);
    let outcome = converge(&mut model, &wanted, &mut saved);
    assert!(outcome.pending.is_empty() && !outcome.operations.is_empty());
    assert_eq!(model.observed, healthy);
}

#[test]
fn k1_apply_with_one_nic_unplugged_then_plugged_in() {
    let wanted = two_nics();
    for absent in [false, true] {
        let (mut model, mut saved) = (node(), Saved::default());
        let eth0 = model.observed.links["eth0"].clone();
        let sysctl = "net/ipv4/conf/eth0/rp_filter";
        if absent {
            model.observed.links.remove("eth0");
            model.observed.sysctls.remove(sysctl);
        } else {
            model.set_carrier("eth0", false);
        }
        let outcome = converge(&mut model, &wanted, &mut saved);
        assert!(!outcome.pending.is_empty() && outcome.refused.is_empty(), "{outcome:#?}");
        assert_eq!(model.observed.links.contains_key("eth0.100"), !absent);
        let again = reconcile(&wanted, &model.observed, &saved);
        assert!(again.operations.is_empty(), "{:?}", verbs(&again.operations));
        assert_eq!(again.pending, reconcile(&wanted, &model.observed, &saved).pending);
        if absent {
            model.observed.links.insert("eth0".into(), eth0);
            model.observed.sysctls.insert(sysctl.into(), "1".into());
        } else {
            model.set_carrier("eth0", true);
        }
        converge(&mut model, &wanted, &mut saved);
        assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
    }
}

#[test]
fn k1_a_dead_nexthop_leaves_its_group_and_comes_back() {
    let mut wanted = base(&[(0, 100), (1, 101)], false);
    let nexthops = vec![nexthop(0, 100, 2, &[], false), nexthop(1, 101, 2, &[16], false)];
    add_route(&mut wanted, 2, METRIC_PRIMARY, nexthops);
    let (mut model, mut saved) = installed(&wanted);
    let healthy = model.observed.clone();
    model.set_carrier("eth1", false);
    let outcome = converge(&mut model, &wanted, &mut saved);
    assert!(outcome.operations.is_empty() && outcome.pending.len() == 1, "{outcome:#?}");
    model.set_carrier("eth1", true);
    let lines = verbs(&converge(&mut model, &wanted, &mut saved).operations);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].starts_with("replace group"), "{lines:?}");
    assert_eq!(model.observed, healthy);
}

#[test]
fn k1_lost_routes_and_groups_are_made_again() {
    let wanted = two_nics();
    let (healthy, mut saved) = installed(&wanted);
    for id in healthy.observed.nexthops.keys() {
        let mut model = healthy.clone();
        model.apply(&Operation::DeleteNexthop { id: *id }).unwrap();
        converge(&mut model, &wanted, &mut saved);
        assert_eq!(model.observed, healthy.observed, "{id:#x}");
    }
    for (dst, metric) in healthy.observed.routes.keys().filter(|k| k.1 >= METRIC_PRIMARY) {
        let mut model = healthy.clone();
        model.apply(&Operation::DeleteRoute { dst: *dst, metric: *metric }).unwrap();
        let outcome = converge(&mut model, &wanted, &mut saved);
        assert_eq!(outcome.operations.len(), 1);
        assert_eq!(model.observed, healthy.observed, "{dst}");
    }
}

#[test]
fn k2_addresses_come_before_neighbours_and_routes() {
    let outcome = reconcile(&two_nics(), &node().observed, &Saved::default());
    let position = |kind: &str, first: bool| {
        let mut all = outcome.operations.iter().map(|p| p.operation.object().kind());
        if first { all.position(|k| k == kind) } else { all.rposition(|k| k == kind) }
    };
    assert!(position("address", false) < position("neighbour", true));
    assert!(position("neighbour", false) < position("nexthop", true));
    assert!(position("group", false) < position("route", true));
}

#[test]
fn k2_the_last_ipv4_address_of_an_interface_in_use_stays() {
    let wanted = two_nics();
    let (mut model, saved) = installed(&wanted);
    let mut less = wanted.clone();
    less.addresses.remove(&("eth0.100".to_owned(), nic_address(1, 0, false)));
    let outcome = reconcile(&less, &model.observed, &saved);
    let address = nic_address(1, 0, false);
    assert!(outcome.operations.is_empty());
    assert_eq!(outcome.refused, [Refusal::LastAddress { interface: "eth0.100".into(), address }]);
    less.addresses.insert(("eth0.100".into(), ip("10.78.0.99")));
    let lines = verbs(&reconcile(&less, &model.observed, &saved).operations);
    assert_eq!(
        lines,
        ["add address 10.78.0.99 dev eth0.100", "delete address 10.78.0.1 dev eth0.100"]
    );
    model.observed.addresses.remove(&("eth2".to_owned(), ip("192.168.2.254")));
    model
        .observed
        .addresses
        .insert(("eth2".into(), ip("10.78.2.1")), ObservedAddress { len: 32, protocol: 78 });
    let outcome = reconcile(&wanted, &model.observed, &saved);
    assert!(outcome.operations.is_empty());
    assert!(matches!(&outcome.refused[..], [Refusal::InUse { .. }]), "{:?}", outcome.refused);
}

#[test]
fn k5_a_fused_vlan_goes_down_last_and_holds_nothing() {
    let wanted = two_nics();
    let (mut model, mut saved) = installed(&wanted);
    let mut fused = wanted.clone();
    fused.links.get_mut("eth0.100").unwrap().up = false;
    let outcome = converge(&mut model, &fused, &mut saved);
    assert_eq!(verbs(&outcome.operations).last().unwrap(), "down link eth0.100");
    assert!(!model.observed.addresses.keys().any(|k| k.0 == "eth0.100"));
    let again = reconcile(&fused, &model.observed, &saved);
    assert!(again.operations.is_empty(), "{:?}", verbs(&again.operations));
    converge(&mut model, &wanted, &mut saved);
    assert!(reconcile(&wanted, &model.observed, &saved).in_sync());
}

#[test]
fn k7_namespace_wide_sysctls_follow_and_precede_those_of_interfaces() {
    let mut wanted = Wanted::default();
    wanted.sysctls.insert("net/ipv6/conf/all/forwarding".into(), "1".into());
    wanted.sysctls.insert("net/ipv6/conf/eth2/accept_ra".into(), "2".into());
    let mut model = node();
    for (key, value) in [("all/forwarding", "0"), ("eth2/accept_ra", "1")] {
        model.observed.sysctls.insert(format!("net/ipv6/conf/{key}"), value.into());
    }
    let mut saved = Saved::default();
    let lines = verbs(&converge(&mut model, &wanted, &mut saved).operations);
    assert!(lines[0].contains("accept_ra") && lines[1].contains("forwarding"), "{lines:?}");
    let lines = verbs(&converge(&mut model, &Wanted::default(), &mut saved).operations);
    assert!(lines[0].contains("forwarding") && lines[1].contains("accept_ra"), "{lines:?}");
}

#[test]
fn k7_ipv6_forwarding_is_per_interface_where_the_kernel_can() {
    let mut wanted = Wanted::default();
    wanted.sysctls.insert(force_forwarding("eth0"), "1".into());
    let mut model = node();
    model.observed.sysctls.insert(force_forwarding("eth0"), "0".into());
    let mut saved = Saved::default();
    let lines = verbs(&converge(&mut model, &wanted, &mut saved).operations);
    assert!(lines.len() == 1 && lines[0].contains("eth0/force_forwarding"), "{lines:?}");
}

#[test]
fn k9_a_nic_whose_mtu_is_too_small_is_refused() {
    let mut model = node();
    model.observed.links.get_mut("eth0").unwrap().mtu = 1492;
    let outcome = reconcile(&two_nics(), &model.observed, &Saved::default());
    assert!(matches!(
        outcome.refused[..],
        [Refusal::MtuTooSmall { needed: 1500, found: 1492, .. }]
    ));
    assert!(verbs(&outcome.operations).iter().all(|l| !l.contains("eth0.")));
}

#[test]
fn platform_labels_are_raised_never_lowered() {
    let key = "net/mpls/platform_labels";
    for (now, writes) in [("0", true), ("999", true), ("1000", false), ("2000", false)] {
        let mut wanted = Wanted::default();
        wanted.sysctls.insert(key.into(), "1000".into());
        let mut model = node();
        model.observed.sysctls.insert(key.into(), now.into());
        let outcome = reconcile(&wanted, &model.observed, &Saved::default());
        assert_eq!(!outcome.operations.is_empty(), writes, "{now}");
    }
}

#[test]
fn k15_foreign_objects_in_the_way_are_named_and_left_alone() {
    let wanted = two_nics();
    let dst = Prefix::host(node_address(2, false));
    let mut model = node();
    model.observed.routes.insert((dst, METRIC_PRIMARY), foreign_route("eth2"));
    let id = NEXTHOP_BASE;
    let nexthop = ObservedNexthop {
        protocol: 4,
        interface: Some("eth2".into()),
        via: Some(ip("192.168.1.1")),
        labels: vec![],
        group: vec![],
    };
    model.observed.nexthops.insert(id, nexthop);
    let before = model.clone();
    let mut saved = Saved::default();
    let outcome = converge(&mut model, &wanted, &mut saved);
    assert!(outcome.refused.contains(&Refusal::ForeignRoute { dst, metric: 7800, protocol: 4 }));
    assert!(model.damage.is_empty(), "{:?}", model.damage);
    assert_eq!(model.observed.nexthops[&id], before.observed.nexthops[&id]);
    converge(&mut model, &Wanted::default(), &mut saved);
    assert_eq!(model.comparable(), before.comparable());
}

#[test]
fn k15_a_foreign_link_of_our_name_is_refused() {
    let mut model = node();
    let mut link = nic_link(9, mac(1, 0));
    link.alias = Some("mine".into());
    model.observed.links.insert("eth0.100".into(), link);
    let outcome = reconcile(&two_nics(), &model.observed, &Saved::default());
    assert_eq!(outcome.refused, [Refusal::ForeignLink { name: "eth0.100".into() }]);
    assert!(verbs(&outcome.operations).iter().all(|l| !l.contains("eth0.100")));
}

#[test]
fn k15_a_foreign_neighbour_is_never_replaced() {
    let wanted = two_nics();
    let (mut model, saved) = installed(&wanted);
    let key = ("eth0.100".to_owned(), nic_address(2, 0, false));
    for (found, drift) in [(mac(2, 0), true), (mac(9, 9), false)] {
        model
            .observed
            .neighbours
            .insert(key.clone(), ObservedNeighbour { mac: found, protocol: 4 });
        let outcome = reconcile(&wanted, &model.observed, &saved);
        assert!(outcome.operations.is_empty());
        assert_eq!(
            (outcome.drift.len(), outcome.refused.len()),
            if drift { (1, 0) } else { (0, 1) }
        );
    }
}

#[test]
fn k15_overlapping_foreign_prefixes_are_refused_by_name() {
    for (route, overlapping) in [
        ("10.0.0.0/8", true),
        ("10.77.0.0/16", true),
        ("10.77.0.2/32", true),
        ("10.78.0.0/16", false),
        ("10.77.0.128/25", false),
        ("0.0.0.0/0", false),
        ("0.0.0.0/1", false),
    ] {
        let mut model = node();
        model.observed.routes.insert((prefix(route), 0), foreign_route("eth2"));
        let outcome = reconcile(&two_nics(), &model.observed, &Saved::default());
        let found: Vec<_> = outcome
            .refused
            .iter()
            .filter(|r| matches!(r, Refusal::Overlap { route: r, .. } if *r == prefix(route)))
            .collect();
        assert_eq!(found.len(), usize::from(overlapping), "{route}: {:?}", outcome.refused);
        let dst = Prefix::host(node_address(2, false));
        let adds =
            outcome.operations.iter().any(|p| p.operation.object() == Object::Route(dst, 7800));
        assert_eq!(adds, !overlapping, "{route}");
    }
    let mut wanted = base(&[(0, 100)], false);
    add_route(&mut wanted, 2, 7800, vec![nexthop(0, 100, 2, &[], false)]);
    let route = wanted.routes.pop_first().unwrap().1;
    wanted.routes.insert((prefix("10.77.0.0/24"), 7800), route);
    let mut model = node();
    model.observed.routes.insert((prefix("10.77.0.64/26"), 0), foreign_route("eth2"));
    let outcome = reconcile(&wanted, &model.observed, &Saved::default());
    assert!(matches!(outcome.refused[..], [Refusal::Overlap { destinations: 1, .. }]));
}

#[test]
fn k15_a_foreign_route_that_appears_later_is_drift_and_ours_stays() {
    let wanted = two_nics();
    let (mut model, saved) = installed(&wanted);
    let dst = Prefix::host(node_address(2, false));
    model.observed.routes.insert((dst, 0), foreign_route("eth2"));
    let outcome = reconcile(&wanted, &model.observed, &saved);
    assert!(outcome.operations.is_empty() && outcome.refused.is_empty());
    assert!(matches!(outcome.drift[..], [Refusal::Overlap { metric: 0, destinations: 1, .. }]));
}

#[test]
fn k15_what_foreign_objects_hang_on_is_not_removed() {
    let wanted = two_nics();
    let (mut model, mut saved) = installed(&wanted);
    let group = model.observed.routes[&(Prefix::host(node_address(2, false)), 7800)].nexthop;
    let mut route = foreign_route("eth2");
    (route.nexthop, route.interface) = (group, None);
    model.observed.routes.insert((prefix("192.168.9.0/24"), 0), route.clone());
    model.observed.routes.insert((prefix("192.168.8.0/24"), 0), foreign_route("eth1.101"));
    // The kernel deletes a macvlan with its lower interface; a bridge would lose a port.
    let mut macvlan = nic_link(99, tresse_base::units::Mac([2, 0, 0, 0, 0, 99]));
    macvlan.lower = Some("eth0.100".into());
    model.observed.links.insert("macvlan0".into(), macvlan);
    model.observed.links.get_mut("tresse0").unwrap().master = Some("br0".into());
    let outcome = converge(&mut model, &Wanted::default(), &mut saved);
    assert!(model.damage.is_empty(), "{:?}", model.damage);
    assert_eq!(model.observed.routes[&(prefix("192.168.9.0/24"), 0)], route);
    for used in ["eth1.101", "eth0.100", "tresse0"] {
        assert!(model.observed.links.contains_key(used), "{used}");
    }
    let in_use = |r: &Refusal| matches!(r, Refusal::InUse { .. });
    assert!(outcome.refused.len() >= 5 && outcome.refused.iter().all(in_use), "{outcome:#?}");
}

#[test]
fn k16_neighbours_are_restored_before_routes() {
    let wanted = two_nics();
    let (mut model, mut saved) = installed(&wanted);
    let healthy = model.observed.clone();
    model.set_admin("eth0.100", false);
    let lines = verbs(&converge(&mut model, &wanted, &mut saved).operations);
    let first = |text: &str| lines.iter().position(|l| l.starts_with(text));
    assert!(first("up link") < first("add neighbour"));
    assert!(first("add neighbour") < first("add route"), "{lines:?}");
    assert_eq!(model.observed, healthy);
}

#[test]
fn k16_a_nic_with_another_mac_is_refused() {
    let wanted = two_nics();
    for installed_before in [false, true] {
        let (mut model, saved) =
            if installed_before { installed(&wanted) } else { (node(), Saved::default()) };
        model.observed.links.get_mut("eth0").unwrap().mac = Some(mac(7, 7));
        let outcome = reconcile(&wanted, &model.observed, &saved);
        let message = outcome.refused[0].to_string();
        assert!(message.contains("eth0") && message.contains("02:00:00:00:07:07"), "{message}");
        let adds = |p: &&crate::Planned| p.operation.verb() == "add";
        let adds: Vec<_> = outcome.operations.iter().filter(adds).map(|p| &p.operation).collect();
        assert!(adds.iter().all(|op| !op.to_string().contains("eth0")), "{adds:?}");
    }
}

#[test]
fn k20_a_nic_with_a_master_is_refused_unless_forced() {
    let mut model = node();
    model.observed.links.get_mut("eth1").unwrap().master = Some("bond0".into());
    let wanted = two_nics();
    let outcome = reconcile(&wanted, &model.observed, &Saved::default());
    let (interface, master) = ("eth1".to_owned(), "bond0".to_owned());
    assert_eq!(outcome.refused, [Refusal::HasMaster { interface, master }]);
    assert!(outcome.refused[0].to_string().contains("bond0"));
    let force_interfaces = ["eth1".to_owned()].into();
    let options = ReconcileOptions { force_interfaces, ..ReconcileOptions::default() };
    let outcome = reconcile_with(&wanted, &model.observed, &Saved::default(), &options);
    assert!(outcome.refused.is_empty() && outcome.pending.is_empty());
}

#[test]
fn a_route_waits_for_its_source() {
    let mut wanted = two_nics();
    wanted.addresses.remove(&("tresse0".to_owned(), node_address(1, false)));
    let outcome = reconcile(&wanted, &node().observed, &Saved::default());
    assert!(
        outcome.pending.iter().all(|p| p.why == PendingReason::NoSource(node_address(1, false)))
    );
    assert_eq!(outcome.pending.len(), 4);
}

#[test]
fn undo_restores_a_route_that_was_tampered_with() {
    let wanted = two_nics();
    let (mut model, saved) = installed(&wanted);
    let key = (Prefix::host(node_address(2, false)), METRIC_PRIMARY);
    model.observed.routes.get_mut(&key).unwrap().mtu = None;
    let before = model.clone();
    let outcome = reconcile(&wanted, &model.observed, &saved);
    assert_eq!(outcome.operations.len(), 1);
    execute(&mut model, &outcome.operations);
    for operation in inverse(&outcome.operations[0].operation, &before.observed) {
        model.apply(&operation).unwrap();
    }
    assert_eq!(model.observed, before.observed);
}

#[test]
fn groups_that_became_alike_are_one_again_where_that_is_asked_for() {
    let by = |ways: &[(u8, (u8, u16))]| {
        let mut wanted = base(&[(0, 100), (1, 101)], false);
        for (peer, (nic, vid)) in ways {
            // One gateway for all, as where nodes route.
            add_route(&mut wanted, *peer, METRIC_PRIMARY, vec![nexthop(*nic, *vid, 9, &[], false)]);
        }
        wanted
    };
    let (first, second) = ((0, 100), (1, 101));
    let planned = by(&[(2, first), (3, first), (4, second)]);
    let (mut model, mut saved) = installed(&planned);
    let groups = |model: &KernelModel| {
        model.observed.nexthops.values().filter(|nexthop| !nexthop.group.is_empty()).count()
    };
    assert_eq!(groups(&model), 2);
    // One after the other of those that share a group goes another way, and then all come back.
    let mut weighted = by(&[(2, first), (3, second), (4, second)]);
    let key = (Prefix::host(node_address(2, false)), METRIC_PRIMARY);
    let other = nexthop(1, 101, 9, &[], false);
    weighted.routes.get_mut(&key).unwrap().nexthops.push(other);
    for wanted in [&weighted, &by(&[(2, first), (3, first), (4, first)]), &planned] {
        converge(&mut model, wanted, &mut saved);
        assert!(reconcile(wanted, &model.observed, &saved).in_sync());
    }
    let apart = groups(&model);
    assert!(apart > 2, "{apart}: else there is nothing to merge");
    let options = ReconcileOptions { merge_groups: true, ..ReconcileOptions::default() };
    let outcome = reconcile_with(&planned, &model.observed, &saved, &options);
    assert!(outcome.refused.is_empty() && outcome.pending.is_empty(), "{outcome:#?}");
    let is_replaced = |operation: &Operation| match operation {
        Operation::AddRoute { replace, .. } => *replace,
        Operation::DeleteNexthop { .. } => true,
        _ => false,
    };
    assert!(outcome.operations.iter().all(|p| is_replaced(&p.operation)), "{outcome:#?}");
    execute(&mut model, &outcome.operations);
    assert_eq!(groups(&model), 2);
    assert!(reconcile_with(&planned, &model.observed, &saved, &options).in_sync());
}

//! Rules by arriving interface and their tables (K1, K15).

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use tresse_base::units::Prefix;

use super::scene::*;
use crate::model::KernelModel;
use crate::{
    METRIC_BACKUP, METRIC_PRIMARY, Object, ObservedTableRoute, PROTOCOL, PendingReason, Planned,
    Refusal, Rule, Saved, Wanted, inverse, reconcile,
};

/// What arrives by eth0 for node 3 leaves by eth1, and the other way round for node 2; IPv6 too.
fn turning() -> Wanted {
    let mut wanted = base(&[(0, 100), (1, 101)], true);
    for v6 in [false, true] {
        add_table_route(&mut wanted, (0, 1), 3, v6);
        add_table_route(&mut wanted, (1, 0), 2, v6);
    }
    wanted
}

fn lines(operations: &[Planned]) -> Vec<String> {
    operations.iter().map(|p| p.operation.to_string()).collect()
}

fn rule(table: u32, nic: u8) -> Rule {
    Rule { table, ipv4: true, interface: format!("eth{nic}") }
}

/// Ours in the model, by interface and family: where packets to each destination go.
type Ways = BTreeMap<(String, bool), BTreeMap<Prefix, (String, IpAddr)>>;

fn ways(wanted: &Wanted) -> Ways {
    let mut ways = Ways::new();
    for ((came, dst), nexthop) in &wanted.xy.tables {
        let key = (came.clone(), dst.address.is_ipv4());
        ways.entry(key).or_default().insert(*dst, (nexthop.interface.clone(), nexthop.via));
    }
    ways
}

fn seen(model: &KernelModel) -> Ways {
    let mut ways = Ways::new();
    for rule in &model.observed.rules {
        let routes = model.observed.table_routes.iter();
        let own =
            routes.filter(|(key, _)| (key.0, key.1.address.is_ipv4()) == (rule.table, rule.ipv4));
        let nexthop = |table_route: &ObservedTableRoute| {
            (table_route.interface.clone().unwrap(), table_route.via.unwrap())
        };
        let own = own.map(|(key, table_route)| (key.1, nexthop(table_route))).collect();
        ways.insert((rule.interface.clone(), rule.ipv4), own);
    }
    ways
}

#[test]
fn a_rule_comes_behind_its_table_and_everything_goes() {
    let (mut model, mut saved) = (node(), Saved::default());
    let found = lines(&converge(&mut model, &turning(), &mut saved).operations);
    let first = found.iter().position(|l| l.contains(" table ")).unwrap();
    let expected = [
        "add route 10.77.0.3/32 table 7800 via 10.78.1.3 dev eth1",
        "add route fd77::3/128 table 7800 via fd78::1:3 dev eth1",
        "add route 10.77.0.2/32 table 7801 via 10.78.0.2 dev eth0",
        "add route fd77::2/128 table 7801 via fd78::2 dev eth0",
        "add rule IPv6 iif eth0 lookup 7800",
        "add rule IPv4 iif eth0 lookup 7800",
        "add rule IPv6 iif eth1 lookup 7801",
        "add rule IPv4 iif eth1 lookup 7801",
    ];
    assert_eq!(found[first..first + 8], expected);
    assert_eq!(seen(&model), ways(&turning()));
    assert!(reconcile(&turning(), &model.observed, &saved).in_sync());
    let found = lines(&converge(&mut model, &Wanted::default(), &mut saved).operations);
    let first = found.iter().position(|line| line.contains("lookup")).unwrap();
    assert_eq!(found[first], "delete rule IPv6 iif eth0 lookup 7800");
    assert_eq!(found[first + 4], "delete route 10.77.0.3/32 table 7800");
    assert_eq!((model.comparable(), saved), (node().comparable(), Saved::default()));
}

/// Else packets that arrive by the NIC by which the old route leaves are sent back meanwhile.
#[test]
fn a_table_keeps_its_routes_until_the_main_table_has_changed() {
    let through = |nic: u8| {
        let mut wanted = base(&[(0, 100), (1, 101)], false);
        let vid = 100 + u16::from(nic);
        add_route(&mut wanted, 3, METRIC_PRIMARY, vec![nexthop(nic, vid, 3, &[], false)]);
        wanted
    };
    let mut before = through(0);
    add_table_route(&mut before, (0, 1), 3, false);
    for keeps_the_rule in [false, true] {
        let mut after = through(1);
        if keeps_the_rule {
            add_table_route(&mut before, (0, 1), 2, false);
            add_table_route(&mut after, (0, 1), 2, false);
        }
        let (mut model, mut saved) = installed(&before);
        let found = lines(&converge(&mut model, &after, &mut saved).operations);
        let at = |text: &str| found.iter().position(|line| line.contains(text));
        // The route itself, or its group.
        let main = found.iter().rposition(|line| !line.starts_with("delete")).unwrap();
        let gone = at("delete route 10.77.0.3/32 table 7800").unwrap();
        assert!(main < gone, "{found:?}");
        match (keeps_the_rule, at("delete rule")) {
            (true, None) => {}
            (false, Some(rule)) => assert!(main < rule && rule < gone, "{found:?}"),
            other => panic!("{other:?}: {found:?}"),
        }
    }
}

#[test]
fn backups_that_are_turned_elsewhere_are_routes_once_asked_for() {
    let mut wanted = base(&[(0, 100)], false);
    add_route(&mut wanted, 2, METRIC_BACKUP, vec![nexthop(0, 100, 2, &[], false)]);
    let dst = Prefix::host(node_address(2, false));
    let backup = wanted.routes.remove(&(dst, METRIC_BACKUP)).unwrap();
    wanted.xy.backups.insert(dst, backup.clone());
    assert!(wanted.routes.is_empty());
    assert_eq!(wanted.all_routes(), [((dst, METRIC_BACKUP), backup)].into());
}

#[test]
fn what_somebody_takes_away_or_bends_is_put_back() {
    let (healthy, mut saved) = installed(&turning());
    let mut model = healthy.clone();
    model.observed.rules.remove(&rule(7801, 1));
    let dst = Prefix::host(node_address(3, false));
    let key = (7800, dst, METRIC_PRIMARY);
    model.observed.table_routes.get_mut(&key).unwrap().via = Some(ip("10.78.1.9"));
    let v6 = (7801, Prefix::host(node_address(2, true)), METRIC_PRIMARY);
    model.observed.table_routes.remove(&v6);
    let outcome = converge(&mut model, &turning(), &mut saved);
    let expected = [
        "replace route 10.77.0.3/32 table 7800 via 10.78.1.3 dev eth1",
        "add route fd77::2/128 table 7801 via fd78::2 dev eth0",
        "add rule IPv4 iif eth1 lookup 7801",
    ];
    assert_eq!(lines(&outcome.operations), expected);
    assert_eq!(outcome.operations[0].why.to_string(), "is via 10.78.1.9 dev eth1");
    assert_eq!(model.observed, healthy.observed);
}

#[test]
fn k1_turns_outlive_carrier_loss_and_wait_while_their_interface_is_down() {
    let (healthy, mut saved) = installed(&turning());
    let mut model = healthy.clone();
    model.set_carrier("eth1", false);
    assert!(reconcile(&turning(), &model.observed, &saved).in_sync());
    model.observed.links.get_mut("eth1").unwrap().up = false;
    model.observed.table_routes.retain(|_, route| route.interface.as_deref() != Some("eth1"));
    let outcome = reconcile(&turning(), &model.observed, &saved);
    let waits = |v6| {
        let object = Object::TableRoute(7800, Prefix::host(node_address(3, v6)));
        outcome
            .pending
            .iter()
            .any(|p| p.object == object && p.why == PendingReason::Down("eth1".into()))
    };
    assert!(waits(false) && waits(true), "{:#?}", outcome.pending);
    assert!(outcome.operations.iter().all(|p| p.operation.object().kind() != "rule"));
    model.observed.links.get_mut("eth1").unwrap().up = true;
    model.set_carrier("eth1", true);
    converge(&mut model, &turning(), &mut saved);
    assert_eq!(model.observed, healthy.observed);
}

#[test]
fn k15_a_table_with_a_route_of_somebody_else_is_left_alone() {
    for (protocol, metric) in [(4, 0), (4, METRIC_PRIMARY), (PROTOCOL, 0)] {
        let mut model = node();
        let key = (7800, prefix("192.168.9.0/24"), metric);
        let theirs = ObservedTableRoute {
            protocol,
            interface: Some("eth2".into()),
            via: Some(ip("192.168.2.1")),
        };
        model.observed.table_routes.insert(key, theirs.clone());
        let mut saved = Saved::default();
        let outcome = converge(&mut model, &turning(), &mut saved);
        let (table, dst) = (7800, key.1);
        assert_eq!(outcome.refused, [Refusal::ForeignTableRoute { table, dst, metric, protocol }]);
        let message = outcome.refused[0].to_string();
        assert!(message.contains("table 7800") && message.contains("192.168.9.0/24"), "{message}");
        assert!(!model.observed.rules.contains(&rule(7800, 0)));
        // That of IPv6 is another table, and so is the next.
        assert_eq!(model.observed.rules.len(), 3);
        converge(&mut model, &Wanted::default(), &mut saved);
        assert_eq!(model.observed.table_routes, [(key, theirs)].into());
        assert!(model.observed.rules.is_empty() && model.damage.is_empty());
        // One that comes later takes nothing away.
        let (mut model, mut saved) = installed(&turning());
        let theirs = ObservedTableRoute { protocol: 4, interface: Some("eth2".into()), via: None };
        model.observed.table_routes.insert((7800, key.1, 3), theirs);
        let outcome = converge(&mut model, &turning(), &mut saved);
        assert!(outcome.operations.is_empty() && outcome.refused.len() == 1, "{outcome:#?}");
    }
}

/// eth0 leaves the plan, so that eth1 gets its table.
#[test]
fn no_rule_leads_to_a_table_that_changes_hands() {
    let mut fewer = turning();
    fewer.nics.remove("eth0");
    fewer.xy.tables.retain(|(came, _), _| came == "eth1");
    let dst = Prefix::host(node_address(9, false));
    let old = (("eth1".to_owned(), dst), nexthop(0, 100, 9, &[], false));
    let mut before = turning();
    before.xy.tables.insert(old.0, old.1);
    for (a, b) in [(&before, &fewer), (&fewer, &before)] {
        let (mut model, mut saved) = installed(a);
        let outcome = reconcile(b, &model.observed, &saved);
        let (was, will) = (ways(a), ways(b));
        for planned in &outcome.operations {
            model.apply(&planned.operation).unwrap();
            for (key, routes) in seen(&model) {
                let (was, will) = (was.get(&key), will.get(&key));
                for (dst, nexthop) in &routes {
                    let known =
                        [was, will].into_iter().flatten().any(|r| r.get(dst) == Some(nexthop));
                    assert!(known, "{}: {key:?} {dst}", planned.operation);
                }
                let filled: BTreeSet<_> = routes.keys().collect();
                let both = was
                    .unwrap_or(&routes)
                    .keys()
                    .filter(|dst| will.is_some_and(|will| will.contains_key(dst)));
                let all = both.collect::<BTreeSet<_>>().is_subset(&filled);
                let new = was.is_some() || will.is_some_and(|will| *will == routes);
                assert!(all && new, "{}: {key:?} {routes:?}", planned.operation);
            }
        }
        saved = saved.settled(b, &model.observed);
        assert!(reconcile(b, &model.observed, &saved).operations.is_empty());
    }
}

#[test]
fn every_step_can_be_undone() {
    let (mut model, saved) = installed(&turning());
    let mut moved = turning();
    moved.xy.tables.values_mut().next().unwrap().via = ip("10.78.1.7");
    moved.xy.tables.retain(|(came, dst), _| came == "eth0" || dst.address.is_ipv4());
    for wanted in [moved, Wanted::default()] {
        let before = model.clone();
        let outcome = reconcile(&wanted, &model.observed, &saved);
        execute(&mut model, &outcome.operations);
        for planned in outcome.operations.iter().rev() {
            for operation in inverse(&planned.operation, &before.observed) {
                model.apply(&operation).unwrap();
            }
        }
        assert_eq!(model.comparable(), before.comparable());
    }
}

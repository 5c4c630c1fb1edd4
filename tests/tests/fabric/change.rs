//! Changing plans and switch configurations while frames flow.

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_export::SwitchConfig;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_tests::load::{Fault, Miss};
use tresse_tests::switches::{configs, configs_keeping};

use super::datagrams::Traffic;
use super::lab::{Lab, Planned, eventually, file};
use super::probe::{Copies, Probe};

pub const TESTS: &[(&str, fn())] = &[
    ("strategy_change_under_traffic_loses_nothing", || {
        strategy_change_under_traffic_loses_nothing("[3, 2]", &["pdor"]);
    }),
    ("long_strategy_change_under_traffic_loses_nothing", || {
        strategy_change_under_traffic_loses_nothing("[3, 3]", &["pdor", "stp", "dor"]);
    }),
    ("k4_switches_changed_one_by_one_never_duplicate", || {
        one_by_one_never_duplicates(&["stp", "pdor"]);
    }),
    ("long_k4_switches_changed_one_by_one_never_duplicate", || {
        one_by_one_never_duplicates(&["pdor", "stp", "dor", "stp"]);
    }),
    ("k4_kept_vlans_go_on_all_the_time", kept_vlans_go_on_all_the_time),
    ("k4_fabric_grown_one_switch_at_a_time_never_duplicates", || {
        growing_never_duplicates(&[(1, "dor")]);
    }),
    ("long_k4_fabric_grown_one_switch_at_a_time_never_duplicates", || {
        growing_never_duplicates(&[(2, "pdor"), (3, "stp")]);
    }),
];

/// The way of a pair: its primary's VID.
fn vid(plan: &Plan, (a, b): (NodeId, NodeId)) -> u16 {
    plan.vid(plan.primary(a, b)[0].tree).0
}

fn strategy_change_under_traffic_loses_nothing(dims: &str, strategies: &[&str]) {
    let mut random = Random::new(20);
    let topology = format!("kind = \"torus\", dims = {dims}");
    let mut lab = Lab::up(&file(&topology, "dor", 1, ""), &[]);
    let pairs: Vec<_> = lab.now.plan.pairs().collect();
    for strategy in strategies {
        let next = lab.now.next(strategy);
        let (kept, moved): (Vec<_>, Vec<_>) =
            pairs.iter().partition(|p| vid(&lab.now.plan, **p) == vid(&next.plan, **p));
        assert!(!moved.is_empty(), "{strategy} moves no pair");
        let mut chosen = random.some(&moved, 5);
        chosen.extend(random.some(&kept, 3));
        let traffic = Traffic::start(&lab, &chosen);
        change(&mut lab, next, &mut random);
        // A pair that moves to a shorter path may overtake itself.
        let moved_pair = |miss: &Miss| {
            let name = |node: &NodeId| lab.now.node(*node).to_owned();
            moved.iter().any(|(a, b)| miss.pair == (name(a), name(b)))
        };
        traffic
            .finish_without_faults(50, |miss| miss.fault == Fault::Overtaken && moved_pair(miss));
        eprintln!("to {strategy}: {} pairs moved, {} kept", moved.len(), kept.len());
    }
    assert_eq!(lab.ping(&pairs), []);
}

/// As an operator does it: the switches get the new VLANs, then the nodes the plan one after the
/// other, and the switches lose the old VLANs once no node has them.
fn change(lab: &mut Lab, next: Planned, random: &mut Random) {
    lab.keep(&next.plan);
    let mut nodes: Vec<_> = lab.now.nodes().collect();
    random.shuffle(&mut nodes);
    for node in nodes {
        lab.apply(node, &next);
    }
    let old = std::mem::replace(&mut lab.now, next);
    for node in lab.now.nodes() {
        let planned = lab.planned_interfaces(node);
        eventually(
            "only the new plan's VLAN interfaces are left, and the node is in sync",
            90,
            || {
                let (found, status) = (lab.vlan_interfaces(node), lab.status(node)?);
                let ready = found == planned && status.in_sync && status.pending.is_empty();
                if ready { Ok(()) } else { Err(format!("{found:?} {status:?}")) }
            },
        );
    }
    lab.settle(&old.plan);
}

/// Every VLAN of either configuration from every node, after every single switch: what arrives.
fn roll(
    lab: &Lab,
    before: &[SwitchConfig],
    after: &[SwitchConfig],
    random: &mut Random,
) -> Vec<Copies> {
    let mut probe = Probe::new(lab);
    let vids: BTreeSet<u16> =
        before.iter().chain(after).flat_map(|c| &c.vlans).map(|v| v.vid.0).collect();
    let frames: Vec<_> =
        lab.now.nodes().flat_map(|n| vids.iter().map(move |vid| (n, *vid))).collect();
    let mut order: Vec<usize> = (0..after.len()).collect();
    random.shuffle(&mut order);
    let mut round = |what: &str| {
        let copies = probe.round(&frames, 0.5);
        let wrong: Vec<_> =
            copies.iter().filter(|((from, _, to), n)| from == to || **n > 1).take(5).collect();
        assert!(wrong.is_empty(), "{what}, order {order:?}: {wrong:?}");
        copies
    };
    let mut seen = vec![round("before")];
    for &k in &order {
        lab.reconfigure(before.get(k), &after[k]);
        seen.push(round(&format!("after {}", after[k].name)));
    }
    assert!(!seen[0].is_empty() && !seen[order.len()].is_empty());
    seen
}

fn one_by_one_never_duplicates(strategies: &[&str]) {
    let mut lab = Lab::up(&file("kind = \"torus\", dims = [3, 3]", "dor", 1, ""), &["--no-daemon"]);
    let mut random = Random::new(7);
    for strategy in strategies {
        let next = lab.now.next(strategy);
        roll(&lab, &configs(&lab.now.plan), &configs(&next.plan), &mut random);
        lab.now = next;
    }
}

/// By way of what `export --keep` says nothing is doubled, and nothing that went before stops: a node
/// may change its plan at any moment between.
fn kept_vlans_go_on_all_the_time() {
    let mut lab = Lab::up(&file("kind = \"torus\", dims = [3, 3]", "dor", 1, ""), &["--no-daemon"]);
    let mut random = Random::new(8);
    for strategy in ["stp", "pdor"] {
        let next = lab.now.next(strategy);
        let both = configs_keeping(&next.plan, &lab.now.plan);
        let go_on = |kept: &Copies, seen: &[Copies]| {
            for copies in seen {
                let lost = kept.keys().find(|way| !copies.contains_key(way));
                assert_eq!(lost, None, "to {strategy}: {} of {} ways", copies.len(), kept.len());
            }
        };
        let seen = roll(&lab, &configs(&lab.now.plan), &both, &mut random);
        go_on(&seen[0], &seen);
        let seen = roll(&lab, &both, &configs(&next.plan), &mut random);
        go_on(&seen[seen.len() - 1], &seen);
        lab.now = next;
    }
}

fn growing_never_duplicates(runs: &[(u64, &str)]) {
    for &(seed, strategy) in runs {
        let small = file("kind = \"mesh\", dims = [3, 2]", strategy, 1, "");
        let small = Planned::new(&small, &Lock::default());
        let large = file("kind = \"mesh\", dims = [3, 3]", strategy, 1, "");
        let mut lab = Lab::up(&large, &["--no-daemon"]);
        // The cables of the large fabric with the VLANs of the small one.
        let large = Planned::new(&large, &small.lock);
        let (fresh, before) = (configs(&lab.now.plan), configs(&small.plan));
        for (k, config) in fresh.iter().enumerate() {
            let mut empty = config.clone();
            empty.ports.clear();
            lab.reconfigure(Some(config), before.get(k).unwrap_or(&empty));
        }
        lab.now = large;
        roll(&lab, &before, &configs(&lab.now.plan), &mut Random::new(seed));
    }
}

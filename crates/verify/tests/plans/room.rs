//! Backups and the room that VLANs leave for them.

use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::{Cluster, Prefer, Strategy, TopologyShape};
use tresse_verify as verify;

const UPDOWN: Strategy = Strategy::Updown { root: None };
const TRANSIT: Strategy = Strategy::Transit { root: None };

fn irregular(seed: u32, strategy: Strategy, paths: u32) -> Cluster {
    Cluster::generated(
        TopologyShape::Irregular { switches: 16, ports: 8, seed },
        4,
        1,
        strategy,
        paths,
    )
}

fn torus(dims: &[u32], strategy: Strategy, paths: u32) -> Cluster {
    Cluster::generated(TopologyShape::Torus { dims: dims.into() }, 1, 1, strategy, paths)
}

fn checked(mut cluster: Cluster, max_vlans: u32) -> verify::Report {
    cluster.switches.iter_mut().for_each(|s| s.max_vlans = max_vlans);
    verify::check(&Plan::build(cluster).unwrap())
}

/// What fits without backups fits with them: those without a tree are counted.
#[test]
fn backups_alone_make_no_plan_fail() {
    for strategy in [Strategy::Stp, Strategy::Minimal, UPDOWN, TRANSIT] {
        for room in 2..10 {
            let [one, two] = [1, 2].map(|paths| checked(irregular(1, strategy, paths), room));
            let what = format!("{strategy:?} with {room}");
            assert!(one.violations.is_empty(), "{what}: {:?}", one.violations);
            assert!(two.violations.is_empty(), "{what}: {:?}", two.violations);
            assert_eq!(
                (one.vlans, one.max_link_load),
                (two.vlans - two.backup_vlans, two.max_link_load)
            );
            let note = two.notes.iter().any(|note| note.kind == "no-disjoint-backup");
            assert_eq!(note, two.failures.pairs_without_disjoint_backup > 0, "{what}");
        }
    }
    // 8 trees and the base VLAN.
    assert_eq!(checked(torus(&[4, 4], Strategy::Dor, 2), 9).violations, []);
    assert_eq!(checked(torus(&[12, 12], Strategy::Dor, 2), 25).violations, []);
}

/// Room for as many VLANs as a plan has without a limit: the plan is the same. First fit needs more on the way there.
#[test]
fn room_for_what_is_needed_costs_nothing() {
    let mesh = |dims: &[u32]| TopologyShape::Mesh { dims: dims.into() };
    let cases = [
        (TopologyShape::Torus { dims: vec![4, 4] }, UPDOWN, Prefer::Balance),
        (TopologyShape::Torus { dims: vec![4, 4] }, TRANSIT, Prefer::Balance),
        (mesh(&[4, 4]), Strategy::Minimal, Prefer::FewestVlans),
        (mesh(&[8, 8]), Strategy::Minimal, Prefer::Balance),
        (TopologyShape::Hypercube { dimensions: 4 }, Strategy::Minimal, Prefer::FewestVlans),
    ];
    for (kind, strategy, prefer) in cases {
        let mut cluster = Cluster::generated(kind.clone(), 1, 1, strategy, 1);
        cluster.routing.prefer = prefer;
        let free = checked(cluster.clone(), 4094);
        // One is the base VLAN.
        for more in 1..3 {
            let tight = checked(cluster.clone(), free.vlans as u32 + more);
            let what = |report: &verify::Report| {
                (report.vlans, report.max_link_load, report.minimal, report.notes.len())
            };
            assert_eq!(what(&tight), what(&free), "{kind:?} {strategy:?} {more}");
        }
    }
}

/// A fat tree that wants nine trees: with eight its links carry little more, with four more, and it is said.
#[test]
fn what_few_vlans_cost_is_little_and_said() {
    let tree = |strategy, room| {
        checked(Cluster::generated(TopologyShape::FatTree { k: 6 }, 0, 1, strategy, 1), room)
    };
    for strategy in [Strategy::Minimal, UPDOWN] {
        for (room, most) in [(4, 108), (8, 60), (9, 51)] {
            let report = tree(strategy, room);
            let load = report.max_link_load;
            assert!(load <= most, "{strategy:?} {room}: {load}");
            assert!(report.violations.is_empty(), "{:?}", report.violations);
            let said = report.notes.iter().any(|note| note.kind == "no-room");
            assert_eq!(said, room < 9, "{strategy:?} {room}");
        }
    }
}

/// Where too much would have to be looked at for backups, it is said what limits them.
#[test]
fn what_is_not_sought_is_said() {
    let why = |dims: &[u32], strategy, lossless| {
        let kind = TopologyShape::Mesh { dims: dims.into() };
        let mut cluster = Cluster::generated(kind, 1, 1, strategy, 2);
        cluster.routing.lossless = lossless;
        let mut report = verify::check(&Plan::build(cluster).unwrap());
        report.notes.retain(|note| note.kind == "no-disjoint-backup");
        report.notes.into_iter().map(|note| note.message).collect::<String>()
    };
    let detours = why(&[24, 24], Strategy::Dor, true);
    assert!(detours.contains("only the trees of the strategy are looked at"), "{detours}");
}

/// On 256 switches, twice as many as backup trees are tried round each of, no pair is left out.
#[test]
fn backups_have_no_cliff_at_256_switches() {
    let kind = TopologyShape::Irregular { switches: 256, ports: 5, seed: 1 };
    for strategy in [Strategy::Stp, Strategy::Minimal] {
        let cluster = Cluster::generated(kind.clone(), 1, 1, strategy, 2);
        let report = verify::check(&Plan::build(cluster).unwrap());
        assert_eq!(report.violations, [], "{strategy:?}");
        assert_eq!(report.failures.pairs_without_disjoint_backup, 0, "{strategy:?}");
    }
}

/// From 1,449 switches on trees are woven round the paths from some of them, and serve those from others.
#[test]
fn backups_have_no_cliff_beyond_what_is_looked_at() {
    let kind = TopologyShape::Irregular { switches: 1456, ports: 5, seed: 1 };
    let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Stp, 2)).unwrap();
    assert_eq!(plan.backup_stride(), 9);
    let shared = verify::SharedParts::of(&plan).unwrap();
    let some: Vec<_> = plan.pairs().filter(|(s, _)| s.index() % 97 == 1).collect();
    let without = some.iter().filter(|(s, d)| shared.of_pair(*s, *d).is_some()).count();
    assert!(1000 * without < some.len(), "{without}");
}

/// VIDs that the lock holds for trees before leave fewer for backups.
#[test]
fn backups_do_without_vids_that_the_lock_holds() {
    let old = Plan::build(irregular(1, UPDOWN, 2)).unwrap();
    let needed = Plan::build(irregular(2, UPDOWN, 1)).unwrap().specs().len();
    let full = Plan::build(irregular(2, UPDOWN, 2)).unwrap().specs().len();
    assert!(full > needed);
    let range = vec![(2, (old.specs().len() + needed) as u16 + 1)];
    let mut cluster = irregular(2, UPDOWN, 2);
    cluster.vlans.ranges = range;
    let plan = Plan::build_with(cluster, &old.lock(&Lock::default())).unwrap();
    assert!((needed..full).contains(&plan.specs().len()), "{}", plan.specs().len());
    assert_eq!(verify::check(&plan).violations, []);
}

/// `pdor` only helps where it is not in use and fits.
#[test]
fn help_names_strategies_that_fit() {
    let help = |mut cluster: Cluster, room| {
        cluster.vlans.base = Some(1);
        let found = checked(cluster, room).violations.swap_remove(0).message;
        found.rsplit(": ").next().unwrap().to_owned()
    };
    assert_eq!(help(torus(&[4, 4], Strategy::Dor, 2), 7), "use pdor, minimal or stp");
    assert_eq!(help(torus(&[4, 4], Strategy::Dor, 2), 6), "use minimal or stp");
    assert_eq!(help(torus(&[4, 4], Strategy::Pdor, 1), 6), "use minimal or stp");
    assert_eq!(help(torus(&[3, 3, 3], Strategy::Dor, 1), 16), "use pdor, minimal or stp");
    assert_eq!(help(torus(&[3, 3, 3], Strategy::Dor, 1), 14), "use minimal or stp");
    let none = help(irregular(1, UPDOWN, 2), 1);
    assert_eq!(none, "a switch that holds at least one beside the base VLAN");
}

/// What is said of a pair whose way has no room is not what is said of one whose way is not legal.
#[test]
fn pairs_without_room_are_told_apart() {
    for (strategy, words) in [
        (UPDOWN, "updown: max_vlans = 3 of s00 leaves room for 3 trees"),
        (TRANSIT, "transit: max_vlans = 3 of s00 leaves room for 3 trees"),
        (Strategy::Minimal, "minimal: max_vlans = 3 of s00 leaves room for 3 trees"),
    ] {
        let mut cluster = irregular(1, strategy, 1);
        cluster.switches.iter_mut().for_each(|s| s.max_vlans = 3);
        let plan = Plan::build(cluster).unwrap();
        let report = verify::check(&plan);
        let note = report.notes.iter().find(|note| note.kind == "not-minimal").unwrap();
        let because =
            "because max_vlans = 3 of s00 leaves room for 3 trees, and their paths fit into";
        assert!(note.message.contains(because), "{}", note.message);
        assert_eq!(
            note.message.contains("because their shortest paths go up after down"),
            strategy == UPDOWN
        );
        let (mut longer, mut crowded) = (0, 0);
        for (src, dst) in plan.pairs() {
            let trace = plan.trace(src, dst);
            longer += usize::from(!trace.paths[0].minimal);
            let why = trace.why.join("\n");
            let illegal = why.contains("which goes up after down");
            let room = why.contains(words);
            assert!(!(illegal && room), "{why}");
            assert!(trace.paths[0].minimal || illegal || room, "{why}");
            crowded += usize::from(room);
        }
        assert!(
            crowded > 0 && note.message.starts_with(&format!("{longer} ordered pairs")),
            "{}",
            note.message
        );
    }
}

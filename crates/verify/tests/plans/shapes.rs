//! Fabrics with a shape of their own, each of which was planned badly once: parallel cables, mixed rates, a wheel, nodes on
//! few switches, more switches than backups were sought for.

use std::fmt::Write;

use tresse_base::id::{LinkId, NodeId, TreeId};
use tresse_base::units::Rate;
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, Link, Port, Strategy, TopologyShape};
use tresse_topology::random;
use tresse_topology::vlan::Role;
use tresse_verify as verify;

const TRANSIT: Strategy = Strategy::Transit { root: None };
const UPDOWN: Strategy = Strategy::Updown { root: None };

/// The plan of an explicit fabric: by switch the nodes on it, cables with their rates, and `[routing]`.
pub(super) fn explicit(nodes: &[u32], cables: &[(u32, u32, &str)], routing: &str) -> Plan {
    let mut text =
        format!("[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\n{routing}\n");
    let mut ports = vec![0; nodes.len()];
    let mut port = |s: u32| {
        ports[s as usize] += 1;
        ports[s as usize]
    };
    let mut rest = String::new();
    let mut number = 0;
    for (s, count) in (0..).zip(nodes) {
        for _ in 0..*count {
            number += 1;
            writeln!(
                rest,
                "[[node]]\nname = \"n{number:02}\"\nnics = [{{ name = \"eth0\", mac = \"02:00:00:00:00:{number:02x}\", \
                 switch = \"s{s:02}\", port = {}, rate = \"1G\" }}]",
                port(s)
            )
            .unwrap();
        }
    }
    for (a, b, rate) in cables {
        let (pa, pb) = (port(*a), port(*b));
        writeln!(rest, "[[link]]\na = \"s{a:02}:{pa}\"\nb = \"s{b:02}:{pb}\"\nrate = \"{rate}\"")
            .unwrap();
    }
    for (s, ports) in ports.iter().enumerate() {
        writeln!(text, "[[switch]]\nname = \"s{s:02}\"\nports = {}", ports.max(&1)).unwrap();
    }
    let cluster = tresse_cluster::parse(&(text + &rest), "shape.toml").unwrap();
    Plan::build(cluster).unwrap()
}

pub(super) fn routing(strategy: &str, paths: u32) -> String {
    format!("strategy = \"{strategy}\"\npaths = {paths}")
}

/// Two switches with six nodes each, over three ways of two hops: whatever their order, the fast one takes what it can.
#[test]
fn slow_cables_carry_no_more_than_they_can() {
    for rates in [["1G", "10G", "1G"], ["10G", "1G", "1G"], ["1G", "1G", "10G"]] {
        let over = (1..).zip(rates);
        let cables: Vec<_> =
            over.flat_map(|(via, rate)| [(0, via, rate), (via, 4, rate)]).collect();
        for strategy in ["minimal", "updown", "transit", "stp"] {
            let plan = explicit(&[6, 0, 0, 0, 6], &cables, &routing(strategy, 1));
            let report = verify::check(&plan);
            assert!(report.ideal_throughput > 0.999, "{rates:?} {strategy}: {report:?}");
        }
    }
}

/// Of parallel cables of 1G and 10G `stp` takes a fast one, and the others both by rate.
#[test]
fn parallel_cables_count_by_rate() {
    for rates in [["1G", "10G"], ["10G", "1G"]] {
        let cables = rates.map(|rate| (0, 1, rate));
        for strategy in ["minimal", "updown", "transit", "stp"] {
            let report = verify::check(&explicit(&[6, 6], &cables, &routing(strategy, 1)));
            assert!(report.ideal_throughput > 0.999, "{rates:?} {strategy}: {report:?}");
        }
    }
}

/// A slow cable in a circle of four switches is the one that `stp` does without.
#[test]
fn one_tree_does_without_the_slowest_cable() {
    for slow in 0..4u32 {
        let rate = |k: u32| if k == slow { "1G" } else { "10G" };
        let cables: Vec<_> = (0..4).map(|k| (k, (k + 1) % 4, rate(k))).collect();
        let plan = explicit(&[2; 4], &cables, &routing("stp", 1));
        let links = plan.tree(0.into()).links(plan.graph());
        let rates = links.iter().map(|link: &LinkId| plan.cluster().link(*link).rate.0);
        assert!(rates.clone().all(|rate| rate == 10_000_000_000), "{slow}: {links:?}");
    }
}

/// Three equal cables between two switches of four nodes: 16 pairs are spread as 6, 5 and 5.
#[test]
fn parallel_cables_share_pairs() {
    let cables = [(0, 1, "1G"); 3];
    for strategy in ["minimal", "updown", "transit"] {
        for paths in [1, 4] {
            let plan = explicit(&[4, 4], &cables, &routing(strategy, paths));
            let report = verify::check(&plan);
            assert_eq!(report.max_link_load, 6, "{strategy} {paths}");
            assert!(report.violations.is_empty(), "{:?}", report.violations);
        }
    }
}

/// The same three cables where both switches have `lag`: one link, one VLAN, and room for all.
#[test]
fn parallel_cables_with_lag_are_one_link() {
    let separate = explicit(&[4, 4], &[(0, 1, "1G"); 3], &routing("minimal", 1));
    for ends in [&[0, 1][..], &[0]] {
        let mut cluster = separate.cluster().clone();
        ends.iter().for_each(|end| cluster.switches[*end].lag = true);
        cluster.bundle();
        let plan = Plan::build(cluster).unwrap();
        let report = verify::check(&plan);
        let noted = |kind: &str| report.notes.iter().any(|note| note.kind == kind);
        let (links, load) = (plan.cluster().links.len(), report.max_link_load);
        match ends.len() {
            2 => assert_eq!((links, load, plan.specs().len(), noted("lag")), (1, 16, 1, true)),
            _ => assert_eq!((links, load, noted("not-used"), noted("lag")), (3, 6, true, false)),
        }
        assert!(report.ideal_throughput > 0.999 || ends.len() == 1, "{report:?}");
        assert!(report.violations.is_empty(), "{:?}", report.violations);
    }
}

/// A mesh in which each cable has a faster one beside it: where a tree takes one of both, it takes the faster.
#[test]
fn trees_take_the_faster_of_parallel_cables() {
    for strategy in [Strategy::Stp, Strategy::Dor, Strategy::Pdor] {
        let kind = TopologyShape::Mesh { dims: vec![3, 3] };
        let mut cluster = Cluster::generated(kind, 1, 1, strategy, 1);
        for slow in cluster.links.clone() {
            let mut end = |end: Port| {
                let switch = &mut cluster.switches[end.switch.index()];
                switch.ports += 1;
                Port { port: switch.ports, ..end }
            };
            let (a, b) = (end(slow.a), end(slow.b));
            cluster.links.push(Link { a, b, rate: Rate(10 * slow.rate.0) });
        }
        let plan = Plan::build(cluster).unwrap();
        let trees = (0..plan.specs().len()).map(TreeId::from);
        let links = trees.flat_map(|tree| plan.tree(tree).links(plan.graph()));
        let slow = links.filter(|link| plan.cluster().link(*link).rate == Rate::GIGABIT);
        assert_eq!(slow.count(), 0, "{strategy:?}");
    }
}

/// A wheel: 15 switches in a circle around one that joins them all. No pair needs to share a switch with its backup.
#[test]
fn backups_keep_off_the_hub_of_a_wheel() {
    let rim = (0..15).map(|k| (k + 1, (k + 1) % 15 + 1, "1G"));
    let cables: Vec<_> = (1..16).map(|k| (0, k, "1G")).chain(rim).collect();
    let report = verify::check(&explicit(&[1; 16], &cables, &routing("minimal", 2)));
    assert_eq!(report.failures.pairs_without_disjoint_backup, 0);
    assert_eq!(report.failures.switch.most_lost, 30, "its own node's pairs, and no other");
}

/// A circle of four switches, a fifth on one of them: what hangs there has no other way, but the circle has one round that
/// switch, though the fabric falls apart without it and its cables are the fastest.
#[test]
fn backups_go_round_a_switch_that_others_need() {
    let fast = [(0, 1), (0, 1), (1, 2), (1, 2)].map(|(a, b)| (a, b, "10G"));
    let cables: Vec<_> =
        fast.into_iter().chain([(2, 3, "1G"), (3, 0, "1G"), (1, 4, "1G")]).collect();
    for strategy in ["stp", "minimal"] {
        let report = verify::check(&explicit(&[1; 5], &cables, &routing(strategy, 2)));
        let alone = report.failures.pairs_without_disjoint_backup;
        assert_eq!(alone, 8, "{strategy}: the fifth switch's, to and from four");
    }
}

/// A triangle with nodes on two switches: from one root the way over the third goes down and up again, and the note says what
/// to change.
#[test]
fn another_root_may_allow_a_backup() {
    let cables = [(0, 1, "1G"), (1, 2, "1G"), (0, 2, "1G")];
    let backups = |root| {
        let routing = format!("{}\nroot = \"s0{root}\"", routing("updown", 2));
        verify::check(&explicit(&[4, 4, 0], &cables, &routing))
    };
    let [poor, good] = [0, 2].map(backups);
    assert_eq!(poor.failures.pairs_without_disjoint_backup, 32);
    assert_eq!(good.failures.pairs_without_disjoint_backup, 0);
    let why = |kind| poor.notes.iter().find(|note| note.kind == kind).unwrap().message.as_str();
    assert!(["no-backup", "no-disjoint-backup"].iter().all(|kind| why(*kind).contains("`root`")));
}

/// Without a root of one's own, the plan is within a twentieth of the best that any root leads to.
#[test]
fn the_root_is_near_the_best_of_all() {
    for (switches, degree, seed) in [(16, 3, 1), (20, 3, 2), (24, 4, 3), (32, 3, 4)] {
        let cables: Vec<_> = random::regular(switches, degree, seed)
            .into_iter()
            .map(|(a, b)| (a, b, "1G"))
            .collect();
        for strategy in ["updown", "transit"] {
            let throughput = |root: String| {
                let routing = format!("{}\n{root}", routing(strategy, 1));
                let plan = explicit(&vec![1; switches as usize], &cables, &routing);
                verify::check(&plan).ideal_throughput
            };
            let roots = (0..switches).map(|root| throughput(format!("root = \"s{root:02}\"")));
            let (best, chosen) = (roots.fold(0.0, f64::max), throughput(String::new()));
            assert!(1.05 * chosen >= best, "{switches} {seed} {strategy}: {chosen} of {best}");
        }
    }
}

/// Cables without which the fabric falls apart: no root and no strategy gives pairs across them a backup, and none is advised.
#[test]
fn what_a_cable_forces_is_told_apart_from_what_a_strategy_leaves_out() {
    let triangles = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
    let line = [(0, 1), (1, 2), (2, 3)];
    for (switches, cables, strategy, forced) in [
        (6, &triangles[..], "minimal", 18),
        (4, &line[..], "minimal", 12),
        (4, &line[..], "updown", 12),
        (4, &line[..], "transit", 12),
    ] {
        let cables: Vec<_> = cables.iter().map(|(a, b)| (*a, *b, "1G")).collect();
        let plan = explicit(&vec![1; switches], &cables, &routing(strategy, 2));
        let mut notes = verify::check(&plan).notes;
        notes.retain(|note| note.kind == "no-disjoint-backup");
        let [note] = &notes[..] else { panic!("{strategy}: {notes:?}") };
        assert!(note.message.starts_with(&format!("{forced} ordered pairs")), "{note:?}");
        assert!(note.message.contains("every way along cables"), "{note:?}");
    }
}

/// A cable that joins two triangles: no root gives pairs across it another way, whatever else their paths share.
#[test]
fn what_no_root_changes_is_not_put_down_to_the_root() {
    let cables = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
    let cables = cables.map(|(a, b)| (a, b, "1G"));
    let plan = explicit(&[1; 6], &cables, &routing("updown", 2));
    let mut notes = verify::check(&plan).notes;
    notes.retain(|note| note.kind == "no-disjoint-backup");
    assert!(notes[0].message.starts_with("18 ordered pairs"), "{notes:?}");
    assert!(notes[0].message.contains("every way along cables"), "{notes:?}");
    assert!(notes[1].message.starts_with("4 ordered pairs"), "{notes:?}");
    let shared = verify::SharedParts::of(&plan).unwrap();
    let forced = shared.of_pair(NodeId(0), NodeId(4)).unwrap().forced.unwrap();
    assert_eq!(forced, ["s02", "s03", "s02-s03"]);
}

/// 20 nodes on each of two switches: 39 x (1 + 2.5) / 400 of what they send crosses cables of 1G and 2.5G.
#[test]
fn parallel_cables_of_two_rates_have_a_bound_of_their_sum() {
    let cables = [(0, 1, "1G"), (0, 1, "2.5G")];
    let report = verify::check(&explicit(&[20, 20], &cables, &routing("minimal", 1)));
    let bound = report.bound.unwrap().throughput;
    assert!((bound - 0.341_25).abs() < 1e-3, "{bound}");
}

/// The same triangle without a root of one's own: of equally good ones, that which leaves each pair a backup.
#[test]
fn the_root_of_choice_allows_backups() {
    let cables = [(0, 1, "1G"), (1, 2, "1G"), (0, 2, "1G")];
    let report = verify::check(&explicit(&[4, 4, 0], &cables, &routing("updown", 2)));
    assert_eq!(report.failures.pairs_without_disjoint_backup, 0);
}

/// A triangle of double cables, nodes on two of its switches: the pair has three ways, and no circle of channels either.
#[test]
fn lossless_backups_take_what_closes_no_cycle() {
    let cables = [(0, 1), (0, 2), (1, 2), (1, 2), (0, 1), (0, 2)].map(|(a, b)| (a, b, "1G"));
    for prefer in ["balance", "fewest-vlans"] {
        let routing = routing("minimal", 3)
            + &format!(
                "
lossless = true\nprefer = \"{prefer}\""
            );
        let plan = explicit(&[1, 1, 0], &cables, &routing);
        let report = verify::check(&plan);
        assert!(report.violations.is_empty() && report.deadlock_free, "{report:?}");
        assert_eq!(report.failures.link.most_lost, 0, "{prefer}");
    }
}

/// Random fabrics: whatever backups a lossless plan has, no channels wait for each other in a circle because of them, and
/// every VLAN has a path.
#[test]
fn backups_close_no_cycle_and_every_vlan_is_used() {
    let mut with = 0;
    for seed in 1..=24 {
        let switches = 5 + seed as u32 % 6;
        let edges = random::regular(switches, 3 + switches % 2, seed);
        let cables: Vec<_> = edges.iter().map(|(a, b)| (*a, *b, "1G")).collect();
        for (strategy, lossless) in
            [("stp", true), ("stp", false), ("minimal", true), ("minimal", false)]
        {
            let routing = routing(strategy, 2) + &format!("\nlossless = {lossless}");
            let plan = explicit(&vec![2; switches as usize], &cables, &routing);
            let mut used = vec![false; plan.specs().len()];
            for path in plan.pairs().flat_map(|(s, d)| plan.paths(s, d)) {
                path.segments.iter().for_each(|segment| used[segment.tree.index()] = true);
            }
            let unused = used.iter().filter(|used| !**used).count();
            assert_eq!(unused, 0, "{seed} {strategy} {lossless}");
            let report = verify::check(&plan);
            assert!(!lossless || report.deadlock_free == report.primaries_deadlock_free);
            with += usize::from(strategy == "stp" && lossless && plan.count(Role::Backup) > 0);
        }
    }
    assert!(with > 12, "{with} lossless plans have backups");
}

/// One tree leaves most turns of a torus to backups: those that no backup takes in the end are in nobody's way.
#[test]
fn lossless_backups_take_the_turns_that_others_leave() {
    for (dims, least) in [(vec![4, 4], 193), (vec![3, 5], 172)] {
        let pairs = 16 * 15;
        let mut cluster =
            Cluster::generated(TopologyShape::Torus { dims: dims.clone() }, 1, 1, Strategy::Stp, 2);
        cluster.routing.lossless = true;
        let plan = Plan::build(cluster).unwrap();
        let with = plan.pairs().filter(|(s, d)| plan.paths(*s, *d).len() > 1).count();
        assert!(with >= least && with < pairs, "{dims:?}: {with} pairs have a backup, not {least}");
        assert!(verify::check(&plan).deadlock_free, "{dims:?}");
    }
}

/// A clique of twelve switches with nodes on three of them: no VLAN is there that no path uses, nor one for each switch.
#[test]
fn switches_without_nodes_get_no_vlan() {
    let cables: Vec<_> = (0..12).flat_map(|a| (a + 1..12).map(move |b| (a, b, "1G"))).collect();
    let mut nodes = [0; 12];
    [2, 5, 9].into_iter().for_each(|s| nodes[s] = 2);
    for strategy in ["minimal", "updown", "transit"] {
        let plan = explicit(&nodes, &cables, &routing(strategy, 1));
        let mut used = vec![false; plan.specs().len()];
        for (s, d) in plan.pairs() {
            plan.primary(s, d).iter().for_each(|segment| used[segment.tree.index()] = true);
        }
        assert!(used.iter().all(|used| *used) && used.len() <= 3, "{strategy}: {used:?}");
    }
    let all = explicit(&[1; 12], &cables, &routing("minimal", 1));
    assert!(all.specs().len() <= 7, "{}", all.specs().len());
}

/// More switches than 128, where backups once ended.
#[test]
fn backups_have_no_cliff() {
    let edges = random::regular(160, 4, 1);
    let cables: Vec<_> = edges.into_iter().map(|(a, b)| (a, b, "1G")).collect();
    for strategy in ["minimal", "stp"] {
        let plan = explicit(&[1; 160], &cables, &routing(strategy, 2));
        let report = verify::check(&plan);
        assert_eq!(report.failures.pairs_without_disjoint_backup, 0, "{strategy}");
        assert!(report.violations.is_empty(), "{:?}", report.violations);
    }
}

/// Loads over spines and cores near what the wires allow: pairs on the busiest link.
#[test]
fn leaves_use_all_their_spines() {
    let clos = |spines, leaves| TopologyShape::Clos { spines, leaves, cables: 1 };
    for (kind, nodes, most) in [
        (clos(4, 8), 4, [28, 28, 32]),
        (clos(3, 12), 3, [34, 34, 36]),
        (TopologyShape::FatTree { k: 4 }, 0, [15, 15, 16]),
        (TopologyShape::FatTree { k: 6 }, 0, [54, 54, 54]),
        (TopologyShape::FatTree { k: 8 }, 0, [132, 132, 132]),
    ] {
        for (strategy, most) in [Strategy::Minimal, UPDOWN, TRANSIT].into_iter().zip(most) {
            let cluster = Cluster::generated(kind.clone(), nodes, 1, strategy, 1);
            let load = verify::check(&Plan::build(cluster).unwrap()).max_link_load;
            assert!(load <= most, "{kind:?} {strategy:?}: {load}, not {most}");
        }
    }
}

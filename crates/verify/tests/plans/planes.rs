//! Fabrics of several planes: switches that no cable joins, and nodes with NICs on several of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tresse_base::id::{NodeId, SwitchId};
use tresse_base::random::Random;
use tresse_plan::Plan;
use tresse_topology::Components;
use tresse_topology::path::{Crossing, Path, Segment};
use tresse_topology::vlan::{Role, TreeSpec};
use tresse_verify as verify;

/// Switches in rings of `ring` (one alone where that is 1), one for each plane, cables with these rates; of each node its
/// switches, by plane and number.
struct Fabric {
    ring: u32,
    rates: Vec<&'static str>,
    nodes: Vec<Vec<(u32, u32)>>,
    /// Lines under `[routing]`.
    routing: String,
    /// Tables.
    more: String,
    /// Whether nodes forward.
    transit: bool,
}

impl Fabric {
    /// `count` nodes on as many planes as there are rates, on one switch after the other.
    fn even(ring: u32, rates: &[&'static str], count: u32, routing: &str) -> Self {
        let node = |n| (0..rates.len() as u32).map(|plane| (plane, n % ring)).collect();
        Self {
            ring,
            rates: rates.to_vec(),
            nodes: (0..count).map(node).collect(),
            routing: routing.into(),
            more: String::new(),
            transit: true,
        }
    }

    fn plan(&self) -> Plan {
        self.try_plan().unwrap()
    }

    fn try_plan(&self) -> Result<Plan, String> {
        let mut text = format!(
            "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\n{}\n{}\n",
            self.routing, self.more
        );
        let switch = |plane: u32, s: u32| format!("p{plane}s{s}");
        for (plane, rate) in (0..).zip(&self.rates) {
            for s in 0..self.ring {
                writeln!(text, "[[switch]]\nname = \"{}\"\nports = 60", switch(plane, s)).unwrap();
            }
            let cables = match self.ring {
                1 => 0,
                2 => 1,
                ring => ring,
            };
            for s in 0..cables {
                let (a, b) = (switch(plane, s), switch(plane, (s + 1) % self.ring));
                writeln!(text, "[[link]]\na = \"{a}:59\"\nb = \"{b}:60\"\nrate = \"{rate}\"")
                    .unwrap();
            }
        }
        for (n, on) in self.nodes.iter().enumerate() {
            let nic = |(plane, s): &(u32, u32)| {
                let (name, rate) = (switch(*plane, *s), self.rates[*plane as usize]);
                format!("{{ switch = \"{name}\", port = {}, rate = \"{rate}\" }}", n + 1)
            };
            let nics: Vec<String> = on.iter().map(nic).collect();
            let (nics, transit) = (nics.join(", "), self.transit);
            writeln!(text, "[[node]]\nname = \"n{n:02}\"\ntransit = {transit}\nnics = [{nics}]")
                .unwrap();
        }
        let cluster = tresse_cluster::parse(&text, "planes").map_err(|e| format!("{e:?}"))?;
        Plan::build(cluster).map_err(|error| error.to_string())
    }
}

/// Of each switch the plane, by this test's own search.
fn planes(plan: &Plan) -> Vec<usize> {
    let mut parts = Components::new(plan.cluster().switches.len());
    for link in &plan.cluster().links {
        parts.join(link.a.switch.index(), link.b.switch.index());
    }
    (0..plan.cluster().switches.len()).map(|at| parts.root(at)).collect()
}

fn of_node(plan: &Plan, planes: &[usize], node: NodeId) -> BTreeSet<usize> {
    plan.cluster().node(node).nics.iter().map(|nic| planes[nic.switch.index()]).collect()
}

/// What every plan of planes has to keep; the paths of each pair.
fn judge(plan: &Plan) -> BTreeMap<(NodeId, NodeId), Vec<Path>> {
    let report = verify::check(plan);
    assert_eq!(
        (report.reachable, report.loop_free),
        (report.pairs, true),
        "{:?}",
        report.violations
    );
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert!(report.notes.iter().any(|note| note.kind == "planes"), "{:?}", report.notes);
    let of = planes(plan);
    let mut used = BTreeSet::new();
    let mut all = BTreeMap::new();
    for (src, dst) in plan.pairs() {
        let paths = plan.paths(src, dst);
        for (rank, path) in paths.iter().enumerate() {
            assert!(!paths[..rank].iter().any(|p| p.segments == path.segments), "{paths:?}");
            let (first, last) = (&path.segments[0], &path.segments[path.segments.len() - 1]);
            assert_eq!((first.from, last.to), (src, dst));
            assert!(path.segments.windows(2).all(|pair| {
                pair[0].to == pair[1].from && plan.cluster().node(pair[0].to).transit
            }));
            for segment in &path.segments {
                let plane = of[plan.sender(segment).switch.index()];
                assert_eq!(plane, of[plan.receiver(segment).switch.index()], "{path:?}");
                assert_eq!(plane, of[plan.specs()[segment.tree.index()].at.index()], "{path:?}");
                used.insert(segment.tree);
            }
        }
        all.insert((src, dst), paths);
    }
    // With fewer paths than planes a plane may be nobody's, and keeps one VLAN.
    let spare = plan.specs().len() - used.len();
    let count = plan.planes().unwrap().count();
    let few = (plan.cluster().routing.paths as usize) < count;
    assert!(
        spare == 0 || few && spare < count,
        "{spare} on no path: {used:?} of {:?}",
        plan.specs()
    );
    // A tree's cables join the switches of its plane, and no others.
    for (t, spec) in plan.specs().iter().enumerate() {
        let mut parts = Components::new(of.len());
        for link in plan.tree(t.into()).links(plan.graph()) {
            let link = plan.cluster().link(link);
            assert!(parts.join(link.a.switch.index(), link.b.switch.index()), "a loop");
        }
        let root = parts.root(spec.at.index());
        for (at, plane) in of.iter().enumerate() {
            let here = *plane == of[spec.at.index()];
            assert_eq!(parts.root(at) == root, here, "{} {at}", spec.name);
        }
    }
    all
}

fn crosses(plan: &Plan, path: &Path, cable: Crossing) -> bool {
    let link = |crossing| match crossing {
        Crossing::Between(channel) => Some(plan.graph().link(channel)),
        _ => None,
    };
    plan.path_crossings(path).into_iter().any(|crossing| match (crossing, cable) {
        (Crossing::Out(n, k) | Crossing::In(n, k), Crossing::Out(m, l)) => (n, k) == (m, l),
        _ => link(crossing).is_some() && link(crossing) == link(cable),
    })
}

/// Nodes on two planes use both, and no cable cuts any of them off.
#[test]
fn pairs_use_all_planes_that_both_are_on_and_survive_every_cable() {
    for strategy in ["stp", "minimal", "updown", "transit"] {
        for ring in [1, 2, 3, 5] {
            let routing = format!("strategy = \"{strategy}\"");
            let plan = Fabric::even(ring, &["10G", "10G"], 7, &routing).plan();
            let all = judge(&plan);
            let of = planes(&plan);
            let cables = (0..plan.graph().channels() as u32).map(Crossing::Between);
            let nics = (0..7).flat_map(|n| [0, 1].map(|nic| Crossing::Out(NodeId(n), nic)));
            let cables: Vec<Crossing> = cables.chain(nics).collect();
            let mut primaries = BTreeMap::new();
            for (pair, paths) in &all {
                let carriers: Vec<_> = paths.iter().filter(|path| path.weight > 0).collect();
                assert_eq!(carriers.len(), 2, "{strategy} {ring} {pair:?}");
                assert_eq!(carriers[0].weight, carriers[1].weight);
                let plane = |path: &Path| of[plan.sender(&path.segments[0]).switch.index()];
                assert_ne!(plane(carriers[0]), plane(carriers[1]));
                *primaries.entry(plane(carriers[0])).or_insert(0) += 1;
                for cable in &cables {
                    let left = paths.iter().any(|path| !crosses(&plan, path, *cable));
                    assert!(left, "{strategy} {ring} {pair:?} {cable:?}");
                }
            }
            assert!(primaries.values().all(|pairs| *pairs >= 18), "{primaries:?} of 42");
            let report = verify::check(&plan);
            assert_eq!(report.failures.link.most_lost, 0, "{:?}", report.failures);
            // On one switch each, both NICs are full.
            let throughput = report.ideal_throughput;
            assert!(ring > 1 || (throughput - 2.0).abs() < 1e-9, "{throughput}");
        }
    }
}

/// Planes of other rates get as many primaries and as much of each pair's flows as they are fast.
#[test]
fn weights_are_as_the_rates_of_the_planes() {
    let plan = Fabric::even(3, &["25G", "10G"], 14, "strategy = \"minimal\"").plan();
    let of = planes(&plan);
    let mut fast = 0;
    for paths in judge(&plan).values() {
        let weight = |path: &Path| {
            let plane = of[plan.sender(&path.segments[0]).switch.index()];
            (plane, path.weight)
        };
        let mut weights: Vec<_> = paths.iter().map(weight).collect();
        fast += usize::from(weights[0].0 == of[0]);
        weights.sort_unstable();
        let mut expected = vec![(of[0], 5), (of[3], 2)];
        expected.sort_unstable();
        assert_eq!(weights, expected);
    }
    let share = fast as f64 / 182.0;
    assert!((share - 5.0 / 7.0).abs() < 0.05, "{share}");
}

/// Nodes on one plane alone are reached through nodes on both, by turns, with backups through others.
#[test]
fn nodes_on_one_plane_are_reached_through_nodes_on_both() {
    for strategy in ["stp", "minimal", "updown", "transit"] {
        let mut fabric = Fabric::even(3, &["1G", "1G"], 6, &format!("strategy = \"{strategy}\""));
        fabric.nodes.extend([vec![(0, 0)], vec![(0, 1)], vec![(1, 2)], vec![(1, 0)]]);
        let plan = fabric.plan();
        let (of, all) = (planes(&plan), judge(&plan));
        let mut relays = BTreeMap::new();
        for ((src, dst), paths) in &all {
            let [from, to] = [src, dst].map(|node| of_node(&plan, &of, *node));
            let relayed = from.is_disjoint(&to);
            let change = |path: &Path| {
                path.segments
                    .windows(2)
                    .find(|pair| {
                        of[plan.sender(&pair[0]).switch.index()]
                            != of[plan.sender(&pair[1]).switch.index()]
                    })
                    .map(|pair| pair[1].from)
            };
            assert_eq!(change(&paths[0]).is_some(), relayed, "{src:?} {dst:?} {paths:?}");
            assert_eq!(paths.len(), 2, "{paths:?}");
            if relayed {
                *relays.entry(change(&paths[0]).unwrap()).or_insert(0) += 1;
                assert_ne!(change(&paths[0]), change(&paths[1]));
                assert_eq!(plan.labels(&paths[1].segments).len(), paths[1].segments.len() - 1);
            }
        }
        // Of six nodes that forward as many as pairs have different turns.
        assert!(relays.len() >= 2, "{strategy} {relays:?}");
        let report = verify::check(&plan);
        assert_eq!((report.failures.link.most_lost, report.failures.node.most_lost), (0, 0));
        assert!(report.transit.paths >= 8, "{:?}", report.transit);
    }
}

/// Three planes in a row: from the first to the last through two nodes.
#[test]
fn planes_in_a_row_are_crossed_one_after_the_other() {
    let mut fabric = Fabric::even(2, &["1G", "1G", "1G"], 0, "strategy = \"minimal\"");
    fabric.nodes = vec![vec![(0, 0)], vec![(0, 1), (1, 0)], vec![(1, 1), (2, 0)], vec![(2, 1)]];
    let plan = fabric.plan();
    let all = judge(&plan);
    let way = |path: &Path| path.segments.iter().map(|s| s.to.0).collect::<Vec<_>>();
    assert_eq!(way(&all[&(NodeId(0), NodeId(3))][0]), [1, 2, 3]);
    assert_eq!(way(&all[&(NodeId(3), NodeId(0))][0]), [2, 1, 0]);
}

#[test]
fn what_cannot_be_planned_over_planes_is_said() {
    let mut apart = Fabric::even(2, &["1G", "1G"], 2, "strategy = \"minimal\"");
    apart.nodes.extend([vec![(0, 0)], vec![(1, 0)]]);
    assert!(apart.try_plan().is_ok());
    apart.transit = false;
    let error = apart.try_plan().unwrap_err();
    assert!(error.contains("nodes n02 and n03 are on switches that no cables join"), "{error}");
    let detours = Fabric::even(3, &["1G", "1G"], 4, "strategy = \"minimal\"\nreflect = true");
    let error = detours.try_plan().unwrap_err();
    assert!(error.contains("leave `reflect` out"), "{error}");
    let unjoined = Fabric { nodes: vec![vec![(0, 0)], vec![(1, 0)]], ..detours };
    let error = unjoined.try_plan().unwrap_err();
    assert!(error.contains("no cable joins switch `p1s0`"), "{error}");
}

/// Each plane closes no cycle of channels, and its backups neither.
#[test]
fn planes_are_lossless_where_that_is_asked_for() {
    let fabric = Fabric::even(6, &["1G", "1G"], 12, "strategy = \"updown\"\nlossless = true");
    assert!(verify::check(&fabric.plan()).deadlock_free);
    judge(&fabric.plan());
    let stp = Fabric::even(6, &["1G", "1G"], 12, "strategy = \"stp\"\nlossless = true\npaths = 4");
    assert!(verify::check(&stp.plan()).deadlock_free);
    judge(&stp.plan());
}

/// The untagged VLAN is a tree in each plane, and VIDs are shared between planes.
#[test]
fn the_base_vlan_is_a_tree_in_each_plane_and_vids_are_shared() {
    let mut fabric = Fabric::even(4, &["1G", "1G"], 8, "strategy = \"minimal\"");
    fabric.more = "[vlans]\nbase = 1\nrange = \"100-105\"".into();
    let plan = fabric.plan();
    judge(&plan);
    let (_, base) = tresse_plan::base_vlan(&plan).unwrap();
    assert_eq!(base.len(), 6);
    let of = planes(&plan);
    let here = |spec: &&TreeSpec| of[spec.at.index()] == of[0];
    assert!(plan.specs().iter().filter(here).count() <= 3);
    assert!(plan.count(Role::Primary) >= 2 && plan.specs()[0].at == SwitchId(0));
}

/// Planes of random cables, some double, and nodes with NICs at random.
#[test]
fn planes_at_random_are_planned_as_they_should() {
    let (mut planned, mut relayed) = (0, 0);
    for seed in 1..=200 {
        let mut random = Random::new(seed);
        let strategy = ["stp", "minimal", "updown", "transit"][seed as usize % 4];
        let paths = 1 + random.below(4);
        let mut text = format!(
            "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"{strategy}\"\npaths = {paths}\n"
        );
        let count = 2 + random.below(2);
        let mut ports: BTreeMap<String, u32> = BTreeMap::new();
        let mut port = |switch: &str| {
            let next = ports.entry(switch.to_owned()).or_default();
            *next += 1;
            *next
        };
        let sizes: Vec<usize> = (0..count).map(|_| 1 + random.below(6)).collect();
        for (plane, size) in sizes.iter().enumerate() {
            let name = |s: usize| format!("p{plane}s{s}");
            for s in 0..*size {
                writeln!(text, "[[switch]]\nname = \"{}\"\nports = 60", name(s)).unwrap();
            }
            let tree = (1..*size).map(|s| (s, random.below(s)));
            let mut cables: Vec<(usize, usize)> = tree.collect();
            let more = random.below(*size);
            cables.extend((0..more).map(|_| (random.below(*size), random.below(*size))));
            for (a, b) in cables.into_iter().filter(|(a, b)| a != b) {
                let (a, b) = (name(a), name(b));
                let rate = ["1G", "10G"][random.below(2)];
                let (at, to) = (port(&a), port(&b));
                let ends = format!("a = \"{a}:{at}\"\nb = \"{b}:{to}\"");
                writeln!(text, "[[link]]\n{ends}\nrate = \"{rate}\"").unwrap();
            }
        }
        for n in 0..2 + random.below(9) {
            let all = random.below(3) > 0;
            let on = (0..count).filter(|plane| all || *plane == n % count);
            let mut nics = Vec::new();
            for plane in on {
                for _ in 0..1 + random.below(5) / 4 {
                    let switch = format!("p{plane}s{}", random.below(sizes[plane]));
                    let port = port(&switch);
                    nics.push(format!("{{ switch = \"{switch}\", port = {port} }}"));
                }
            }
            writeln!(text, "[[node]]\nname = \"n{n:02}\"\nnics = [{}]", nics.join(", ")).unwrap();
        }
        let Ok(cluster) = tresse_cluster::parse(&text, "planes") else { continue };
        let plan = Plan::build(cluster).unwrap();
        let of = planes(&plan);
        for ((src, dst), paths) in judge(&plan) {
            let [from, to] = [src, dst].map(|node| of_node(&plan, &of, node));
            let plane = |segment: &Segment| of[plan.sender(segment).switch.index()];
            let changes = |path: &Path| {
                path.segments.windows(2).filter(|pair| plane(&pair[0]) != plane(&pair[1])).count()
            };
            let shared = from.intersection(&to).count();
            assert_eq!(changes(&paths[0]) == 0, shared > 0, "{seed} {paths:?}");
            relayed += usize::from(shared == 0);
            let carriers: Vec<_> = paths.iter().filter(|path| path.weight > 0).collect();
            let most = plan.cluster().routing.paths as usize;
            assert_eq!(carriers.len(), shared.max(1).min(most), "{seed} {paths:?}");
            let by: BTreeSet<usize> =
                carriers.iter().map(|path| plane(&path.segments[0])).collect();
            assert_eq!(by.len(), carriers.len(), "{seed} {paths:?}");
        }
        planned += 1;
    }
    assert!(planned >= 30 && relayed >= 100, "{planned} {relayed}");
}

//! Detours through reflectors (big-fat-switches-ring-clique-reflector, section 5), as plans.

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_plan::lock::Lock;
use tresse_plan::{Plan, PlanError, SmallMtu};
use tresse_topology::cluster::{Cluster, ReflectMode, Strategy, TopologyShape};
use tresse_verify::{self, Report};

/// A clique of 4 switches with 3 nodes each, whose first switch sends to its second.
fn clique(paths: u32, more: &str) -> String {
    format!(
        "[fabric]\ntopology = {{ kind = \"clique\", ports = 6 }}\n\
         [routing]\nstrategy = \"minimal\"\npaths = {paths}\nreflect = true\n{more}"
    )
}

const PAIR: &str = "[[demand]]\nfrom = \"s0\"\nto = \"s1\"\n";

fn plan(text: &str) -> Plan {
    Plan::build(tresse_cluster::parse(text, "x").unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

fn reflect(report: &Report) -> &tresse_verify::Reflect {
    report.reflect.as_ref().unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

/// "We obtain almost double inter-switch bandwidth": one link and one or two detours carry two and
/// three times what the link does, in equal parts, without another tree and without a cycle.
#[test]
fn each_detour_adds_a_link() {
    let without = plan(&clique(1, PAIR));
    for paths in 1..=4 {
        let plan = plan(&clique(paths, PAIR));
        let report = tresse_verify::check(&plan);
        let times = f64::from(paths.min(3));
        let found = reflect(&report);
        assert!(near(found.direct, 1.0 / 3.0) && near(found.achieved, times / 3.0), "{found:?}");
        assert!(near(found.optimum.unwrap(), 1.0), "{found:?}");
        assert!(report.primaries_deadlock_free && report.violations.is_empty(), "{report:?}");
        assert_eq!(found.demand, "listed");
        let trees =
            plan.specs().iter().filter(|t| t.role == tresse_topology::vlan::Role::Primary).count();
        assert_eq!(trees, without.specs().len());
        for (src, dst) in [(0, 3), (1, 5), (2, 4)] {
            let paths_of = plan.paths(NodeId(src), NodeId(dst));
            let ranks: Vec<u32> = paths_of.iter().map(|p| p.id.rank).collect();
            assert_eq!(ranks, (0..paths_of.len() as u32).collect::<Vec<_>>());
            assert!(paths_of.len() <= paths as usize);
            let weights: Vec<u32> = paths_of.iter().map(|p| p.weight).collect();
            let expected: &[u32] = match paths {
                1 => &[1],
                2 => &[1, 1],
                3 => &[1, 1, 1],
                // The rest is a backup.
                _ => &[1, 1, 1, 0],
            };
            assert_eq!(weights, expected[..weights.len()]);
            let turns = tresse_verify::Survey::of_primaries(&plan).dependencies;
            for carrier in paths_of.iter().filter(|p| p.weight > 0) {
                for segment in &carrier.segments {
                    let mut way = Vec::new();
                    plan.walk(segment, &mut way);
                    assert!(way.windows(2).all(|pair| turns.contains(pair[0], pair[1])));
                }
            }
            for sibling in paths_of.iter().filter(|p| p.id.rank > 0 && p.weight > 0) {
                let [there, on] = sibling.segments[..] else { panic!("{sibling:?}") };
                assert_eq!((there.to, there.to_nic), (on.from, on.nic), "out of the same NIC");
                assert_eq!(plan.labels(&sibling.segments).len(), 1);
                assert_eq!(plan.path_mtu(&sibling.segments), 1496);
            }
        }
        // The way back carries nothing and has none.
        assert_eq!(plan.carriers(NodeId(3), NodeId(0)).len(), 1);
    }
}

/// What more paths do not bring, no note promises.
#[test]
fn more_detours_are_advised_only_where_they_are_used() {
    let group = "[[demand]]\nfrom = \"s[00-03]\"\nto = \"s[04-07]\"\n";
    let dragonfly = |paths: u32| {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"dragonfly\", groups = 9, routers = 4, global = 2 }}\n\
             [routing]\nstrategy = \"transit\"\npaths = {paths}\nreflect = true\n{group}"
        );
        tresse_verify::check(&plan(&text))
    };
    let said = |report: &Report| {
        let notes = report.notes.iter().filter(|note| note.kind == "reflect");
        notes.map(|note| note.message.clone()).collect::<String>()
    };
    let [few, many] = [3, 12].map(dragonfly);
    assert!(near(reflect(&few).achieved, reflect(&many).achieved));
    assert!(reflect(&few).achieved < reflect(&few).optimum.unwrap() - 1e-3);
    for report in [few, many] {
        let said = said(&report);
        assert!(said.contains("more would change nothing"), "{said}");
    }
    let limited = said(&tresse_verify::check(&plan(&clique(2, PAIR))));
    assert!(limited.contains("more may come nearer"), "{limited}");
}

#[test]
fn nodes_that_are_not_to_reflect_do_not() {
    let kept = format!("{PAIR}[[node]]\nname = \"n[06-08]\"\ntransit = false\n");
    let plan = plan(&clique(4, &kept));
    let report = tresse_verify::check(&plan);
    assert!(near(reflect(&report).achieved, 2.0 / 3.0), "{report:?}");
    assert!(near(reflect(&report).optimum.unwrap(), 2.0 / 3.0), "{report:?}");
    for (node, transit) in plan.transits().iter().enumerate() {
        assert!(transit.labels.is_empty() || (9..12).contains(&node), "{node}");
    }
}

/// A node that is busy itself is left alone: both ends of a flow from n06 to n09 take its NIC.
#[test]
fn busy_nodes_do_not_reflect() {
    let busy = format!("{PAIR}[[demand]]\nfrom = \"n06\"\nto = \"n09\"\nweight = 3\n");
    let plan = plan(&clique(3, &busy));
    let report = tresse_verify::check(&plan);
    assert!(near(reflect(&report).achieved, 1.0), "{report:?}");
    for node in [6, 9] {
        assert!(plan.transits()[node].labels.is_empty());
    }
}

/// Uniform traffic fills a clique's links evenly: a detour would take two of them.
#[test]
fn uniform_demand_on_a_clique_gains_nothing() {
    let plan = plan(&clique(3, ""));
    let report = tresse_verify::check(&plan);
    let found = reflect(&report);
    assert_eq!((found.demand, found.siblings, found.reflectors), ("uniform", 0, 0));
    assert!(near(found.direct, report.ideal_throughput), "{found:?}");
    assert_eq!((found.achieved, found.optimum), (found.direct, Some(found.direct)));
    assert!(report.notes.iter().any(|n| n.message.contains("gains nothing")));
    assert!(!plan.has_labels());
}

/// One thin cable in a clique of wide ones: uniform traffic goes around it.
#[test]
fn a_thin_link_is_relieved_under_uniform_demand() {
    let mut text = "[fabric]\ntopology = { kind = \"explicit\" }\n\
                    [routing]\nstrategy = \"minimal\"\npaths = 3\nreflect = true\n\
                    [[switch]]\nname = \"s[0-3]\"\nports = 8\n"
        .to_owned();
    for s in 0..4 {
        let (first, last) = (2 * s, 2 * s + 1);
        text += &format!(
            "[[node]]\nname = \"n[{first}-{last}]\"\n\
             nics = [{{ switch = \"s{s}\", port = \"[1-2]\" }}]\n"
        );
    }
    for (k, (a, b)) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].into_iter().enumerate() {
        let rate = if k == 0 { "100M" } else { "1G" };
        text += &format!(
            "[[link]]\na = \"s{a}:{}\"\nb = \"s{b}:{}\"\nrate = \"{rate}\"\n",
            b + 4,
            a + 4
        );
    }
    let plan = plan(&text);
    let report = tresse_verify::check(&plan);
    let found = reflect(&report);
    assert!(near(found.direct, 7.0 / 40.0), "{found:?}");
    assert!(found.achieved > 4.5 * found.direct, "{found:?}");
    assert!(found.achieved <= found.optimum.unwrap() + 1e-6, "{found:?}");
    let paths = plan.paths(NodeId(0), NodeId(2));
    assert!(paths[0].weight < paths[1].weight, "{paths:?}");
    assert_eq!(plan.carriers(NodeId(0), NodeId(4)).len(), 1);
}

/// Any strategy with more than one tree, random demand: never worse than without, never better than
/// the optimum; channel dependencies and primaries stay what they are.
#[test]
fn never_worse_than_direct_nor_better_than_the_optimum() {
    let mut random = Random::new(7);
    let cases = [
        (TopologyShape::Torus { dims: vec![4, 4] }, Strategy::Dor),
        (TopologyShape::Mesh { dims: vec![4, 3] }, Strategy::Pdor),
        (
            TopologyShape::Irregular { switches: 12, ports: 6, seed: 3 },
            Strategy::Updown { root: None },
        ),
        (
            TopologyShape::Irregular { switches: 12, ports: 6, seed: 3 },
            Strategy::Transit { root: None },
        ),
        (TopologyShape::Irregular { switches: 12, ports: 6, seed: 3 }, Strategy::Minimal),
        (TopologyShape::Clique { ports: 8 }, Strategy::Minimal),
    ];
    for (kind, strategy) in cases {
        for paths in [2, 4] {
            let mut cluster = Cluster::generated(kind.clone(), 2, 1, strategy, paths);
            let nodes = cluster.nodes.len();
            let mut node = || NodeId(random.below(nodes) as u32);
            cluster.demand = (0..12)
                .map(|k| tresse_topology::cluster::Traffic {
                    from: vec![node()],
                    to: vec![node()],
                    weight: 1 + k % 3,
                })
                .filter(|traffic| traffic.from != traffic.to)
                .collect();
            let without = tresse_verify::check(&Plan::build(cluster.clone()).unwrap());
            cluster.routing.reflect = ReflectMode::Demand;
            let plan = Plan::build(cluster.clone()).unwrap();
            let report = tresse_verify::check(&plan);
            let found = reflect(&report);
            let optimum = found.optimum.unwrap();
            assert!(near(found.direct, reflect(&without).direct), "{kind:?} {found:?}");
            assert!(found.achieved <= optimum * 1.001, "{kind:?} {strategy:?} {found:?}");
            assert!(found.achieved >= found.direct * 0.97, "{kind:?} {strategy:?} {found:?}");
            assert!(optimum >= found.direct * 0.999, "{kind:?} {strategy:?} {found:?}");
            let same = |r: &Report| {
                (r.primaries_deadlock_free, r.minimal, r.max_link_load, r.vlans, r.ideal_throughput)
            };
            assert_eq!(same(&report), same(&without));
            if paths == 2 {
                let updown = matches!(strategy, Strategy::Updown { .. } | Strategy::Transit { .. });
                assert!(!updown || report.deadlock_free, "{kind:?} {strategy:?}");
            }
            let again = Plan::build(cluster).unwrap();
            assert_eq!(again.generation(), plan.generation());
        }
    }
}

/// The second NIC's backup keeps its place: the kernel falls back to it by itself (K1).
#[test]
fn nodes_with_two_nics_keep_a_backup_on_the_other() {
    let text = "[fabric]\ntopology = { kind = \"clique\", ports = 8, nodes_per_switch = 2, \
                nics_per_node = 2 }\n[routing]\nstrategy = \"minimal\"\npaths = 2\nreflect = true\n\
                [[demand]]\nfrom = \"s0\"\nto = \"s1\"\n";
    let plan = plan(text);
    assert_eq!(plan.most_detours(), 0);
    for (src, dst) in plan.pairs() {
        let paths = plan.paths(src, dst);
        assert_eq!((paths[0].weight, paths[1].weight), (1, 0));
        assert_ne!(paths[0].segments[0].nic, paths[1].segments[0].nic);
    }
}

/// The routes of a slice: one group with the weights of the plan, a label on each detour, and the
/// label at the reflector that leads on.
#[test]
fn slices_have_weighted_groups_with_labels() {
    let plan = plan(&clique(3, PAIR));
    let slice = tresse_slice::Slice::of(&plan, NodeId(0));
    let to = plan.addresses().node[3][0];
    let route = slice.wanted.routes.iter().find(|((dst, _), _)| dst.address == to).unwrap().1;
    let shape: Vec<_> =
        route.nexthops.iter().map(|nexthop| (nexthop.weight, nexthop.labels.len())).collect();
    assert_eq!(shape.iter().filter(|s| **s == (1, 0)).count(), 1, "{shape:?}");
    assert_eq!(shape.iter().filter(|s| **s == (1, 1)).count(), 2, "{shape:?}");
    assert_eq!((route.mtu, route.advmss), (1496, 1456));
    assert!(route.nexthops.is_sorted());
    for path in &plan.carriers(NodeId(0), NodeId(3))[1..] {
        let at = path.segments[1].from;
        let label = plan.labels(&path.segments)[0];
        let slice = tresse_slice::Slice::of(&plan, at);
        let way = &slice.wanted.labels[&label];
        assert_eq!(way.via, plan.addresses().nic[3][0][0]);
        let macs: Vec<_> = slice.wanted.label_sources.values().flatten().collect();
        assert!(macs.contains(&&plan.cluster().nodes[0].nics[0].mac));
    }
}

/// Labels and weights stay through the lock.
#[test]
fn the_lock_keeps_the_labels_of_detours() {
    let text = clique(3, PAIR);
    let lock = plan(&text).lock(&Lock::default());
    assert!(!lock.labels.is_empty());
    let cluster = || tresse_cluster::parse(&text, "x").unwrap();
    let again = Plan::build_with(cluster(), &lock).unwrap();
    assert_eq!(again.lock(&lock).labels, lock.labels);
    assert_eq!(again.generation(), Plan::build(cluster()).unwrap().generation());
}

#[test]
fn trace_says_where_the_flows_go() {
    let plan = plan(&clique(3, PAIR));
    let trace = plan.trace(NodeId(0), NodeId(3));
    let why = trace.why.join("\n");
    assert!(why.contains("rank 1: 1 of 3 parts of the pair's flows go through n"), "{why}");
    assert_eq!(trace.mtu, 1496);
    assert_eq!(trace.paths[1].segments[0].labels.len(), 1);
    assert_eq!(trace.paths[1].segments[1].labels.len(), 0);
}

/// Where dropping some detours made room for others, flows once got more than `paths` allows.
#[test]
fn paths_is_the_most_that_carry_a_pair() {
    let mut text = "[[switch]]\nname = \"s[0-5]\"\nports = 64\n".to_owned();
    for (n, (nics, transit)) in [
        ("s3:1 s2:1", true),
        ("s2:2", true),
        ("s3:2", true),
        ("s1:1", true),
        ("s1:2", true),
        ("s2:3", true),
        ("s1:3 s5:1", true),
        ("s1:4", true),
        ("s0:1", false),
        ("s2:4", true),
    ]
    .into_iter()
    .enumerate()
    {
        let nic = |at: &str| {
            let (switch, port) = at.split_once(':').unwrap();
            format!("{{ switch = \"{switch}\", port = {port} }}")
        };
        let nics: Vec<_> = nics.split(' ').map(nic).collect();
        let nics = nics.join(", ");
        text += &format!("[[node]]\nname = \"n{n}\"\nnics = [{nics}]\ntransit = {transit}\n");
    }
    for cable in [
        "s2:5 s4:1",
        "s0:2 s4:2",
        "s1:5 s0:3",
        "s3:3 s0:4",
        "s5:2 s3:4",
        "s1:6 s5:3",
        "s3:5 s5:4",
        "s5:5 s4:3",
        "s0:5 s2:6",
        "s4:4 s5:6",
    ] {
        let (a, b) = cable.split_once(' ').unwrap();
        text += &format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    }
    for paths in 1..=4 {
        let head = format!(
            "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"minimal\"\n\
             paths = {paths}\nreflect = true\n"
        );
        let cluster = tresse_cluster::parse(&(head + &text), "t.toml").unwrap();
        let plan = Plan::build(cluster).unwrap();
        let most = plan.pairs().map(|(src, dst)| plan.carriers(src, dst).len()).max();
        assert!(most <= Some(paths), "{most:?} of {paths}");
    }
}

#[test]
fn labels_leave_ipv6_its_1280_octets() {
    let text = "[fabric]\ntopology = { kind = \"torus\", dims = [5] }\n\
                [routing]\nstrategy = \"transit\"\n\
                [addressing]\nnodes = \"fd77::/64\"\nnics = \"fd78::/64\"\n";
    let with = |mtu: u32| {
        let node = format!("[[node]]\nname = \"n[0-4]\"\nnics = [{{ mtu = {mtu} }}]\n");
        Plan::build(tresse_cluster::parse(&format!("{text}{node}"), "t.toml").unwrap())
    };
    assert!(with(1284).is_ok());
    let error = with(1280).unwrap_err();
    assert!(matches!(&error, PlanError::Mtu(SmallMtu { labels: 1, mtu: 1276, .. })), "{error}");
    assert!(error.to_string().contains("1 label leaves an MTU of 1276"), "{error}");
    assert!(error.to_string().contains("by 4,"), "{error}");
}

//! Flat neighbourhoods: which NICs pairs use, and through whom where they share no switch.

use std::collections::BTreeSet;

use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_base::random::Random;
use tresse_base::units::Prefix;
use tresse_base::wiring::Wiring;
use tresse_cluster::parse;
use tresse_plan::Plan;
use tresse_reconcile::{METRIC_BACKUP, METRIC_PRIMARY, NODE_INTERFACE};
use tresse_routing::basic::Basic;
use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};
use tresse_topology::path::Path;
use tresse_verify as verify;

/// All lines of a 3 x 3 affine plane: every two PCs share one of 12 switches.
const PLANE: &str = "0: 0 1 2\n1: 3 4 5\n2: 6 7 8\n3: 0 3 6\n4: 1 4 7\n5: 2 5 8\n\
                     6: 0 4 8\n7: 1 5 6\n8: 2 3 7\n9: 0 5 7\n10: 1 3 8\n11: 2 4 6\n";

fn flat(table: &str, paths: u32) -> Plan {
    let wiring = Wiring::parse(table).unwrap();
    let kind = TopologyShape::Fnn { wiring, uplink: None, spares: Vec::new() };
    Plan::build(Cluster::generated(kind, 1, 1, Strategy::Direct, paths)).unwrap()
}

#[test]
fn pairs_that_share_a_switch_have_one_segment_on_it() {
    let plan = flat(PLANE, 1);
    let basic = Basic::assign(&Wiring::parse(PLANE).unwrap(), 9, &Default::default());
    for (src, dst) in plan.pairs() {
        let paths = plan.paths(src, dst);
        assert_eq!((paths.len(), paths[0].segments.len()), (1, 1));
        let segment = paths[0].segments[0];
        assert_eq!(segment.tree, TreeId::NONE);
        let switch = plan.sender(&segment).switch;
        assert_eq!(switch, plan.receiver(&segment).switch);
        assert_eq!(Some(switch.0), basic.switch(src.0, dst.0), "as `tresse design --routes` says");
        let view = plan.path_view(&paths[0]);
        assert_eq!((view.hops, view.minimal, view.segments[0].vlan), (0, true, None));
    }
    let report = verify::check(&plan);
    assert!(report.violations.is_empty() && report.deadlock_free && report.minimal);
    assert_eq!((report.pairs, report.reachable, report.vlans), (72, 72, 0));
    // Two others on each of four NICs.
    assert!((report.ideal_throughput - 4.0).abs() < 1e-9);
    // A switch of three carries six ordered pairs, a NIC four.
    assert_eq!((report.failures.switch.most_lost, report.failures.link.most_lost), (6, 4));
}

#[test]
fn whatever_is_shared_carries_and_backups_go_through_third_nodes() {
    // 0 and 1 share both switches, 2 and 3 one each with all.
    let plan = flat("0: 0 1 2\n1: 0 1 3\n", 3);
    let both = plan.paths(NodeId(0), NodeId(1));
    let weights: Vec<_> = both.iter().map(|p| (p.segments.len(), p.weight)).collect();
    assert_eq!(weights, [(1, 1), (1, 1)], "no third node joins other switches");
    let nics: BTreeSet<_> = both.iter().map(|p| p.segments[0].nic).collect();
    assert_eq!(nics.len(), 2);
    // 2 and 3 share none: through 0 or 1, by turns there and back.
    let apart = plan.paths(NodeId(2), NodeId(3));
    assert_eq!(apart.iter().map(|p| p.weight).collect::<Vec<_>>(), [1, 0]);
    let back = plan.primary(NodeId(3), NodeId(2));
    assert_eq!(apart[0].segments[0].to, back[0].to);
    let report = verify::check(&plan);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert_eq!((report.transit.paths, report.transit.max), (2, 1));
    assert_eq!(plan.labels(&apart[0].segments).len(), 1);
    assert_eq!(plan.path_mtu(&apart[0].segments), 1496);
}

#[test]
fn one_failure_of_a_plane_cuts_only_what_hangs_on_it() {
    let report = verify::check(&flat(PLANE, 2));
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    let failures = &report.failures;
    assert_eq!((failures.link.most_lost, failures.switch.most_lost), (0, 0));
    assert_eq!((failures.node.most_lost, failures.pairs_without_disjoint_backup), (0, 0));
}

#[test]
fn a_slice_is_of_nics_without_vlans() {
    let plan = flat(PLANE, 2);
    let slice = tresse_slice::Slice::of(&plan, NodeId(0));
    let wanted = &slice.wanted;
    assert_eq!(wanted.links.keys().collect::<Vec<_>>(), [NODE_INTERFACE]);
    assert_eq!(slice.interfaces.len(), 4);
    assert!(slice.interfaces.iter().all(|(name, i)| i.vid.is_none() && *name == i.parent));
    for peer in 1..9 {
        let to = Prefix::host(plan.addresses().node[peer][0]);
        let (primary, backup) =
            (&wanted.routes[&(to, METRIC_PRIMARY)], &wanted.routes[&(to, METRIC_BACKUP)]);
        assert!(primary.nexthops[0].labels.is_empty() && primary.mtu == 1496);
        assert_eq!(backup.nexthops[0].labels.len(), 1);
        assert_ne!(primary.nexthops[0].interface, backup.nexthops[0].interface);
        for nexthop in primary.nexthops.iter().chain(&backup.nexthops) {
            assert!(wanted.neighbours.contains_key(&(nexthop.interface.clone(), nexthop.via)));
        }
    }
    assert!(!wanted.labels.is_empty() && !wanted.label_sources.is_empty());
    assert!(wanted.sysctls.keys().all(|key| !key.contains("forwarding")));
}

#[test]
fn demand_comes_first_and_rates_weigh() {
    let text = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\" }\n\
                [[node]]\nname = \"n[0-1]\"\nnics = [{ name = \"eth1\", rate = \"10G\" }]\n";
    let plan = Plan::build(parse(text, "x").unwrap()).unwrap();
    let weights: Vec<_> = plan
        .paths(NodeId(0), NodeId(1))
        .iter()
        .map(|path| (plan.sender(&path.segments[0]).rate.0, path.weight))
        .collect();
    assert!(weights.contains(&(10_000_000_000, 10)) && weights.contains(&(1_000_000_000, 1)));
    // The demand's pair alone on a switch that it shares with others.
    let table = "0: 0 1 2 3\n1: 0 1 2 3";
    let listed = format!(
        "[fabric]\ntopology = {{ kind = \"fnn\", wiring = {table:?} }}\n[routing]\npaths = 1\n\
         [[demand]]\nfrom = \"n0\"\nto = \"n3\"\n[[demand]]\nfrom = \"n3\"\nto = \"n1\"\n"
    );
    let plan = Plan::build(parse(&listed, "x").unwrap()).unwrap();
    let at_3 = |from: u32| plan.primary(NodeId(from), NodeId(3))[0].to_nic;
    assert_ne!(at_3(0), at_3(1), "the two that matter do not meet at n3");
}

#[test]
fn nodes_that_nobody_joins_are_named() {
    let wiring = Wiring::parse("0: 0 1\n1: 2 3\n").unwrap();
    let kind = TopologyShape::Fnn { wiring, uplink: None, spares: Vec::new() };
    let cluster = Cluster::generated(kind, 1, 1, Strategy::Direct, 2);
    let error = Plan::build(cluster).unwrap_err().to_string();
    assert!(error.contains("nodes n0 and n2 share no switch"), "{error}");
}

#[test]
fn explicit_switches_by_themselves_are_a_flat_neighbourhood() {
    let text = "[fabric]\ntopology = { kind = \"explicit\" }\n[routing]\nstrategy = \"direct\"\n\
                [[switch]]\nname = \"s[0-1]\"\nports = 4\n\
                [[node]]\nname = \"n[0-3]\"\nnics = [{ name = \"eth0\", switch = \"s0\", port = \"[1-4]\" }, \
                { name = \"eth1\", switch = \"s1\", port = \"[1-4]\" }]\n";
    let plan = Plan::build(parse(text, "x").unwrap()).unwrap();
    let report = verify::check(&plan);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    assert_eq!(plan.paths(NodeId(0), NodeId(1)).len(), 2);
    let linked = format!("{text}[[link]]\na = \"s0:4\"\nb = \"s1:4\"\n");
    let problems = parse(&linked, "x").unwrap_err().to_string();
    assert!(problems.contains("strategy `direct` uses no cable between switches"), "{problems}");
}

/// Six nodes of which no two opposite ones share a switch.
const PAIRED: &str = "0: 0 1 2\n1: 2 3 4\n2: 4 5 0\n3: 1 3 5\n";

fn with_uplink(table: &str, more: &str) -> Cluster {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"fnn\", wiring = {table:?}, uplink = \"u0\" }}\n{more}"
    );
    parse(&text, "x").unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn an_uplink_has_the_highest_free_port_of_every_switch() {
    let ports = |more: &str| {
        let cluster = with_uplink(PAIRED, more);
        let last = SwitchId::from(cluster.switches.len() - 1);
        assert_eq!(cluster.uplink(), Some(last));
        for (link, k) in cluster.links.iter().zip(0..) {
            assert_eq!((link.a.switch.0, link.b.switch, link.b.port), (k, last, k + 1));
        }
        let most = cluster.switches.iter().map(|s| s.ports).collect::<Vec<_>>();
        (cluster.links.iter().map(|link| link.a.port).collect::<Vec<_>>(), most)
    };
    assert_eq!(ports(""), (vec![4; 4], vec![4; 5]));
    let given = "[[switch]]\nname = \"s[0-2]\"\nports = 8\n[[switch]]\nname = \"u0\"\nports = 16\n";
    assert_eq!(ports(given), (vec![8, 8, 8, 4], vec![8, 8, 8, 4, 16]));
    // n1 is the second on s0, and elsewhere first.
    let moved = "[[node]]\nname = \"n1\"\nnics = [{ switch = \"s0\", port = 8 }, { switch = \"s3\", port = 9 }]\n";
    assert_eq!(ports(&format!("[[switch]]\nname = \"s0\"\nports = 8\n{moved}")).0, [7, 4, 4, 10]);
}

/// flat-neighborhood-network-compiler, section 1, figure 1h: one of the switches has ports to spare and is the uplink of the others.
#[test]
fn a_folded_uplink_has_the_highest_free_ports() {
    let ends = |more: &str| -> Vec<(u32, u32, u32, u32)> {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = {PAIRED:?}, uplink = \"s2\" }}\n{more}"
        );
        let cluster = parse(&text, "x").unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((cluster.switches.len(), cluster.uplink()), (4, Some(SwitchId(2))));
        let report = verify::check(&Plan::build(cluster.clone()).unwrap());
        assert!(report.violations.is_empty() && report.loop_free, "{:?}", report.violations);
        assert_eq!((report.max_link_load, report.failures.link.most_lost), (0, 0));
        let ends = cluster.links.iter();
        ends.map(|l| (l.a.switch.0, l.a.port, l.b.switch.0, l.b.port)).collect()
    };
    // n4, n5 and n0 have its ports 1 to 3.
    assert_eq!(ends(""), [(0, 4, 2, 4), (1, 4, 2, 5), (3, 4, 2, 6)]);
    let given = "[[switch]]\nname = \"s[0-3]\"\nports = 8\n";
    assert_eq!(ends(given), [(0, 8, 2, 8), (1, 8, 2, 7), (3, 8, 2, 6)]);
    let moved = "[[switch]]\nname = \"s2\"\nports = 7\n[[node]]\nname = \"n4\"\nnics = [{}, { switch = \"s2\", port = 7 }]\n";
    assert_eq!(ends(moved), [(0, 4, 2, 6), (1, 4, 2, 5), (3, 4, 2, 4)]);
    let full = "[fabric]\ntopology = { kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 1\\n2: 0 1\", uplink = \"s0\" }\n\
                [[switch]]\nname = \"s0\"\nports = 3\n";
    let problems = parse(full, "x").unwrap_err().to_string();
    assert!(
        problems.contains("switch `s0` has no free port for all cables of the uplink"),
        "{problems}"
    );
}

#[test]
fn the_uplink_carries_nothing_of_the_plan_and_its_failure_cuts_nobody() {
    for table in [PAIRED, PLANE] {
        let plan = Plan::build(with_uplink(table, "[routing]\npaths = 3\n")).unwrap();
        let alone = Plan::build(Cluster { links: Vec::new(), ..plan.cluster().clone() }).unwrap();
        let uplink = plan.cluster().uplink().unwrap();
        for (src, dst) in plan.pairs() {
            assert_eq!(plan.paths(src, dst), alone.paths(src, dst));
            for segment in plan.paths(src, dst).iter().flat_map(|path| &path.segments) {
                let switch = plan.sender(segment).switch;
                assert_eq!((switch, segment.tree), (plan.receiver(segment).switch, TreeId::NONE));
                assert_ne!(switch, uplink);
            }
        }
        let report = verify::check(&plan);
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        assert!(report.loop_free && report.deadlock_free);
        assert_eq!((report.max_link_load, report.mean_link_load), (0, 0.0));
        let notes: Vec<_> = report.notes.iter().map(|note| (note.kind, &*note.object)).collect();
        assert!(notes.contains(&("uplink", "u0")), "{notes:?}");
        let (with, without) = (&report.failures, verify::check(&alone).failures);
        assert_eq!(with.link.objects, without.link.objects + plan.cluster().links.len());
        assert_eq!(with.link.harmless, without.link.harmless + plan.cluster().links.len());
        assert_eq!(
            (with.switch.harmless, with.switch.most_lost),
            (without.switch.harmless, without.switch.most_lost)
        );
    }
}

#[test]
fn an_uplink_with_a_loop_or_too_small_a_table_is_a_violation() {
    let mut cluster = with_uplink(PAIRED, "[[switch]]\nname = \"s1\"\nfdb_size = 11\n");
    let found = |cluster: &Cluster| {
        let report = verify::check(&Plan::build(cluster.clone()).unwrap());
        let found = report.violations.iter().map(|v| format!("{} {}", v.kind, v.object)).collect();
        (report.loop_free, found)
    };
    let kinds = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    assert_eq!(found(&cluster), (true, kinds(&["fdb-full s1"])), "12 NICs");
    cluster.switches[1].fdb_size = Some(12);
    assert_eq!(found(&cluster), (true, Vec::new()));
    let mut second = cluster.links[2];
    (second.a.port, second.b.port) = (9, 9);
    cluster.links.push(second);
    assert_eq!(found(&cluster), (false, kinds(&["loop s2-u0"])));
    // Any other cable is not for this strategy.
    second.b.switch = SwitchId(0);
    cluster.links.push(second);
    let error = Plan::build(cluster).unwrap_err().to_string();
    assert!(error.contains("uses no cable between switches"), "{error}");
}

/// A pair that shares one switch also sends over switches that it shares with third nodes: as many NICs, as much more.
#[test]
fn a_pair_with_much_demand_sends_through_third_nodes() {
    let wiring = "0: 0 1\\n1: 0 2\\n2: 1 2\\n3: 0 3\\n4: 1 3\\n";
    let text = |paths: u32, more: &str| {
        format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"{wiring}\" }}\n\
             [routing]\npaths = {paths}\nreflect = true\n{more}"
        )
    };
    let demand = "[[demand]]\nfrom = \"n0\"\nto = \"n1\"\n[[demand]]\nfrom = \"n1\"\nto = \"n0\"\n";
    for paths in 1..=4 {
        let plan = Plan::build(parse(&text(paths, demand), "x").unwrap()).unwrap();
        let report = verify::check(&plan);
        assert!(report.violations.is_empty(), "{:?}", report.violations);
        let found = report.reflect.unwrap();
        let times = f64::from(paths.min(3));
        assert!((found.direct - 1.0).abs() < 1e-6 && (found.achieved - times).abs() < 1e-6);
        assert!((found.optimum.unwrap() - 3.0).abs() < 1e-6, "{found:?}");
        for (src, dst) in [(0, 1), (1, 0)] {
            let paths_of = plan.paths(NodeId(src), NodeId(dst));
            assert_eq!(paths_of.len(), paths.min(3) as usize);
            assert!(paths_of.iter().all(|path| path.weight == 1), "{paths_of:?}");
            let nics: BTreeSet<usize> = paths_of.iter().map(|path| path.segments[0].nic).collect();
            assert_eq!(nics.len(), paths_of.len(), "each by a NIC of its own");
        }
        let routes = tresse_slice::Slice::of(&plan, NodeId(0)).wanted.routes;
        let to = Prefix::host(plan.addresses().node[1][0]);
        let route = &routes[&(to, METRIC_PRIMARY)];
        let labels: Vec<usize> = route.nexthops.iter().map(|of| of.labels.len()).collect();
        assert_eq!(labels.iter().sum::<usize>(), paths.min(3) as usize - 1, "{labels:?}");
    }
}

/// Whatever the demand, detours leave no NIC busier than before, and none does better than the optimum.
#[test]
fn detours_of_a_flat_neighbourhood_never_cost() {
    let mut random = Random::new(25);
    let wiring = "0: 0 1 2 3\\n1: 0 1 4 5\\n2: 2 3 4 5\\n3: 0 2 4\\n4: 1 3 5\\n";
    let mut better = 0;
    for _ in 0..40 {
        let mut text =
            format!("[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"{wiring}\" }}\n");
        for _ in 0..=random.below(3) {
            let [from, to] = [random.below(6), random.below(6)];
            let weight = 1 + random.below(3);
            text += &format!(
                "[[demand]]\nfrom = \"n{from}\"\nto = \"n{}\"\nweight = {weight}\n",
                if to == from { (to + 1) % 6 } else { to }
            );
        }
        let found = |paths: u32, reflect: bool| {
            let text = text.replacen(
                "[[demand]]",
                &format!("[routing]\npaths = {paths}\nreflect = {reflect}\n[[demand]]"),
                1,
            );
            let plan = Plan::build(parse(&text, "x").unwrap_or_else(|e| panic!("{e}"))).unwrap();
            let report = verify::check(&plan);
            assert!(report.violations.is_empty(), "{:?}", report.violations);
            report.reflect.unwrap()
        };
        for paths in [2, 4] {
            let (without, with) = (found(paths, false), found(paths, true));
            assert!(with.achieved >= without.achieved * 0.97, "{text} {without:?} {with:?}");
            assert!(with.achieved <= with.optimum.unwrap() * 1.0001, "{text} {with:?}");
            better += usize::from(with.achieved > without.achieved * 1.2);
        }
    }
    assert!(better > 40, "{better}");
}

/// Spares reach all by the cables of the uplink, and one of them takes a place with all addresses kept.
/// With `use_uplink` detours cross the uplink, primaries never do, and no pair needs it.
#[test]
fn detours_across_the_uplink_count_its_cables() {
    let file = |reflect: &str, uplink: &str, rate: &str| {
        format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"0: 0 1\\n1: 0 2\\n2: 1 2\\n3: 0 3\\n4: 1 3\\n5: 2 3\", \
             uplink = \"{uplink}\" }}\n[routing]\npaths = 3\nreflect = {reflect}\nuse_uplink = true\n\
             [[node]]\nname = \"n0\"\nnics = [{{ rate = \"1G\" }}, {{ rate = \"{rate}\" }}, {{ rate = \"1G\" }}]\n"
        )
    };
    let demand = "[[demand]]\nfrom = \"n0\"\nto = \"n1\"\n[[demand]]\nfrom = \"n2\"\nto = \"n3\"\n";
    let build = |text: &str| Plan::build(parse(text, "f").unwrap()).unwrap();
    let says = |report: &verify::Report, words: &str| {
        report.notes.iter().any(|note| note.message.contains(words))
    };
    for uplink in ["u0", "s4"] {
        for text in [file("true", uplink, "1G") + demand, file("\"adaptive\"", uplink, "1G")] {
            let plan = build(&text);
            let report = verify::check(&plan);
            assert_eq!(
                (report.violations.len(), report.reachable),
                (0, 12),
                "{:?}",
                report.violations
            );
            assert_eq!((report.max_link_load, report.failures.switch.most_lost), (0, 0));
            let with_spare = text.replace(
                &format!("uplink = \"{uplink}\""),
                &format!("uplink = \"{uplink}\", spares = [\"x\"]"),
            );
            let also = verify::check(&build(&with_spare));
            assert!(says(&report, "detours of `reflect` alone cross"));
            assert!(
                says(&also, "those of x and detours of `reflect` alone cross"),
                "{:?}",
                also.notes
            );
            let paths = plan.pairs().flat_map(|(src, dst)| plan.paths(src, dst));
            let crosses = |path: &Path| path.segments.iter().any(|s| plan.hops(s) > 0);
            let crossing: Vec<Path> = paths.filter(|path| crosses(path)).collect();
            assert!(!crossing.is_empty());
            assert!(crossing.iter().all(|path| path.id.rank > 0 && path.segments.len() == 1));
        }
    }
    // Without third nodes: what the verifier counts on each cable is what the program allowed.
    let text = file("true", "u0", "1G") + demand + "[[node]]\nname = \"n[0-3]\"\ntransit = false\n";
    let text =
        text.replacen("[[node]]\nname = \"n0\"", "[[node]]\nname = \"n0\"\ntransit = false", 1);
    let text = text.replace("\"n[0-3]\"", "\"n[1-3]\"");
    let reflect = verify::check(&build(&text)).reflect.unwrap();
    assert!((reflect.direct - 1.0).abs() < 1e-9 && reflect.optimum.unwrap() > 1.9, "{reflect:?}");
    assert!(reflect.achieved > 1.9 && reflect.achieved <= reflect.optimum.unwrap() + 1e-6);
    assert_eq!(reflect.reflectors, 0);
}

#[test]
fn spares_are_behind_the_uplink() {
    for (uplink, on_it) in [("u0", 0), ("s3", 3)] {
        let text = format!(
            "[fabric]\ntopology = {{ kind = \"fnn\", wiring = \"0: 0 1 2\\n1: 0 3 4\\n2: 1 3 5\\n3: 2 4 5\\n\", \
             uplink = \"{uplink}\", spares = [\"x\", \"y\"] }}\n"
        );
        let plan = Plan::build(parse(&text, "f").unwrap()).unwrap();
        let node = |plan: &Plan, name: &str| plan.cluster().node_named(name).unwrap();
        let up = plan.cluster().uplink().unwrap();
        let (x, y) = (node(&plan, "x"), node(&plan, "y"));
        let mut near = 0;
        for (src, dst) in plan.pairs() {
            let paths = plan.paths(src, dst);
            let hops = |at: usize| plan.path_view(&paths[at]).hops;
            let of_spares = [src, dst].iter().filter(|node| [x, y].contains(*node)).count();
            match of_spares {
                0 => {
                    assert!(paths.iter().flat_map(|path| &path.segments).all(|s| plan.hops(s) == 0))
                }
                1 => {
                    assert_eq!((paths.len(), paths[0].segments.len()), (2, 1));
                    assert!(hops(0) <= 1 && hops(1) <= 1);
                    near += usize::from(hops(0) == 0 || hops(1) == 0);
                    let other = |at: usize| paths[at].segments[0];
                    let ends = [0, 1].map(|at| match src == x || src == y {
                        true => other(at).to_nic,
                        false => other(at).nic,
                    });
                    assert_ne!(ends[0], ends[1], "one of the other's NICs may fail");
                }
                _ => assert_eq!((paths[0].segments.len(), hops(0)), (1, 0)),
            }
        }
        assert_eq!(near, 4 * on_it, "those on the uplink switch need no cable of it");
        let report = verify::check(&plan);
        assert_eq!((report.violations.len(), report.reachable), (0, 56), "{:?}", report.violations);
        // Only what spares send and get is lost with the uplink switch, and with a folded one what needs it anyway.
        assert!(report.failures.switch.most_lost >= 26);
        assert!(report.notes.iter().any(|note| note.message.contains("those of x and y alone")));

        let lock = plan.lock(&Default::default());
        let heir = tresse_cluster::replaced(&text, "n1", "x").unwrap();
        let next = Plan::build_with(parse(&heir, "f").unwrap(), &lock).unwrap();
        let (n1, report) = (node(&next, "n1"), verify::check(&next));
        assert_eq!((report.violations.len(), report.reachable), (0, 42));
        let nics = &next.cluster().node(n1).nics;
        assert_eq!((nics.len(), nics[0].switch, next.cluster().machine(n1)), (1, up, "x"));
        assert_eq!((next.cluster().node_on("x"), next.cluster().node_on("n1")), (Some(n1), None));
        for kept in ["n0", "n1", "n2", "n3", "n4", "n5", "y"] {
            let of = |plan: &Plan| plan.addresses().node[node(plan, kept).index()].clone();
            assert_eq!(of(&plan), of(&next), "{kept}");
        }
        // Once n1 is mended, both are what they were.
        let back = Plan::build_with(parse(&text, "f").unwrap(), &next.lock(&lock)).unwrap();
        assert_eq!(back.addresses(), plan.addresses());
        // The NIC of the spare, which others know as a neighbour.
        assert_eq!(next.addresses().nic[n1.index()][0], plan.addresses().nic[x.index()][0]);
        let neighbours = &tresse_slice::Slice::of(&next, node(&next, "y")).wanted.neighbours;
        let via = next.addresses().nic[n1.index()][0][0];
        assert_eq!(neighbours[&("eth0".to_owned(), via)].mac, nics[0].mac);
    }
}

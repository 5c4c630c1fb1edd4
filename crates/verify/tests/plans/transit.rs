//! Up*/down*, in-transit and minimal routing, as plans (in-transit-buffers, sections 2 to 4).

use std::collections::BTreeSet;

use tresse_base::id::NodeId;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_topology::cluster::{Choice, Cluster, Strategy, TopologyShape};
use tresse_verify as verify;

const TRANSIT: Strategy = Strategy::Transit { root: None };
const UPDOWN: Strategy = Strategy::Updown { root: None };

/// 4 cables and `nodes` nodes a switch.
fn random(switches: u32, nodes: u32, seed: u32, strategy: Strategy, paths: u32) -> Plan {
    let kind = TopologyShape::Irregular { switches, ports: 4 + nodes, seed };
    Plan::build(Cluster::generated(kind, nodes, 1, strategy, paths)).unwrap()
}

/// The network that section 2's text implies, a node on every switch.
fn paper(strategy: &str) -> Plan {
    let mut text = format!(
        "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"{strategy}\"\n\
         root = \"s0\"\npaths = 1\n[[switch]]\nname = \"s[0-6]\"\nports = 8\n"
    );
    for s in 0..7 {
        text += &format!("[[node]]\nname = \"n{s}\"\nnics = [{{ switch = \"s{s}\", port = 8 }}]\n");
    }
    // Switch 3 has no cable in the text; here it hangs on the root.
    for (at, (a, b)) in
        [(0, 2), (0, 4), (0, 5), (1, 2), (1, 5), (1, 6), (4, 6), (0, 3)].iter().enumerate()
    {
        let port = |s: &u32, k: usize| format!("s{s}:{}", if *s == 0 { 1 + k } else { 1 + k % 7 });
        text += &format!("[[link]]\na = \"{}\"\nb = \"{}\"\n", port(a, at.min(6)), port(b, at));
    }
    let text = text.replace("a = \"s0:7\"", "a = \"s0:4\"");
    Plan::build(tresse_cluster::parse(&text, "paper").unwrap()).unwrap()
}

/// "A message transmitted from switch 4 to switch 1 cannot go through any minimal path": three hops by
/// up*/down*, two through a node on switch 6.
#[test]
fn the_papers_pair_needs_one_transit_node() {
    let (n4, n1) = (NodeId(4), NodeId(1));
    let updown = paper("updown");
    let path = &updown.paths(n4, n1)[0];
    assert_eq!((path.segments.len(), updown.path_view(path).hops), (1, 3));
    let transit = paper("transit");
    let path = &transit.paths(n4, n1)[0];
    assert_eq!((path.segments.len(), transit.path_view(path).hops), (2, 2));
    assert_eq!(path.segments[0].to, NodeId(6));
    let why = transit.trace(n4, n1).why.join("\n");
    assert!(why.contains("at s6 the path goes up after down"), "{why}");
    assert_eq!(transit.path_mtu(&path.segments), 1496);
}

/// Ten networks of each size: minimal, acyclic, and one node in transit fewer is impossible: every
/// segment's end is a turn from down to up.
#[test]
fn transit_is_minimal_and_free_of_deadlock() {
    for (switches, seeds) in [(8, 10), (16, 10), (32, 3), (64, 1)] {
        for seed in 1..=seeds {
            let plan = random(switches, 4, seed, TRANSIT, 1);
            let report = verify::check(&plan);
            let what = format!("{switches} switches, seed {seed}");
            assert!(report.minimal && report.deadlock_free, "{what}");
            assert!(report.violations.is_empty() && report.loop_free, "{what}");
            let updown = verify::check(&random(switches, 4, seed, UPDOWN, 1));
            assert!(updown.deadlock_free && updown.transit.paths == 0, "{what}");
            assert!(report.ideal_throughput >= updown.ideal_throughput, "{what}");
            cut_at_turns_only(&plan);
        }
    }
}

/// As the paper has it: minimal, acyclic, cut at turns, and legal wherever a minimal way is.
#[test]
fn the_papers_choice_is_minimal_free_of_deadlock_and_legal_where_it_can_be() {
    for (switches, seeds) in [(8, 4), (16, 4), (32, 2)] {
        for seed in 1..=seeds {
            let kind = TopologyShape::Irregular { switches, ports: 8, seed };
            let mut cluster = Cluster::generated(kind, 4, 1, TRANSIT, 1);
            cluster.routing.choice = Choice::Paper;
            let plan = Plan::build(cluster.clone()).unwrap();
            let report = verify::check(&plan);
            let what = format!("{switches} switches, seed {seed}");
            assert!(report.minimal && report.deadlock_free && report.loop_free, "{what}");
            assert_eq!((report.violations.len(), report.pairs), (0, report.reachable), "{what}");
            cut_at_turns_only(&plan);
            cluster.routing.strategy =
                Strategy::Updown { root: Some(tresse_base::id::SwitchId(0)) };
            let legal = Plan::build(cluster).unwrap();
            for (s, d) in plan.pairs() {
                let hops = |plan: &Plan, path: &[_]| path.iter().map(|s| plan.hops(s)).sum::<u32>();
                let (path, shortest_legal) = (plan.primary(s, d), legal.primary(s, d));
                let fits = hops(&legal, &shortest_legal) == hops(&plan, &path);
                assert_eq!(fits, path.len() == 1, "{what}: {s:?} {d:?}");
            }
            assert_ne!(plan.generation(), random(switches, 4, seed, TRANSIT, 1).generation());
        }
    }
}

fn cut_at_turns_only(plan: &Plan) {
    let order = plan.updown_order().expect("transit has an order");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (s, d) in plan.pairs() {
        for pair in plan.primary(s, d).windows(2) {
            before.clear();
            after.clear();
            plan.walk(&pair[0], &mut before);
            plan.walk(&pair[1], &mut after);
            let up = |c: &u32| order.is_up(plan.graph(), *c);
            assert!(before.last().is_some_and(|c| !up(c)) && after.first().is_some_and(up));
            assert!(plan.cluster().node(pair[1].from).transit);
        }
    }
}

/// Minimal paths without a root: some network of those has a cycle.
#[test]
fn minimal_is_minimal_and_may_be_cyclic() {
    let reports: Vec<_> =
        (1..=5).map(|seed| verify::check(&random(16, 4, seed, Strategy::Minimal, 1))).collect();
    assert!(reports.iter().all(|r| r.minimal && r.loop_free && r.violations.is_empty()));
    assert!(reports.iter().any(|r| !r.deadlock_free));
}

/// On a torus, which none of the papers has: minimal, on one lane, and without a cycle, whatever the
/// backups.
#[test]
fn a_torus_without_deadlock() {
    for (dims, paths) in [(vec![4, 4], 1), (vec![4, 4], 2), (vec![5, 3], 3), (vec![4, 4, 4], 1)] {
        for kind in [
            TopologyShape::Torus { dims: dims.clone() },
            TopologyShape::Mesh { dims: dims.clone() },
        ] {
            let mut cluster = Cluster::generated(kind, 2, 1, TRANSIT, paths);
            cluster.routing.lossless = true;
            let report = verify::check(&Plan::build(cluster).unwrap());
            assert!(report.minimal && report.deadlock_free, "{dims:?} {paths}");
            assert!(report.violations.is_empty(), "{dims:?} {paths}: {:?}", report.violations);
        }
    }
}

/// Nodes that may not be in transit are not, and the way turns elsewhere or is longer.
#[test]
fn nodes_without_transit_are_left_out() {
    let kind = TopologyShape::Irregular { switches: 16, ports: 6, seed: 1 };
    let mut cluster = Cluster::generated(kind, 2, 1, TRANSIT, 1);
    cluster.nodes.iter_mut().step_by(2).for_each(|node| node.transit = false);
    let plan = Plan::build(cluster.clone()).unwrap();
    assert!(verify::check(&plan).minimal);
    cut_at_turns_only(&plan);
    cluster.nodes.iter_mut().for_each(|node| node.transit = false);
    let report = verify::check(&Plan::build(cluster).unwrap());
    assert!(!report.minimal && report.transit.paths == 0 && report.deadlock_free);
}

/// A source's labels are those that the nodes in transit give their meaning, hop by hop.
#[test]
fn slices_of_all_nodes_agree_on_labels() {
    let plan = random(16, 2, 1, TRANSIT, 2);
    let slices: Vec<_> =
        (0..plan.cluster().nodes.len()).map(|n| tresse_slice::Slice::of(&plan, n.into())).collect();
    let by_nic = |address| {
        let nic = |node: &Vec<Vec<std::net::IpAddr>>| node.iter().any(|nic| nic.contains(&address));
        plan.addresses().nic.iter().position(nic).unwrap()
    };
    let mut longest = 0;
    for (s, slice) in slices.iter().enumerate() {
        for ((prefix, metric), route) in &slice.wanted.routes {
            let nexthop = &route.nexthops[0];
            let (mut from, mut at) = (s, by_nic(nexthop.via));
            let mut interface = &nexthop.interface;
            for label in &nexthop.labels {
                let transit = &slices[at].wanted;
                let arrives = &slices[at]
                    .interfaces
                    .iter()
                    .find(|(_, i)| i.vid == slices[from].interfaces[interface].vid && i.announces);
                let sources = &transit.label_sources[arrives.unwrap().0];
                let vid = slices[from].interfaces[interface].vid;
                let nic = &plan.cluster().nodes[from].nics[slices[from].interfaces[interface].nic];
                assert!(sources.contains(&nic.mac), "{prefix:?} {metric} on {vid:?}");
                let next = &transit.labels[label];
                assert!(transit.neighbours.contains_key(&(next.interface.clone(), next.via)));
                (from, at, interface) = (at, by_nic(next.via), &next.interface);
            }
            longest = longest.max(nexthop.labels.len());
            assert!(plan.addresses().node[at].contains(&prefix.address), "{prefix:?}");
            let primary = &slice.wanted.routes[&(*prefix, tresse_reconcile::METRIC_PRIMARY)];
            assert_eq!(route.mtu, 1500 - 4 * primary.nexthops[0].labels.len() as u32);
        }
    }
    assert!(longest > 0);
}

/// Labels stay as the fabric grows, and what is given up waits for one change (K4).
#[test]
fn labels_are_stable_through_the_lock() {
    let first = random(16, 2, 1, TRANSIT, 1);
    let lock = Lock::parse(&first.lock(&Lock::default()).emit()).unwrap();
    let again = Plan::build_with(first.cluster().clone(), &lock).unwrap();
    assert_eq!(again.generation(), first.generation());
    assert_eq!(again.lock(&lock), lock);

    // What the lock says goes, whatever the numbers; and what nothing uses is retired.
    let mut other = lock;
    for labels in other.labels.values_mut() {
        *labels = labels.iter().map(|(label, meaning)| (label + 100, meaning.clone())).collect();
        labels.insert(16, "10.78.9.8 7 10.78.9.9".into());
    }
    let plan = |lock: &Lock| Plan::build_with(first.cluster().clone(), lock).unwrap();
    let mut next = plan(&other).lock(&other);
    for (node, labels) in &next.labels {
        assert!(labels.keys().all(|label| *label >= 116), "{node}");
        assert_eq!(next.retired.labels[node], BTreeSet::from([16]));
    }
    // A label that is new takes the lowest number that was not in use a moment ago.
    let fresh: BTreeSet<u32> = next.labels.values_mut().map(|l| l.pop_first().unwrap().0).collect();
    assert!(!fresh.is_empty());
    for (node, labels) in plan(&next).lock(&next).labels {
        assert!(labels.contains_key(&17) && !labels.contains_key(&16), "{node}");
    }
}

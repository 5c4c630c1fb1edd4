//! Nodes with NICs on several switches: paths are balanced for all of these, every VLAN carries what its role says, and a
//! node more changes no path.

use std::fmt::Write;

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;
use tresse_topology::Channel;
use tresse_topology::cluster::Cluster;
use tresse_topology::random;
use tresse_topology::vlan::Role;
use tresse_verify as verify;

/// Of each node the switches of its NICs, cables, and the strategy; with two paths.
fn cluster(nodes: &[Vec<u32>], cables: &[(u32, u32)], strategy: &str) -> Cluster {
    on_ports(1, nodes, cables, strategy)
}

/// The same where each port in use is `step` ports after the last one.
fn on_ports(step: u32, nodes: &[Vec<u32>], cables: &[(u32, u32)], strategy: &str) -> Cluster {
    let switches = cables.iter().map(|(a, b)| a.max(b) + 1).max().unwrap();
    let mut text = format!(
        "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"{strategy}\"\npaths = 2\n\
         [[switch]]\nname = \"s[00-{:02}]\"\nports = 200\n",
        switches - 1
    );
    let mut used = vec![0; switches as usize];
    let mut port = |s: u32| {
        used[s as usize] += step;
        used[s as usize]
    };
    for (a, b) in cables {
        let (at, to) = (port(*a), port(*b));
        writeln!(text, "[[link]]\na = \"s{a:02}:{at}\"\nb = \"s{b:02}:{to}\"").unwrap();
    }
    for (n, switches) in nodes.iter().enumerate() {
        let nics: Vec<_> = switches
            .iter()
            .map(|s| format!("{{ switch = \"s{s:02}\", port = {} }}", port(*s)))
            .collect();
        writeln!(text, "[[node]]\nname = \"n{n:03}\"\nnics = [{}]", nics.join(", ")).unwrap();
    }
    tresse_cluster::parse(&text, "several").unwrap()
}

/// Nodes of which most have NICs on two switches, and some on one.
fn drawn(switches: u32, count: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let node = |_| {
        let mut all: Vec<u32> = (0..switches).collect();
        random.shuffle(&mut all);
        all.truncate(1 + usize::from(random.below(4) > 0));
        all
    };
    (0..count).map(node).collect()
}

#[test]
fn every_vlan_carries_what_its_role_says() {
    for seed in 1..=24 {
        let mut random = Random::new(seed);
        let switches = 5 + seed as u32 % 6;
        let cables = random::regular(switches, 3 + switches % 2, seed);
        let nodes = drawn(switches, 2 + 2 * (seed as u32 % 9), &mut random);
        for strategy in ["minimal", "updown", "transit", "stp"] {
            let plan = Plan::build(cluster(&nodes, &cables, strategy)).unwrap();
            let mut carried = vec![None; plan.specs().len()];
            for path in plan.pairs().flat_map(|(s, d)| plan.paths(s, d)) {
                for segment in path.segments {
                    let tree = &mut carried[segment.tree.index()];
                    match path.weight {
                        0 => *tree = tree.or(Some(Role::Backup)),
                        _ => *tree = Some(Role::Primary),
                    }
                }
            }
            let roles: Vec<_> = plan.specs().iter().map(|spec| Some(spec.role)).collect();
            assert_eq!(carried, roles, "{seed} {strategy}");
            let report = verify::check(&plan);
            assert!(report.violations.is_empty(), "{seed} {strategy}: {:?}", report.violations);
        }
    }
}

/// Each node on two leaves of a pair, all leaves on all spines: each cable up has an equal part of what a pair of leaves
/// sends to others.
#[test]
fn pairs_of_leaves_share_their_spines() {
    for (leaves, spines, each, most, vlans) in [(6, 3, 3, 7, 3), (8, 2, 6, 55, 2), (4, 4, 8, 32, 4)]
    {
        let nodes: Vec<_> = (0..leaves / 2 * each).map(|n| n / each * 2).collect();
        let nodes: Vec<_> = nodes.into_iter().map(|leaf| vec![leaf, leaf + 1]).collect();
        let cables: Vec<_> =
            (0..leaves).flat_map(|leaf| (0..spines).map(move |s| (leaf, leaves + s))).collect();
        for strategy in ["updown", "transit", "minimal"] {
            let plan = Plan::build(cluster(&nodes, &cables, strategy)).unwrap();
            let load = verify::check(&plan).max_link_load;
            let most = most + u64::from(strategy == "minimal" && leaves == 6);
            assert!(load <= most, "{leaves}x{spines} {strategy}: {load}, not {most}");
            assert_eq!(plan.specs().len(), vlans, "{leaves}x{spines} {strategy}");
        }
    }
}

fn primaries(plan: &Plan, nodes: usize) -> Vec<(NodeId, NodeId, Vec<Channel>)> {
    let among = |(s, d): &(NodeId, NodeId)| s.index() < nodes && d.index() < nodes;
    let walked = |(s, d)| {
        let mut channels = Vec::new();
        plan.primary(s, d).iter().for_each(|segment| plan.walk(segment, &mut channels));
        (s, d, channels)
    };
    plan.pairs().filter(among).map(walked).collect()
}

/// Also where it brings back a VLAN that nobody needed before.
#[test]
fn a_node_more_changes_no_primary() {
    let mut grown = 0;
    for (seed, step) in (1..=24).flat_map(|seed| [(seed, 1), (seed, 2 + seed as u32 % 4)]) {
        let mut random = Random::new(seed);
        let (switches, count) = (6, 4 + seed as u32 % 4);
        let cables = random::regular(switches, 3, seed);
        let nodes = drawn(switches, count + 1, &mut random);
        for strategy in ["minimal", "updown", "transit"] {
            let few = on_ports(step, &nodes[..count as usize], &cables, strategy);
            let few = Plan::build(few).unwrap();
            let lock = few.lock(&Lock::default());
            let more = on_ports(step, &nodes, &cables, strategy);
            let more = Plan::build_with(more, &lock).unwrap();
            let [before, after] = [&few, &more].map(|plan| primaries(plan, count as usize));
            assert_eq!(before, after, "{seed} {step} {strategy}");
            grown += usize::from(more.count(Role::Primary) > few.count(Role::Primary));
        }
    }
    assert!(grown > 0);
}

//! Leaf and spine whose nodes are on any ports: the busiest link carries what it carries where they are on the first.

use std::fmt::Write;

use tresse_plan::lock::Lock;
use tresse_plan::{Comparison, Plan};
use tresse_topology::cluster::Cluster;
use tresse_verify as verify;

const STRATEGIES: [&str; 3] = ["minimal", "updown", "transit"];

/// Two leaves on all of `spines`, with a node on each of these ports of both.
fn cluster(spines: u32, ports: &[u32], strategy: &str) -> Cluster {
    let mut text = format!(
        "[fabric]\ntopology = {{ kind = \"explicit\" }}\n[routing]\nstrategy = \"{strategy}\"\npaths = 1\n\
         [[switch]]\nname = \"leaf[0-1]\"\nports = 64\n[[switch]]\nname = \"spine[0-{}]\"\nports = 64\n",
        spines - 1
    );
    for (leaf, spine) in (0..2).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine))) {
        let (up, down) = (60 + spine, 1 + leaf);
        writeln!(text, "[[link]]\na = \"leaf{leaf}:{up}\"\nb = \"spine{spine}:{down}\"").unwrap();
    }
    for (port, leaf) in ports.iter().flat_map(|port| [(port, 0), (port, 1)]) {
        let nic = format!("{{ switch = \"leaf{leaf}\", port = {port} }}");
        writeln!(text, "[[node]]\nname = \"n{leaf}{port:02}\"\nnics = [{nic}]").unwrap();
    }
    tresse_cluster::parse(&text, "leaves").unwrap()
}

fn load(plan: &Plan) -> u64 {
    let report = verify::check(plan);
    assert_eq!(report.violations, []);
    report.max_link_load
}

#[test]
fn any_ports_load_the_spines_as_the_first_ones_do() {
    for (spines, ports, most) in [
        (2, &[1, 3, 5, 7][..], 8),
        (2, &[2, 4, 6, 8], 8),
        (4, &[1, 5, 9, 13], 4),
        (4, &[33, 37, 41, 45], 4),
        (3, &[1, 4, 7, 10, 13, 16], 12),
        (2, &[1, 3, 5], 5),
        (2, &[2, 3, 4], 5),
        (4, &[48, 49, 50], 3),
    ] {
        let in_order: Vec<u32> = (1..=ports.len() as u32).collect();
        for strategy in STRATEGIES {
            let [odd, first] = [ports, &in_order].map(|ports| cluster(spines, ports, strategy));
            let [odd, first] = [odd, first].map(|cluster| load(&Plan::build(cluster).unwrap()));
            assert_eq!((odd, first), (most, most), "{spines} spines {strategy} {ports:?}");
        }
    }
}

/// Also where the ports are in no order, and with a lock of an earlier version, which lists none.
#[test]
fn a_node_more_or_less_moves_no_other_to_another_lane() {
    let steps: [&[u32]; 5] =
        [&[1, 5, 9, 13], &[1, 3, 5, 9, 13], &[1, 3, 5, 13], &[1, 2, 3, 5, 13], &[2, 5, 13]];
    for strategy in STRATEGIES {
        for earlier in [false, true] {
            let mut plan = Plan::build(cluster(4, steps[0], strategy)).unwrap();
            let mut lock = plan.lock(&Lock::default());
            if earlier {
                lock.balance.as_mut().unwrap().ports.clear();
                plan = Plan::build_with(cluster(4, steps[0], strategy), &lock).unwrap();
                lock = plan.lock(&lock);
            }
            assert_eq!(load(&plan), 4, "{strategy}");
            for ports in &steps[1..] {
                let next = Plan::build_with(cluster(4, ports, strategy), &lock).unwrap();
                let seen = Comparison::of(&plan, &next);
                assert_eq!(seen.touched_pairs, 0, "{strategy} {ports:?}");
                lock = next.lock(&lock);
                assert_eq!(Lock::parse(&lock.emit()).as_ref(), Ok(&lock));
                assert_ne!(plan.generation(), next.generation());
                plan = next;
            }
        }
    }
}

/// The lock lists ports where their order does not say which number they have, and no others.
#[test]
fn the_lock_lists_ports_that_are_not_the_first() {
    let listed = |ports: &[u32]| {
        let plan = Plan::build(cluster(2, ports, "minimal")).unwrap();
        plan.lock(&Lock::default()).balance.unwrap().ports
    };
    assert!(listed(&[1, 2, 3, 4]).is_empty());
    let odd = listed(&[1, 3, 5, 7]);
    assert_eq!(odd.into_values().collect::<Vec<_>>(), [[1, 3, 5, 7], [1, 3, 5, 7]]);
}

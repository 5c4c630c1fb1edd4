//! Plans fabrics of well-known families and prints the load of the busiest link beside the bound of the linear program,
//! VLANs and processor time: `families [NAME]`.

#![expect(clippy::disallowed_methods, reason = "an example reads how much processor time it took")]

use tresse_routing::routes::least_cost;
use tresse_routing::updown::Updown;
use tresse_routing::{Minimal, SwitchDemand};
use tresse_topology::cluster::Prefer;
use tresse_topology::families::Family;
use tresse_topology::{Graph, random};

const ROUNDS: i32 = 48;

fn main() {
    let only = std::env::args().nth(1);
    let random = |switches: u32, degree| Family {
        switches,
        homes: switches,
        cables: random::regular(switches, degree, 1),
    };
    let mut families = vec![
        ("clos 2x2", Family::clos(2, 2, 1), 8),
        ("clos 4x2", Family::clos(4, 2, 1), 8),
        ("clos 2x3", Family::clos(2, 3, 1), 16),
        ("three cables", Family { switches: 2, homes: 2, cables: vec![(0, 1); 3] }, 4),
        ("clos 4x8", Family::clos(4, 8, 1), 2),
        ("clos 3x12", Family::clos(3, 12, 1), 3),
    ];
    let fat: Vec<_> = (4..=16).step_by(2).map(|k| (format!("fat-tree {k}"), k)).collect();
    families.extend(
        fat.iter().map(|(name, k)| (name.as_str(), Family::fat_tree(*k), u64::from(k / 2))),
    );
    families.extend([
        ("clique 12", Family::hyperx(&[12]), 1),
        ("clique 24", Family::hyperx(&[24]), 1),
        ("hypercube 6", Family::hypercube(6), 1),
        ("hyperx 4x4x4", Family::hyperx(&[4, 4, 4]), 1),
        ("hyperx 8x8", Family::hyperx(&[8, 8]), 1),
        ("dragonfly 9,4,2", Family::dragonfly(9, 4, 2), 2),
        ("dragonfly 19,6,3", Family::dragonfly(19, 6, 3), 1),
        ("slim-fly 5", Family::slim_fly(5), 3),
        ("slim-fly 7", Family::slim_fly(7), 1),
        ("small 8x4s5", Family { switches: 8, homes: 8, cables: random::regular(8, 4, 5) }, 4),
        ("random 64x4", random(64, 4), 1),
        ("jellyfish 64x6", random(64, 6), 1),
        ("random 128x4", random(128, 4), 1),
        ("random 256x4", random(256, 4), 1),
        ("random 512x4", random(512, 4), 1),
        ("random 1024x4", random(1024, 4), 1),
        ("random 2048x4", random(2048, 4), 1),
    ]);
    for (name, family, nodes) in families {
        if only.as_ref().is_some_and(|only| !name.starts_with(only.as_str())) {
            continue;
        }
        one(name, &family, nodes);
    }
}

fn one(name: &str, family: &Family, nodes: u64) {
    let graph = Graph::from_edges(family.switches as usize, &family.cables);
    let nodes: Vec<u64> =
        (0..family.switches).map(|s| if s < family.homes { nodes } else { 0 }).collect();
    let demand = SwitchDemand::new(&graph, &nodes, &nodes);
    let began = cpu_seconds();
    let (of_minimal, routes) = Minimal::routes(&graph, &demand);
    let routed = cpu_seconds() - began;
    let plain = demand.without_transit();
    let bound = least_cost(&graph, &vec![true; graph.channels()], &of_minimal, ROUNDS);
    let began = cpu_seconds();
    let trees = Minimal::new(&graph, &demand, Prefer::Balance, Vec::new, 4093)
        .expect("families are connected")
        .0
        .len();
    print(
        name,
        "minimal",
        of_minimal.lanes,
        routes.cost(&plain).0,
        bound,
        trees,
        [routed, cpu_seconds() - began],
    );
    for (strategy, demand) in [("updown", plain), ("transit", demand)] {
        let began = cpu_seconds();
        let (order, demand, routes) =
            Updown::routes(&graph, None, &demand).expect("families are connected");
        let routed = cpu_seconds() - began;
        let bound = least_cost(&graph, &order.ups(&graph), &demand, ROUNDS);
        let began = cpu_seconds();
        let trees = Updown::new(&graph, None, &demand, Prefer::Balance, 4093)
            .expect("families are connected")
            .0
            .len();
        print(
            name,
            strategy,
            demand.lanes,
            routes.cost(&demand).0,
            bound,
            trees,
            [routed, cpu_seconds() - began],
        );
    }
}

fn print(
    name: &str,
    strategy: &str,
    lanes: u32,
    load: u64,
    bound: f64,
    trees: usize,
    cpu: [f64; 2],
) {
    println!(
        "{name:18} {strategy:8} {lanes} lanes, load {load:7} bound {bound:9.1} {:5.2} {trees:5} VLANs {:7.2} s routes {:7.2} s all",
        load as f64 / bound,
        cpu[0],
        cpu[1]
    );
}

/// What this thread has used, and there is no other.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux kernel");
    let ns: f64 = text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number");
    ns / 1e9
}

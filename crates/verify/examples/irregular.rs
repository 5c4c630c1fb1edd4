//! Random regular networks, 4 cables and 4 nodes a switch, as plans: `irregular [SWITCHES [NETWORKS]]`,
//! `irregular spain [SWITCHES [NETWORKS]]` for the VLANs of one packing beside the other,
//! `irregular routes SWITCHES [updown|transit|minimal]` for the routing alone, and
//! `irregular ibsim SWITCHES [SEED]` for the network with seed 1 or SEED as ibsim reads it.
//!
//! Averages over the networks with seeds 1, 2, ...; the throughput is that of `tresse check`, in units
//! of a node link's rate (in-transit-buffers, section 4).

use tresse_plan::Plan;
use tresse_routing::{Minimal, SwitchDemand, Updown};
use tresse_topology::cluster::Prefer;
use tresse_topology::cluster::{Choice, Cluster, Strategy, TopologyShape};
use tresse_topology::{Components, Graph};
use tresse_verify as verify;

const NODES: u32 = 4;
const CABLES: u32 = 4;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut word = |text: &str| {
        let given = arguments.first().is_some_and(|a| a == text);
        arguments.drain(..usize::from(given));
        given
    };
    let (routes, spain, ibsim) = (word("routes"), word("spain"), word("ibsim"));
    let number = |at: usize| arguments.get(at).map(|a: &String| a.parse().expect("a number"));
    if routes {
        let only = arguments.get(1).map(String::as_str);
        return time_routes(number(0).unwrap_or(2048), only);
    }
    if ibsim {
        return print_ibsim(number(0).unwrap_or(2048), number(1).unwrap_or(1));
    }
    let sizes = number(0).map_or(vec![8, 16, 32, 64], |switches| vec![switches]);
    let networks = number(1).unwrap_or(10);
    if spain {
        println!("switches  one per switch  SPAIN-style  minimal");
        return sizes.into_iter().for_each(|switches| compare_packings(switches, networks));
    }
    println!("switches strategy   throughput  worst   VLANs  transit  minimal  acyclic");
    for switches in sizes {
        for (name, strategy) in [
            ("updown", Strategy::Updown { root: None }),
            ("paper", Strategy::Transit { root: None }),
            ("transit", Strategy::Transit { root: None }),
            ("minimal", Strategy::Minimal),
        ] {
            average(switches, networks, name, strategy);
        }
    }
}

fn cluster(switches: u32, seed: u32, strategy: Strategy) -> Cluster {
    let kind = TopologyShape::Irregular { switches, ports: CABLES + NODES, seed };
    Cluster::generated(kind, NODES, 1, strategy, 1)
}

/// `paper`: transit that chooses as the paper does.
fn average(switches: u32, networks: u32, name: &str, strategy: Strategy) {
    let reports: Vec<_> = (1..=networks)
        .map(|seed| {
            let mut cluster = cluster(switches, seed, strategy);
            if name == "paper" {
                cluster.routing.choice = Choice::Paper;
            }
            let plan = Plan::build(cluster).expect("it plans");
            verify::check(&plan)
        })
        .collect();
    let mean = |value: &dyn Fn(&verify::Report) -> f64| {
        reports.iter().map(value).sum::<f64>() / reports.len() as f64
    };
    let worst = reports.iter().map(|r| r.ideal_throughput).fold(f64::INFINITY, f64::min);
    let count =
        |holds: &dyn Fn(&verify::Report) -> bool| reports.iter().filter(|r| holds(r)).count();
    println!(
        "{switches:8} {name:10} {:10.3} {worst:6.3} {:7.1} {:8.3} {:>5}/{networks} {:>5}/{networks}",
        mean(&|r| r.ideal_throughput),
        mean(&|r| r.vlans as f64),
        mean(&|r| r.transit.mean),
        count(&|r| r.minimal),
        count(&|r| r.deadlock_free),
    );
}

/// Processor time of the ways between all switches, and with packing them into VLAN trees.
fn time_routes(switches: u32, only: Option<&str>) {
    let graph = Graph::new(&cluster(switches, 1, Strategy::Minimal));
    let nodes = vec![u64::from(NODES); switches as usize];
    let none = vec![0; switches as usize];
    let wanted = |name| only.is_none_or(|only| only == name);
    for (name, transit) in [("updown", &none), ("transit", &nodes)] {
        if !wanted(name) {
            continue;
        }
        let demand = SwitchDemand::new(&graph, &nodes, transit);
        let began = cpu_seconds();
        let routes = Updown::routes(&graph, None, &demand).expect("it is connected");
        let routed = cpu_seconds() - began;
        drop(routes);
        let began = cpu_seconds();
        let (trees, _) =
            Updown::new(&graph, None, &demand, Prefer::Balance, 4093).expect("it is connected");
        report(name, switches, routed, cpu_seconds() - began, trees.len());
    }
    if wanted("minimal") && (switches <= 512 || only.is_some()) {
        let began = cpu_seconds();
        let demand = SwitchDemand::new(&graph, &nodes, &none);
        let (trees, _) = Minimal::new(&graph, &demand, Prefer::Balance, Vec::new, 4093)
            .expect("it is connected");
        let packed = cpu_seconds() - began;
        report("minimal", switches, f64::NAN, packed, trees.len());
    }
}

fn report(name: &str, switches: u32, routed: f64, packed: f64, trees: usize) {
    println!(
        "{name:8} {switches} switches: {routed:.3} s CPU for the routes, {packed:.3} s with \
         packing them into {trees} trees, {} KiB at most so far",
        peak_kib()
    );
}

/// What this thread has used, and there is no other.
#[expect(clippy::disallowed_methods, reason = "a benchmark needs a clock")]
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("a Linux kernel");
    let ns: f64 = text.split(' ').next().and_then(|ns| ns.parse().ok()).expect("a number");
    ns / 1e9
}

#[expect(clippy::disallowed_methods, reason = "a benchmark looks at its own memory")]
fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("a Linux kernel");
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).expect("a number")
}

/// Nodes first, then the cables by neighbour, as generated fabrics number their ports.
fn print_ibsim(switches: u32, seed: u32) {
    let graph = Graph::new(&cluster(switches, seed, Strategy::Minimal));
    for s in 0..switches {
        let out = graph.out(s);
        println!("Switch {} \"S{s}\"", NODES + CABLES);
        (0..NODES).for_each(|n| println!("[{}] \"H{s}_{n}\"[1]", n + 1));
        for (c, port) in out.zip(NODES + 1..) {
            let (d, back) = (graph.head(c), graph.reverse(c));
            let far = NODES + 1 + back - graph.out(d).start;
            println!("[{port}] \"S{d}\"[{far}]");
        }
        println!();
    }
    for (s, n) in (0..switches).flat_map(|s| (0..NODES).map(move |n| (s, n))) {
        println!("Hca 1 \"H{s}_{n}\"\n[1] \"S{s}\"[{}]\n", n + 1);
    }
}

/// VLANs for the same balanced minimal ways: a tree for each destination switch, packed as SPAIN does
/// (Mudigonda et al., NSDI 2010, section 4: per destination first, then subgraphs of different
/// destinations together where they close no loop), and ours.
fn compare_packings(switches: u32, networks: u32) {
    let (mut spain, mut ours) = (0, 0);
    for seed in 1..=networks {
        let graph = Graph::new(&cluster(switches, seed, Strategy::Minimal));
        let nodes = vec![u64::from(NODES); switches as usize];
        let demand = SwitchDemand::new(&graph, &nodes, &vec![0; switches as usize]);
        ours += Minimal::new(&graph, &demand, Prefer::Balance, Vec::new, 4093)
            .expect("it is connected")
            .0
            .len();
        let (_, routes) = Minimal::routes(&graph, &demand);
        let mut parts: Vec<Vec<u32>> = Vec::new();
        for d in 0..switches {
            let mut own: Vec<Vec<u32>> = Vec::new();
            for s in (0..switches).filter(|s| *s != d) {
                let mut way = Vec::new();
                routes.walk(s, d, &mut way);
                first_fit(&graph, &mut own, way);
            }
            parts.append(&mut own);
        }
        let mut merged = Vec::new();
        parts.into_iter().for_each(|part| first_fit(&graph, &mut merged, part));
        spain += merged.len();
    }
    let mean = |sum: usize| sum as f64 / f64::from(networks);
    println!("{switches:8}  {switches:14}  {:11.1}  {:7.1}", mean(spain), mean(ours));
}

/// Adds the cables of `channels` to the first set that stays without a loop, else to a new one.
fn first_fit(graph: &Graph, sets: &mut Vec<Vec<u32>>, channels: Vec<u32>) {
    let fits = |set: &Vec<u32>| {
        let mut parts = Components::new(graph.switches());
        let mut cables: Vec<u32> =
            set.iter().chain(&channels).map(|&c| c.min(graph.reverse(c))).collect();
        cables.sort_unstable();
        cables.dedup();
        cables.iter().all(|&c| parts.join(graph.tail(c) as usize, graph.head(c) as usize))
    };
    match sets.iter().position(fits) {
        Some(at) => sets[at].extend(channels),
        None => sets.push(channels),
    }
}

//! Detours through reflectors in fabrics of several sizes: what they bring and how long planning takes.
//! `cargo run --release -p tresse-verify --example reflect`

#![expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]

use std::time::Instant;

use tresse_base::id::NodeId;
use tresse_base::random::Random;
use tresse_plan::Plan;
use tresse_topology::cluster::{Cluster, ReflectMode, Strategy, TopologyShape, Traffic};
use tresse_verify::Reflect;

fn main() {
    println!(
        "fabric                demand   flows  candidates  direct  achieved  optimum  seconds (without)"
    );
    for ports in [8, 16, 24, 48] {
        let kind = TopologyShape::Clique { ports };
        case(&format!("clique of {ports} ports"), &kind, 0, Strategy::Minimal, Few::Pairs);
        case(&format!("clique of {ports} ports"), &kind, 0, Strategy::Minimal, Few::Random);
    }
    for switches in [16, 64, 256] {
        let kind = TopologyShape::Irregular { switches, ports: 8, seed: 1 };
        for strategy in [Strategy::Transit { root: None }, Strategy::Minimal] {
            case(&format!("irregular, {switches}"), &kind, 4, strategy, Few::Random);
            case(&format!("irregular, {switches}"), &kind, 4, strategy, Few::Uniform);
        }
    }
    let kind = TopologyShape::Torus { dims: vec![8, 8] };
    case("torus 8x8", &kind, 2, Strategy::Dor, Few::Random);
}

/// Who sends.
#[derive(Debug, Clone, Copy)]
enum Few {
    /// All nodes of every second switch to those of the next.
    Pairs,
    /// A random half of the nodes, each to three others.
    Random,
    /// Every node to every other.
    Uniform,
}

fn case(name: &str, kind: &TopologyShape, nodes: u32, strategy: Strategy, few: Few) {
    let mut cluster = Cluster::generated(kind.clone(), nodes, 1, strategy, 4);
    cluster.demand = demand(&cluster, few);
    let start = Instant::now();
    let _ = Plan::build(cluster.clone()).expect("it plans");
    let without = start.elapsed();
    cluster.routing.reflect = ReflectMode::Demand;
    let start = Instant::now();
    let plan = Plan::build(cluster).expect("it plans");
    let took = start.elapsed();
    let Reflect { direct, achieved, optimum, candidates, restricted, .. } =
        Reflect::of(&plan).expect("it reflects");
    println!(
        "{name:<20}  {:<7}  {:>5}  {candidates:>9}{}  {direct:>6.3}  {achieved:>8.3}  {:>7.3}  {:>7.2} ({:.2})",
        format!("{few:?}"),
        plan.detours().by_pair.len(),
        if restricted { "*" } else { " " },
        optimum.unwrap_or(f64::NAN),
        took.as_secs_f64(),
        without.as_secs_f64(),
    );
}

fn demand(cluster: &Cluster, few: Few) -> Vec<Traffic> {
    let on = |switch: usize| -> Vec<NodeId> {
        let all = (0..cluster.nodes.len()).map(NodeId::from);
        all.filter(|n| cluster.node(*n).nics[0].switch.index() == switch).collect()
    };
    let mut random = Random::new(1);
    let nodes: Vec<NodeId> = (0..cluster.nodes.len()).map(NodeId::from).collect();
    match few {
        Few::Uniform => Vec::new(),
        Few::Pairs => (0..cluster.switches.len() - 1)
            .step_by(2)
            .map(|s| Traffic { from: on(s), to: on(s + 1), weight: 1 })
            .collect(),
        Few::Random => {
            let senders = random.some(&nodes, nodes.len() / 2);
            let mut traffic = Vec::new();
            for from in senders {
                for to in random.some(&nodes, 4).into_iter().filter(|to| *to != from).take(3) {
                    traffic.push(Traffic { from: vec![from], to: vec![to], weight: 1 });
                }
            }
            traffic
        }
    }
}

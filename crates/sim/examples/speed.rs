//! `cargo run --release -p tresse-sim --example speed [CYCLES]`: flit-hops a second of one core, uniform traffic
//! at 30 % and at saturation; frames of 134 flits. Hops are counted as BookSim does: switches that a flit crosses.

use std::collections::BTreeSet;
use std::time::Instant;

use tresse_plan::Plan;
use tresse_sim::Run;
use tresse_sim::model::{Buffers, SimulationModel};
use tresse_sim::network::SimulatedNetwork;
use tresse_sim::route::SimulatedPaths;
use tresse_sim::traffic::{Arrivals, OfferedTraffic, TrafficPattern};

fn main() {
    let cycles = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000);
    let lossless = Buffers::lossless(160, 5).expect("room for what is on its way");
    println!("| fabric | buffers | load | accepted | flit-hops | seconds | flit-hops/s |");
    println!("|---|---|---|---|---|---|---|");
    for (name, topology) in [
        ("8x8 mesh", "kind = \"mesh\", dims = [8, 8]"),
        ("8x8x8 torus", "kind = \"torus\", dims = [8, 8, 8]"),
        ("16x16x16 torus", "kind = \"torus\", dims = [16, 16, 16]"),
    ] {
        let text = format!(
            "[fabric]\ntopology = {{ {topology} }}\n[routing]\nstrategy = \"dor\"\npaths = 1\n"
        );
        let text = text + "[vlans]\nrange = \"1-4094\"\n";
        let plan = Plan::build(tresse_cluster::parse(&text, "x").expect("parses")).expect("plans");
        let network = SimulatedNetwork::new(&plan);
        let routes = SimulatedPaths::new(&plan, &network, BTreeSet::new());
        let traffic = OfferedTraffic {
            pattern: TrafficPattern::Uniform,
            arrivals: Arrivals::Poisson,
            bytes: 512,
        };
        for (kind, buffers) in
            [("unlimited", Buffers::Unlimited), ("160 flits, lossless", lossless)]
        {
            for load in [0.3, 0.95] {
                let model = SimulationModel { buffers, ..SimulationModel::ethernet(32.0) };
                let run = Run {
                    model: &model,
                    network: &network,
                    routes: &routes,
                    traffic: &traffic,
                    load,
                    cycles,
                    warm_up: cycles / 10,
                    seed: 1,
                };
                let start = Instant::now();
                let outcome = run.simulate().expect("runs");
                let seconds = start.elapsed().as_secs_f64();
                let accepted =
                    outcome.received as f64 / outcome.cycles.max(1) as f64 / network.nodes as f64;
                // Of channels each flit crosses one more.
                let flits = accepted * network.nodes as f64 * cycles as f64;
                let hops = outcome.flit_hops as f64 - flits;
                let stuck = outcome
                    .deadlock
                    .map_or(String::new(), |(at, _)| format!(" (deadlock at {at})"));
                println!(
                    "| {name} | {kind} | {load} | {accepted:.3}{stuck} | {hops:.0} | {seconds:.2} | {:.1} M |",
                    hops / seconds / 1e6
                );
            }
        }
    }
}

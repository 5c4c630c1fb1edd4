//! `cargo run --release -p tresse-sim --example in_transit SWITCHES BYTES TRAFFIC VARIANT...`: how what the paper
//! in-transit-buffers leaves open changes its figures, on the networks of `tresse simulate --paper itb`. TRAFFIC is
//! uniform, bit-reversal, local-3, local-5 or hot-spot. Runs take 100,000 cycles. Variants can be joined by `+`:
//!
//! - `paper`: as `--paper itb`
//! - `root`: the root of up*/down* is the switch with the least mean distance from the others, not switch 0
//! - `shortest-legal`: UD takes a random one of the shortest up*/down* routes
//! - `hosts`: ITB draws a route for each pair of hosts, not for each pair of switches
//! - `ports`: only three of the four ports to other switches are cabled
//! - `pipelined`: a switch reads the next header while the frame before it leaves
//! - `buffers`: stop above 560 bytes and go below 400, ten times as much
//! - `poisson`: messages at random times
//! - `steady`: throughput is the most accepted while 99 % of what is generated arrives, not 95 %
//! - `any-load`: throughput is the most accepted at any load, up to 2.5 times the channel-load bound
//! - `delay`: a transit host sends on 650 ns after the head arrived, not 475
//! - `idle`: low load is 0.001 flits/ns/switch, not 0.006
//! - `switches`: local counts the switches on the route, not the links between them
//! - `shortest`: local counts the links of the shortest path, not of the shortest up*/down* route

use std::collections::BTreeSet;

use tresse_base::id::SwitchId;
use tresse_plan::Plan;
use tresse_sim::Run;
use tresse_sim::model::{Buffers, SimulationModel};
use tresse_sim::network::SimulatedNetwork;
use tresse_sim::papers::itb::{self, CABLES, HOSTS, ROOT, RouteChoice, Sent};
use tresse_sim::papers::throughput::ThroughputSearch;
use tresse_sim::route::SimulatedPaths;
use tresse_sim::sweep::{self, Point};
use tresse_sim::traffic::{Arrivals, OfferedTraffic, TrafficPattern};
use tresse_topology::Graph;

const NETWORKS: u32 = 10;
const CYCLES: u64 = 100_000;
/// Most load of variant `any-load`, as a multiple of the bound.
const MOST: f64 = 2.5;

/// What differs from the paper's setup as `--paper itb` understands it.
struct Variant {
    central_root: bool,
    ud: RouteChoice,
    by_hosts: bool,
    ports: u32,
    model: SimulationModel,
    arrivals: Arrivals,
    /// `None`: the highest accepted traffic at any load.
    steady: Option<f64>,
    /// Flits per ns and switch.
    low: f64,
    counts_switches: bool,
    shortest: bool,
}

impl Variant {
    fn new(names: &str) -> Self {
        let mut variant = Self {
            central_root: false,
            ud: RouteChoice::LeastLoad,
            by_hosts: false,
            ports: CABLES,
            model: SimulationModel::wormhole(),
            arrivals: Arrivals::Even,
            steady: Some(0.95),
            low: 0.006,
            counts_switches: false,
            shortest: false,
        };
        for name in names.split('+') {
            match name {
                "paper" => {}
                "root" => variant.central_root = true,
                "shortest-legal" => variant.ud = RouteChoice::ShortestLegal,
                "hosts" => variant.by_hosts = true,
                "ports" => variant.ports = 3,
                "pipelined" => variant.model.pipelined = true,
                "buffers" => variant.model.buffers = Buffers::StopAndGo { stop: 560, go: 400 },
                "poisson" => variant.arrivals = Arrivals::Poisson,
                "steady" => variant.steady = Some(0.99),
                "any-load" => variant.steady = None,
                "delay" => variant.model.transit = 104,
                "idle" => variant.low = 0.001,
                "switches" => variant.counts_switches = true,
                "shortest" => variant.shortest = true,
                _ => panic!("{name}: none of the variants in the program's first lines"),
            }
        }
        variant
    }

    /// Simulates one network: the throughputs of UD and ITB in flits per ns and switch, by how many per cent ITB is
    /// slower at low load, and transit hosts per message.
    fn simulate(&self, switches: u32, seed: u32, bytes: u32, sent: Sent) -> [f64; 4] {
        let plan = |root| {
            Plan::build(itb::cluster(switches, seed, self.ports, Some(root))).expect("plans")
        };
        let mut plan_of = (plan(ROOT), ROOT);
        if self.central_root {
            let root = central(plan_of.0.graph());
            plan_of = (plan(root), root);
        }
        let (plan, root) = plan_of;
        let network = SimulatedNetwork::new(&plan);
        let pattern = self.pattern(sent, &plan, root);
        let traffic = OfferedTraffic { pattern, arrivals: self.arrivals, bytes };
        let unit = f64::from(HOSTS) / self.model.cycle_ns;
        let itb = match self.by_hosts {
            true => RouteChoice::Minimal.routes(&plan, &network, root),
            false => SimulatedPaths::new(&plan, &network, BTreeSet::new()),
        };
        let [ud, itb] = [self.ud.routes(&plan, &network, root), itb].map(|routes| {
            let run = |load, cycles| self.run(&network, &routes, &traffic, load, cycles);
            let low = run(self.low / unit, 8 * CYCLES).outcome;
            let bound = sweep::bound(&network, &routes, &traffic);
            let most = sweep::most(&network);
            (self.throughput(bound, most, |load| run(load, CYCLES)) * unit, low)
        });
        let latency = |of: &(f64, tresse_sim::outcome::SimulationOutcome)| {
            of.1.latencies.mean().unwrap_or(f64::NAN)
        };
        let [hosts, messages] = itb.1.in_transit.map(|count| count as f64);
        [ud.0, itb.0, (latency(&itb) / latency(&ud) - 1.0) * 100.0, hosts / messages]
    }

    fn throughput(&self, bound: f64, most: f64, run: impl Fn(f64) -> Point) -> f64 {
        let Some(steady) = self.steady else {
            let loads = std::iter::successors(Some(0.3 * bound), |load| Some(load * 1.1));
            let loads = loads.take_while(|load| *load < MOST * bound);
            return loads.map(|load| run(load.min(most)).accepted).fold(0.0, f64::max);
        };
        let mut search = ThroughputSearch::new(bound, most, steady);
        while let Some(load) = search.load() {
            search.add(&run(load));
        }
        search.peak()
    }

    fn run(
        &self,
        network: &SimulatedNetwork,
        routes: &SimulatedPaths<'_>,
        traffic: &OfferedTraffic,
        load: f64,
        cycles: u64,
    ) -> Point {
        let (model, warm_up) = (&self.model, CYCLES / 10);
        let run = Run { model, network, routes, traffic, load, cycles, warm_up, seed: 1 };
        Point::run(&run).expect("the paper's networks can be simulated")
    }

    fn pattern(&self, sent: Sent, plan: &Plan, root: SwitchId) -> TrafficPattern {
        let Sent::Local(most) = sent else { return sent.pattern(plan, root) };
        let most = if self.counts_switches { most - 1 } else { most };
        if !self.shortest {
            return Sent::Local(most).pattern(plan, root);
        }
        let nodes = &plan.cluster().nodes;
        let near = |a: usize| {
            let distances = distances(plan.graph(), nodes[a].nics[0].switch.0);
            let is_near =
                |b: &usize| *b != a && distances[nodes[*b].nics[0].switch.index()] <= most;
            (0..nodes.len()).filter(is_near).map(|b| b as u32).collect()
        };
        TrafficPattern::Among((0..nodes.len()).map(near).collect())
    }
}

fn distances(graph: &Graph, from: u32) -> Vec<u32> {
    let (mut distances, mut queue) = (Vec::new(), Vec::new());
    graph.distances(from, &mut distances, &mut queue);
    distances
}

/// The switch with the least mean distance from the others.
fn central(graph: &Graph) -> SwitchId {
    let sum = |s: &u32| distances(graph, *s).iter().sum::<u32>();
    SwitchId((0..graph.switches() as u32).min_by_key(sum).expect("a network has switches"))
}

/// The least, the greatest and the average value.
fn summary(of: &[f64]) -> String {
    let least = of.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{least:.2}, {greatest:.2}, {:.2}", of.iter().sum::<f64>() / of.len() as f64)
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [switches, bytes, traffic, variants @ ..] = &args[..] else {
        panic!("expected SWITCHES BYTES TRAFFIC VARIANT...")
    };
    let (switches, bytes): (u32, u32) =
        (switches.parse().expect("switches"), bytes.parse().expect("bytes"));
    let sent = match &traffic[..] {
        "uniform" => Sent::Uniform,
        "bit-reversal" => Sent::BitReversal,
        "local-3" => Sent::Local(3),
        "local-5" => Sent::Local(5),
        "hot-spot" => Sent::HotSpot,
        _ => panic!("{traffic}: expected uniform, bit-reversal, local-3, local-5 or hot-spot"),
    };
    println!(
        "| variant | ITB/UD min, max, avg | UD, flits/ns/switch | latency %: min, max, avg | in transit |"
    );
    println!("|---|---|---|---|---|");
    for names in variants {
        let variant = Variant::new(names);
        let all: Vec<[f64; 4]> =
            (1..=NETWORKS).map(|seed| variant.simulate(switches, seed, bytes, sent)).collect();
        let mean = |at: usize| all.iter().map(|of| of[at]).sum::<f64>() / all.len() as f64;
        let factors: Vec<f64> = all.iter().map(|[ud, itb, ..]| itb / ud).collect();
        let latencies: Vec<f64> = all.iter().map(|of| of[2]).collect();
        println!(
            "| {names} | {} | {:.4} | {} | {:.3} |",
            summary(&factors),
            mean(0),
            summary(&latencies),
            mean(3)
        );
    }
}

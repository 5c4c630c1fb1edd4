//! `tresse simulate --paper itb`: repeats the evaluation in section 4 of the paper
//! in-transit-buffers, tables 1 to 9.

use std::collections::BTreeSet;
use std::io::Write;

use rayon::prelude::*;
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_plan::Plan;
use tresse_sim::Run;
use tresse_sim::model::SimulationModel;
use tresse_sim::network::SimulatedNetwork;

pub use tresse_sim::papers::itb::SIZES;
use tresse_sim::papers::itb::{self, CABLES, HOSTS, MESSAGE_BYTES, ROOT, RouteChoice, Sent};
use tresse_sim::papers::throughput::ThroughputSearch;
use tresse_sim::route::SimulatedPaths;
use tresse_sim::sweep::{self, Point};
use tresse_sim::traffic::{Arrivals, OfferedTraffic};

use super::arguments::Simulate;
use crate::fail::{Code, Failure};
use crate::output;

/// In a steady state at least this share of the generated traffic arrives (section 4.2).
const STEADY: f64 = 0.95;
/// The low load, which the paper does not state, in flits per ns and switch.
const LOW: f64 = 0.006;
/// The fewest cycles of a run.
const LEAST: u64 = 20_000;
/// At low load few messages are sent, so runs take this many times the cycles.
const LONGER: u64 = 8;

/// The results of one message size and one traffic pattern, for all networks of one size. Lists have one value per network.
#[derive(Debug, Serialize)]
struct Row {
    format: u32,
    switches: u32,
    traffic: &'static str,
    #[serde(rename = "octets")]
    bytes: u32,
    /// The most that up*/down* routes accepted, in flits per ns and switch.
    ud: Vec<f64>,
    /// The same for in-transit buffers as in the paper.
    itb: Vec<f64>,
    /// The same for Tresse's balanced choice.
    balanced: Vec<f64>,
    /// The channel-load bounds of these three routings.
    bounds: [Vec<f64>; 3],
    /// By how many per cent `itb` is slower than `ud` at low load.
    latency: Vec<f64>,
    /// Transit nodes per message at low load.
    in_transit: Vec<f64>,
    /// Frames for which a transit node had no memory, in all runs of `itb` and `balanced`.
    spilled: u64,
    /// `itb` over `ud`: least, greatest, average.
    factor: [f64; 3],
    /// `latency`: least, greatest, average.
    latency_increase: [f64; 3],
    /// What the paper publishes for `factor`.
    published_factor: Option<[f64; 3]>,
    /// The same for `latency_increase`.
    published_latency: Option<[f64; 3]>,
}

/// A network, and its three routings.
struct Fabric {
    network: SimulatedNetwork,
    routes: [SimulatedPaths<'static>; 3],
    plan: Plan,
}

/// The results of one routing.
struct Found {
    peak: f64,
    bound: f64,
    low: Point,
    spilled: u64,
}

impl Simulate {
    /// Simulates and prints all tables.
    pub fn itb_paper(&self, json: bool) -> Result<Code, Failure> {
        let mut out = output::stdout();
        if self.itb_cycles() < LEAST {
            let words = format!(
                "--cycles: expected at least {LEAST}, as shorter runs do not measure long messages"
            );
            return Err(Failure::new(Code::Usage, words));
        }
        if !json {
            self.say_itb_choices(&mut out)?;
        }
        let sizes = if self.switches.is_empty() { &SIZES[..] } else { &self.switches };
        for switches in sizes.iter().copied() {
            let fabrics: Vec<Fabric> = (1..=self.itb_networks())
                .map(|seed| fabric(switches, seed))
                .collect::<Result<_, _>>()?;
            for sent in Sent::ALL {
                if sent.factors(switches).is_none() {
                    continue;
                }
                for (at, bytes) in MESSAGE_BYTES.into_iter().enumerate() {
                    let mut row = self.row(&fabrics, switches, sent, bytes)?;
                    row.published_factor = sent.factors(switches).map(|table| table[at]);
                    row.published_latency = sent.latencies(switches).map(|table| table[at]);
                    match json {
                        true => output::json_line(&mut out, &row)?,
                        false => writeln!(out, "{}", row.text())?,
                    }
                    out.flush()?;
                }
            }
        }
        Ok(Code::Fine)
    }

    fn row(
        &self,
        fabrics: &[Fabric],
        switches: u32,
        sent: Sent,
        bytes: u32,
    ) -> Result<Row, Failure> {
        let of = |fabric: &Fabric| self.found(fabric, sent, bytes);
        let found: Result<Vec<[Found; 3]>, _> = fabrics.par_iter().map(of).collect();
        let found = found?;
        let peaks = |routing: usize| found.iter().map(|of| of[routing].peak).collect();
        let bounds = |routing: usize| found.iter().map(|of| of[routing].bound).collect();
        let mean = |found: &Found| found.low.outcome.latencies.mean().unwrap_or(0.0);
        let in_transit = |[taken, messages]: [u64; 2]| taken as f64 / messages.max(1) as f64;
        let [ud, itb, balanced]: [Vec<f64>; 3] = [0, 1, 2].map(peaks);
        let latency: Vec<f64> =
            found.iter().map(|of| (mean(&of[1]) / mean(&of[0]) - 1.0) * 100.0).collect();
        Ok(Row {
            format: FORMAT,
            switches,
            traffic: sent.words(),
            bytes,
            factor: summary(&factors(&itb, &ud)),
            ud,
            itb,
            balanced,
            bounds: [0, 1, 2].map(bounds),
            latency_increase: summary(&latency),
            latency,
            in_transit: found.iter().map(|of| in_transit(of[1].low.outcome.in_transit)).collect(),
            spilled: found.iter().flat_map(|of| &of[1..]).map(|of| of.spilled).sum(),
            published_factor: None,
            published_latency: None,
        })
    }

    fn found(&self, fabric: &Fabric, sent: Sent, bytes: u32) -> Result<[Found; 3], Failure> {
        let (model, network) = (&SimulationModel::wormhole(), &fabric.network);
        let pattern = sent.pattern(&fabric.plan, ROOT);
        let traffic = &OfferedTraffic { pattern, arrivals: Arrivals::Even, bytes };
        // Accepted flits per cycle and node.
        let unit = f64::from(HOSTS) / model.cycle_ns;
        let of = |routes: &SimulatedPaths<'_>| -> Result<Found, Failure> {
            let bound = sweep::bound(network, routes, traffic);
            let most = sweep::most(network);
            let run = |load: f64, times: u64| {
                let (cycles, warm_up) = (self.itb_cycles() * times, self.itb_warm_up());
                let run =
                    Run { model, network, routes, traffic, load, cycles, warm_up, seed: self.seed };
                Point::run(&run).map_err(|e| Failure::new(Code::Fault, e.to_string()))
            };
            let mut search = ThroughputSearch::new(bound, most, STEADY);
            let low = run(LOW / unit, LONGER)?;
            let mut spilled = low.outcome.spilled;
            while let Some(load) = search.load() {
                let point = run(load, 1)?;
                spilled += point.outcome.spilled;
                search.add(&point);
            }
            Ok(Found { peak: search.peak() * unit, bound: bound.min(most) * unit, low, spilled })
        };
        let [ud, itb, balanced] = &fabric.routes;
        Ok([of(ud)?, of(itb)?, of(balanced)?])
    }

    fn itb_networks(&self) -> u32 {
        self.networks.unwrap_or(10)
    }

    fn itb_cycles(&self) -> u64 {
        self.cycles.unwrap_or(500_000)
    }

    fn itb_warm_up(&self) -> u64 {
        self.warm_up.unwrap_or(self.itb_cycles() / 10)
    }

    fn say_itb_choices(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "{} random networks of each size, {} cycles of which {} are not measured, seed {}. What the paper leaves \
             open, and what is taken here:",
            self.itb_networks(),
            self.itb_cycles(),
            self.itb_warm_up(),
            self.seed
        )?;
        for line in [
            format!("the root of up*/down* is switch {}", ROOT.0),
            "UD: routes of least load by turns, as Myricom's program is said to choose them".into(),
            "local: distance is the length of the shortest up*/down* route".into(),
            format!("throughput: the most accepted while {STEADY} of what is generated arrives"),
            format!("low load: {LOW} flits/ns/switch"),
        ] {
            writeln!(out, "- {line}")?;
        }
        writeln!(out, "\nITB chooses as the paper does, balanced is Tresse's own `transit`.\n")?;
        writeln!(
            out,
            "| switches | traffic | bytes | ITB/UD min, max, avg | published | bounds | balanced/UD | UD, flits/ns/switch \
             | latency %: min, max, avg | published | in transit min, max, avg | spilled |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")
    }
}

fn fabric(switches: u32, seed: u32) -> Result<Fabric, Failure> {
    let fault = |words| Failure::new(Code::Fault, format!("{switches} switches: {words}"));
    let plan = |root| {
        Plan::build(itb::cluster(switches, seed, CABLES, root)).map_err(|e| fault(e.to_string()))
    };
    let (paper, balanced) = (plan(Some(ROOT))?, plan(None)?);
    let network = SimulatedNetwork::new(&paper);
    let of = |plan| {
        let routes = SimulatedPaths::new(plan, &network, BTreeSet::new()).detached();
        routes.ok_or_else(|| fault("too many pairs".into()))
    };
    let ud = RouteChoice::LeastLoad.routes(&paper, &network, ROOT);
    let routes = [ud, of(&paper)?, of(&balanced)?];
    Ok(Fabric { network, routes, plan: paper })
}

impl Row {
    /// A line of the table.
    fn text(&self) -> String {
        let published = |of: Option<[f64; 3]>| of.map(three).unwrap_or_default();
        let [.., bound] = summary(&factors(&self.bounds[1], &self.bounds[0]));
        let [.., balanced] = summary(&factors(&self.balanced, &self.ud));
        let [.., ud] = summary(&self.ud);
        let [fewest, most, in_transit] = summary(&self.in_transit);
        format!(
            "| {} | {} | {} | {} | {} | {bound:.2} | {balanced:.2} | {ud:.4} | {} | {} | {fewest:.3}, {most:.3}, \
             {in_transit:.3} | {} |",
            self.switches,
            self.traffic,
            self.bytes,
            three(self.factor),
            published(self.published_factor),
            three(self.latency_increase),
            published(self.published_latency),
            self.spilled
        )
    }
}

fn three([least, greatest, mean]: [f64; 3]) -> String {
    format!("{least:.2}, {greatest:.2}, {mean:.2}")
}

fn factors(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}

/// The least, the greatest and the average value.
fn summary(of: &[f64]) -> [f64; 3] {
    let least = of.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [least, greatest, of.iter().sum::<f64>() / of.len() as f64]
}

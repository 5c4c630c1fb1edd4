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
use tresse_topology::cluster::Choice;

pub use tresse_sim::papers::itb::SIZES;
use tresse_sim::papers::itb::{self, HOSTS, MESSAGE_BYTES, ROOT, Sent};
use tresse_sim::route::SimulatedPaths;
use tresse_sim::sweep::{self, Point};
use tresse_sim::traffic::{Arrivals, OfferedTraffic};

use super::arguments::Simulate;
use crate::fail::{Code, Failure};
use crate::output;

/// The search for the throughput begins at this share of a routing's bound.
const FIRST: f64 = 0.2;
/// Each step of the search multiplies the load by this, until the network has no steady state any more.
const STEP: f64 = 1.2;
/// How often the last step is then halved.
const HALVED: u32 = 4;
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
    /// What the paper publishes for `itb` over `ud`: least, greatest, average.
    published_factor: Option<[f64; 3]>,
    /// The same for `latency`.
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
        Ok(Row {
            format: FORMAT,
            switches,
            traffic: sent.words(),
            bytes,
            ud: peaks(0),
            itb: peaks(1),
            balanced: peaks(2),
            bounds: [0, 1, 2].map(bounds),
            latency: found.iter().map(|of| (mean(&of[1]) / mean(&of[0]) - 1.0) * 100.0).collect(),
            in_transit: found.iter().map(|of| in_transit(of[1].low.outcome.in_transit)).collect(),
            spilled: found.iter().flat_map(|of| &of[1..]).map(|of| of.spilled).sum(),
            published_factor: None,
            published_latency: None,
        })
    }

    fn found(&self, fabric: &Fabric, sent: Sent, bytes: u32) -> Result<[Found; 3], Failure> {
        let (model, network) = (&SimulationModel::wormhole(), &fabric.network);
        let pattern = sent.pattern(&fabric.plan);
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
            let mut search = Search { most, ..Search::default() };
            let mut load = FIRST * bound;
            while let Some(next) = search.add(load, &run(load, 1)?) {
                load = next;
            }
            let low = run(LOW / unit, LONGER)?;
            let spilled = search.spilled + low.outcome.spilled;
            Ok(Found { peak: search.peak * unit, bound: bound.min(most) * unit, low, spilled })
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
             | latency %, avg | published | in transit min, max, avg | spilled |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")
    }
}

/// The search for the highest accepted traffic in a steady state.
#[derive(Default)]
struct Search {
    most: f64,
    /// The highest load with a steady state.
    low: f64,
    /// The lowest load without one.
    high: Option<f64>,
    halved: u32,
    peak: f64,
    spilled: u64,
}

impl Search {
    /// Adds the result of a load. Returns the next load, or `None` at the end.
    fn add(&mut self, load: f64, point: &Point) -> Option<f64> {
        let outcome = &point.outcome;
        self.spilled += outcome.spilled;
        if outcome.received as f64 >= STEADY * outcome.generated as f64 {
            self.low = load;
            self.peak = self.peak.max(point.accepted);
        } else {
            self.high = Some(load);
        }
        let Some(high) = self.high else {
            return (load < self.most).then_some((load * STEP).min(self.most));
        };
        self.halved += 1;
        (self.halved <= HALVED).then_some(f64::midpoint(self.low, high))
    }
}

fn fabric(switches: u32, seed: u32) -> Result<Fabric, Failure> {
    let plan = |choice| {
        Plan::build(itb::cluster(switches, seed, choice))
            .map_err(|e| Failure::new(Code::Fault, format!("{switches} switches: {e}")))
    };
    let (paper, balanced) = (plan(Choice::Paper)?, plan(Choice::Balanced)?);
    let network = SimulatedNetwork::new(&paper);
    let of = |plan| {
        let routes = SimulatedPaths::new(plan, &network, BTreeSet::new()).detached();
        routes.ok_or_else(|| {
            Failure::new(Code::Fault, format!("{switches} switches: too many pairs"))
        })
    };
    let routes = [itb::ud_routes(&paper, &network), of(&paper)?, of(&balanced)?];
    Ok(Fabric { network, routes, plan: paper })
}

impl Row {
    /// A line of the table.
    fn text(&self) -> String {
        let factors = |of: &[f64], to: &[f64]| -> Vec<f64> {
            of.iter().zip(to).map(|(of, to)| of / to).collect()
        };
        let [least, greatest, mean] = summary(&factors(&self.itb, &self.ud));
        let published = |of: Option<[f64; 3]>| of.map(|[.., mean]| format!("{mean:.2}"));
        let [.., bound] = summary(&factors(&self.bounds[1], &self.bounds[0]));
        let [.., balanced] = summary(&factors(&self.balanced, &self.ud));
        let [.., ud] = summary(&self.ud);
        let [.., latency] = summary(&self.latency);
        let [fewest, most, in_transit] = summary(&self.in_transit);
        format!(
            "| {} | {} | {} | {least:.2}, {greatest:.2}, {mean:.2} | {} | {bound:.2} | {balanced:.2} | {ud:.4} | \
             {latency:.2} | {} | {fewest:.3}, {most:.3}, {in_transit:.3} | {} |",
            self.switches,
            self.traffic,
            self.bytes,
            published(self.published_factor).unwrap_or_default(),
            published(self.published_latency).unwrap_or_default(),
            self.spilled
        )
    }
}

/// The least, the greatest and the average value.
fn summary(of: &[f64]) -> [f64; 3] {
    let least = of.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [least, greatest, of.iter().sum::<f64>() / of.len() as f64]
}

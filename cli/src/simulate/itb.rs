//! `--paper itb`: section 4 of in-transit-buffers, tables 1 to 9.

use std::collections::BTreeSet;
use std::io::Write;

use rayon::prelude::*;
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_fabric::cluster::Choice;
use tresse_fabric::plan::Plan;
use tresse_sim::Run;
use tresse_sim::model::Model;
use tresse_sim::network::Network;
use tresse_sim::papers::itb::{self, HOSTS, OCTETS, ROOT, SIZES, Sent};
use tresse_sim::route::Routes;
use tresse_sim::sweep::{self, Point};
use tresse_sim::traffic::{Arrivals, Traffic};

use super::Simulate;
use crate::fail::{Code, Failure};
use crate::output;

/// Of a routing's bound, the loads that are tried for the most that is accepted.
const LOADS: [f64; 9] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.6];
/// Of the bound of up*/down* routes, the load that is called low.
const LOW: f64 = 0.1;
/// At low load few messages are sent: so many times the cycles.
const LONGER: u64 = 8;

/// One message size of one pattern on all networks of a size, by network.
#[derive(Debug, Serialize)]
struct Row {
    format: u32,
    switches: u32,
    traffic: &'static str,
    octets: u32,
    /// The most that up*/down* routes accepted, in flits per ns and switch.
    ud: Vec<f64>,
    /// In-transit buffers as in the paper.
    itb: Vec<f64>,
    /// Tresse's balanced choice.
    balanced: Vec<f64>,
    /// The channel loads' bounds of the same three.
    bounds: [Vec<f64>; 3],
    /// Per cent by which `itb` is slower than `ud` at low load.
    latency: Vec<f64>,
    /// Nodes in transit per message at low load.
    in_transit: Vec<f64>,
    /// Frames that found no memory in transit, in all runs of `itb`.
    spilled: u64,
    /// Least, greatest, average.
    published_factor: Option<[f64; 3]>,
    published_latency: Option<[f64; 3]>,
}

/// A network, and three ways through it.
struct Fabric {
    network: Network,
    routes: [Routes<'static>; 3],
    plan: Plan,
}

/// What one way gave.
struct Found {
    peak: f64,
    bound: f64,
    low: Point,
    spilled: u64,
}

impl Simulate {
    /// All tables.
    pub(super) fn itb_paper(&self, json: bool) -> Result<Code, Failure> {
        let mut out = output::stdout();
        if !json {
            self.say_itb_choices(&mut out)?;
        }
        for switches in SIZES {
            let fabrics: Vec<Fabric> =
                (1..=self.networks).map(|seed| fabric(switches, seed)).collect::<Result<_, _>>()?;
            for sent in Sent::ALL {
                if sent.factors(switches).is_none() {
                    continue;
                }
                for (at, octets) in OCTETS.into_iter().enumerate() {
                    let mut row = self.row(&fabrics, switches, sent, octets)?;
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
        octets: u32,
    ) -> Result<Row, Failure> {
        let of = |fabric: &Fabric| self.found(fabric, sent, octets);
        let found: Result<Vec<[Found; 3]>, _> = fabrics.par_iter().map(of).collect();
        let found = found?;
        let peaks = |way: usize| found.iter().map(|of| of[way].peak).collect();
        let bounds = |way: usize| found.iter().map(|of| of[way].bound).collect();
        let mean = |found: &Found| found.low.outcome.latencies.mean().unwrap_or(0.0);
        let in_transit = |[taken, messages]: [u64; 2]| taken as f64 / messages.max(1) as f64;
        Ok(Row {
            format: FORMAT,
            switches,
            traffic: sent.words(),
            octets,
            ud: peaks(0),
            itb: peaks(1),
            balanced: peaks(2),
            bounds: [0, 1, 2].map(bounds),
            latency: found.iter().map(|of| (mean(&of[1]) / mean(&of[0]) - 1.0) * 100.0).collect(),
            in_transit: found.iter().map(|of| in_transit(of[1].low.outcome.in_transit)).collect(),
            spilled: found.iter().map(|of| of[1].spilled).sum(),
            published_factor: None,
            published_latency: None,
        })
    }

    fn found(&self, fabric: &Fabric, sent: Sent, octets: u32) -> Result<[Found; 3], Failure> {
        let (model, network) = (&Model::wormhole(), &fabric.network);
        let pattern = sent.pattern(&fabric.plan);
        let traffic = &Traffic { pattern, arrivals: Arrivals::Even, octets };
        let [ud, ..] = &fabric.routes;
        let low = LOW * sweep::bound(network, ud, traffic);
        // Accepted flits per cycle and node.
        let unit = f64::from(HOSTS) / model.cycle_ns;
        let of = |routes: &Routes<'_>| -> Result<Found, Failure> {
            let bound = sweep::bound(network, routes, traffic);
            let most = sweep::most(network);
            let run = |load: f64, times: u64| {
                let (cycles, warm_up) = (self.cycles() * times, self.warm_up());
                let run = Run {
                    model,
                    network,
                    routes,
                    traffic,
                    load: load.min(most),
                    cycles,
                    warm_up,
                    seed: self.seed,
                };
                Point::run(&run).map_err(|e| Failure::new(Code::Fault, e.to_string()))
            };
            let points: Vec<Point> =
                LOADS.par_iter().map(|part| run(part * bound, 1)).collect::<Result<_, _>>()?;
            let peak = points.iter().map(|point| point.accepted).fold(0.0, f64::max);
            let spilled = points.iter().map(|point| point.outcome.spilled).sum();
            let low = run(low, LONGER)?;
            Ok(Found { peak: peak * unit, bound: bound.min(most) * unit, low, spilled })
        };
        let [ud, itb, balanced] = &fabric.routes;
        Ok([of(ud)?, of(itb)?, of(balanced)?])
    }

    fn say_itb_choices(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "{} networks of each size; root {ROOT:?} of up*/down*, by which `local` counts distance too; {} cycles of which {} are not \
             measured, at {LOADS:?} of the bound; low load: {LOW} of the bound of UD; seed {}. \
             UD: up*/down* as Myricom's program chooses them; ITB: in-transit as in the paper; balanced: `transit`.\n",
            self.networks,
            self.cycles(),
            self.warm_up(),
            self.seed
        )?;
        writeln!(
            out,
            "| switches | traffic | octets | ITB/UD min, max, avg | published | bounds | balanced/UD | UD, flits/ns/switch \
             | latency %, avg | published | in transit | spilled |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")
    }
}

fn fabric(switches: u32, seed: u32) -> Result<Fabric, Failure> {
    let plan = |choice| {
        Plan::build(itb::cluster(switches, seed, choice))
            .map_err(|e| Failure::new(Code::Fault, format!("{switches} switches: {e}")))
    };
    let (paper, balanced) = (plan(Choice::Paper)?, plan(Choice::Balanced)?);
    let network = Network::new(&paper);
    let of = |plan| {
        let routes = Routes::new(plan, &network, BTreeSet::new()).detached();
        routes.ok_or_else(|| {
            Failure::new(Code::Fault, format!("{switches} switches: too many pairs"))
        })
    };
    let routes = [itb::ud_routes(&paper, &network, seed.into()), of(&paper)?, of(&balanced)?];
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
        let [.., in_transit] = summary(&self.in_transit);
        format!(
            "| {} | {} | {} | {least:.2}, {greatest:.2}, {mean:.2} | {} | {bound:.2} | {balanced:.2} | {ud:.4} | \
             {latency:.2} | {} | {in_transit:.3} | {} |",
            self.switches,
            self.traffic,
            self.octets,
            published(self.published_factor).unwrap_or_default(),
            published(self.published_latency).unwrap_or_default(),
            self.spilled
        )
    }
}

/// Least, greatest, average.
fn summary(of: &[f64]) -> [f64; 3] {
    let least = of.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [least, greatest, of.iter().sum::<f64>() / of.len() as f64]
}

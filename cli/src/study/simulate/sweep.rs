//! Runs the simulations of one plan at all loads: those of `--loads`, or from low load to
//! saturation.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use tresse_plan::Plan;
use tresse_sim::Run;
use tresse_sim::model::SimulationModel;
use tresse_sim::network::SimulatedNetwork;
use tresse_sim::route::SimulatedPaths;
use tresse_sim::sweep::{self, Point, Sweep};
use tresse_sim::traffic::OfferedTraffic;
use tresse_slice::watch::part::FabricPart;

use super::answer::{Curve, strategy};
use super::arguments::Simulate;
use crate::fail::{Code, Failure};

/// Default number of cycles of one simulation. A cycle is the time of one flit on a node's link. If
/// 700 messages take longer than this on a node's link, the default is their time.
pub const CYCLES: u64 = 100_000;

impl Simulate {
    pub fn curve(&self, plan: &Plan) -> Result<Curve, Failure> {
        let network = SimulatedNetwork::new(plan);
        let model = self.model_of(&network)?;
        let found = self.sweep(plan, &network, &model)?;
        Ok(Curve::new(plan, &network, &model, &found, self.links.is_some()))
    }

    /// Runs all loads of one plan: those of `--loads`, or from low load to saturation.
    pub fn sweep(
        &self,
        plan: &Plan,
        network: &SimulatedNetwork,
        model: &SimulationModel,
    ) -> Result<Sweep, Failure> {
        let wrong = |words: String| Failure::new(Code::Usage, words);
        if let Some(load) = self.loads.iter().find(|load| !(**load > 0.0 && **load <= 1000.0)) {
            return Err(wrong(format!("--loads: {load}: expected more than 0, at most 1000")));
        }
        let routes = &SimulatedPaths::new(plan, network, self.failed(plan, network)?);
        let traffic = &self.traffic_of(plan, network, model)?;
        if traffic.is_traced() && !self.loads.is_empty() {
            return Err(wrong("--loads: a trace says when messages are sent".into()));
        }
        let bound = sweep::bound(network, routes, traffic);
        if !traffic.is_traced() && bound.is_infinite() {
            return Err(wrong(format!(
                "--traffic: with `{}` no node sends anything",
                self.traffic
            )));
        }
        let mut found = Sweep::new(bound, sweep::most(network));
        let bar = bar(plan);
        let given = match traffic.is_traced() {
            true => Some(vec![1.0]),
            false => (!self.loads.is_empty()).then(|| self.loads.clone()),
        };
        let cycles = self.cycles(model, traffic);
        let warm_up = self.warm_up.unwrap_or(if traffic.is_traced() { 0 } else { cycles / 10 });
        let one = |load: f64, seed: u64| {
            bar.set_message(format!("load {load:.4}"));
            bar.tick();
            Point::run(&Run { model, network, routes, traffic, load, cycles, warm_up, seed })
        };
        let mut loads = given.clone().unwrap_or_else(|| found.loads());
        while !loads.is_empty() {
            let all = |load: &f64| {
                let seeds = (0..self.seeds).into_par_iter();
                let points = seeds.map(|i| one(*load, self.seed.wrapping_add(i)));
                let merged = points.try_reduce_with(|mut all, point| {
                    all.add(&point, network);
                    Ok(all)
                });
                merged.expect("there is a seed")
            };
            let points: Result<Vec<Point>, _> = loads.par_iter().map(all).collect();
            found.add(points.map_err(|e| wrong(e.to_string()))?);
            loads = if given.is_some() { Vec::new() } else { found.loads() };
        }
        bar.finish_and_clear();
        Ok(found)
    }

    fn cycles(&self, model: &SimulationModel, traffic: &OfferedTraffic) -> u64 {
        let messages = 700 * model.frames(self.message).map(u64::from).sum::<u64>();
        let default =
            traffic.last().map_or(messages.max(CYCLES), |last| last.saturating_add(CYCLES));
        self.cycles.unwrap_or(default)
    }

    fn failed(&self, plan: &Plan, network: &SimulatedNetwork) -> Result<BTreeSet<u32>, Failure> {
        let mut failed = BTreeSet::new();
        for object in &self.fail {
            let part = FabricPart::named(plan.cluster(), object)
                .map_err(|e| Failure::new(Code::Usage, format!("--fail: {e}")))?;
            failed.extend(part.wires().iter().map(|wire| network.channel(*wire)));
        }
        Ok(failed)
    }
}

fn bar(plan: &Plan) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {elapsed} {prefix} {msg}");
    let style = style.unwrap_or(ProgressStyle::default_spinner());
    let prefix = strategy(plan);
    ProgressBar::new_spinner().with_style(style).with_prefix(prefix)
}

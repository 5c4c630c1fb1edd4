//! `tresse simulate`: latency against accepted traffic, from low load to saturation, flit by flit.

mod answer;
mod arguments;
mod itb;
mod plot;
mod vlan;

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use toml_edit::DocumentMut;
use tresse_fabric::cluster;
use tresse_fabric::plan::Plan;
use tresse_fabric::watch::part::Part;
use tresse_sim::Run;
use tresse_sim::model::Model;
use tresse_sim::network::Network;
use tresse_sim::route::Routes;
use tresse_sim::sweep::{self, Point, Sweep};
use tresse_sim::traffic::Traffic;

use self::answer::Curve;
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output;
use crate::plot::PictureFile;

/// Cycles of a run, unless messages are long.
const CYCLES: u64 = 100_000;

/// Arguments of `tresse simulate`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// The cluster file.
    #[arg(required_unless_present = "paper")]
    file: Option<PathBuf>,
    /// The lock; default: `tresse.lock` beside the cluster file, where there is one.
    #[arg(long)]
    lock: Option<PathBuf>,
    /// Run a paper's whole evaluation in place of a file's plan.
    #[arg(long, value_enum, conflicts_with_all = ["file", "lock", "strategies", "model", "traffic", "message", "loads",
        "fail", "csv", "plot", "links", "seeds"])]
    paper: Option<Paper>,
    /// Plan by these strategies, one after the other, in place of the file's: stp,pdor,dor.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    strategies: Vec<String>,
    /// Switched Ethernet with cut-through, or wormholes with stop and go as in Myrinet.
    #[arg(long, value_enum, default_value_t = Switching::Ethernet)]
    model: Switching,
    /// What nodes send: uniform, bit-reversal, local:SWITCHES, hot-spot:PERCENT or hot-spot:PERCENT:NODE,
    /// permutation:FILE (lines `FROM TO`), all-to-all, ring or trace:FILE (lines `NANOSECONDS FROM TO OCTETS`).
    #[arg(long, value_name = "PATTERN", default_value = "uniform")]
    traffic: String,
    /// Octets of a message.
    #[arg(long, value_name = "OCTETS", default_value_t = 512,
        value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    message: u32,
    /// Messages come at even distances (the default) or at random ones.
    #[arg(long, value_enum)]
    arrivals: Option<Arrivals>,
    /// What channel buffers hold: unlimited, lossless:FLITS (they stop the sender) or drop:FLITS. The default is
    /// the model's, for `--paper vlan` drop:134, a frame.
    #[arg(long, value_name = "KIND")]
    buffers: Option<String>,
    /// Where frames wait in a switch: the default is at its inputs.
    #[arg(long, value_enum)]
    queues: Option<Queues>,
    /// These loads alone, in parts of a node link's rate: 0.1,0.5.
    #[arg(long, value_name = "LOADS", value_delimiter = ',')]
    loads: Vec<f64>,
    /// Cycles of a run; default: 100,000, or as many as 700 messages take on a node's link, for a trace 100,000 after
    /// its last message, for `--paper itb` 500,000.
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=1 << 40))]
    cycles: Option<u64>,
    /// Of those the first, which are not measured; default: a tenth, of a trace none.
    #[arg(long, value_name = "CYCLES")]
    warm_up: Option<u64>,
    /// For `--paper itb`: random networks of each size.
    #[arg(long, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    networks: Option<u32>,
    /// For `--paper itb`: networks of so many switches alone, of 8, 16, 32 and 64.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(["8", "16", "32", "64"])
            .map(|text| text.parse::<u32>().unwrap_or_default()))]
    switches: Vec<u32>,
    /// Of all that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run each load with so many seeds, `--seed` and those that follow it, and give what they measured together.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// What has failed: a switch, a node, `s0-s1`, `s0:3` or `n2:eth0`; may be repeated. Pairs take the first of
    /// their paths that is whole.
    #[arg(long, value_name = "OBJECT")]
    fail: Vec<String>,
    /// Print a table for other programs, separated by commas.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Write to this file what part of the time each link was used, and the most flits in the buffer behind it, as a
    /// table separated by commas.
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    /// Draw latency against accepted traffic into this file, .svg or .png.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// vlan-minimal-paths: mesh and torus by stp, pdor and dor.
    Vlan,
    /// in-transit-buffers: up*/down* and minimal paths through nodes in transit on random networks.
    Itb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switching {
    Ethernet,
    Wormhole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Arrivals {
    Even,
    Poisson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Queues {
    Input,
    Output,
}

impl Simulate {
    /// Simulates and prints; exits with 1 where something deadlocked.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        self.refuse_what_has_no_effect()?;
        match self.paper {
            Some(Paper::Vlan) => return self.vlan_paper(json),
            Some(Paper::Itb) => return self.itb_paper(json),
            None => {}
        }
        let file = self.plot.as_deref().map(PictureFile::new).transpose()?;
        let mut curves = Vec::new();
        for plan in self.plans()? {
            curves.push(self.curve(&plan)?);
        }
        let mut out = output::stdout();
        for curve in &curves {
            match (json, self.csv) {
                (true, _) => curve.json(&mut out)?,
                (_, true) => curve.csv(&mut out, std::ptr::eq(curve, &curves[0]))?,
                _ => curve.text(&mut out)?,
            }
        }
        out.flush()?;
        if let Some(file) = file {
            file.write(&plot::picture(&curves)?)?;
        }
        if let Some(path) = &self.links {
            let head = "strategy,offered,link,used,buffer_peak\n".to_owned();
            input::replace(path, curves.iter().fold(head, |text, curve| text + curve.links()))?;
        }
        let stuck = curves.iter().any(Curve::is_stuck);
        Ok(if stuck { Code::Fault } else { Code::Fine })
    }

    /// What clap cannot tell: options of one paper alone.
    fn refuse_what_has_no_effect(&self) -> Result<(), Failure> {
        let itb = self.paper == Some(Paper::Itb);
        type Given = (&'static str, bool);
        let refused = |(option, given): &Given| given.then_some(*option);
        let (option, why) = if itb {
            let said = [
                ("--buffers", self.buffers.is_some()),
                ("--queues", self.queues.is_some()),
                ("--arrivals", self.arrivals.is_some()),
            ];
            (said.iter().find_map(refused), "`--paper itb` says it itself")
        } else {
            let own = [
                ("--networks", self.networks.is_some()),
                ("--switches", !self.switches.is_empty()),
            ];
            (own.iter().find_map(refused), "it goes with `--paper itb` alone")
        };
        match option {
            Some(option) => Err(Failure::new(Code::Usage, format!("{option}: {why}"))),
            None => Ok(()),
        }
    }

    /// The file's plan, or one for each strategy.
    fn plans(&self) -> Result<Vec<Plan>, Failure> {
        let file = self.file.clone().unwrap_or_default();
        let files = ClusterArgs { file, lock: self.lock.clone() };
        if self.strategies.is_empty() {
            return Ok(vec![files.plan()?]);
        }
        // A problem of the file as it stands is told as all verbs do.
        input::read_cluster(&files.file)?;
        let text = input::cluster_text(&files.file)?;
        let lock = files.read_lock()?;
        let of = |name: &String| {
            let wrong = |words: String| {
                Failure::new(Code::Usage, format!("--strategies: `{name}`: {words}"))
            };
            let mut file: DocumentMut =
                text.parse().map_err(|e: toml_edit::TomlError| wrong(e.to_string()))?;
            file["routing"]["strategy"] = toml_edit::value(name.as_str());
            let cluster = cluster::parse(&file.to_string(), &files.file.display().to_string());
            let cluster = cluster.map_err(|problems| wrong(problems.to_string()))?;
            input::build(cluster, &lock, &files.file)
        };
        self.strategies.iter().map(of).collect()
    }

    fn curve(&self, plan: &Plan) -> Result<Curve, Failure> {
        let network = Network::new(plan);
        let model = self.model_of(&network)?;
        let found = self.sweep(plan, &network, &model)?;
        Ok(Curve::new(plan, &network, &model, &found, self.links.is_some()))
    }

    /// All loads of one plan.
    fn sweep(&self, plan: &Plan, network: &Network, model: &Model) -> Result<Sweep, Failure> {
        let wrong = |words: String| Failure::new(Code::Usage, words);
        if let Some(load) = self.loads.iter().find(|load| !(**load > 0.0 && **load <= 1000.0)) {
            return Err(wrong(format!("--loads: {load}: expected more than 0, at most 1000")));
        }
        let routes = &Routes::new(plan, network, self.failed(plan, network)?);
        let traffic = &self.traffic_of(plan, network, model)?;
        if traffic.is_traced() && !self.loads.is_empty() {
            return Err(wrong("--loads: a trace says itself when messages are sent".into()));
        }
        let bound = sweep::bound(network, routes, traffic);
        if !traffic.is_traced() && bound.is_infinite() {
            return Err(wrong(format!("--traffic: by `{}` nothing is sent", self.traffic)));
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

    fn cycles(&self, model: &Model, traffic: &Traffic) -> u64 {
        let messages = 700 * model.frames(self.message).map(u64::from).sum::<u64>();
        let default =
            traffic.last().map_or(messages.max(CYCLES), |last| last.saturating_add(CYCLES));
        self.cycles.unwrap_or(default)
    }

    fn failed(&self, plan: &Plan, network: &Network) -> Result<BTreeSet<u32>, Failure> {
        let mut failed = BTreeSet::new();
        for object in &self.fail {
            let part = Part::named(plan.cluster(), object)
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
    let prefix = arguments::strategy(plan);
    ProgressBar::new_spinner().with_style(style).with_prefix(prefix)
}

//! `tresse lab load`: sends traffic between the nodes of a lab, uniform or of a pattern, and measures which share of it
//! arrives.

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use tresse_base::hostlist;
use tresse_base::units::Rate;
use tresse_lab::load::{self, LoadError, LoadOptions, LoadReport, PairRate, Traffic, Trial};
use tresse_lab::signals::Signals;
use tresse_lab::state::{LabState, Shaping};
use tresse_topology::demand::Demand;

use super::found::{Found, fault};
use crate::duration::seconds;
use crate::fail::{Code, Failure};
use crate::input;
use crate::output;

/// Arguments of `tresse lab load`, which sends traffic in a lab and measures what arrives.
#[derive(Debug, Args)]
pub struct Load {
    /// Who sends to whom: uniform (every node to every other one), demand (as the cluster file's [[demand]] says),
    /// or pairs of nodes, such as n0:n1 or n[0-2]:n[3-5],n7:n6.
    #[arg(long, default_value = "uniform")]
    pattern: String,
    /// Flows of each pair. Default: 1, and 64 with a pattern.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1024))]
    flows: Option<u32>,
    /// Seconds of one trial.
    #[arg(long, short = 't', default_value_t = 4.0)]
    seconds: f64,
    /// The link rate that results are fractions of. Default: the rate that the lab's cables, or all of its nodes' cables, are
    /// shaped to.
    #[arg(long)]
    rate: Option<Rate>,
    /// IP packet size in bytes. Default: 1500, or what the routes of all pairs take.
    #[arg(long)]
    packet: Option<usize>,
    /// What to measure.
    #[arg(long, value_enum, default_value_t = Mode::Both)]
    mode: Mode,
    /// Number of steps of the search.
    #[arg(long, default_value_t = 6)]
    steps: u32,
    /// The share that may be lost while the traffic still counts as delivered.
    #[arg(long, default_value_t = 0.02)]
    loss: f64,
    /// The seed of the order in which packets are sent.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What `lab load` measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// The highest equal rate of all pairs that arrives.
    Fair,
    /// What arrives when every node sends all it can.
    Saturated,
    /// Both, one after the other.
    Both,
}

impl Load {
    pub fn run(&self, found: &Found, json: bool) -> Result<Code, Failure> {
        let (directory, record) = (&found.directory, &found.record);
        let words =
            "the cables of this lab are not shaped to one rate: name the links' rate with --rate";
        let rate_bps = self.rate.map(|rate| rate.0).or_else(|| link_rate(record));
        let rate_bps = rate_bps.ok_or_else(|| Failure::new(Code::Usage, words))?;
        let traffic = self.traffic(found)?;
        let packet_bytes = load::packet_bytes(directory, record, &traffic, self.packet);
        let packet_bytes = packet_bytes.map_err(|error| match error {
            LoadError::TooLarge { .. } => Failure::new(Code::Usage, error),
            error => fault(error),
        })?;
        let options = LoadOptions {
            rate_bps,
            duration: seconds(self.seconds)?,
            packet_bytes,
            seed: self.seed,
            loss_limit: self.loss,
            steps: self.steps,
        };
        let signals = Signals::hold().map_err(|e| Failure::new(Code::Fault, e))?;
        let terminal = io::stderr().is_terminal();
        let mut show = |trial: &Trial| {
            if terminal {
                let percent = 100.0 * trial.loss;
                let slow = if trial.starved { ", this machine is too slow" } else { "" };
                eprintln!("offered {:.3}, {percent:.1} % lost{slow}", trial.offered);
            }
        };
        let mut report = LoadReport {
            format: 1,
            nodes: record.blueprint.nodes.len(),
            rate_bps,
            packet_bytes,
            saturated: None,
            fair: None,
            trials: Vec::new(),
            pairs: Vec::new(),
        };
        if self.mode != Mode::Fair {
            let trial = load::saturated(directory, record, &options, &traffic, &signals);
            report.saturated = Some(trial.map_err(fault)?);
        }
        if self.mode != Mode::Saturated {
            (report.fair, report.trials) =
                load::fair(directory, record, &options, &traffic, &signals, &mut show)
                    .map_err(fault)?;
        }
        let uniform = self.pattern == UNIFORM;
        if let Some(trial) = report.saturated.as_ref().or(report.fair.as_ref()).filter(|_| !uniform)
        {
            let names = record.blueprint.nodes.iter().map(|node| node.name.clone());
            report.pairs = trial.rates(&options, &names.collect::<Vec<_>>());
        }
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &report)?;
        } else {
            text(&mut out, &report, uniform)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }

    /// Who sends to whom.
    fn traffic(&self, found: &Found) -> Result<Traffic, Failure> {
        let blueprint = &found.record.blueprint;
        if self.pattern == UNIFORM && self.flows.is_none() {
            return Ok(Traffic::uniform(blueprint.nodes.len()));
        }
        let links = |node: &str| {
            let ends = blueprint.cables.iter().flat_map(|cable| [&cable.a, &cable.b]);
            ends.filter(|end| end.place == node).count()
        };
        let links: Vec<usize> = blueprint.nodes.iter().map(|node| links(&node.name)).collect();
        let pairs = match self.pattern.as_str() {
            UNIFORM => {
                let all = 0..links.len();
                let to =
                    |src| all.clone().filter(move |dst| *dst != src).map(move |dst| (src, dst, 1));
                all.clone().flat_map(to).collect()
            }
            DEMAND => listed(found)?,
            pairs => named(found, pairs)?,
        };
        Ok(Traffic::of(&pairs, self.flows.unwrap_or(FLOWS), &links))
    }
}

/// The rate that all cables to nodes are shaped to, in bits per second.
fn link_rate(lab: &LabState) -> Option<u64> {
    match lab.shape {
        Shaping::None => None,
        Shaping::Rate(bps) => Some(bps),
        Shaping::File => {
            let is_node = |name: &str| lab.blueprint.nodes.iter().any(|node| node.name == name);
            let of_nodes = lab.blueprint.cables.iter().filter(|cable| is_node(&cable.a.place));
            let mut rates = of_nodes.map(|cable| cable.rate.0);
            let first = rates.next()?;
            rates.all(|rate| rate == first).then_some(first)
        }
    }
}

const UNIFORM: &str = "uniform";
const DEMAND: &str = "demand";
/// Flows of a pair of a pattern: enough to spread over a few paths.
const FLOWS: u32 = 64;

/// Ordered pairs of nodes, by their places in the plan, with their weights.
type Pairs = Vec<(usize, usize, u64)>;

/// What the lab's cluster file lists.
fn listed(found: &Found) -> Result<Pairs, Failure> {
    let cluster = input::read_cluster(&found.directory.path.join("cluster.toml"))?;
    if cluster.demand.is_empty() {
        let words = "the lab's cluster file has no [[demand]]: name pairs, such as --pattern n0:n1";
        return Err(Failure::new(Code::Usage, words));
    }
    let demand = Demand::of(&cluster);
    let nodes = (0..cluster.nodes.len()).map(tresse_base::id::NodeId::from);
    let pairs = nodes.flat_map(|src| {
        let to = demand.from(src).into_iter();
        to.map(move |(dst, weight)| (src.index(), dst.index(), weight))
    });
    Ok(pairs.collect())
}

/// Pairs by name: `n0:n1`, or as many names on the left as on the right.
fn named(found: &Found, text: &str) -> Result<Pairs, Failure> {
    let usage = |words: String| Failure::new(Code::Usage, format!("--pattern {text}: {words}"));
    let nodes = &found.record.blueprint.nodes;
    let node = |name: String| {
        let at = nodes.iter().position(|node| node.name == name);
        at.ok_or_else(|| usage(format!("the lab has no node `{name}`")))
    };
    let mut pairs = Pairs::new();
    for part in split(text) {
        let form =
            || usage("expected uniform, demand, or pairs such as n0:n1,n[2-3]:n[4-5]".into());
        let (from, to) = part.split_once(':').ok_or_else(form)?;
        let names = |list: &str| hostlist::expand(list).map_err(|error| usage(error.to_string()));
        let (from, to) = (names(from)?, names(to)?);
        if from.len() != to.len() {
            let (from, to) = (from.len(), to.len());
            return Err(usage(format!(
                "`{part}` has {from} nodes on the left and {to} on the right"
            )));
        }
        for (src, dst) in from.into_iter().zip(to) {
            pairs.push((node(src)?, node(dst)?, 1));
        }
    }
    Ok(pairs)
}

/// The pairs of a list: commas within brackets belong to a hostlist.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth <= 0
    })
}

fn text(out: &mut impl Write, report: &LoadReport, uniform: bool) -> io::Result<()> {
    let whose = if uniform { "per node" } else { "for the busiest sender" };
    let alike = if uniform { "all pairs alike" } else { "all of it" };
    if let Some(trial) = &report.fair {
        let (share, percent) = (trial.accepted, 100.0 * trial.loss);
        writeln!(out, "{alike}: {share:.3} of the link rate {whose}, {percent:.1} % lost")?;
    }
    if let Some(trial) = &report.saturated {
        let (share, offered) = (trial.accepted, trial.offered);
        writeln!(out, "saturated: {share:.3} of the link rate {whose} accepted of {offered:.3}")?;
    }
    let million = |bps: u64| bps as f64 / 1e6;
    for PairRate { src, dst, offered_bps, accepted_bps } in &report.pairs {
        let [got, of] = [*accepted_bps, *offered_bps].map(million);
        writeln!(out, "  {src} -> {dst}  {got:.1} Mbit/s of {of:.1}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_do_not_part_pairs() {
        let parts: Vec<&str> = split("n0:n1,n[2,4]:n[3,5],a:b").collect();
        assert_eq!(parts, ["n0:n1", "n[2,4]:n[3,5]", "a:b"]);
    }
}

//! `tresse copy`: a file of one node to all others, each of which sends it on while it still arrives.
//!
//! This process tells members (`tresse ring-member`, by a launcher) whom to send to, and whom instead where one is
//! gone. No octet of the file comes by here.

mod members;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_fabric::cluster;
use tresse_fabric::id::NodeId;
use tresse_fabric::plan::Plan;
use tresse_ring::order::Ring;

use self::members::{Members, Outcome};
use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;
use crate::input::{self, ClusterArgs};
use crate::output::{self, plain};

/// What a member is taken to add to the time: not measured yet (big-fat-switches, section 6, has 400 us).
const LATENCY: Duration = Duration::from_micros(150);

/// Arguments of `tresse copy`.
#[derive(Debug, Args)]
pub struct Copy {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// The node that has the file, and where: n00:/data/model.bin.
    #[arg(value_name = "NODE:PATH", required_unless_present = "ring")]
    source: Option<String>,
    /// Where it is put on all others; default: the same path. With `/` at its end: that directory. `{node}` in it is
    /// the node's name.
    #[arg(value_name = "TARGET")]
    target: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
    /// To these nodes alone, such as those that missed it: n03,n[05-07].
    #[arg(long, value_name = "NODES")]
    to: Option<String>,
    /// Keep permissions and the time of the last change.
    #[arg(long)]
    keep: bool,
    /// Print the ring and what a copy over it would take, and copy nothing.
    #[arg(long)]
    ring: bool,
}

/// Arguments of `tresse ring-member`: none, all is said on standard input.
#[derive(Debug, Args)]
pub struct RingMember {}

impl RingMember {
    /// Takes part in a copy until told to quit.
    #[expect(clippy::unused_self, reason = "every verb runs with its arguments")]
    pub fn run(&self) -> Result<Code, Failure> {
        tresse_ring::member::run(io::stdin().lock(), io::stdout())?;
        Ok(Code::Fine)
    }
}

/// `--ring`.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    format: u32,
    nodes: Vec<&'a str>,
    /// Of the slowest link that a stage crosses, in bits per second.
    rate: u64,
    /// Links between switches that stages cross.
    crossings: u32,
    /// Stages on directed links that others use too.
    shared: u32,
    /// X / L of a gigabyte, and N d.
    seconds_per_gigabyte: f64,
    latency: f64,
}

/// What became of one node.
#[derive(Debug, Serialize)]
struct Line<'a> {
    format: u32,
    node: &'a str,
    octets: u64,
    /// BLAKE3 of what it has, which is that of the source.
    hash: Option<&'a str>,
    error: Option<&'a str>,
}

impl Copy {
    /// Copies; exits with 1 where a node has not got the file.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let mut nodes = self.nodes(&plan)?;
        let (from, path) = match &self.source {
            Some(text) => source(&plan, text)?,
            None => (nodes.first().copied().unwrap_or(NodeId(0)), PathBuf::new()),
        };
        if self.to.is_some() && self.source.is_some() && !nodes.contains(&from) {
            nodes.push(from);
        }
        let at = nodes.iter().position(|node| *node == from);
        let at = at.ok_or_else(|| Failure::new(Code::Usage, "--except: the source is left out"))?;
        nodes.rotate_left(at);
        let ring = Ring::of(&plan, &nodes);
        if self.ring {
            return show(&plan, &ring, json);
        }
        let target = match &self.target {
            Some(target) if target.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                target.join(path.file_name().unwrap_or_default())
            }
            Some(target) => target.clone(),
            None => path.clone(),
        };
        let start = Instant::now();
        let mut members = Members::start(&plan, &ring, &self.fleet, &path, &target, self.keep)?;
        let outcomes = members.finish(json);
        report(&plan, &ring, &outcomes, start.elapsed(), json)
    }
}

impl Copy {
    /// All that take part, but for the source where `--to` does not name it.
    fn nodes(&self, plan: &Plan) -> Result<Vec<NodeId>, Failure> {
        let mut names = self.fleet.nodes(plan.cluster())?;
        if let Some(text) = &self.to {
            let wrong = |words: String| Failure::new(Code::Usage, format!("--to: {words}"));
            let to = cluster::expand(text).map_err(|e| wrong(e.to_string()))?;
            if let Some(unknown) = to.iter().find(|name| !names.contains(name)) {
                return Err(wrong(format!("there is no node `{unknown}`, or it is left out")));
            }
            names.retain(|name| to.contains(name));
        }
        names.iter().map(|name| input::node_named(plan, name)).collect()
    }
}

/// `NODE:PATH`.
fn source(plan: &Plan, text: &str) -> Result<(NodeId, PathBuf), Failure> {
    let wrong = || {
        Failure::new(
            Code::Usage,
            format!("`{text}`: expected a node and an absolute path, such as n00:/data/file"),
        )
    };
    let (node, path) = text.split_once(':').ok_or_else(wrong)?;
    let path = PathBuf::from(path);
    if !path.is_absolute() || path.file_name().is_none() {
        return Err(wrong());
    }
    Ok((input::node_named(plan, node)?, path))
}

fn show(plan: &Plan, ring: &Ring, json: bool) -> Result<Code, Failure> {
    let name = |node: &NodeId| plan.cluster().node(*node).name.as_str();
    let cost = ring.cost();
    let shown = Shown {
        format: FORMAT,
        nodes: ring.nodes().iter().map(name).collect(),
        rate: ring.slowest().0,
        crossings: cost.crossings,
        shared: cost.excess,
        seconds_per_gigabyte: ring.time(1_000_000_000, Duration::ZERO).as_secs_f64(),
        latency: ring.time(0, LATENCY).as_secs_f64(),
    };
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &shown)?;
    } else {
        writeln!(out, "{}", shown.nodes.join(" "))?;
        writeln!(
            out,
            "# slowest link {}, {} links between switches crossed, {} stages share a link; a gigabyte takes {:.1} s, \
             and {:.1} ms for all nodes on the way",
            ring.slowest(),
            shown.crossings,
            shown.shared,
            shown.seconds_per_gigabyte,
            shown.latency * 1e3
        )?;
    }
    out.flush()?;
    Ok(Code::Fine)
}

fn report(
    plan: &Plan,
    ring: &Ring,
    outcomes: &[Outcome],
    took: Duration,
    json: bool,
) -> Result<Code, Failure> {
    let mut out = output::stdout();
    let mut missed = Vec::new();
    let mut octets = 0;
    for (node, outcome) in ring.nodes().iter().zip(outcomes) {
        let node = plan.cluster().node(*node).name.as_str();
        let (done, error) = match outcome {
            Outcome::Done { octets, hash } => (Some((*octets, hash.as_str())), None),
            Outcome::Failed { words } => (None, Some(words.as_str())),
        };
        octets = octets.max(done.map_or(0, |(octets, _)| octets));
        if let Some(words) = error {
            missed.push(node);
            if !json {
                eprintln!("tresse: {node}: {}", plain(words));
            }
        }
        if json {
            let (octets, hash) = (done.map_or(0, |(octets, _)| octets), done.map(|(_, hash)| hash));
            output::json_line(&mut out, &Line { format: FORMAT, node, octets, hash, error })?;
        }
    }
    if !json {
        let seconds = took.as_secs_f64();
        writeln!(
            out,
            "{} of {} nodes have it: {octets} octets in {seconds:.2} s, {:.1} Mbit/s to each",
            outcomes.len() - missed.len(),
            outcomes.len(),
            octets as f64 * 8e-6 / seconds
        )?;
        if !missed.is_empty() {
            writeln!(out, "missed by {0}: `--to {0}` copies it to them", missed.join(","))?;
        }
    }
    out.flush()?;
    Ok(if missed.is_empty() { Code::Fine } else { Code::Fault })
}

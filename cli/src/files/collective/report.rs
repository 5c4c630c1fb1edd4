//! What is said of a run: progress while it goes on, and what became of each node.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_fabric::cluster;
use tresse_ring::talk::Part;

use super::members::Outcome;
use super::{Job, Moved, Party};
use crate::fail::{Code, Failure};
use crate::output::{self, plain};

/// How often a node's progress is told as JSON, at most.
const OFTEN: Duration = Duration::from_secs(1);

/// A node on its way.
#[derive(Debug, Serialize)]
struct Running<'a> {
    format: u32,
    node: &'a str,
    state: &'static str,
    octets: u64,
    of: u64,
    /// Octets per second, and seconds left at that; none at first.
    rate: Option<f64>,
    left: Option<f64>,
}

/// What became of a node.
#[derive(Debug, Serialize)]
struct Ended<'a> {
    format: u32,
    node: &'a str,
    /// `done` or `failed`.
    state: &'static str,
    octets: u64,
    /// BLAKE3 of what it has, which is that of the source; where it has several: none.
    hash: Option<&'a str>,
    /// What it has, by the node that it is of.
    parts: Vec<PartOf<'a>>,
    error: Option<&'a str>,
    /// Octets that it keeps of what it missed, to go on with.
    kept: u64,
}

#[derive(Debug, Serialize)]
struct PartOf<'a> {
    from: &'a str,
    octets: u64,
    hash: &'a str,
}

/// All of it.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    format: u32,
    nodes: usize,
    missed: Vec<&'a str>,
    octets: u64,
    /// With the launch, and from the first octet on.
    seconds: f64,
    transfer_seconds: f64,
}

/// On a terminal a bar for each node, as JSON lines, or nothing.
pub struct Progress {
    names: Vec<String>,
    bars: Vec<ProgressBar>,
    json: bool,
    said: Vec<Option<Instant>>,
    all: MultiProgress,
}

impl Progress {
    pub fn new(names: &[String], json: bool) -> Self {
        let all = MultiProgress::new();
        let drawn = !json && std::io::stderr().is_terminal();
        if !drawn {
            all.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{prefix:>10} {bar:30} {percent:>3} % {binary_bytes_per_sec:>14} {eta:>4}";
        let style = ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar());
        let bar = |name: &String| {
            let bar = ProgressBar::new(0).with_style(style.clone()).with_prefix(name.clone());
            all.add(bar)
        };
        let bars = names.iter().filter(|_| drawn).map(bar).collect();
        Self { names: names.to_vec(), bars, json, said: vec![None; names.len()], all }
    }

    pub fn has(&mut self, member: usize, octets: u64, of: u64, rate: Option<f64>) {
        if let Some(bar) = self.bars.get(member) {
            bar.set_length(of);
            bar.set_position(octets);
        }
        let early = self.said[member].is_some_and(|said| said.elapsed() < OFTEN);
        if !self.json || early {
            return;
        }
        self.said[member] = Some(Instant::now());
        let left = rate.filter(|rate| *rate > 0.0).map(|rate| (of - octets.min(of)) as f64 / rate);
        let node = self.names[member].as_str();
        let line = Running { format: FORMAT, node, state: "running", octets, of, rate, left };
        // Whoever does not read that any more is told at the end.
        let mut out = output::stdout();
        let _ = output::json_line(&mut out, &line).and_then(|()| out.flush());
    }

    pub fn done(&self, member: usize) {
        self.bars.get(member).inspect(|bar| bar.finish_and_clear());
    }

    pub fn say(&self, words: &str) {
        self.all.suspend(|| eprintln!("tresse: {words}"));
    }

    pub fn end(&self) {
        self.bars.iter().for_each(ProgressBar::finish_and_clear);
    }
}

/// Says what became of all nodes.
pub fn report(
    party: &Party,
    job: &Job,
    outcomes: &[Outcome],
    (took, transfer): &(Duration, Duration),
    json: bool,
) -> Result<Code, Failure> {
    let mut out = output::stdout();
    let (mut octets, mut kept) = (0, 0);
    for (member, outcome) in outcomes.iter().enumerate() {
        let node = party.name(member);
        let own: u64 = outcome.has.iter().map(|(_, octets, _)| octets).sum();
        octets = octets.max(own);
        let left = outcome.left.map_or(0, |(octets, _)| octets);
        kept += left;
        if let (Some(words), false) = (&outcome.error, json) {
            eprintln!("tresse: {node}: {}", plain(words));
        }
        if json {
            let part = |(part, octets, hash): &'_ (u32, u64, String)| {
                (party.name(job.parts[*part as usize].from), *octets, hash.clone())
            };
            let parts: Vec<_> = outcome.has.iter().map(part).collect();
            let parts =
                parts.iter().map(|(from, octets, hash)| PartOf { from, octets: *octets, hash });
            let error = outcome.error.as_deref();
            let line = Ended {
                format: FORMAT,
                node,
                state: if error.is_some() { "failed" } else { "done" },
                octets: if error.is_some() { 0 } else { own },
                hash: match (&outcome.has[..], error) {
                    ([(_, _, hash)], None) => Some(hash),
                    _ => None,
                },
                parts: parts.collect(),
                error,
                kept: left,
            };
            output::json_line(&mut out, &line)?;
        }
    }
    let missed = missed(job, outcomes);
    let missed: Vec<&str> = missed.into_iter().map(|member| party.name(member)).collect();
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    let (seconds, transfer_seconds) = (took.as_secs_f64(), transfer.as_secs_f64());
    if json {
        let (format, nodes) = (FORMAT, outcomes.len());
        let summary =
            Summary { format, nodes, missed: missed.clone(), octets, seconds, transfer_seconds };
        output::json_line(&mut out, &summary)?;
    } else {
        let (nodes, have) = (outcomes.len(), outcomes.len() - missed.len());
        let gets = |part: &Moved, member: usize| matches!(part.places[member], Part::Target { .. });
        match job.hub.filter(|hub| job.parts.iter().any(|part| gets(part, *hub))) {
            Some(hub) => write!(out, "{} has what {have} of {nodes} nodes have", party.name(hub))?,
            None if job.parts.len() > 1 => write!(out, "{have} of {nodes} nodes have all")?,
            None => write!(out, "{have} of {nodes} nodes have it")?,
        }
        write!(out, ": {octets} octets in {seconds:.2} s")?;
        let mut all = outcomes.iter().enumerate();
        let got = |part: u32, member| gets(&job.parts[part as usize], member);
        if all.any(|(member, outcome)| outcome.has.iter().any(|(part, _, _)| got(*part, member))) {
            let rate = octets as f64 * 8e-6 / transfer_seconds.max(1e-6);
            writeln!(out, ", {rate:.1} Mbit/s from the first to the last")?;
        } else {
            writeln!(out)?;
        }
        if !missed.is_empty() {
            let names = cluster::collapse(&missed).join(",");
            writeln!(out, "missed by {names}: the same with `--to {names}` gives it to them")?;
            if kept > 0 {
                writeln!(out, "they keep about {kept} octets of it and go on from there")?;
            }
        }
    }
    out.flush()?;
    Ok(if missed.is_empty() && !failed { Code::Fine } else { Code::Fault })
}

/// Those to whom the same is to be done again, in the order of the cluster file: they lack something, or, where all
/// goes to one node, that one lacks theirs.
fn missed(job: &Job, outcomes: &[Outcome]) -> Vec<usize> {
    let mut missed = BTreeSet::new();
    for (member, outcome) in outcomes.iter().enumerate() {
        let lacks = |(part, moved): &(usize, &Moved)| {
            let has = outcome.has.iter().any(|(it, _, _)| *it as usize == *part);
            matches!(moved.places[member], Part::Target { .. }) && !has
        };
        let mut lacks = job.parts.iter().enumerate().filter(lacks).peekable();
        let sends = job.parts.iter().any(|part| part.from == member);
        if outcome.error.is_some() && lacks.peek().is_none() && !sends {
            missed.insert((job.nodes[member], member));
        }
        for (_, moved) in lacks {
            let who = if job.hub == Some(member) { moved.from } else { member };
            missed.insert((job.nodes[who], who));
        }
    }
    missed.into_iter().map(|(_, member)| member).collect()
}

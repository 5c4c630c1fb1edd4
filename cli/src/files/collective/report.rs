//! Prints the report at the end of a run of moving files: which files each node has, why it lacks
//! others, and the time taken.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use tresse_control::FORMAT;
use tresse_ring::talk::PartRole;

use super::job::{Job, Moved};
use super::outcome::Outcome;
use super::party::Party;
use crate::fail::{Code, Failure};
use crate::output::{self, plain};

/// A JSON line: the result of a node.
#[derive(Debug, Serialize)]
struct Ended<'a> {
    format: u32,
    node: &'a str,
    /// `done` or `failed`.
    state: &'static str,
    #[serde(rename = "octets")]
    bytes: u64,
    /// BLAKE3 of the part that it has, which equals that of the source; `None` if it has several.
    hash: Option<&'a str>,
    /// The parts that it has, each with the node that it comes from.
    parts: Vec<PartOf<'a>>,
    error: Option<&'a str>,
    /// Bytes that it keeps of what it missed; another run goes on from there.
    kept: u64,
}

#[derive(Debug, Serialize)]
struct PartOf<'a> {
    from: &'a str,
    #[serde(rename = "octets")]
    bytes: u64,
    hash: &'a str,
}

/// The last JSON line: the whole run.
#[derive(Debug, Serialize)]
struct Summary<'a> {
    format: u32,
    nodes: usize,
    missed: Vec<&'a str>,
    #[serde(rename = "octets")]
    bytes: u64,
    /// The time of the whole run with its launch.
    seconds: f64,
    /// The time from the first byte to the last.
    transfer_seconds: f64,
}

/// Prints the result of each node and of the whole run of moving files. Returns [`Code::Fault`] if
/// a node lacks a file that it was to get, or has failed.
pub fn report(
    party: &Party,
    job: &Job,
    outcomes: &[Outcome],
    (took, transfer): &(Duration, Duration),
    json: bool,
) -> Result<Code, Failure> {
    let mut out = output::stdout();
    let (mut bytes, mut kept) = (0, 0);
    for (member, outcome) in outcomes.iter().enumerate() {
        let node = party.name(member);
        let own: u64 = outcome.has.iter().map(|(_, bytes, _)| bytes).sum();
        bytes = bytes.max(own);
        let left = outcome.left.map_or(0, |(bytes, _)| bytes);
        kept += left;
        if let (Some(words), false) = (&outcome.error, json) {
            eprintln!("tresse: {node}: {}", plain(words));
        }
        if json {
            let part = |(part, bytes, hash): &'_ (u32, u64, String)| {
                (party.name(job.parts[*part as usize].from), *bytes, hash.clone())
            };
            let parts: Vec<_> = outcome.has.iter().map(part).collect();
            let parts =
                parts.iter().map(|(from, bytes, hash)| PartOf { from, bytes: *bytes, hash });
            let error = outcome.error.as_deref();
            let line = Ended {
                format: FORMAT,
                node,
                state: if error.is_some() { "failed" } else { "done" },
                bytes: if error.is_some() { 0 } else { own },
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
            Summary { format, nodes, missed: missed.clone(), bytes, seconds, transfer_seconds };
        output::json_line(&mut out, &summary)?;
    } else {
        let (nodes, have) = (outcomes.len(), outcomes.len() - missed.len());
        let gets =
            |part: &Moved, member: usize| matches!(part.places[member], PartRole::Target { .. });
        match job.hub.filter(|hub| job.parts.iter().any(|part| gets(part, *hub))) {
            Some(hub) => write!(out, "{} has what {have} of {nodes} nodes have", party.name(hub))?,
            None if job.parts.len() > 1 => write!(out, "{have} of {nodes} nodes have all")?,
            None => write!(out, "{have} of {nodes} nodes have it")?,
        }
        write!(out, ": {bytes} bytes in {seconds:.2} s")?;
        let mut all = outcomes.iter().enumerate();
        let got = |part: u32, member| gets(&job.parts[part as usize], member);
        if all.any(|(member, outcome)| outcome.has.iter().any(|(part, _, _)| got(*part, member))) {
            let rate = bytes as f64 * 8e-6 / transfer_seconds.max(1e-6);
            writeln!(out, ", {rate:.1} Mbit/s from the first byte to the last")?;
        } else {
            writeln!(out)?;
        }
        if !missed.is_empty() {
            let names = output::hostlist(&missed);
            writeln!(out, "missed by {names}: run the same command with `--to {names}`")?;
            if kept > 0 {
                writeln!(out, "they keep about {kept} bytes of it and go on from there")?;
            }
        }
    }
    out.flush()?;
    Ok(if missed.is_empty() && !failed { Code::Fine } else { Code::Fault })
}

/// The members that another run must name in `--to`, in the order of the cluster file: those that lack a part or, if all
/// parts go to one node, those whose part that node lacks.
fn missed(job: &Job, outcomes: &[Outcome]) -> Vec<usize> {
    let mut missed = BTreeSet::new();
    for (member, outcome) in outcomes.iter().enumerate() {
        let lacks = |(part, moved): &(usize, &Moved)| {
            let has = outcome.has.iter().any(|(it, _, _)| *it as usize == *part);
            matches!(moved.places[member], PartRole::Target { .. }) && !has
        };
        let mut lacks = job.parts.iter().enumerate().filter(lacks).peekable();
        let sends = job.parts.iter().any(|part| part.from == member);
        if outcome.error.is_some() && lacks.peek().is_none() && !sends {
            missed.insert((job.nodes[member], member));
        }
        for (_, moved) in lacks {
            let again = if job.hub == Some(member) { moved.from } else { member };
            missed.insert((job.nodes[again], again));
        }
    }
    missed.into_iter().map(|(_, member)| member).collect()
}

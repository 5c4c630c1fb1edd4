//! `tresse status --all`: asks all nodes at once, and names what is at fault.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use tresse_control::{Client, FORMAT, Status};
use tresse_health::{Report, Suspect, suspects};
use tresse_plan::Plan;

use super::nodes::FleetArgs;
use super::said::ask;
use crate::fail::{Code, Failure};
use crate::output::{self, count, plain};

/// How long sessions may take to come up, and how often that is looked at.
const SETTLED: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(300);

/// A node in the answer of `--json`.
#[derive(Debug, Serialize)]
struct NodeLine<'a> {
    format: u32,
    node: &'a str,
    /// Whether it answered; else nothing is known of it.
    reached: bool,
    status: Option<&'a Status>,
    /// Why it was not reached.
    error: Option<&'a str>,
}

/// The last object of `--json`.
#[derive(Debug, Serialize)]
struct Last<'a> {
    format: u32,
    suspects: &'a [Suspect],
}

/// Asks all nodes of the plan, each for at most `patience` an answer, and prints the verdict: exit code 0 if all is well, 1 if something is at fault, 4 if a
/// node did not answer, whatever else is known.
pub fn all(args: &FleetArgs, plan: &Plan, patience: Duration, json: bool) -> Result<Code, Failure> {
    let nodes = args.nodes(plan.cluster())?;
    let mut fleet = args.fleet(nodes, Some(plan.cluster())).patient(patience);
    let (mut reports, mut errors) = (Vec::new(), Vec::new());
    for (node, said) in fleet.each(|_| true, ask) {
        let (said, error) = match said {
            Ok(said) => (Some(said), None),
            Err(failure) => (None, Some(failure.message)),
        };
        reports.push(Report { node, said });
        errors.push(error);
    }
    let suspects = suspects(plan, &reports);
    let silent = reports.iter().filter(|report| report.said.is_none()).count();
    let mut out = output::stdout();
    if json {
        for (report, error) in reports.iter().zip(&errors) {
            let status = report.said.as_ref().map(|said| &said.status);
            let (node, error) = (report.node.as_str(), error.as_deref());
            let reached = status.is_some();
            output::json_line(
                &mut out,
                &NodeLine { format: FORMAT, node, reached, status, error },
            )?;
        }
        output::json_line(&mut out, &Last { format: FORMAT, suspects: &suspects })?;
    } else {
        for suspect in &suspects {
            write(&mut out, suspect)?;
        }
        for (report, error) in reports.iter().zip(&errors) {
            if let Some(error) = error {
                writeln!(out, "{}: {}", report.node, plain(error))?;
            }
        }
        summary(&mut out, &reports, silent, suspects.is_empty())?;
    }
    out.flush()?;
    Ok(match (silent, suspects.is_empty()) {
        (1.., _) => Code::Unreachable,
        (0, false) => Code::Fault,
        (0, true) => Code::Fine,
    })
}

/// The same after a rollout, once the sessions between nodes are up or [`SETTLED`] has passed.
pub fn settled(args: &FleetArgs, plan: &Plan, json: bool) -> Result<Code, Failure> {
    let mut fleet = args.fleet(args.nodes(plan.cluster())?, Some(plan.cluster()));
    let until = Instant::now() + SETTLED;
    let is_up = |status: &Status| !status.changing && status.sessions_up == status.sessions;
    while Instant::now() < until {
        let said = fleet.each(|_| true, Client::status);
        if said.iter().all(|(_, status)| status.as_ref().is_ok_and(is_up)) {
            break;
        }
        std::thread::sleep(LOOK);
    }
    all(args, plan, SETTLED, json)
}

fn summary(out: &mut impl Write, reports: &[Report], silent: usize, fine: bool) -> io::Result<()> {
    let answered = reports.len() - silent;
    let changing = reports.iter().filter_map(|report| report.said.as_ref());
    let changing = changing.filter(|said| said.status.changing).count();
    let planned = reports.iter().filter_map(|report| report.said.as_ref());
    let planned = planned.filter(|said| said.status.generation.is_some());
    let (watching, blind): (Vec<_>, Vec<_>) = planned.partition(|said| said.status.sessions > 0);
    write!(out, "{answered} of {} answered", count(reports.len(), "node"))?;
    if changing > 0 {
        write!(out, ", {changing} in a change of plan")?;
    }
    match (fine, watching.len(), blind.len()) {
        (true, 0, _) => {
            writeln!(out, "; nothing is at fault that carriers show (no paths are watched)")
        }
        (true, _, 0) => writeln!(out, "; nothing is at fault"),
        (true, ..) => {
            let blind = count(blind.len(), "node");
            writeln!(
                out,
                "; nothing is at fault that can be seen ({blind} of them without watched paths)"
            )
        }
        (false, ..) => writeln!(out),
    }
}

fn write(out: &mut impl Write, suspect: &Suspect) -> io::Result<()> {
    let (kind, object) = (suspect.kind.word(), plain(&suspect.object));
    write!(out, "{} {object}: {}", kind.to_uppercase(), plain(&suspect.seen))?;
    if let Some(since) = suspect.since {
        write!(out, ", since {}", output::time(since))?;
    }
    if suspect.count > 1 {
        write!(out, ", {} changes today", suspect.count)?;
    }
    writeln!(out)?;
    if suspect.pairs > 0 {
        write!(out, "    {} of nodes affected", count(suspect.pairs, "pair"))?;
        match (suspect.cut, suspect.unprotected) {
            (0, 0) => {}
            (0, more) => write!(out, "; one more failure may cut off {more} of them")?,
            (cut, 0) => write!(out, "; {cut} of them are CUT OFF")?,
            (cut, more) => {
                write!(out, "; {cut} are CUT OFF, one more failure may cut off {more} others")?;
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "    {}", plain(&suspect.remedy))
}

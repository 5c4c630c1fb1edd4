//! `tresse doctor`: finds what keeps the plan from working on this machine, with cause, effect and fix.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_doctor::{self as doctor, Finding, Seen, Verdict};

use crate::fail::{Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::output::{self, plain};

/// Arguments of `tresse doctor`, which finds what keeps the plan from working on this machine.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    cluster: InstalledArgs,
    /// Which node of the file this machine is. Default: as in the daemon's plan, else found by its MAC addresses.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Send nothing to other nodes: leave out the test of paths.
    #[arg(long)]
    local: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    format: u32,
    node: &'a str,
    fine: bool,
    findings: &'a [Finding],
}

impl Doctor {
    /// Runs all checks and prints what they found; exits with 1 if something does not work.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let links = doctor::links().ok_or_else(|| {
            Failure::new(Code::Fault, "`ip -j link` does not run here: install iproute2")
        })?;
        let mut daemon = self.cluster.daemon.connect();
        let neighbours = daemon.as_mut().ok().and_then(|daemon| daemon.neighbours().ok());
        let node = match &self.node {
            Some(name) => input::node_named(plan.cluster(), name)?,
            None => doctor::which(&plan, &links, neighbours.as_ref()).ok_or_else(|| {
                let message =
                    "no node of the plan has a NIC of this machine: say which with --node, or run `tresse macs`";
                Failure::new(Code::BadFile, message)
            })?,
        };
        let mut read = || {
            let counters = daemon.as_mut().ok().and_then(|daemon| daemon.counters().ok());
            counters.map(|all| all.counters).unwrap_or_default()
        };
        let earlier = read();
        std::thread::sleep(if earlier.is_empty() { Duration::ZERO } else { doctor::BETWEEN });
        let counters = [earlier, read()];
        let status = daemon.and_then(|mut daemon| Ok(daemon.status()?));
        let status = status.map_err(|failure| failure.message);
        let seen =
            Seen { plan: &plan, node, links, status, neighbours, counters, local: self.local };
        let findings = doctor::all(&seen);
        let fine = findings.iter().all(|finding| finding.verdict != Verdict::Fault);
        let name = &plan.cluster().node(node).name;
        let mut out = output::stdout();
        if json {
            output::json_line(
                &mut out,
                &Answer { format: FORMAT, node: name, fine, findings: &findings },
            )?;
        } else {
            text(&mut out, name, &findings)?;
        }
        out.flush()?;
        Ok(if fine { Code::Fine } else { Code::Fault })
    }
}

fn text(out: &mut impl Write, node: &str, findings: &[Finding]) -> std::io::Result<()> {
    writeln!(out, "node {node}")?;
    for finding in findings {
        let object = match finding.object.as_str() {
            "" => String::new(),
            object => format!(" {}", plain(object)),
        };
        let word = match finding.verdict {
            Verdict::Fine => "ok     ",
            Verdict::Warning => "WARNING",
            Verdict::Fault => "FAULT  ",
        };
        writeln!(out, "{word} {}{object}: {}", finding.check, plain(&finding.cause))?;
        if finding.verdict != Verdict::Fine {
            writeln!(out, "          {}", plain(&finding.effect))?;
            writeln!(out, "          fix: {}", plain(&finding.fix))?;
        }
    }
    Ok(())
}

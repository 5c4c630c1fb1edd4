//! `tresse probe`: measures whether the fabric is as fast as its plan, by a process on each node.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use inquire::Confirm;
use serde::Serialize;
use tresse_control::FORMAT;
use tresse_plan::Plan;
use tresse_probe::{
    AgentError, Agents, Baseline, Finding, Kind, Options, Targets, Verdict, blame, busy, measure,
    member,
};

use super::launcher::Launcher;
use super::nodes::{FleetArgs, machine};
use super::remedy;
use crate::connection::NodeArgs;
use crate::fail::{self, Code, Failure};
use crate::input;
use crate::installed::InstalledArgs;
use crate::output::{self, count, plain};

/// Seconds of each load.
const DEFAULT_SECONDS: u32 = 3;
/// Less than this share of what is promised is slow.
const DEFAULT_LEAST: f64 = 0.8;

/// Arguments of `tresse probe`, which measures the fabric and compares it with its plan.
#[derive(Debug, Args)]
pub struct Probe {
    #[command(flatten)]
    cluster: InstalledArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Seconds of each load.
    #[arg(long, short = 't', default_value_t = DEFAULT_SECONDS, value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,
    /// Load nothing: only loss, round trip and packet size.
    #[arg(long)]
    light: bool,
    /// The share of what is promised, or was there before, below which throughput is slow.
    #[arg(long, default_value_t = DEFAULT_LEAST, value_parser = share)]
    least: f64,
    /// The file of an earlier run, to compare with; written if it is not there and all is ok. Default: beside the cluster file,
    /// with `probe.json` for `toml`.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write what is measured to that file, whatever it has.
    #[arg(long)]
    keep: bool,
    /// Load the fabric without asking, also if it is in use.
    #[arg(long, short)]
    yes: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().map_err(|error| error.to_string())?;
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err("more than 0, and 1 at most".into()) }
}

/// The last object of `--json`.
#[derive(Debug, Serialize)]
struct Last<'a> {
    format: u32,
    fabric: &'a str,
    plan: &'a str,
    verdict: Verdict,
    seconds: u64,
}

impl Probe {
    /// Loads nothing, and compares with no earlier run but that beside the file.
    pub fn light(file: PathBuf, fleet: FleetArgs) -> Self {
        let cluster = InstalledArgs::of(Some(file), None, NodeArgs::default());
        let (seconds, least) = (DEFAULT_SECONDS, DEFAULT_LEAST);
        Self { cluster, fleet, seconds, light: true, least, baseline: None, keep: false, yes: true }
    }

    /// Measures, and exits with 0 if all is as planned, 1 if something is not, 4 if a node was not reached.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let fabric = plan.cluster().name.as_str();
        let path = self
            .baseline
            .clone()
            .unwrap_or_else(|| self.cluster.file().with_extension("probe.json"));
        let baseline = match path.exists() {
            true => {
                let text = input::read_text(&path)?;
                let wrong = |why| {
                    let words = format!(
                        "{}: {why}\n  help: --baseline names another file, or remove this one",
                        path.display()
                    );
                    Failure::new(Code::BadFile, words)
                };
                Some(Baseline::read(&text, fabric).map_err(wrong)?)
            }
            false => None,
        };
        let names: BTreeSet<String> = self.fleet.nodes(plan.cluster())?.into_iter().collect();
        let targets = Targets::of(&plan, |node| names.contains(&plan.cluster().node(node).name));
        if targets.all().next().is_none() {
            let words = "nothing joins the nodes that are left: name fewer in --except";
            return Err(Failure::new(Code::Usage, words));
        }
        if self.keep {
            input::replaceable(&path)?;
        }
        let agents = self.agents(&plan, &names)?;
        let failed = |(node, error): (String, AgentError)| self.failure(&plan, &node, &error);
        let in_use = busy(&plan, &agents).map_err(failed)?;
        let seconds = if self.light { 0 } else { self.seconds };
        if seconds > 0 && !self.agreed(&targets, &in_use)? {
            fail::say("nothing was measured; --light measures without load");
            return Ok(Code::Fault);
        }
        let began = Instant::now();
        let options = Options { seconds, requests: 100 };
        let measured = measure(&plan, &agents, &targets, options, |words| {
            if !json {
                eprintln!("{words}");
            }
        });
        let measured = measured.map_err(failed)?;
        drop(agents);
        let measured_of = targets.all().zip(&measured);
        let mut findings: Vec<Finding> = measured_of
            .filter(|(target, _)| seconds > 0 || target.kind != Kind::Together)
            .map(|(target, measured)| {
                let before = baseline.as_ref().and_then(|b| b.find(target.kind, &target.name));
                Finding::of(&plan, target, measured, before, self.least)
            })
            .collect();
        blame(targets.all(), &mut findings);
        let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
        report(&plan, &findings, worst, began.elapsed().as_secs(), json)?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |at| at.as_secs());
        let measured = Baseline::of(fabric, at, &findings);
        // A part of the fabric would be compared for good, and the rest never.
        let is_whole = names.len() == plan.cluster().nodes.len() && seconds > 0;
        let (kept, adds) = match baseline {
            Some(earlier) if !self.keep => measured.after(earlier),
            _ => (measured, true),
        };
        if self.keep || (adds && is_whole && worst == Verdict::Ok) {
            let text =
                serde_json::to_string(&kept).map_err(|error| Failure::new(Code::Fault, error))?;
            input::replace(&path, text + "\n")?;
            fail::say(&format!("wrote {}, with which later runs are compared", path.display()));
        }
        Ok(if worst == Verdict::Ok { Code::Fine } else { Code::Fault })
    }

    /// A process on each node.
    fn agents(&self, plan: &Plan, names: &BTreeSet<String>) -> Result<Agents, Failure> {
        let mut agents = Agents::default();
        let (launcher, lab) = (self.fleet.launcher(), self.fleet.lab());
        for name in names {
            let Some(node) = plan.cluster().node_named(name) else { continue };
            let command = launcher.command(lab, machine(plan.cluster(), name), "probe-member")?;
            agents.start(node, command).map_err(|error| self.failure(plan, name, &error))?;
        }
        Ok(agents)
    }

    fn failure(&self, plan: &Plan, node: &str, error: &AgentError) -> Failure {
        let launcher: Launcher = self.fleet.launcher();
        let machine = machine(plan.cluster(), node);
        let help = match error {
            AgentError::Start { absent: true, .. } => {
                Some(remedy::of_launcher(launcher).to_owned())
            }
            AgentError::Ended(wrote) => remedy::known(wrote, launcher, machine),
            _ => None,
        };
        let help = help.unwrap_or_else(|| format!("--except {node} leaves it out"));
        Failure::new(Code::Unreachable, format!("{node}: {error}\n  help: {help}"))
    }

    /// Whether to load the fabric.
    fn agreed(&self, targets: &Targets, in_use: &[(String, f64)]) -> Result<bool, Failure> {
        let most = in_use.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let used = most.map(|(nic, share)| {
            format!("the fabric is in use: {nic} carries {:.0} % of its rate now", share * 100.0)
        });
        if self.yes {
            used.iter().for_each(|used| fail::say(used));
            return Ok(true);
        }
        let what = format!(
            "will load for {} s each: cables or paths {}, ways through nodes {}; then {} at once",
            self.seconds,
            targets.cables.len(),
            targets.through.len(),
            count(targets.together.len(), "pair"),
        );
        if !std::io::stdin().is_terminal() {
            let used = used.map_or_else(String::new, |used| format!("{used}; "));
            let words = format!("{used}nobody can be asked here: --yes loads it, --light does not");
            return Err(Failure::new(Code::Usage, words));
        }
        fail::say(&what);
        used.iter().for_each(|used| fail::say(used));
        let refused = |error| Failure::new(Code::Fault, format!("nothing was measured: {error}"));
        Confirm::new("Load the fabric?").with_default(false).prompt().map_err(refused)
    }
}

fn report(
    plan: &Plan,
    findings: &[Finding],
    worst: Verdict,
    seconds: u64,
    json: bool,
) -> Result<(), Failure> {
    let mut out = output::stdout();
    if json {
        for finding in findings {
            output::json_line(&mut out, finding)?;
        }
        let (fabric, plan) = (plan.cluster().name.as_str(), plan.generation());
        let last = Last { format: FORMAT, fabric, plan, verdict: worst, seconds };
        output::json_line(&mut out, &last)?;
        out.flush()?;
        return Ok(());
    }
    let mut kind = None;
    for finding in findings {
        if kind.replace(finding.kind) != Some(finding.kind) {
            let title = match finding.kind {
                Kind::Cable => "Cables",
                Kind::Path => "Paths across switches",
                Kind::Through => "Through nodes",
                Kind::Together => "At once",
            };
            writeln!(out, "{title}:")?;
        }
        writeln!(
            out,
            "  {:<12} {}{}",
            finding.verdict.word(),
            plain(&finding.object),
            figures(finding)
        )?;
        if let Some(cause) = &finding.cause {
            writeln!(out, "               {}", plain(cause))?;
        }
    }
    let bad = findings.iter().filter(|finding| finding.verdict != Verdict::Ok).count();
    match bad {
        0 => writeln!(out, "{} measured in {seconds} s: as planned", findings.len())?,
        _ => writeln!(out, "{} measured in {seconds} s, {bad} not as planned", findings.len())?,
    }
    out.flush()?;
    Ok(())
}

/// What was measured, after the name.
fn figures(finding: &Finding) -> String {
    let mut text = String::new();
    if let (Some(sent), Some(lost)) = (finding.sent, finding.lost) {
        text.push_str(&format!(", {lost} of {sent} lost"));
    }
    if let Some(ms) = finding.round_trip_ms {
        text.push_str(&format!(", {ms:.3} ms"));
    }
    if let Some(largest) = finding.largest {
        text.push_str(&format!(", {largest} bytes"));
    }
    let mbits: Vec<String> =
        finding.mbits.iter().flatten().map(|mbits| format!("{mbits:.0}")).collect();
    if !mbits.is_empty() {
        text.push_str(&format!(
            ", {} of {:.0} Mbit/s",
            mbits.join(" and "),
            finding.promised_mbits
        ));
    }
    text
}

/// Arguments of `tresse probe-member`, which `tresse probe` runs on every node.
#[derive(Debug, Args)]
pub struct ProbeMember {}

impl ProbeMember {
    /// Does jobs from standard input until that ends.
    pub fn run(&self) -> Result<Code, Failure> {
        let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
        member::run(input, output).map_err(|error| Failure::new(Code::Fault, error))?;
        Ok(Code::Fine)
    }
}

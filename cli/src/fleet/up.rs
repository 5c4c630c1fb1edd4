//! `tresse up`: from bare cables to a running fabric.
//!
//! ```text
//! reach -> hear who is cabled to whom -> draft -> check -> ask -> roll out -> verdict -> doctor -> measure
//! ```
//!
//! The draft is written to a file. If that is there, it is taken as it is: so a run goes on where one has stopped, and a
//! draft can be edited in between.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use inquire::{Confirm, MultiSelect};
use tresse_mapping::draft::Discovered;
use tresse_mapping::host::{self, DiscoveredHost};
use tresse_mapping::wires::Wires;
use tresse_plan::Plan;
use tresse_plan::lock::Lock;

use super::discover::{Sources, create, draft, expand_each};
use super::examine::examine;
use super::health;
use super::nodes::FleetArgs;
use super::probe::Probe;
use super::rollout::Rollout;
use crate::fail::{self, Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count};

/// How many NICs are listed one by one to choose from: what fits a terminal.
const FEW: usize = 20;

/// Arguments of `tresse up`.
#[derive(Debug, Args)]
pub struct Up {
    /// The hosts, by the names that the launcher knows: n[0-3] or several. `tressed` runs on each.
    #[arg(required = true, value_name = "HOSTS")]
    hosts: Vec<String>,
    /// The cluster file: written if it is not there, else taken as it is.
    #[arg(short, long, value_name = "FILE", default_value = "cluster.toml")]
    output: PathBuf,
    /// Ask nothing.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Up {
    /// Brings the fabric up. Exits as `rollout` and `status --all` do.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let asks = !self.yes && std::io::stdin().is_terminal();
        if !self.yes && !asks {
            let words = "nobody can be asked here: --yes goes on without";
            return Err(Failure::new(Code::Usage, words));
        }
        let files = ClusterArgs { file: self.output.clone(), lock: None };
        if self.output.exists() {
            fail::say(&format!("{} is there, and is taken as it is", self.output.display()));
        } else {
            create(&self.output, &self.draft(asks)?)?;
            fail::say(&format!("wrote {}", self.output.display()));
        }
        let plan = files.plan()?;
        let is_new = |name: &String| plan.cluster().node_named(name).is_none();
        if let Some(name) = expand_each(&self.hosts)?.into_iter().find(is_new) {
            let file = self.output.display();
            let words = format!(
                "{name} is no node of {file}\n  help: add it there, or remove the file to have it drafted anew"
            );
            return Err(Failure::new(Code::Usage, words));
        }
        input::accept(&plan, &files.file)?;
        input::refuse_foreign_lock(&files.read_lock()?, plan.cluster(), &files.lock_path())?;
        if !files.lock_path().exists() {
            input::replace(&files.lock_path(), plan.lock(&Lock::default()).emit())?;
        }
        fail::say(&words(&plan));
        if asks && !agreed(&plan)? {
            fail::say(&format!(
                "nothing was installed; edit {} and run this again",
                files.file.display()
            ));
            return Ok(Code::Fault);
        }
        let rollout = Rollout::new(files, self.fleet.clone());
        let code = rollout.run(json)?;
        if code != Code::Fine {
            return Ok(code);
        }
        let verdict = health::settled(&self.fleet, &plan, json)?;
        // What these find is told: the fabric runs, and a busy host may lose a packet.
        examine(&self.fleet, &plan)?;
        self.probe(json);
        Ok(verdict)
    }

    /// Measures every cable, without load.
    fn probe(&self, json: bool) {
        if let Err(failure) = Probe::light(self.output.clone(), self.fleet.clone()).run(json) {
            fail::say(&format!("the cables were not measured: {}", failure.message));
        }
    }

    /// Hears who is cabled to whom, and writes it down.
    fn draft(&self, asks: bool) -> Result<String, Failure> {
        let names = self.fleet.without(expand_each(&self.hosts)?)?;
        let heard = |sources: &Sources| {
            let hosts = sources.hosts(self.fleet.fleet(names.clone(), None))?;
            let wires = sources.wires(&hosts, Vec::new())?;
            Ok::<_, Failure>((hosts, wires))
        };
        let (hosts, wires) = heard(&self.sources)?;
        if !asks {
            return complete(&hosts, &wires, asks);
        }
        let nics = host::choices(&hosts, FEW);
        let chosen = MultiSelect::new("NICs of the fabric:", nics.clone())
            .with_all_selected_by_default()
            .with_page_size(FEW)
            .prompt()
            .map_err(|error| refused(&error))?;
        let others: Vec<String> = nics.into_iter().filter(|nic| !chosen.contains(nic)).collect();
        if others.is_empty() {
            return complete(&hosts, &wires, asks);
        }
        let mut sources = self.sources.clone();
        sources.leave_out(&others);
        let (hosts, wires) = heard(&sources)?;
        complete(&hosts, &wires, asks)
    }
}

/// The draft, if nothing says that a host was forgotten, or whoever is asked sees what does.
fn complete(hosts: &[DiscoveredHost], wires: &Wires, asks: bool) -> Result<String, Failure> {
    let loose = Discovered::of(hosts, wires).loose();
    if asks {
        loose.iter().for_each(|words| fail::say(words));
    } else if let [first, rest @ ..] = &loose[..] {
        let more =
            if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        let words = format!(
            "{first}{more}\n  help: nothing was written; is a host missing from the list? If not, leave NICs out by \
             --without, or write the file by `tresse discover` and look through it"
        );
        return Err(Failure::new(Code::Fault, words));
    }
    draft(hosts, wires)
}

/// What will be installed.
fn words(plan: &Plan) -> String {
    let cluster = plan.cluster();
    let cables = cluster.cables().count() + cluster.direct_cables().count();
    let parts = [
        (cluster.nodes.len(), "node"),
        (cluster.switches.len(), "switch"),
        (cables, "cable between them"),
    ];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| match (n, what) {
        (2.., "switch") => format!("{n} switches"),
        (2.., "cable between them") => format!("{n} cables between them"),
        _ => count(n, what),
    });
    let strategy = tresse_cluster::strategy_name(cluster.routing.strategy);
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{}: {parts}; strategy {strategy}, plan {}", cluster.name, plan.generation())
}

fn agreed(plan: &Plan) -> Result<bool, Failure> {
    let mut out = output::stdout();
    for node in &plan.cluster().nodes {
        let nics: Vec<&str> = node.nics.iter().map(|nic| nic.name.as_str()).collect();
        writeln!(out, "  {}: {}", node.name, nics.join(" "))?;
    }
    out.flush()?;
    let question = format!("Install this on {}?", count(plan.cluster().nodes.len(), "node"));
    Confirm::new(&question).with_default(false).prompt().map_err(|error| refused(&error))
}

fn refused(error: &inquire::InquireError) -> Failure {
    Failure::new(Code::Fault, format!("nothing was installed: {error}"))
}

//! `tresse remap`: compares the cluster file with the wires, and drafts file and lock as the wires are.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tresse_control::FORMAT;
use tresse_mapping::remap::{self, RemapError, Sight};
use tresse_plan::Comparison;

use super::FleetArgs;
use super::discover::{Sources, create, expand};
use crate::fail::{Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, plain};

/// Arguments of `tresse remap`, which compares the cluster file with the wires.
#[derive(Debug, Args)]
pub struct Remap {
    #[command(flatten)]
    cluster: ClusterArgs,
    /// New nodes to ask beside those of the file, by the names that the launcher knows.
    #[arg(value_name = "NODES")]
    nodes: Vec<String>,
    #[command(flatten)]
    sources: Sources,
    /// Switches and nodes that are away for a while only: they stay in the draft.
    #[arg(long, value_name = "NAMES")]
    keep: Option<String>,
    /// Write the drafts of file and lock into this directory. Default: beside the file, as FILE.new and tresse.lock.new.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Remap {
    /// Looks, compares, prints, and writes the drafts if anything changed; then exits with 1.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let file = &self.cluster.file;
        let text = input::read_text(file)?;
        let cluster = input::parse(&input::with_wiring(text.clone(), file)?, file)?;
        let mut names: Vec<String> = self.fleet.nodes(&cluster)?;
        for more in &self.nodes {
            names.extend(expand(more)?);
        }
        let mut hosts = Vec::new();
        let (mut away, mut silence) = (BTreeSet::new(), None);
        for (name, answer) in self.sources.hear(self.fleet.fleet(names, Some(&cluster)))? {
            match answer {
                Ok(host) => hosts.push(host),
                Err(f) if f.code == Code::Unreachable && cluster.node_named(&name).is_some() => {
                    silence.get_or_insert(format!("{name}: {}", f.message));
                    away.insert(name);
                }
                Err(f) => return Err(Failure::new(f.code, format!("{name}: {}", f.message))),
            }
        }
        let keep =
            self.keep.as_deref().map_or_else(|| Ok(Vec::new()), expand)?.into_iter().collect();
        let known = cluster.switches.iter().map(|switch| switch.name.clone()).collect();
        let wires = self.sources.wires(&hosts, known)?;
        let cables = cluster.unbundled();
        let sight = Sight { cluster: &cables, hosts: &hosts, keep: &keep, wires: &wires };
        let wrong = |e: RemapError| Failure::new(Code::BadFile, format!("{}: {e}", file.display()));
        let mut remap = remap::Remap::of(sight).map_err(wrong)?;
        let (mut code, mut failed) = (Code::Fine, None::<Failure>);
        let (mut comparison, mut written) = (None, [None, None]);
        let mut nobody = hosts.is_empty();
        if !remap.changes.is_empty() {
            code = Code::Fault;
            let mut drafted = || {
                let draft = remap.draft(sight, &text).map_err(wrong)?;
                let [new, lock_path] = self.drafts();
                let lock = self.cluster.read_lock()?;
                let old = input::build(cluster.clone(), &lock, file)?;
                let lock = old.lock(&lock);
                let plan = input::build(input::parse(&draft, &new)?, &lock, &new)?;
                remap.count(&old, &plan);
                comparison = Some(Comparison::of(&old, &plan));
                away.retain(|name| plan.cluster().node_named(name).is_some());
                nobody |= away.len() == plan.cluster().nodes.len();
                create(&new, &draft)?;
                create(&lock_path, &plan.lock(&lock).emit())?;
                written = [Some(new), Some(lock_path)];
                Ok(())
            };
            failed = drafted().err(); // What was seen is told nevertheless.
        }
        let silence = silence.filter(|_| nobody);
        let report = remap.report(FORMAT, &wires, comparison, written, silence);
        let report = report.with_steps(file, &output::hostlist(&away));
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &report)?;
        } else {
            report.to_string().lines().try_for_each(|line| writeln!(out, "{}", plain(line)))?;
        }
        out.flush()?;
        let told = |f: Failure| Failure::new(f.code, format!("no draft of this: {}", f.message));
        failed.map_or(Ok(code), |f| Err(told(f)))
    }

    /// The paths of the drafts of file and lock.
    fn drafts(&self) -> [PathBuf; 2] {
        [self.cluster.file.clone(), self.cluster.lock_path()].map(|path| match &self.output {
            Some(directory) => directory.join(path.file_name().unwrap_or_default()),
            None => {
                let mut name = path.into_os_string();
                name.push(".new");
                name.into()
            }
        })
    }
}

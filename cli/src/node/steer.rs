//! `tresse drain`, `undrain`, `pin` and `unpin`: what this node's paths keep off.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tresse_control::{Drain as HowToDrain, Pin as HowToPin, Steered};

use super::{Formatted, NodeArgs};
use crate::fail::{self, Code, Failure};
use crate::fleet::{FleetArgs, everywhere};
use crate::input;
use crate::output::{self, count};

/// Arguments of `tresse drain`.
#[derive(Debug, Args)]
pub struct Drain {
    #[command(flatten)]
    node: NodeArgs,
    /// A switch or node (s00, n03), a link (s00-s01, n03-s00), a port (s00:3) or a NIC (n03:eth1).
    object: String,
    /// Tell what would move and what would lose its redundancy, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also where no other way is left: what has none goes on using it.
    #[arg(long)]
    force: bool,
    /// On all nodes of this cluster file, or on none.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Drain {
    /// Shows what loses its redundancy, then drains.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let how = HowToDrain { object: &self.object, dry_run: true, force: self.force };
        if let Some(file) = &self.all {
            let cluster = input::read_cluster(file)?;
            return everywhere::drain(&self.fleet, &cluster, how, self.dry_run, json);
        }
        let mut client = self.node.connect()?;
        let mut steered = client.drain(&how)?;
        if !self.dry_run {
            if !steered.single.is_empty() && !json {
                let single = steered.single.join(" ");
                fail::say(&format!(
                    "left with one way, so that one more failure cuts them: {single}"
                ));
            }
            steered = client.drain(&HowToDrain { dry_run: false, ..how })?;
        }
        let verb = if self.dry_run { "would be drained" } else { "drained" };
        let cut = self.dry_run && !self.force && !steered.cut.is_empty();
        let code = report(&steered, &format!("{} {verb}", self.object), json)?;
        Ok(if cut { Code::Fault } else { code })
    }
}

/// Arguments of `tresse undrain`.
#[derive(Debug, Args)]
pub struct Undrain {
    #[command(flatten)]
    node: NodeArgs,
    /// What was drained.
    object: String,
    /// On all nodes of this cluster file where it is drained.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Undrain {
    /// Uses it again.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if let Some(file) = &self.all {
            let cluster = input::read_cluster(file)?;
            return everywhere::undrain(&self.fleet, &cluster, &self.object, json);
        }
        let steered = self.node.connect()?.undrain(&self.object)?;
        report(&steered, &format!("{} in use again", self.object), json)
    }
}

/// Arguments of `tresse pin`.
#[derive(Debug, Args)]
pub struct Pin {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
    /// The path's rank, as `tresse paths` tells it.
    rank: u32,
    /// Tell what would move and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Pin {
    /// Uses that path alone, as long as it is whole.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let how = HowToPin { to: &self.to, rank: self.rank, dry_run: self.dry_run };
        let steered = self.node.connect()?.pin(&how)?;
        let verb = if self.dry_run { "would be pinned" } else { "pinned" };
        report(&steered, &format!("{} {verb} to the path of rank {}", self.to, self.rank), json)
    }
}

/// Arguments of `tresse unpin`.
#[derive(Debug, Args)]
pub struct Unpin {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
}

impl Unpin {
    /// Uses all paths again.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let steered = self.node.connect()?.unpin(&self.to)?;
        report(&steered, &format!("{} no longer pinned", self.to), json)
    }
}

fn report(steered: &Steered, done: &str, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(steered))?;
    } else {
        writeln!(out, "{done}: {} of this node moved", count(steered.moved.len(), "destination"))?;
        if !steered.single.is_empty() {
            writeln!(out, "left with one way: {}", steered.single.join(" "))?;
        }
        if !steered.cut.is_empty() {
            let cut = steered.cut.join(" ");
            writeln!(out, "without another way, so that they go on using it: {cut}")?;
        }
    }
    out.flush()?;
    Ok(Code::Fine)
}

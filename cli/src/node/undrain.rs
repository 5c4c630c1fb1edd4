//! `tresse undrain`: lets paths use a drained part of the fabric (a switch, node, link, port or
//! NIC) again.

use std::path::PathBuf;

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::fleet::{FleetArgs, everywhere};
use crate::input;

/// Arguments of `tresse undrain`, which lets paths use a drained part of the fabric again.
#[derive(Debug, Args)]
pub struct Undrain {
    #[command(flatten)]
    node: NodeArgs,
    /// The part of the fabric that was drained.
    object: String,
    /// Print what would move, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// End the drain on all nodes of this cluster file that have it.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Undrain {
    /// Ends the drain on this node or on all nodes.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if let Some(file) = &self.all {
            let cluster = input::read_cluster(file)?;
            return everywhere::undrain(&self.fleet, &cluster, &self.object, self.dry_run, json);
        }
        let steered = self.node.connect()?.undrain(&self.object, self.dry_run)?;
        let verb = if self.dry_run { "would be in use again" } else { "in use again" };
        answer::steered(&steered, &format!("{} {verb}", self.object), self.dry_run, json)
    }
}

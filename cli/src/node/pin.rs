//! `tresse pin`: makes this node send to another node by one path only, as long as that path works.

use clap::Args;
use tresse_control as control;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse pin`, which makes this node send to a peer by one path only.
#[derive(Debug, Args)]
pub struct Pin {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
    /// The rank of the path, as `tresse paths` prints it.
    rank: u32,
    /// Print what would move, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Pin {
    /// Pins the path.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let how = control::Pin { to: &self.to, rank: self.rank, dry_run: self.dry_run };
        let steered = self.node.connect()?.pin(&how)?;
        let verb = if self.dry_run { "would be pinned" } else { "pinned" };
        let done = format!("{} {verb} to the path of rank {}", self.to, self.rank);
        answer::steered(&steered, &done, self.dry_run, json)
    }
}

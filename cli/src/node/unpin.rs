//! `tresse unpin`: ends a pin or weights, so that this node sends to another node by all its paths
//! again as planned.

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse unpin`, which lets this node send to a peer by all its paths again.
#[derive(Debug, Args)]
pub struct Unpin {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
    /// Print what would move, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Unpin {
    /// Removes the pin or the weights.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let steered = self.node.connect()?.unpin(&self.to, self.dry_run)?;
        let verb = if self.dry_run { "would no longer be" } else { "no longer" };
        answer::steered(&steered, &format!("{} {verb} pinned", self.to), self.dry_run, json)
    }
}

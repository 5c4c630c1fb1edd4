//! `tresse unpin`: uses all paths to a node again.

use clap::Args;

use super::answer;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};

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
        answer::steered(&steered, &format!("{} no longer pinned", self.to), json)
    }
}

//! `tresse unpin`: ends a pin, so that this node sends to another node by all its paths again.

use clap::Args;

use super::answer;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse unpin`, which lets this node send to a peer by all its paths again.
#[derive(Debug, Args)]
pub struct Unpin {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
}

impl Unpin {
    /// Removes the pin.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let steered = self.node.connect()?.unpin(&self.to)?;
        answer::steered(&steered, &format!("{} no longer pinned", self.to), json)
    }
}

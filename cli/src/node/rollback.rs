//! `tresse rollback`: makes this node's daemon return to the plan that it had before.

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse rollback`, which returns to the plan before this one.
#[derive(Debug, Args)]
pub struct Rollback {
    #[command(flatten)]
    node: NodeArgs,
}

impl Rollback {
    /// Asks the daemon and prints what changed.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        answer::changed(&self.node.connect()?.rollback()?, "returned to", json)
    }
}

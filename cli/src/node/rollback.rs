//! `tresse rollback`: returns to the plan before.

use clap::Args;

use super::answer;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    #[command(flatten)]
    node: NodeArgs,
}

impl Rollback {
    /// Returns to the previous plan.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        answer::changed(&self.node.connect()?.rollback()?, "returned to", json)
    }
}

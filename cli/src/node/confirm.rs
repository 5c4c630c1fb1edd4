//! `tresse confirm`: keeps the plan that `tresse apply --confirm` installed. If it does not come in
//! time, the daemon rolls back.

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse confirm`, which keeps a plan that was applied on trial.
#[derive(Debug, Args)]
pub struct Confirm {
    #[command(flatten)]
    node: NodeArgs,
}

impl Confirm {
    /// Asks the daemon to keep it.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        self.node.connect()?.confirm()?;
        answer::done("confirmed", "confirmed: the rollback is called off", json)
    }
}

//! `tresse unfuse`: takes a fused VLAN, one that this node does not use because it had a loop, back
//! into use once a new test frame (canary) proves that the loop is gone.

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse unfuse`, which takes a VLAN that was taken out of use because of a loop (a
/// fused VLAN) back into use.
#[derive(Debug, Args)]
pub struct Unfuse {
    #[command(flatten)]
    node: NodeArgs,
    /// The ID of the VLAN.
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4094))]
    vid: u16,
}

impl Unfuse {
    /// Asks the daemon for the new canary.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        self.node.connect()?.unfuse(self.vid)?;
        let words =
            format!("VLAN {} carries traffic again once its canary frame has come back", self.vid);
        answer::done("unfused", &words, json)
    }
}

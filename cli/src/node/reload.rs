//! `tresse reload`: makes the daemon read its configured cluster file again and apply it.

use clap::Args;

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse reload`, which makes the daemon read its cluster file again and apply it.
#[derive(Debug, Args)]
pub struct Reload {
    #[command(flatten)]
    node: NodeArgs,
}

impl Reload {
    /// Asks the daemon and prints what changed.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        answer::changed(&self.node.connect()?.reload()?, "installed", json)
    }
}

//! `tresse log`: prints the last events of this node's daemon, also those from before it was started.

use std::io::Write;

use clap::Args;

use super::monitor;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output;

/// Arguments of `tresse log`, which prints the daemon's last events.
#[derive(Debug, Args)]
pub struct Log {
    /// Only so many, the last ones. A thousand are kept.
    #[arg(long, short = 'n', value_name = "N")]
    last: Option<u32>,
    #[command(flatten)]
    node: NodeArgs,
}

impl Log {
    /// Asks the daemon and prints.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let mut out = output::stdout();
        for event in self.node.connect()?.events(self.last)?.events {
            monitor::write(&mut out, &event, json)?;
        }
        out.flush()?;
        Ok(Code::Fine)
    }
}

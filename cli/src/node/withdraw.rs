//! `tresse withdraw`: leaves the kernel as it was found.

use std::io::Write;

use clap::Args;

use super::answer::Formatted;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output::{self, count};

/// Arguments of `tresse withdraw`.
#[derive(Debug, Args)]
pub struct Withdraw {
    #[command(flatten)]
    node: NodeArgs,
    /// Leave out the guard that keeps the way to this host open.
    #[arg(long)]
    force: bool,
}

impl Withdraw {
    /// Removes everything of ours and forgets the plan; exits with 5 where something is left.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let withdrawn = self.node.connect()?.withdraw(self.force)?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&withdrawn))?;
        } else {
            writeln!(out, "withdrawn: {}", count(withdrawn.operations.len(), "operation"))?;
            for line in &withdrawn.left {
                writeln!(out, "left: {}", output::plain(&line.why))?;
            }
        }
        out.flush()?;
        Ok(if withdrawn.left.is_empty() { Code::Fine } else { Code::Partly })
    }
}

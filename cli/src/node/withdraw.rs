//! `tresse withdraw`: makes this node's daemon remove everything that it installed in the kernel,
//! and forget its plan.

use std::io::Write;

use clap::Args;

use super::answer::Formatted;
use super::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::output::{self, count};

/// Arguments of `tresse withdraw`, which removes everything that the daemon installed in the
/// kernel, and its plan.
#[derive(Debug, Args)]
pub struct Withdraw {
    #[command(flatten)]
    node: NodeArgs,
    /// Go on even if this cuts the connection by which this machine is managed.
    #[arg(long)]
    force: bool,
}

impl Withdraw {
    /// Asks the daemon and prints; exits with 5 if something could not be removed.
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

//! `tresse diff`: prints the operations (add, change or remove a kernel object) that would make the
//! kernel equal to this node's part of the plan, or, for all nodes, that a rollout would do.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::answer::{code_of, write_operations, write_pending};
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::fleet::{FleetArgs, differences};
use crate::output;

/// Arguments of `tresse diff`, which prints the operations that would make the kernel equal to the
/// plan.
#[derive(Debug, Args)]
pub struct Diff {
    #[command(flatten)]
    node: NodeArgs,
    /// Print what a rollout of this cluster file would do on each node.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

impl Diff {
    /// Asks the daemon and prints; exits with 1 if there is a difference, with 5 if only pending parts are missing.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if let Some(file) = &self.all {
            return differences::show(file, &self.fleet, json);
        }
        let difference = self.node.connect()?.diff()?;
        let mut out = output::stdout();
        if json {
            for line in &difference.operations {
                output::json_line(&mut out, line)?;
            }
        } else {
            write_operations(&mut out, &difference.operations)?;
            write_pending(&mut out, &difference.pending)?;
            if difference.operations.is_empty() {
                match &difference.generation {
                    Some(generation) => writeln!(out, "in sync with generation {generation}")?,
                    None => writeln!(out, "no plan, and nothing of ours in the kernel")?,
                }
            }
        }
        out.flush()?;
        Ok(if difference.operations.is_empty() {
            code_of(&difference.pending)
        } else {
            Code::Fault
        })
    }
}

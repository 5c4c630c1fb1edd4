//! `tresse withdraw`: makes this node's daemon, or those of all nodes, remove everything that they installed in the
//! kernel, and forget their plan.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use tresse_control::{FORMAT, Withdrawn};

use super::answer::Formatted;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;
use crate::input;
use crate::output::{self, count, plain};

/// Arguments of `tresse withdraw`, which removes everything that the daemon installed in the
/// kernel, and its plan.
#[derive(Debug, Args)]
pub struct Withdraw {
    #[command(flatten)]
    node: NodeArgs,
    /// Go on even if this cuts the connection by which this machine is managed.
    #[arg(long)]
    force: bool,
    /// On all nodes of this cluster file.
    #[arg(long, value_name = "FILE")]
    all: Option<PathBuf>,
    #[command(flatten)]
    fleet: FleetArgs,
}

#[derive(Debug, Serialize)]
struct Answer {
    format: u32,
    nodes: Vec<NodeResult>,
}

#[derive(Debug, Serialize)]
struct NodeResult {
    node: String,
    #[serde(flatten)]
    withdrawn: Option<Withdrawn>,
    error: Option<String>,
}

impl Withdraw {
    /// Asks the daemon and prints; exits with 5 if something could not be removed.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        if let Some(file) = &self.all {
            return self.everywhere(file, json);
        }
        let withdrawn = self.node.connect()?.withdraw(self.force)?;
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Formatted::new(&withdrawn))?;
        } else {
            text(&mut out, "", &withdrawn)?;
        }
        out.flush()?;
        Ok(code(&withdrawn))
    }

    /// Asks all daemons at once; exits as for one, or as for the first that did not do it.
    fn everywhere(&self, file: &Path, json: bool) -> Result<Code, Failure> {
        let cluster = input::read_cluster(file)?;
        let mut fleet = self.fleet.fleet(self.fleet.nodes(&cluster)?, Some(&cluster));
        let answers = fleet.each(|_| true, |client| client.withdraw(self.force));
        let failed = answers.iter().find_map(|(_, answer)| answer.as_ref().err());
        let partly = answers.iter().filter_map(|(_, answer)| answer.as_ref().ok());
        let partly = partly.map(code).find(|code| *code != Code::Fine);
        let code = failed.map(|failure| failure.code).or(partly).unwrap_or(Code::Fine);
        let mut nodes = Vec::new();
        for (node, answer) in answers {
            let (withdrawn, error) = match answer {
                Ok(withdrawn) => (Some(withdrawn), None),
                Err(failure) => (None, Some(failure.message)),
            };
            nodes.push(NodeResult { node, withdrawn, error });
        }
        let mut out = output::stdout();
        if json {
            output::json_line(&mut out, &Answer { format: FORMAT, nodes })?;
        } else {
            for NodeResult { node, withdrawn, error } in &nodes {
                if let Some(withdrawn) = withdrawn {
                    text(&mut out, &format!("{node}: "), withdrawn)?;
                }
                error.iter().try_for_each(|error| writeln!(out, "{node}: {}", plain(error)))?;
            }
        }
        out.flush()?;
        Ok(code)
    }
}

fn text(out: &mut impl Write, node: &str, withdrawn: &Withdrawn) -> std::io::Result<()> {
    writeln!(out, "{node}withdrawn: {}", count(withdrawn.operations.len(), "operation"))?;
    withdrawn.left.iter().try_for_each(|line| writeln!(out, "{node}left: {}", plain(&line.why)))
}

const fn code(withdrawn: &Withdrawn) -> Code {
    if withdrawn.left.is_empty() { Code::Fine } else { Code::Partly }
}

//! `tresse apply`: sends a cluster file and its lock to this node's daemon, which installs this
//! node's part of the plan in the kernel.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use tresse_control::{Applied, ApplyRequest, ClientError, NodeError};

use super::answer::{self, Formatted, write_operations, write_pending};
use crate::connection::NodeArgs;
use crate::duration::duration;
use crate::fail::{self, Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count};

/// Arguments of `tresse apply`, which installs this node's part of a plan.
#[derive(Debug, Args)]
pub struct Apply {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    node: NodeArgs,
    /// Print the operations and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Roll back unless `tresse confirm` comes within this time: 60s, 5m.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "dry_run")]
    confirm: Option<Duration>,
    /// Install also what would cut the connection by which this machine is managed.
    #[arg(long)]
    force: bool,
    /// Use this NIC although it belongs to a bond or a bridge; may be repeated.
    #[arg(long, value_name = "NAME")]
    force_interface: Vec<String>,
}

impl Apply {
    /// Sends the plan, waits and prints; exits with 5 if a part waits for a carrier or for the test of a VLAN.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let text = input::cluster_text(&self.cluster.file)?;
        let lock = self.cluster.lock_text()?;
        let request = ApplyRequest {
            cluster: text,
            lock,
            dry_run: Some(self.dry_run),
            confirm_seconds: self.confirm.map(|c| c.as_secs() as u32),
            force: Some(self.force),
            force_interfaces: Some(self.force_interface.clone()),
        };
        let applied = match self.node.connect()?.apply(&request) {
            Err(ClientError::Node(NodeError::BadCluster { problems })) => {
                return Err(self.refused(&request.cluster, &problems));
            }
            answer => answer?,
        };
        if self.dry_run {
            return dry_run(&applied, json);
        }
        answer::changed(&applied, "installed", json)
    }

    /// Shows the daemon's problems with the cluster file as the offline verbs show theirs.
    fn refused(&self, text: &str, problems: &[tresse_control::Problem]) -> Failure {
        // If this program finds the problems too, it shows them better: with spans and advice.
        if let Err(failure) = input::read_cluster(&self.cluster.file) {
            return failure;
        }
        let name = self.cluster.file.display().to_string();
        for p in problems {
            let message = match p.line {
                0 => format!("{name}: {}", p.message),
                _ => format!("{name}:{}:{}: {}", p.line, p.column, p.message),
            };
            let span = input::span_at(text, p.line as usize, p.column as usize);
            input::show(&name, text, &message, span, None);
        }
        Failure::new(
            Code::BadFile,
            format!("the daemon refuses {name}: {}", count(problems.len(), "problem")),
        )
    }
}

fn dry_run(applied: &Applied, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(applied))?;
    } else {
        write_operations(&mut out, &applied.operations)?;
        write_pending(&mut out, &applied.pending)?;
    }
    out.flush()?;
    fail::say(&format!("{} to do; nothing was done", count(applied.operations.len(), "operation")));
    Ok(Code::Fine)
}

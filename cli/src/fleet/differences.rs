//! `tresse diff --all`: shows what a rollout would do on each node, that is, the operations on the
//! kernel that would install a plan there.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use tresse_control::{ApplyRequest, Client, OperationLine};

use super::nodes::FleetArgs;
use crate::fail::{self, Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count, plain};

/// One operation on one node, as `--json` prints it.
#[derive(Debug, Serialize)]
struct NodeOperation<'a> {
    node: &'a str,
    #[serde(flatten)]
    operation: &'a OperationLine,
}

/// A node that has another plan, although installing this one would change nothing in its kernel, as `--json` prints it.
#[derive(Debug, Serialize)]
struct NodePlan<'a> {
    node: &'a str,
    generation: Option<&'a str>,
}

/// A node that could not be asked, as `--json` prints it.
#[derive(Debug, Serialize)]
struct NodeError<'a> {
    node: &'a str,
    error: &'a str,
}

/// Asks every node of a cluster file what installing its plan would do, and prints that. Exits with
/// 0 if all nodes have the plan and none would do anything, with 1 if one has another, would do something or cannot take
/// the plan.
pub fn show(file: &Path, args: &FleetArgs, json: bool) -> Result<Code, Failure> {
    let cluster = ClusterArgs { file: file.to_owned(), lock: None };
    let plan = cluster.plan()?;
    let request = ApplyRequest {
        cluster: input::cluster_text(file)?,
        lock: cluster.lock_text()?,
        dry_run: Some(true),
        ..ApplyRequest::default()
    };
    let mut fleet = args.fleet(args.nodes(plan.cluster())?, Some(plan.cluster()));
    let ask = |client: &mut Client| Ok((client.apply(&request)?, client.status()?.generation));
    let answers = fleet.each(|_| true, ask);
    let (mut code, mut operations, mut changed, mut others) = (Code::Fine, 0, 0, 0);
    let all = answers.len();
    let mut out = output::stdout();
    for (node, answer) in answers {
        match answer {
            Ok((applied, has)) => {
                if applied.operations.is_empty() && has.as_deref() != Some(plan.generation()) {
                    others += 1;
                    if json {
                        let generation = has.as_deref();
                        output::json_line(&mut out, &NodePlan { node: &node, generation })?;
                    } else {
                        let has = has.map_or("no plan".into(), |has| format!("plan {has}"));
                        let words = "though this one would change nothing in its kernel";
                        writeln!(out, "{node}: has {has}, {words}")?;
                    }
                }
                operations += applied.operations.len();
                changed += usize::from(!applied.operations.is_empty());
                for operation in &applied.operations {
                    if json {
                        output::json_line(&mut out, &NodeOperation { node: &node, operation })?;
                    } else {
                        writeln!(out, "{node}: {}", plain(&output::operation(operation)))?;
                    }
                }
            }
            Err(failure) => {
                code = failure.code;
                if json {
                    let error = failure.message.as_str();
                    output::json_line(&mut out, &NodeError { node: &node, error })?;
                } else {
                    writeln!(out, "{node}: {}", plain(&failure.message))?;
                }
            }
        }
    }
    out.flush()?;
    let of = count(all, "node");
    fail::say(&format!("{} on {changed} of {of}", count(operations, "operation")));
    Ok(if code == Code::Fine && operations + others > 0 { Code::Fault } else { code })
}

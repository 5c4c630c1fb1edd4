//! `tresse confirm`, `rollback` and `reload`: the rest of an apply.

use std::io::Write;

use clap::Args;
use tresse_control::Applied;

use super::{Done, Formatted, NodeArgs, code_of, write_pending};
use crate::fail::{self, Code, Failure};
use crate::output::{self, count};

/// Arguments of `tresse confirm`.
#[derive(Debug, Args)]
pub struct Confirm {
    #[command(flatten)]
    node: NodeArgs,
}

impl Confirm {
    /// Keeps what the last apply installed.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        self.node.connect()?.confirm()?;
        done("confirmed", "confirmed: the rollback is called off", json)
    }
}

/// Arguments of `tresse rollback`.
#[derive(Debug, Args)]
pub struct Rollback {
    #[command(flatten)]
    node: NodeArgs,
}

impl Rollback {
    /// Returns to the previous plan.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        report(&self.node.connect()?.rollback()?, "returned to", json)
    }
}

/// Arguments of `tresse reload`.
#[derive(Debug, Args)]
pub struct Reload {
    #[command(flatten)]
    node: NodeArgs,
}

impl Reload {
    /// Has the daemon read its configured cluster file again and apply it.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        report(&self.node.connect()?.reload()?, "installed", json)
    }
}

/// Tells what a change did.
pub(super) fn report(applied: &Applied, verb: &str, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(applied))?;
    } else {
        let plan = match &applied.generation {
            Some(generation) => format!("generation {generation}"),
            None => "no plan".into(),
        };
        writeln!(out, "{verb} {plan}: {}", count(applied.operations.len(), "operation"))?;
        write_pending(&mut out, &applied.pending)?;
    }
    out.flush()?;
    if let Some(seconds) = applied.confirm_seconds {
        fail::say(&format!(
            "rolls back in {seconds} s unless you run `tresse confirm` (at once: `tresse rollback`)"
        ));
    }
    Ok(code_of(&applied.pending))
}

/// Tells that a method without an answer worked.
pub(super) fn done(what: &'static str, words: &str, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(&Done { done: what }))?;
    } else {
        writeln!(out, "{words}")?;
    }
    out.flush()?;
    Ok(Code::Fine)
}

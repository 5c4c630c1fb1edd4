//! Prints those parts of the daemon's replies that several verbs for one node print.

use std::io::{self, Write};

use serde::Serialize;
use tresse_control::{Applied, FORMAT, OperationLine, PendingLine, Steered, waiting};

use crate::fail::{self, Code, Failure};
use crate::output::{self, count, named, plain};

/// A reply of the daemon for `--json`, with the version of the JSON format added.
#[derive(Debug, Serialize)]
pub struct Formatted<'a, T> {
    format: u32,
    #[serde(flatten)]
    answer: &'a T,
}

impl<'a, T> Formatted<'a, T> {
    pub const fn new(answer: &'a T) -> Self {
        Self { format: FORMAT, answer }
    }
}

/// The answer to a request that the daemon answers without data.
#[derive(Debug, Serialize)]
struct Done {
    done: &'static str,
}

/// Writes kernel operations, one per line.
pub fn write_operations(out: &mut impl Write, operations: &[OperationLine]) -> io::Result<()> {
    operations.iter().try_for_each(|line| writeln!(out, "{}", plain(&output::operation(line))))
}

/// Writes which wanted kernel objects are pending (cannot be installed yet): one line per reason,
/// such as a NIC without carrier, with the object or the numbers of objects that wait for it.
pub fn write_pending(out: &mut impl Write, pending: &[PendingLine]) -> io::Result<()> {
    waiting(pending).iter().try_for_each(|line| writeln!(out, "pending {}", plain(line)))
}

/// Returns the exit code for a change of the plan: [`Code::Partly`] if objects are pending (cannot
/// be installed yet), else [`Code::Fine`].
pub const fn code_of(pending: &[PendingLine]) -> Code {
    if pending.is_empty() { Code::Fine } else { Code::Partly }
}

/// Prints how many kernel operations a change of this node's plan took, and what is still pending
/// (cannot be installed yet). Returns [`Code::Partly`] if anything is pending.
pub fn changed(applied: &Applied, verb: &str, json: bool) -> Result<Code, Failure> {
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

/// Prints that a request to the daemon succeeded, for requests whose reply carries no data.
pub fn done(what: &'static str, words: &str, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(&Done { done: what }))?;
    } else {
        writeln!(out, "{words}")?;
    }
    out.flush()?;
    Ok(Code::Fine)
}

/// Prints the effect of a drain, pin or weights, or of their end: how many destinations of this node
/// moved to other paths, which have one path left, and which have no other. For a dry run also from
/// which path to which.
pub fn steered(steered: &Steered, done: &str, dry_run: bool, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(steered))?;
    } else {
        let verb = if dry_run { "would move" } else { "moved" };
        writeln!(
            out,
            "{done}: {} of this node {verb}",
            count(steered.moved_count(), "destination")
        )?;
        for line in steered.moves.iter().filter(|_| dry_run) {
            writeln!(out, "  {}: {}", plain(&line.node), plain(&line.change()))?;
        }
        if !steered.single.is_empty() {
            let single = named(&steered.single_nodes, &steered.single);
            writeln!(out, "left with one path: {single}")?;
        }
        if !steered.cut.is_empty() {
            let cut = named(&steered.cut_nodes, &steered.cut);
            writeln!(out, "without another path, so they go on using it: {cut}")?;
        }
    }
    out.flush()?;
    Ok(Code::Fine)
}

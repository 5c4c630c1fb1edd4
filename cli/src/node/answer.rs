//! Prints those parts of the daemon's replies that several verbs for one node print.

use std::io::{self, Write};

use serde::Serialize;
use tresse_control::{Applied, FORMAT, OperationLine, PendingLine, Steered, waiting};

use crate::fail::{self, Code, Failure};
use crate::output::{self, count, plain};

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

/// Prints the effect of a drain or pin, or of its end: how many destinations of this node moved to
/// other paths, which have one path left, and which have no other.
pub fn steered(steered: &Steered, done: &str, json: bool) -> Result<Code, Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Formatted::new(steered))?;
    } else {
        writeln!(out, "{done}: {} of this node moved", count(steered.moved.len(), "destination"))?;
        if !steered.single.is_empty() {
            writeln!(out, "left with one path: {}", steered.single.join(" "))?;
        }
        if !steered.cut.is_empty() {
            let cut = steered.cut.join(" ");
            writeln!(out, "without another path, so they go on using it: {cut}")?;
        }
    }
    out.flush()?;
    Ok(Code::Fine)
}

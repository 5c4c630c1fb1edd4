//! The end of a rollout (installing one plan on all nodes): checks that every node has the new
//! plan, or returns every node to the plan that it had before. Prints the result of each node.

use std::io::Write;

use serde::Serialize;
use tresse_control::{Client, FORMAT};

use super::state::{NodeState, Run, Seconds, names};
use crate::fail::{self, Code, Failure};
use crate::output::{self, count, plain};

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    generation: &'a str,
    /// Whether all nodes have the plan.
    done: bool,
    seconds: Seconds,
    nodes: Vec<&'a NodeState>,
}

impl Run {
    /// Rolls back every node that has left its old plan. Returns 1 if all have returned to it, 5 if some may have kept the
    /// new one.
    pub fn undo(&mut self) -> Code {
        let (lines, generation) = (&self.lines, self.generation.clone());
        let left =
            |name: &str| lines.get(name).is_some_and(|l| l.before.as_ref() != Some(&generation));
        let answers = self.fleet.each(left, |client| {
            let status = client.status()?;
            let armed = status.confirm_seconds.is_some() || status.previous.is_some();
            if status.generation.as_ref() == Some(&generation) && armed {
                return Ok(client.rollback()?.generation);
            }
            Ok(status.generation)
        });
        let mut all = true;
        for (node, answer) in answers {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(after) => {
                    all &= after == line.before;
                    line.after = after;
                }
                Err(failure) => {
                    all = false;
                    line.error = Some(format!(
                        "not rolled back ({}): it rolls back by itself unless it has confirmed the new \
                         plan; check with `tresse status` there",
                        failure.message
                    ));
                }
            }
        }
        if all {
            fail::say("rolled back everywhere: a node could not take the plan");
            return Code::Fault;
        }
        fail::say("rolled back, but not on every node: plans may differ now");
        Code::Partly
    }

    /// Checks that every node has the plan.
    pub fn verify(&mut self) -> Code {
        let mut code = Code::Fine;
        for (node, answer) in self.fleet.each(|_| true, Client::status) {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(status) => line.after = status.generation,
                Err(failure) => {
                    line.error = Some(failure.message);
                    code = Code::Partly;
                }
            }
            if line.after.as_ref() != Some(&self.generation) {
                line.error.get_or_insert_with(|| "has another plan".into());
                code = Code::Partly;
            }
        }
        code
    }

    pub fn stop(&self, code: Code) -> Code {
        fail::say("nothing was changed: a node cannot take the plan");
        code
    }

    pub fn report(&self, dry_run: bool, code: Code, json: bool) -> Result<(), Failure> {
        let done = code == Code::Fine && !dry_run;
        let mut out = output::stdout();
        if json {
            let nodes = self.lines.values().collect();
            let (generation, seconds) = (self.generation.as_str(), self.seconds);
            let answer = Answer { format: FORMAT, generation, done, seconds, nodes };
            output::json_line(&mut out, &answer)?;
        } else {
            for line in self.lines.values() {
                if let Some(error) = &line.error {
                    writeln!(out, "{}: {}", line.node, plain(error))?;
                } else if dry_run {
                    writeln!(out, "{}: {}", line.node, count(line.operations, "operation"))?;
                }
            }
            let stale = self.lines.values().filter(|l| l.after.as_ref() != Some(&self.generation));
            let stale: Vec<&str> = stale.map(|line| line.node.as_str()).collect();
            match done {
                true => writeln!(
                    out,
                    "generation {} on {}",
                    self.generation,
                    count(self.lines.len(), "node")
                )?,
                false if stale.is_empty() => {}
                false => {
                    writeln!(out, "generation {} is not on {}", self.generation, names(&stale))?
                }
            }
        }
        out.flush()?;
        Ok(())
    }
}

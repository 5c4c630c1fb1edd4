//! The end of a rollout (installing one plan on all nodes): checks that every node has the new
//! plan, or returns every node to the plan that it had before. Prints the result of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;
use tresse_control::{Client, ClientError, FORMAT, NodeError, PendingLine, Status, waiting};

use super::state::{NodeState, Run, Seconds};
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

/// What a node reports beside its plan: what somebody else has put in the way, and what is missing.
fn remarks(status: &Status) -> Vec<String> {
    let held = |line: &&PendingLine| line.kind != "plan";
    let pending: Vec<PendingLine> = status.pending.iter().filter(held).cloned().collect();
    let cut = output::hostlist(&status.cut);
    let cut = (!cut.is_empty()).then(|| format!("no path of it to {cut} works"));
    let drift = status.drift.iter().map(|line| line.why.clone());
    drift.chain(waiting(&pending)).chain(cut).collect()
}

impl Run {
    /// Rolls back every node that has left its old plan. Returns 1 if all have returned to it, 5 if some may have kept the
    /// new one.
    pub fn undo(&mut self) -> Code {
        let generation = self.generation.clone();
        let left = self.lines.values().filter(|line| line.before.as_ref() != Some(&generation));
        let left: BTreeSet<String> = left.map(|line| line.node.clone()).collect();
        // A node may have made another plan of the same files.
        let installed = self.lines.values().filter(|line| line.after != line.before);
        let mut ours: BTreeSet<String> = installed.filter_map(|line| line.after.clone()).collect();
        ours.insert(generation.clone());
        let is_ours =
            move |plan: &Option<String>| plan.as_ref().is_some_and(|plan| ours.contains(plan));
        let answers = self.insist(
            |name| left.contains(name),
            |client| {
                let status = client.status()?;
                let armed = status.confirm_seconds.is_some() || status.previous.is_some();
                if is_ours(&status.generation) && armed {
                    return match client.rollback() {
                        // Its own timer came first.
                        Err(ClientError::Node(NodeError::NothingToRollBack)) => {
                            Ok(client.status()?.generation)
                        }
                        answer => Ok(answer?.generation),
                    };
                }
                Ok(status.generation)
            },
        );
        let mut all = true;
        for (node, answer) in answers {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(after) => {
                    if after != line.before && after.as_ref() != Some(&generation) {
                        let has = after.as_deref().unwrap_or("no plan");
                        line.error =
                            Some(format!("has another plan, {has}: somebody else changes it"));
                    }
                    all &= after == line.before;
                    line.after = after;
                    line.unknown = false;
                }
                Err(failure) => {
                    all = false;
                    line.unknown = true;
                    line.error = Some(format!(
                        "not rolled back ({}): it rolls back by itself unless it has confirmed the new \
                         plan; check with `tresse status` there",
                        failure.message
                    ));
                }
            }
        }
        if all {
            fail::say("rolled back everywhere: not every node could change to the plan");
            return Code::Fault;
        }
        fail::say("rolled back, but not on every node that was asked: plans may differ now");
        Code::Partly
    }

    /// Checks that every node has the plan.
    pub fn verify(&mut self) -> Code {
        let mut code = Code::Fine;
        for (node, answer) in self.insist(|_| true, Client::status) {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(status) => {
                    line.remarks = remarks(&status);
                    line.after = status.generation;
                    line.unknown = false;
                }
                Err(failure) => {
                    line.unknown = true;
                    let words = "it is not known whether it kept the plan";
                    line.error = Some(format!("{words}: {}", failure.message));
                    code = Code::Partly;
                }
            }
            if line.after.as_ref() != Some(&self.generation) {
                let has = line.after.as_deref().unwrap_or("no plan");
                line.error.get_or_insert_with(|| format!("has another plan, {has}"));
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
            for (line, remark) in
                self.lines.values().flat_map(|l| l.remarks.iter().map(move |r| (l, r)))
            {
                writeln!(out, "{}: has the plan, but {}", line.node, plain(remark))?;
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
                false if stale.is_empty() || dry_run && code == Code::Fine => {}
                false => writeln!(
                    out,
                    "generation {} is not on {}",
                    self.generation,
                    output::hostlist(&stale)
                )?,
            }
            if code == Code::Partly {
                self.who_has_which(&mut out)?;
            }
        }
        out.flush()?;
        Ok(())
    }

    /// A line for each plan that nodes have, where they differ, and one for the nodes of which it is not known.
    fn who_has_which(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut plans: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
        for line in self.lines.values() {
            let plan = (!line.unknown).then(|| line.after.as_deref().unwrap_or("no plan"));
            plans.entry(plan).or_default().push(&line.node);
        }
        for (plan, nodes) in plans {
            match plan {
                Some(plan) => writeln!(out, "{}: {plan}", output::hostlist(&nodes))?,
                None => writeln!(
                    out,
                    "{}: not known, {} was sent",
                    output::hostlist(&nodes),
                    self.generation
                )?,
            }
        }
        Ok(())
    }
}

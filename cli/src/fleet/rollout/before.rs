//! The first steps of a rollout (installing one plan on all nodes), which change nothing: reach the
//! daemon of every node, and have it validate the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tresse_control::{ApplyRequest, Client, Status};

use super::progress::Shown;
use super::state::Run;
use crate::fail::{self, Code};
use crate::output::{self, count};

/// How long a change of plans that is under way may last before it stops the rollout, and how often that is
/// looked at.
const CALM: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(500);

impl Run {
    /// Asks every node for its status. A node that is in another change stops the rollout, unless the change is
    /// over soon.
    pub fn look(&mut self) -> Code {
        let until = Instant::now() + CALM;
        loop {
            self.lines.values_mut().for_each(|line| line.error = None);
            let (code, changing) = self.ask();
            if changing.is_empty() || code != Code::Fault || Instant::now() >= until {
                return code;
            }
            let words = || Shown::new("waits until another change of plans is over");
            self.progress.show(changing.into_iter().map(|node| (node, words())));
            std::thread::sleep(LOOK);
        }
    }

    /// Returns also the nodes where another change of plans is under way, if nothing else stops the rollout.
    fn ask(&mut self) -> (Code, Vec<String>) {
        let mut changing = Vec::new();
        let mut stopped = false;
        let answers = self.fleet.each(|_| true, Client::status);
        // A plan that some have already is what the others come from or go to: it ends a change that is stuck.
        let has = |status: &Status| status.generation.as_ref() == Some(&self.generation);
        let known = answers.iter().any(|(_, answer)| answer.as_ref().is_ok_and(has));
        let asked: BTreeSet<String> = self.lines.keys().cloned().collect();
        let mut away: BTreeSet<String> = BTreeSet::new();
        let mut code = Code::Fine;
        let mut versions: BTreeMap<String, usize> = BTreeMap::new();
        for (node, answer) in answers {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(status) => {
                    *versions.entry(status.version).or_default() += 1;
                    line.before.clone_from(&status.generation);
                    line.after.clone_from(&line.before);
                    line.fused = status.fused.iter().map(|fused| fused.vid).collect();
                    let waits = status.waits.iter().map(|wait| wait.node.as_ref());
                    let waits: Vec<Option<&String>> = waits.collect();
                    let out =
                        |node: &Option<&String>| node.is_some_and(|node| !asked.contains(node));
                    if status.changing && !waits.is_empty() && waits.iter().all(out) {
                        away.extend(waits.into_iter().flatten().cloned());
                    } else if status.confirm_seconds.is_none() && status.changing && !known {
                        let what = "another change of plans is still running on this node";
                        line.error = Some(
                            match status.waits.iter().find(|wait| wait.node.is_some()) {
                                Some(wait) => format!(
                                    "{what}: it {wait}; first roll out the plan of this node, or that of {}, to \
                                     all",
                                    wait.node.as_deref().unwrap_or_default()
                                ),
                                None => format!("{what}: wait until it is done"),
                            },
                        );
                        code = Code::Fault;
                        changing.push(line.node.clone());
                    }
                    if status.confirm_seconds.is_some() {
                        line.error = Some(
                            "an apply waits for its confirm on this node: run `tresse confirm` or \
                             `tresse rollback` there first"
                                .into(),
                        );
                        code = Code::Fault;
                        stopped = true;
                    }
                }
                Err(failure) => {
                    line.error = Some(failure.message);
                    code = failure.code;
                    stopped = true;
                }
            }
        }
        if !stopped && !changing.is_empty() {
            return (code, changing);
        }
        if !stopped && !away.is_empty() {
            let away: Vec<&str> = away.iter().map(String::as_str).collect();
            fail::say(&format!(
                "{} is left out and has the plan before the present one, which the others keep for it no longer: \
                 pairs with it may not work until it has this plan",
                output::hostlist(&away)
            ));
        }
        if versions.len() > 1 {
            let each = versions.iter().map(|(version, n)| format!("{version} on {n}"));
            fail::say(&format!(
                "the versions of tressed differ: {}",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
        let plans: BTreeSet<_> = self.lines.values().map(|l| &l.before).collect();
        if code == Code::Fine && plans.len() > 1 {
            let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for line in self.lines.values() {
                of.entry(line.before.as_deref().unwrap_or("no plan")).or_default().push(&line.node);
            }
            let each =
                of.iter().map(|(plan, nodes)| format!("{plan} on {}", output::hostlist(nodes)));
            fail::say(&format!("plans differ: {}", each.collect::<Vec<_>>().join(", ")));
        }
        (code, Vec::new())
    }

    /// Lets every node validate the plan without installing it.
    pub fn validate(&mut self, request: &ApplyRequest) -> Code {
        let answers = self.fleet.each(|_| true, |client| client.apply(request));
        let mut code = Code::Fine;
        for (node, answer) in answers {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(applied) if applied.generation.as_ref() == Some(&self.generation) => {
                    line.operations = applied.operations.len();
                }
                Ok(applied) => {
                    let other = applied.generation.unwrap_or_default();
                    line.error = Some(format!(
                        "computes plan {other} from these files, not {}: does tressed have another version?",
                        self.generation
                    ));
                    code = Code::Fault;
                }
                Err(failure) => {
                    line.error = Some(failure.message);
                    code = failure.code;
                }
            }
        }
        if code == Code::Fine {
            fail::say(&format!("{} can install the plan", count(self.lines.len(), "node")));
        }
        code
    }
}

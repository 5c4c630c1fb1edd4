//! The first steps of a rollout (installing one plan on all nodes), which change nothing: reach the
//! daemon of every node, and have it validate the plan.

use std::collections::{BTreeMap, BTreeSet};

use tresse_control::{ApplyRequest, Client};

use super::state::{Run, names};
use crate::fail::{self, Code};
use crate::output::count;

impl Run {
    /// Asks every node for its status. A node that is in another change stops the rollout.
    pub fn look(&mut self) -> Code {
        let answers = self.fleet.each(|_| true, Client::status);
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
                    let another = status.generation.as_ref() != Some(&self.generation);
                    if status.confirm_seconds.is_none() && status.changing && another {
                        let words = "another change of plans is still running on this node: wait until it is done";
                        line.error = Some(words.into());
                        code = Code::Fault;
                    }
                    if status.confirm_seconds.is_some() {
                        line.error = Some(
                            "an apply waits for its confirm on this node: run `tresse confirm` or \
                             `tresse rollback` there first"
                                .into(),
                        );
                        code = Code::Fault;
                    }
                }
                Err(failure) => {
                    line.error = Some(failure.message);
                    code = failure.code;
                }
            }
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
            let each = of.iter().map(|(plan, nodes)| format!("{plan} on {}", names(nodes)));
            fail::say(&format!("plans differ: {}", each.collect::<Vec<_>>().join(", ")));
        }
        code
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

//! How a broken rollout ends: which plan each node has when nothing more happens, and whether it is said.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tresse_control::Status;

use super::checkpoint::Step;
use super::fault::Fault;
use super::rollout::Answer;
use crate::lab::Lab;

/// The plans before and after a rollout, by generation.
#[derive(Debug)]
pub struct Plans {
    pub old: String,
    pub new: String,
}

/// What every node says of itself in the end.
#[derive(Debug)]
pub struct End(BTreeMap<String, Status>);

impl End {
    /// Waits until no node waits for a confirm or is at work, and each is settled or waits for a node with
    /// another plan.
    pub fn of(lab: &Lab, patience: Duration) -> Result<Self, String> {
        let until = Instant::now() + patience;
        loop {
            let of = |node: String| {
                let status = lab.client(&node)?.status().map_err(|e| format!("{node}: {e}"))?;
                Ok((node, status))
            };
            let seen: Result<BTreeMap<_, _>, String> = lab.nodes().into_iter().map(of).collect();
            let why = match seen {
                Ok(seen) => {
                    let end = Self(seen);
                    match end.goes_on() {
                        None => return Ok(end),
                        Some(why) => why,
                    }
                }
                Err(why) => why,
            };
            if Instant::now() > until {
                return Err(format!("not at rest within {patience:?}: {why}"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn goes_on(&self) -> Option<String> {
        let split = self.generations().len() > 1;
        let busy = |status: &Status| {
            let waits =
                status.waits.iter().any(|wait| wait.node.is_some() && wait.left_ms.is_some());
            status.confirm_seconds.is_some()
                || status.activity != "idle"
                || !status.in_sync
                || status.changing && !(split && waits)
        };
        let found = self.0.iter().find(|(_, status)| busy(status));
        found.map(|(node, status)| format!("{node}: {status:?}"))
    }

    /// The generations that there are, each with its nodes.
    pub fn generations(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (node, status) in &self.0 {
            let generation = status.generation.clone().unwrap_or_else(|| "none".into());
            all.entry(generation).or_default().push(node.clone());
        }
        all
    }

    /// In a word or two.
    pub fn words(&self, plans: &Plans) -> String {
        let name = |generation: &str| match generation {
            it if it == plans.old => "old",
            it if it == plans.new => "new",
            _ => "another",
        };
        let generations = self.generations();
        match generations.len() {
            1 => format!("all {}", generations.keys().map(|it| name(it)).collect::<String>()),
            _ => {
                let each = generations.iter().map(|(it, nodes)| {
                    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
                    format!("{} {}", tresse_base::hostlist::collapse(&nodes).join(","), name(it))
                });
                each.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// What the end, or what was said about it, has that it must not have.
    pub fn wrong(
        &self,
        step: Step,
        fault: Fault,
        plans: &Plans,
        answer: Option<&Answer>,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let generations = self.generations();
        let all =
            |generation: &String| generations.len() == 1 && generations.contains_key(generation);
        let known = generations.keys().all(|it| *it == plans.old || *it == plans.new);
        if !known && fault != Fault::SecondOperator {
            wrong.push("a plan that nobody rolled out".into());
        }
        match answer.and_then(|answer| answer.code) {
            Some(0) if !all(&plans.new) => wrong.push("exit 0 without the plan everywhere".into()),
            Some(1 | 4) if generations.contains_key(&plans.new) => {
                wrong.push("the plan is there although nothing was to be changed".into());
            }
            Some(5) if generations.len() > 1 => wrong.extend(self.unnamed(plans, answer)),
            Some(0 | 1 | 4 | 5) | None => {}
            Some(other) => wrong.push(format!("exit {other}")),
        }
        let expected = match (fault, step) {
            (Fault::OperatorKilled, step) if step < Step::SomeConfirmed => Some(&plans.old),
            (Fault::DiskFull, Step::Begun | Step::Asked) | (Fault::OtherPlan, _) => {
                Some(&plans.old)
            }
            // The second one comes after the first.
            (Fault::SecondOperator, _) => None,
            (_, Step::Confirmed) => Some(&plans.new),
            _ => None,
        };
        if expected.is_some_and(|plan| !all(plan)) {
            wrong.push("timers or answers promise another end".into());
        }
        if matches!(fault, Fault::ForeignRoute | Fault::NicMissing) && step < Step::Confirmed {
            wrong.extend(self.unremarked(answer));
        }
        if generations.len() > 1 {
            wrong.extend(self.unsaid());
        }
        wrong
    }

    /// Nodes without the plan that the answer of the rollout does not name.
    fn unnamed(&self, plans: &Plans, answer: Option<&Answer>) -> Option<String> {
        let nodes = answer?.json["nodes"].as_array()?;
        let named = |node: &str| {
            let line = nodes.iter().find(|line| line["node"] == node);
            line.is_some_and(|line| {
                line["error"].is_string() || line["after"].as_str() != Some(&plans.new)
            })
        };
        let without = self.0.iter().filter(|(_, it)| it.generation.as_ref() != Some(&plans.new));
        let left: Vec<&String> =
            without.map(|(node, _)| node).filter(|node| !named(node)).collect();
        (!left.is_empty()).then(|| format!("the answer does not name {left:?}"))
    }

    /// A rollout that went well in spite of the fault says what keeps the plan from working.
    fn unremarked(&self, answer: Option<&Answer>) -> Option<String> {
        let answer = answer.filter(|answer| answer.code == Some(0))?;
        let remarks =
            |line: &serde_json::Value| line["remarks"].as_array().is_some_and(|r| !r.is_empty());
        let said = answer.json["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(remarks));
        (!said).then(|| "the answer does not tell of the fault".into())
    }

    /// With two plans, every node of the smaller part is named by a neighbour, or names one.
    fn unsaid(&self) -> Option<String> {
        let generations = self.generations();
        let fewest = generations.values().min_by_key(|nodes| nodes.len())?;
        let mut said = BTreeSet::new();
        for (node, status) in &self.0 {
            let waits = status.waits.iter().filter_map(|wait| wait.node.clone());
            let named: BTreeSet<String> = waits.chain(others(status)).collect();
            if !named.is_empty() {
                said.insert(node.clone());
            }
            said.extend(named);
        }
        let left: Vec<&String> = fewest.iter().filter(|node| !said.contains(*node)).collect();
        (!left.is_empty()).then(|| format!("no status tells that {left:?} has another plan"))
    }
}

/// Nodes that a status names as having another plan.
pub fn others(status: &Status) -> Vec<String> {
    status.others.iter().map(|other| other.node.clone()).collect()
}

//! `tresse rollout`: one plan on all nodes, or on none.
//!
//! ```text
//! look -> validate -> apply, unconfirmed -> wait until nobody sends by the old plan -> confirm
//!   |        |           |                    |                                          |
//!   +--------+--> nothing was changed         +--> every node rolls back <---------------+
//! ```
//!
//! What is new is added everywhere before a source uses it, and what is old removed after: daemons tell
//! each other how far they are. A rollout that dies before it confirms is undone by the daemons' own timers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use tresse_control::{ApplyRequest, Client, ClientError, FORMAT, NodeError, Status};

use crate::fail::{self, Code, Failure};
use crate::fleet::{Fleet, FleetArgs};
use crate::input::{self, ClusterArgs};
use crate::node::duration;
use crate::output::{self, count, plain};

/// Between two looks at who is done.
const LOOK: Duration = Duration::from_millis(500);

/// Arguments of `tresse rollout`.
#[derive(Debug, Args)]
pub struct Rollout {
    #[command(flatten)]
    cluster: ClusterArgs,
    #[command(flatten)]
    fleet: FleetArgs,
    /// Every node rolls back by itself unless all are done within this time: 60s, 5m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    confirm: Duration,
    /// Validate on every node, tell what each would do, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Leave out the guard that keeps the way to the nodes open.
    #[arg(long)]
    force: bool,
}

/// What is known of one node.
#[derive(Debug, Default, Serialize)]
struct Line {
    node: String,
    /// Its plan before.
    before: Option<String>,
    /// Its plan now, as far as it is known.
    after: Option<String>,
    /// Kernel operations, done or (as a dry run) to do.
    operations: usize,
    /// What went wrong here.
    error: Option<String>,
    /// VLANs that were fused before.
    #[serde(skip)]
    fused: BTreeSet<u16>,
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    generation: &'a str,
    /// Do all nodes have the plan?
    done: bool,
    nodes: Vec<&'a Line>,
}

/// A rollout under way.
struct Run {
    fleet: Fleet,
    generation: String,
    lines: BTreeMap<String, Line>,
    /// Are nodes left out, which go on sending by the plan before?
    partial: bool,
}

impl Rollout {
    /// Rolls out; exits with 0 where all nodes have the plan, with 5 where plans may differ at the end, and
    /// otherwise with all nodes at the plan of before.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        let plan = self.cluster.plan()?;
        let request = ApplyRequest {
            cluster: input::cluster_text(&self.cluster.file)?,
            lock: self.cluster.lock_text()?,
            dry_run: Some(true),
            confirm_seconds: None,
            force: Some(self.force),
            force_interfaces: None,
        };
        let names = self.fleet.nodes(plan.cluster())?;
        let partial = names.len() < plan.cluster().nodes.len();
        let line = |name: &String| (name.clone(), Line { node: name.clone(), ..Line::default() });
        let mut run = Run {
            lines: names.iter().map(line).collect(),
            fleet: self.fleet.fleet(names),
            generation: plan.generation().into(),
            partial,
        };
        let code = run.all(self, request)?;
        run.report(self.dry_run, code, json)?;
        Ok(code)
    }
}

impl Run {
    fn all(&mut self, args: &Rollout, request: ApplyRequest) -> Result<Code, Failure> {
        let code = self.look();
        if code != Code::Fine {
            return Ok(self.stop(code));
        }
        let code = self.validate(&request);
        if code != Code::Fine || args.dry_run {
            return Ok(if args.dry_run { code } else { self.stop(code) });
        }
        let started = Instant::now();
        // The timers of the nodes end later than this one.
        let until = started + args.confirm.mul_f64(0.8);
        let request = ApplyRequest {
            dry_run: Some(false),
            confirm_seconds: Some(args.confirm.as_secs() as u32),
            ..request
        };
        if !self.apply(&request) || !self.settle(until) || !self.confirm() {
            return Ok(self.undo());
        }
        Ok(self.verify())
    }

    /// Reaches every node.
    fn look(&mut self) -> Code {
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
                        let words = "a change of plans is still under way there: wait for it";
                        line.error = Some(words.into());
                        code = Code::Fault;
                    }
                    if status.confirm_seconds.is_some() {
                        line.error = Some(
                            "an apply waits for its confirm there: `tresse confirm` or \
                             `tresse rollback` first"
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
            fail::say(&format!("tressed differs: {}", each.collect::<Vec<_>>().join(", ")));
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

    /// Every node says what it would do.
    fn validate(&mut self, request: &ApplyRequest) -> Code {
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
                        "plans {other} from these files, not {}: another version?",
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
            fail::say(&format!("{} can install it", count(self.lines.len(), "node")));
        }
        code
    }

    /// Installs it everywhere, until confirmed.
    fn apply(&mut self, request: &ApplyRequest) -> bool {
        let answers = self.fleet.each(|_| true, |client| client.apply(request));
        let mut fine = true;
        for (node, answer) in answers {
            let line = self.lines.entry(node).or_default();
            match answer {
                Ok(applied) => {
                    line.after = applied.generation;
                    line.operations = applied.operations.len();
                }
                Err(failure) => {
                    line.error = Some(failure.message);
                    fine = false;
                }
            }
        }
        fine
    }

    /// Waits until every node has proven what is new and let go of what is old.
    fn settle(&mut self, until: Instant) -> bool {
        loop {
            let answers = self.fleet.each(|_| true, Client::status);
            let waits = answers.into_iter().filter_map(|(node, answer)| match answer {
                Ok(status) => {
                    let why = self.waits(&node, &status)?;
                    Some((node, why))
                }
                Err(failure) => Some((node, failure.message)),
            });
            let waits: BTreeMap<String, String> = waits.collect();
            if waits.is_empty() {
                return true;
            }
            if Instant::now() >= until {
                for (node, why) in waits {
                    self.lines.entry(node).or_default().error = Some(why);
                }
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Keeps it everywhere. Nodes that cannot be told are asked again: they may have been told.
    fn confirm(&mut self) -> bool {
        let generation = self.generation.clone();
        let confirm = |client: &mut Client| match client.confirm() {
            Err(ClientError::Node(NodeError::NothingToConfirm)) => {
                let status = client.status()?;
                if status.generation.as_ref() == Some(&generation) {
                    return Ok(());
                }
                let message = "has gone back to the plan before: its time was over".into();
                Err(ClientError::Node(NodeError::Internal { message }))
            }
            answer => answer,
        };
        let failed = |answers: Vec<(String, Result<(), Failure>)>| -> BTreeMap<String, String> {
            let failed = answers.into_iter().filter_map(|(n, a)| Some((n, a.err()?.message)));
            failed.collect()
        };
        let first = failed(self.fleet.each(|_| true, confirm));
        let again = failed(self.fleet.each(|name| first.contains_key(name), confirm));
        for (node, why) in &again {
            self.lines.entry(node.clone()).or_default().error = Some(why.clone());
        }
        again.is_empty()
    }

    /// Returns to the plans of before, on every node that left its own; 1 where all have, 5 where some may
    /// have kept the new one.
    fn undo(&mut self) -> Code {
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
                        "not rolled back ({}): it does so by itself unless it was told to keep the \
                         new plan; look there",
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

    /// Do all have it?
    fn verify(&mut self) -> Code {
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

    /// What a node is not done with.
    fn waits(&self, node: &str, status: &Status) -> Option<String> {
        if status.generation.as_ref() != Some(&self.generation) {
            return Some("has gone back to another plan".into());
        }
        if let Some(fault) = &status.fault {
            return Some(fault.clone());
        }
        let before = self.lines.get(node).map(|line| &line.fused);
        let new = |vid: &u16| before.is_none_or(|before| !before.contains(vid));
        if let Some(fused) = status.fused.iter().find(|fused| new(&fused.vid)) {
            return Some(format!("VLAN {} is fused: {}", fused.vid, fused.why));
        }
        if !status.unproven.is_empty() {
            let vids: Vec<String> = status.unproven.iter().map(ToString::to_string).collect();
            return Some(format!("VLANs {} are not proven", vids.join(" ")));
        }
        // It sends by the new plan and receives by both, as long as others send by the one before.
        let holds = status.pending.iter().any(|line| line.kind == "plan");
        if status.changing && !(self.partial && holds) {
            let first = tresse_control::waiting(&status.pending).into_iter().next();
            return Some(first.unwrap_or_else(|| "still sends by the plan before".into()));
        }
        (!status.in_sync).then(|| "is not in sync".into())
    }

    fn stop(&self, code: Code) -> Code {
        fail::say("nothing was changed: a node cannot take the plan");
        code
    }

    fn report(&self, dry_run: bool, code: Code, json: bool) -> Result<(), Failure> {
        let done = code == Code::Fine && !dry_run;
        let mut out = output::stdout();
        if json {
            let nodes = self.lines.values().collect();
            let answer = Answer { format: FORMAT, generation: &self.generation, done, nodes };
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

/// Node names in short: `n[00-15]`.
fn names(nodes: &[&str]) -> String {
    tresse_fabric::cluster::collapse(nodes).join(",")
}

//! The steps of a rollout (installing one plan on all nodes) that change nodes: install the plan,
//! wait until every node has tested it and removed the old one, confirm it on every node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tresse_control::{ApplyRequest, Client, ClientError, NodeError, Status, waiting};

use super::insist::Limit;
use super::progress::Shown;
use super::state::Run;
use crate::fail::Failure;
use crate::output::count;

/// Time between two questions to the nodes that are not done.
const LOOK: Duration = Duration::from_millis(200);
/// What lasts less long is not worth a line.
const LONG_MS: u64 = 2000;
/// A node that answers the operator, and was not heard by another for so long where the plan has it, is elsewhere. The
/// nodes themselves wait longer, and would then send there.
const UNHEARD_MS: u64 = 35_000;

impl Run {
    /// Installs the plan on every node; without a confirm each node rolls back by itself.
    pub fn apply(&mut self, request: &ApplyRequest) -> bool {
        let answers = self.fleet.each(|_| true, |client| client.apply(request));
        let (mut fine, mut shown) = (true, Vec::new());
        for (node, answer) in answers {
            let line = self.lines.entry(node.clone()).or_default();
            match answer {
                Ok(applied) => {
                    line.after = applied.generation;
                    line.operations = applied.operations.len();
                    if line.after.as_ref() != Some(&self.generation) {
                        let other = line.after.as_deref().unwrap_or("none");
                        line.error = Some(format!(
                            "has installed plan {other} from these files: does tressed have another version?"
                        ));
                        fine = false;
                    }
                    let words = format!("installed, {}", count(line.operations, "operation"));
                    shown.push((node, Shown::new(words)));
                }
                Err(failure) => {
                    line.error = Some(failure.message);
                    fine = false;
                }
            }
        }
        self.progress.show(shown);
        fine
    }

    /// Waits until every node has tested what is new and removed what is old. Asks those that are not done,
    /// and when all are done asks all once more: they must be it at the same time. Ends early, unless `force`, where a
    /// node does not hear another, or refuses an interface of its own: waiting does not help there, and the new plan
    /// may have no way round it.
    pub fn settle(&mut self, until: Instant, force: bool) -> bool {
        let mut asked: Option<BTreeSet<String>> = None;
        let mut look = 0;
        loop {
            look += 1;
            // Those that are done may lose an interface while others are waited for.
            asked = asked.filter(|_| look % 5 > 0);
            let which = |name: &str| asked.as_ref().is_none_or(|asked| asked.contains(name));
            let answers = self.fleet.each(which, Client::status);
            let mut shown = Vec::new();
            let mut waits: BTreeMap<String, String> = BTreeMap::new();
            let (mut lost, mut over) = (BTreeSet::new(), Instant::now() >= until);
            for (node, answer) in answers {
                let why = match answer {
                    Ok(status) => {
                        if !force && self.misses_a_node(&status) {
                            lost.insert(node.clone());
                        }
                        over |= !force && self.refused(&node, &status).is_some();
                        let why = self.waits(&node, &status);
                        shown.extend(state(&status, why.as_ref()).map(|s| (node.clone(), s)));
                        why
                    }
                    Err(failure) => Some(failure.message),
                };
                waits.extend(why.map(|why| (node, why)));
            }
            self.progress.show(shown);
            if waits.is_empty() {
                if asked.take().is_none() {
                    return true;
                }
                continue;
            }
            if over || !lost.is_empty() {
                let cables = "; `tresse cables` on that node says where its cables lead";
                for (node, mut why) in waits {
                    why.push_str(if lost.contains(&node) { cables } else { "" });
                    self.lines.entry(node).or_default().error = Some(why);
                }
                return false;
            }
            asked = Some(waits.into_keys().collect());
            std::thread::sleep(LOOK);
        }
    }

    /// Does this node not hear another node of the rollout where the plan has it?
    fn misses_a_node(&self, status: &Status) -> bool {
        let takes_part =
            |node: &Option<String>| node.as_ref().is_some_and(|node| self.lines.contains_key(node));
        let mut waits = status.waits.iter().filter(|wait| takes_part(&wait.node));
        waits.any(|wait| wait.unheard == Some(true) && wait.since_ms >= UNHEARD_MS)
    }

    /// Confirms on every node. A node that fails is asked once more, because only its answer may have been lost.
    /// After the limit nothing is confirmed: it may be the plan of somebody else by then.
    pub fn confirm(&mut self, limit: Limit) -> bool {
        let generation = self.generation.clone();
        let over = "the time of --confirm was over before all nodes were done";
        let confirm = |client: &mut Client| match client.confirm_plan(&generation) {
            Err(ClientError::Node(NodeError::NothingToConfirm)) => {
                let status = client.status()?;
                if status.generation.as_ref() == Some(&generation) {
                    return Ok(());
                }
                let message =
                    "has rolled back to the plan before: the time of --confirm was over".into();
                Err(ClientError::Node(NodeError::Internal { message }))
            }
            answer => answer,
        };
        let failed = |answers: Vec<(String, Result<(), Failure>)>| -> BTreeMap<String, String> {
            let failed = answers.into_iter().filter_map(|(n, a)| Some((n, a.err()?.message)));
            failed.collect()
        };
        let in_time = |client: &mut Client| match limit.is_over() {
            true => Err(ClientError::Node(NodeError::Internal { message: over.into() })),
            false => confirm(client),
        };
        let first = failed(self.fleet.each(|_| true, in_time));
        let again = match first.is_empty() {
            true => first,
            false => failed(self.insist(|name| first.contains_key(name), in_time)),
        };
        for (node, why) in &again {
            self.lines.entry(node.clone()).or_default().error = Some(why.clone());
        }
        let all: Vec<String> = self.lines.keys().cloned().collect();
        let confirmed = all.into_iter().filter(|node| !again.contains_key(node));
        self.progress.show(confirmed.map(|node| (node, Shown::new("confirmed"))));
        again.is_empty()
    }

    /// Why a node does not use one of the interfaces of the new plan: only an operator can mend it.
    fn refused<'a>(&self, node: &str, status: &'a Status) -> Option<&'a str> {
        let nics = self.nics.get(node)?;
        let of = |name: &str| {
            let base = |nic: &String| name.strip_prefix(nic.as_str());
            nics.iter().filter_map(base).any(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut refused = status.drift.iter().filter(|line| line.op == "refused");
        refused.find(|line| of(&line.object)).map(|line| line.why.as_str())
    }

    /// Why a node is not done, if it is not.
    fn waits(&self, node: &str, status: &Status) -> Option<String> {
        if status.generation.as_ref() != Some(&self.generation) {
            return Some("has rolled back to another plan".into());
        }
        if let Some(fault) = &status.fault {
            return Some(fault.clone());
        }
        if let Some(refused) = self.refused(node, status) {
            return Some(refused.into());
        }
        let before = self.lines.get(node).map(|line| &line.fused);
        let new = |vid: &u16| before.is_none_or(|before| !before.contains(vid));
        if let Some(fused) = status.fused.iter().find(|fused| new(&fused.vid)) {
            return Some(format!("VLAN {} is fused: {}", fused.vid, fused.why));
        }
        if !status.unproven.is_empty() {
            let vids: Vec<String> = status.unproven.iter().map(ToString::to_string).collect();
            return Some(format!("VLANs {} are not proven yet", vids.join(" ")));
        }
        // With nodes left out, a node keeps receiving by the old plan, so this pending line stays.
        let holds = status.pending.iter().any(|line| line.kind == "plan");
        if status.changing && !(self.partial && holds) {
            let first = status.waits.first().map(ToString::to_string);
            let first = first.or_else(|| waiting(&status.pending).into_iter().next());
            return Some(first.unwrap_or_else(|| "is still changing its plan".into()));
        }
        (!status.in_sync).then(|| "is not in sync".into())
    }
}

/// What to show of a node: that it is done, or what it has waited for since a while.
fn state(status: &Status, why: Option<&String>) -> Option<Shown> {
    let Some(why) = why else { return Some(Shown::new("changed")) };
    let wait = status.waits.first()?;
    let key = format!("{:?} {}", wait.node, wait.what);
    (wait.since_ms >= LONG_MS).then(|| Shown { key, words: why.clone() })
}

//! `tresse drain --all` and `tresse undrain --all`: drain a part of the fabric (a switch, node,
//! link, port or NIC) on all nodes, or end that drain.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;
use tresse_control::{Client, ClientError, Drain, FORMAT, NodeError, Steered};
use tresse_health::Said;
use tresse_health::cut::{self, Joined};
use tresse_plan::{Plan, remaining};
use tresse_topology::cluster::Cluster;

use super::nodes::{Fleet, FleetArgs};
use super::said::ask;
use crate::fail::{self, Code, Failure};
use crate::input::{self, ClusterArgs};
use crate::output::{self, count, named, plain};

#[derive(Debug, Serialize)]
struct NodeResult {
    node: String,
    #[serde(flatten)]
    steered: Option<Steered>,
    error: Option<String>,
}

impl NodeResult {
    /// Does a drain leave this node without a path to another?
    fn cuts(&self) -> bool {
        let cuts = |of: &Steered| !(of.cut.is_empty() && of.cut_nodes.is_empty());
        self.steered.as_ref().is_some_and(cuts)
    }
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    format: u32,
    object: &'a str,
    nodes: &'a [NodeResult],
}

/// Drains a part of the fabric (a switch, node, link, port or NIC) on all nodes: moves their paths
/// away from it. Asks first which destinations each node would lose, also because of what has failed
/// elsewhere; if there is one, drains only if `how` forces it. With `dry_run` only reports that. If the drain fails on one node, undoes it
/// on the others.
pub fn drain(
    args: &FleetArgs,
    file: &ClusterArgs,
    how: Drain<'_>,
    dry_run: bool,
    json: bool,
) -> Result<Code, Failure> {
    let cluster = input::read_cluster(&file.file)?;
    let mut names = args.nodes(&cluster)?;
    // A node cannot drain itself.
    names.retain(|name| name != how.object);
    let mut fleet = args.fleet(names, Some(&cluster));
    let said = fleet.each(|_| true, ask).into_iter();
    let said: BTreeMap<String, Said> =
        said.filter_map(|(node, said)| Some((node, said.ok()?))).collect();
    let mut asked = lines(fleet.each(|_| true, |client| client.drain(&how)));
    add(&mut asked, &cut::off(&cluster, how.object, &said));
    let mut joined = BTreeSet::new();
    if remaining::joins_paths(&cluster) && asked.iter().any(NodeResult::cuts) {
        joined = join(&mut asked, &file.plan()?, how.object, &said);
    }
    let cut = asked.iter().filter(|line| line.cuts());
    let cut: Vec<&str> = cut.map(|line| line.node.as_str()).collect();
    let failed = asked.iter().any(|line| line.error.is_some());
    if dry_run || failed || (!cut.is_empty() && !how.force) {
        report(how.object, &asked, dry_run, json)?;
        if !dry_run {
            let help = if failed { "" } else { "; --force drains it anyway" };
            fail::say(&format!("nothing was drained{help}"));
        }
        return Ok(if failed || !cut.is_empty() { Code::Fault } else { Code::Fine });
    }
    let single = asked.iter().filter_map(|line| line.steered.as_ref()).map(Steered::single_count);
    let single: usize = single.sum();
    if single > 0 {
        fail::say(&format!("{} left with one path", count(single, "destination")));
    }
    let mut drained = Vec::new();
    for force in [false, true] {
        // A node by itself knows nothing of the paths of others.
        let how = Drain { dry_run: false, force: force || how.force, ..how };
        let which = |node: &str| joined.contains(node) == force;
        drained.extend(lines(fleet.each(which, |client| client.drain(&how))));
    }
    drained.sort_by(|a, b| a.node.cmp(&b.node));
    report(how.object, &drained, false, json)?;
    if drained.iter().all(|line| line.error.is_none()) {
        return Ok(Code::Fine);
    }
    // A node that did not answer may have drained it too. A node that had drained it before keeps it drained.
    let drained_it = |said: &Said| said.status.drained.iter().any(|object| object == how.object);
    let ours = |name: &str| !said.get(name).is_some_and(drained_it);
    let back = undone(&mut fleet, ours, how.object, false);
    let left: Vec<&str> =
        back.iter().filter(|line| line.error.is_some()).map(|line| line.node.as_str()).collect();
    fail::say("the drain was undone: not every node could drain it");
    if !left.is_empty() {
        fail::say(&format!(
            "perhaps still drained on {}: check with `tresse status` there",
            left.join(" ")
        ));
    }
    Ok(Code::Fault)
}

/// Lets all nodes use a drained part of the fabric again. Nodes that have not drained it are
/// skipped. With `dry_run` only reports what would move.
pub fn undrain(
    args: &FleetArgs,
    cluster: &Cluster,
    object: &str,
    dry_run: bool,
    json: bool,
) -> Result<Code, Failure> {
    let mut fleet = args.fleet(args.nodes(cluster)?, Some(cluster));
    let lines = undone(&mut fleet, |_| true, object, dry_run);
    report(object, &lines, dry_run, json)?;
    let there = lines.iter().any(|line| line.steered.is_some());
    if !there {
        let silent = lines.iter().any(|line| line.error.is_some());
        let which = if silent { "no node that answered" } else { "no node" };
        fail::say(&format!("{object} is drained on {which}"));
    }
    let fine = there && lines.iter().all(|line| line.error.is_none());
    Ok(if fine { Code::Fine } else { Code::Fault })
}

fn undone(
    fleet: &mut Fleet,
    which: impl Fn(&str) -> bool + Sync,
    object: &str,
    dry_run: bool,
) -> Vec<NodeResult> {
    let undrain = |client: &mut Client| match client.undrain(object, dry_run) {
        // This node had not drained it.
        Err(ClientError::Node(NodeError::Refused { .. })) => Ok(None),
        answer => answer.map(Some),
    };
    let answers = fleet.each(which, undrain).into_iter();
    answers.map(|(node, answer)| line(node, answer)).collect()
}

/// Adds the nodes that only all answers together show to be cut off.
fn add(asked: &mut [NodeResult], off: &BTreeMap<String, Vec<String>>) {
    for line in asked {
        if let (Some(steered), Some(more)) = (&mut line.steered, off.get(&line.node)) {
            let more = more.iter().filter(|name| !steered.cut_nodes.contains(name));
            let more: Vec<String> = more.cloned().collect();
            steered.single_nodes.retain(|name| !more.contains(name));
            steered.cut_nodes.extend(more);
        }
    }
}

/// Where nodes do not route, takes those that others still send on to out of what would be cut off. Returns the nodes
/// that send to some of these.
fn join(
    asked: &mut [NodeResult],
    plan: &Plan,
    object: &str,
    said: &BTreeMap<String, Said>,
) -> BTreeSet<String> {
    let Some(joined) = Joined::of(plan, object, said) else { return BTreeSet::new() };
    let node = |name: &str| plan.cluster().node_named(name);
    let mut by_others = BTreeSet::new();
    for line in asked {
        let Some((steered, src)) = line.steered.as_mut().zip(node(&line.node)) else { continue };
        let reaches = |name: &String| node(name).is_some_and(|dst| joined.reaches(src, dst));
        let reached: Vec<String> = steered.cut_nodes.extract_if(.., |name| reaches(name)).collect();
        if reached.is_empty() {
            continue;
        }
        let addresses = reached.iter().filter_map(|name| node(name));
        let addresses: BTreeSet<String> = addresses
            .flat_map(|dst| plan.addresses().node[dst.index()].iter().map(ToString::to_string))
            .collect();
        let is_reached = |address: &mut String| addresses.contains(address);
        steered.single.extend(steered.cut.extract_if(.., is_reached));
        steered.single_nodes.extend(reached);
        by_others.insert(line.node.clone());
    }
    by_others
}

fn lines(answers: Vec<(String, Result<Steered, Failure>)>) -> Vec<NodeResult> {
    answers.into_iter().map(|(node, answer)| line(node, answer.map(Some))).collect()
}

fn line(node: String, answer: Result<Option<Steered>, Failure>) -> NodeResult {
    match answer {
        Ok(steered) => NodeResult { node, steered, error: None },
        Err(failure) => NodeResult { node, steered: None, error: Some(failure.message) },
    }
}

/// Prints a line for each node; for a dry run also what would move there, and from which path to which.
fn report(object: &str, lines: &[NodeResult], dry_run: bool, json: bool) -> Result<(), Failure> {
    let mut out = output::stdout();
    if json {
        output::json_line(&mut out, &Answer { format: FORMAT, object, nodes: lines })?;
        out.flush()?;
        return Ok(());
    }
    let verb = if dry_run { "would move" } else { "moved" };
    for line in lines {
        match (&line.error, &line.steered) {
            (Some(error), _) => writeln!(out, "{}: {}", line.node, plain(error))?,
            (None, Some(s)) if line.cuts() => {
                let cut = named(&s.cut_nodes, &s.cut);
                writeln!(out, "{} -> {cut}: no other path", line.node)?;
            }
            (None, Some(s)) if !s.single.is_empty() => {
                let single = named(&s.single_nodes, &s.single);
                let moved = s.moved_count();
                writeln!(out, "{}: {moved} {verb}, one path left to {single}", line.node)?;
            }
            (None, Some(s)) => writeln!(out, "{}: {} {verb}", line.node, s.moved_count())?,
            (None, None) => {}
        }
        for moved in line.steered.iter().filter(|_| dry_run).flat_map(|steered| &steered.moves) {
            let (to, change) = (plain(&moved.node), plain(&moved.change()).into_owned());
            writeln!(out, "  {} -> {to}: {change}", line.node)?;
        }
    }
    out.flush()?;
    Ok(())
}

//! What nodes say of themselves alone: plans that differ, VLANs out of use, other fabrics, faults.

use std::collections::BTreeMap;

use tresse_base::hostlist::collapse;
use tresse_control::{StateLine, Status};
use tresse_plan::Plan;

use super::Report;
use super::evidence::{has_dark_nic, is_unwatched};
use super::suspect::{Kind, Suspect};

pub(crate) fn own(plan: &Plan, reports: &[Report]) -> Vec<Suspect> {
    let answers = reports
        .iter()
        .filter_map(|report| Some((report.node.as_str(), &report.said.as_ref()?.status)));
    let answers: Vec<(&str, &Status)> = answers.collect();
    let all_answered = answers.len() == reports.len();
    let mut found = plans(plan, &answers);
    found.extend(vlans(&answers));
    found.extend(gateways(&answers));
    for (node, status) in &answers {
        let said = |seen: String, remedy: String| {
            Suspect::new(Kind::Node, (*node).to_owned(), seen, remedy)
        };
        if let Some(fault) = &status.fault {
            let remedy = format!("`journalctl -u tressed` on {node}");
            found.push(said(fault.clone(), remedy));
        } else if !status.in_sync && status.generation.is_some() && !is_refused(status) {
            let remedy = format!("`tresse diff` on {node} says what; it is repaired by itself");
            found.push(said("its kernel differs from its plan".into(), remedy));
        }
        // The reason says what to do.
        for line in status.drift.iter().filter(|line| line.op == "refused") {
            let remedy =
                format!("nobody but you can mend that; `tresse doctor` on {node} says more");
            found.push(said(line.why.clone(), remedy));
        }
        if all_answered && is_unwatched(status) {
            let seen = format!(
                "{} of {} sessions with other nodes are not up, and no failure is known: what they watch may be broken",
                status.sessions - status.sessions_up,
                status.sessions
            );
            let remedy =
                "do all nodes have the same `bfd` and keys? Does a firewall drop UDP 3784 or 4784?";
            found.push(said(seen, format!("{remedy} `tresse doctor` on {node}")));
        }
        if let Some(line) = status.pending.first().filter(|_| is_waiting(status)) {
            let seen = format!("{} {} waits: {}", line.kind, line.object, line.why);
            found.push(said(seen, format!("`tresse status` on {node} says what else waits")));
        }
        for line in &status.foreign {
            let seen = format!("hears another fabric at {}, from {}", line.nic, line.mac);
            let remedy = format!(
                "`tresse cables` on {node} says whether a cable is in the wrong place; else two fabrics share a switch"
            );
            found.push(said(seen, remedy));
        }
    }
    found
}

/// Is all that differs what only an operator can mend?
fn is_refused(status: &Status) -> bool {
    !status.drift.is_empty() && status.drift.iter().all(|line| line.op == "refused")
}

/// Does a part of its plan wait for something that no failure explains?
fn is_waiting(status: &Status) -> bool {
    let known = !status.broken.is_empty() || !status.drift.is_empty() || has_dark_nic(status);
    !known && !status.changing
}

/// Gateways that say that they have no way out.
fn gateways(answers: &[(&str, &Status)]) -> Vec<Suspect> {
    let mut shut: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (node, status) in answers {
        for line in status.gateways.iter().filter(|line| line.shut) {
            shut.entry((&line.node, &line.dst)).or_default().push(node);
        }
    }
    let told = |((gateway, dst), by): ((&str, &str), Vec<&str>)| {
        let by = collapse(&by).join(",");
        let seen = format!(
            "has no way out to {dst}, or had none half a minute ago, as {by} heard from it"
        );
        let remedy =
            format!("`ip route` on {gateway}: is its default route there, and the NIC of it up?");
        Suspect::new(Kind::Node, gateway.to_owned(), seen, remedy)
    };
    shut.into_iter().map(told).collect()
}

/// Stands for the plan of a node that has none.
const NONE: &str = "none";

/// The plans that are not the file's, each with the nodes that have it.
fn plans(plan: &Plan, answers: &[(&str, &Status)]) -> Vec<Suspect> {
    let mut with: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (node, status) in answers {
        let generation = status.generation.as_deref().unwrap_or(NONE);
        if generation != plan.generation() {
            with.entry(generation).or_default().push(node);
        }
    }
    let told = |(generation, nodes): (&str, Vec<&str>)| {
        let names = collapse(&nodes).join(",");
        let rollout = "`tresse rollout FILE`";
        let (seen, remedy) = if generation == NONE {
            (format!("{names} has no plan"), rollout.to_owned())
        } else if nodes.len() == answers.len() {
            let seen = "all nodes that answered have it, and not that of the file".to_owned();
            (seen, format!("{rollout} installs the file's; or name the file that is in force"))
        } else {
            (format!("{names} has it, others do not"), rollout.to_owned())
        };
        let since = since(answers, &nodes);
        Suspect { since, ..Suspect::new(Kind::Plan, generation.to_owned(), seen, remedy) }
    };
    with.into_iter().map(told).collect()
}

/// Since when others have heard that one of these nodes has another plan than theirs.
fn since(answers: &[(&str, &Status)], nodes: &[&str]) -> Option<u64> {
    let lines = answers.iter().flat_map(|(_, status)| &status.states);
    let of_them = |line: &&StateLine| {
        line.kind == "plan" && !line.up && nodes.contains(&line.object.as_str())
    };
    lines.filter(of_them).filter_map(|line| line.since).min()
}

fn vlans(answers: &[(&str, &Status)]) -> Vec<Suspect> {
    let mut by: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    let (mut links, mut dated) = (BTreeMap::new(), BTreeMap::new());
    for (node, status) in answers {
        for fused in &status.fused {
            by.entry(fused.vid).or_default().push(node);
            links.insert(fused.vid, fused.links.join(" "));
            let name = fused.vid.to_string();
            let line = status.states.iter().find(|s| s.kind == "vlan" && s.object == name);
            if let Some(since) = line.and_then(|line| line.since) {
                let first: &mut u64 = dated.entry(fused.vid).or_insert(since);
                *first = since.min(*first);
            }
        }
    }
    let told = |(vid, nodes): (u16, Vec<&str>)| {
        let seen = format!("out of use on {}: frames went in a circle", collapse(&nodes).join(","));
        let links = links.get(&vid).map_or("its cables", String::as_str);
        let remedy = format!("look at {links}; then `tresse unfuse {vid}` on these nodes");
        let since = dated.get(&vid).copied();
        Suspect { since, ..Suspect::new(Kind::Vlan, vid.to_string(), seen, remedy) }
    };
    by.into_iter().map(told).collect()
}

//! What nodes say of themselves alone: plans that differ, VLANs out of use, other fabrics, faults.

use std::collections::BTreeMap;

use tresse_base::hostlist::collapse;
use tresse_control::Status;
use tresse_plan::Plan;

use super::Report;
use super::suspect::{Kind, Suspect};

pub(crate) fn own(plan: &Plan, reports: &[Report]) -> Vec<Suspect> {
    let answers = reports
        .iter()
        .filter_map(|report| Some((report.node.as_str(), &report.said.as_ref()?.status)));
    let answers: Vec<(&str, &Status)> = answers.collect();
    let mut found = plans(plan, &answers);
    found.extend(vlans(&answers));
    for (node, status) in &answers {
        let said = |seen: String, remedy: String| Suspect {
            seen,
            remedy,
            ..suspect(Kind::Node, (*node).to_owned())
        };
        if let Some(fault) = &status.fault {
            let remedy = format!("`journalctl -u tressed` on {node}");
            found.push(said(fault.clone(), remedy));
        } else if !status.in_sync && status.generation.is_some() {
            let remedy = format!("`tresse diff` on {node} says what; it is repaired by itself");
            found.push(said("its kernel is not as planned".into(), remedy));
        }
        for line in &status.drift {
            let remedy = format!("remove it on {node}: {} {}", line.kind, line.object);
            found.push(said(line.why.clone(), remedy));
        }
        for line in &status.foreign {
            let seen = format!("hears another fabric at {}, from {}", line.nic, line.mac);
            let remedy =
                format!("`tresse cables` on {node}: a cable, or two fabrics on one switch");
            found.push(said(seen, remedy));
        }
    }
    found
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
    let all = answers.len();
    with.into_iter()
        .map(|(generation, nodes)| {
            let names = collapse(&nodes).join(",");
            let (seen, remedy) = match nodes.len() == all {
                _ if generation == NONE => {
                    (format!("{names} has no plan"), "`tresse rollout FILE`".to_owned())
                }
                true => (
                    "all nodes that answered have it, and not that of the file".to_owned(),
                    "`tresse rollout FILE` installs the file's; or name the file that is in force"
                        .into(),
                ),
                false => {
                    (format!("{names} has it, others do not"), "`tresse rollout FILE`".to_owned())
                }
            };
            Suspect { seen, remedy, ..suspect(Kind::Plan, generation.to_owned()) }
        })
        .collect()
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
    by.into_iter()
        .map(|(vid, nodes)| Suspect {
            since: dated.get(&vid).copied(),
            seen: format!("out of use on {}: frames went in a circle", collapse(&nodes).join(",")),
            remedy: format!(
                "look at {}; then `tresse unfuse {vid}` on these nodes",
                links.get(&vid).map_or("its cables", String::as_str)
            ),
            ..suspect(Kind::Vlan, vid.to_string())
        })
        .collect()
}

const fn suspect(kind: Kind, object: String) -> Suspect {
    Suspect {
        kind,
        object,
        since: None,
        count: 0,
        pairs: 0,
        cut: 0,
        unprotected: 0,
        seen: String::new(),
        remedy: String::new(),
    }
}

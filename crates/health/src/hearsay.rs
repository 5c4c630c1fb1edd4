//! What nodes that answered have heard of nodes that did not, by the records of failures: hops where nodes route, pairs
//! of nodes where planned paths are joined.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_control::BrokenLine;
use tresse_plan::Plan;
use tresse_slice::watch::part::FabricParts;
use tresse_topology::path::Crossing;

use super::Report;
use super::evidence::{BrokenPath, Dated};

/// What is broken by the word of nodes that did not answer. What a node knows by a plan that is not the file's is left
/// out.
pub(crate) fn hearsay(plan: &Plan, parts: &FabricParts, reports: &[Report]) -> Vec<BrokenPath> {
    let cluster = plan.cluster();
    let is_of_plan = |report: &&Report| {
        let generation = report.said.as_ref().and_then(|said| said.status.generation.as_deref());
        generation == Some(plan.generation())
    };
    let answered = reports.iter().filter(is_of_plan);
    let spoke: BTreeSet<NodeId> =
        answered.clone().filter_map(|report| cluster.node_named(&report.node)).collect();
    if spoke.len() == cluster.nodes.len() {
        return Vec::new();
    }
    let said = answered.filter_map(|report| report.said.as_ref()).flat_map(|said| &said.broken);
    // All nodes hear the same: the one that has known it for longest dates it.
    let mut lines: BTreeMap<(&str, &str), &BrokenLine> = BTreeMap::new();
    for line in said {
        let first = lines.entry((&line.kind, &line.object)).or_insert(line);
        if line.since < first.since {
            *first = line;
        }
    }
    let mut heard = Vec::new();
    for line in lines.into_values() {
        let path = |src, dst, crosses| BrokenPath {
            src,
            dst,
            crosses,
            dated: Dated { since: Some(line.since), count: 0 },
            by: Some(line.by.clone()),
        };
        match line.kind.as_str() {
            "hop" => {
                let hop = hop(plan, parts, &line.object);
                let hop = hop.filter(|(src, dst, _)| !spoke.contains(src) && !spoke.contains(dst));
                heard.extend(hop.map(|(src, dst, crosses)| path(src, dst, crosses)));
            }
            "pair" => {
                let ends = line.object.split_once(" -> ");
                let node = |name| cluster.node_named(name);
                let ends = ends.and_then(|(src, dst)| Some((node(src)?, node(dst)?)));
                let Some((src, dst)) = ends.filter(|(src, _)| !spoke.contains(src)) else {
                    continue;
                };
                let both = [plan.paths(src, dst), plan.paths(dst, src)];
                let crosses = both.iter().flat_map(|paths| paths.iter());
                heard.extend(crosses.map(|one| path(src, dst, plan.path_crossings(one))));
            }
            _ => {}
        }
    }
    heard
}

/// The ends of a hop such as `n0:eth1-n1:eth0`, and what it crosses both ways. Names may have hyphens.
fn hop(plan: &Plan, parts: &FabricParts, name: &str) -> Option<(NodeId, NodeId, Vec<Crossing>)> {
    let end = |name: &str| {
        let node = plan.cluster().node_named(name.rsplit_once(':')?.0)?;
        Some((node, parts.named(name).ok()?.wires().clone()))
    };
    let ends = |(at, _)| Some((end(&name[..at])?, end(&name[at + 1..])?));
    let ((src, out), (dst, into)) = name.match_indices('-').find_map(ends)?;
    Some((src, dst, out.into_iter().chain(into).collect()))
}

//! Checks that a plan keeps the limits of its switches: the number of VLANs, the frame size, the number
//! of forwarding entries, and shared learning (one port per MAC address for all VLANs together).

use std::collections::BTreeMap;

use tresse_base::id::{NodeId, SwitchId, TreeId};
use tresse_plan::Plan;
use tresse_topology::cluster::{Learning, Strategy};

use super::{Finding, Survey};

/// Returns a violation for every switch that must hold more VLANs than it can, and for every switch
/// whose largest frame is too small for IP packets of 1280 bytes. O(switches).
#[must_use]
pub fn of_switches(plan: &Plan) -> Vec<Finding> {
    let cluster = plan.cluster();
    let base = usize::from(cluster.vlans.base.is_some());
    // Of several planes a switch holds those of its own.
    let trees = |at: usize| {
        let here = plan.specs().iter().filter(|spec| plan.joins(spec.at, SwitchId::from(at)));
        here.count() + base
    };
    let mut lines = vec![0; cluster.switches.len()];
    plan.lines().iter().for_each(|line| lines[line.switch.index()] += 1);
    let mut findings = Vec::new();
    for (at, (switch, lines)) in cluster.switches.iter().zip(lines).enumerate() {
        let vlans = if lines > 0 { lines } else { trees(at) };
        let mut find = |kind, message| {
            findings.push(Finding { kind, object: switch.name.clone(), message });
        };
        if vlans > switch.max_vlans as usize {
            let message = format!(
                "the plan needs {vlans} VLANs, {} more than max_vlans = {}: {}",
                vlans - switch.max_vlans as usize,
                switch.max_vlans,
                fewer(plan, switch.max_vlans as usize)
            );
            find("too-many-vlans", message);
        }
        if switch.max_frame < 1280 + 22 {
            let message = format!("max_frame = {} leaves less than 1280 for IP", switch.max_frame);
            find("frame-too-small", message);
        }
    }
    findings
}

/// Returns advice on how to need at most `most` VLANs: the strategies of this fabric that need no
/// more.
fn fewer(plan: &Plan, most: usize) -> String {
    let cluster = plan.cluster();
    if cluster.kind.shares_switches() {
        return format!("use lines_per_switch = {most}, or a switch with more");
    }
    let Some(most) = most.checked_sub(usize::from(cluster.vlans.base.is_some())) else {
        return "a switch with more, or `[vlans]` without base".into();
    };
    if most == 0 {
        return "a switch that holds at least one beside the base VLAN".into();
    }
    match tresse_topology::Grid::of(&cluster.kind).and_then(|grid| grid.pdor_trees()) {
        Some(trees) if trees <= most as u64 && cluster.routing.strategy != Strategy::Pdor => {
            "use pdor, minimal or stp".into()
        }
        _ => "use minimal or stp".into(),
    }
}

/// Checks limits that depend on the paths: forwarding entries and shared learning.
pub(super) fn of_paths(
    plan: &Plan,
    survey: &Survey,
    violations: &mut Vec<Finding>,
    notes: &mut Vec<Finding>,
) {
    // Every announcement is flooded over its tree, so every switch of its plane learns every one (K17).
    let all: Vec<(SwitchId, u32)> = plan
        .specs()
        .iter()
        .enumerate()
        .map(|(tree, spec)| (spec.at, survey.receivers(tree.into())))
        .collect();
    let sum = all.iter().map(|(_, receivers)| receivers).sum();
    let of_plane = |switch: usize| {
        let here = all.iter().filter(|(at, _)| plan.joins(*at, SwitchId::from(switch)));
        here.map(|(_, receivers)| receivers).sum()
    };
    let one = plan.planes().is_none();
    of_entries(plan, &|switch| if one { sum } else { of_plane(switch) }, violations, notes);
    shared_learning(plan, survey, violations);
}

/// Checks forwarding entries of fabrics without paths between switches: each switch learns the NICs
/// on it, or all NICs if there is an uplink.
pub(super) fn of_nics(plan: &Plan, violations: &mut Vec<Finding>, notes: &mut Vec<Finding>) {
    let cluster = plan.cluster();
    let mut on = vec![0; cluster.switches.len()];
    let nics = cluster.nodes.iter().flat_map(|node| &node.nics);
    nics.filter(|nic| nic.peer.is_none()).for_each(|nic| on[nic.switch.index()] += 1);
    let all = cluster.uplink().map(|_| on.iter().sum());
    of_entries(plan, &|switch| all.unwrap_or(on[switch]), violations, notes);
}

/// Checks the number of entries that each switch learns against its capacity.
fn of_entries(
    plan: &Plan,
    learnt: &dyn Fn(usize) -> u32,
    violations: &mut Vec<Finding>,
    notes: &mut Vec<Finding>,
) {
    let (mut unstated, mut most) = (0, 0);
    for (at, switch) in plan.cluster().switches.iter().enumerate() {
        let entries = learnt(at);
        match switch.fdb_size {
            Some(size) if entries > size => violations.push(Finding {
                kind: "fdb-full",
                object: switch.name.clone(),
                message: format!(
                    "{entries} (MAC, VID) entries and fdb_size = {size}: frames would be flooded"
                ),
            }),
            Some(_) => {}
            None => (unstated, most) = (unstated + 1, entries.max(most)),
        }
    }
    if most > 8192 {
        notes.push(Finding {
            kind: "flooding-risk",
            object: format!("{unstated} switches"),
            message: format!(
                "{most} (MAC, VID) entries per switch and no fdb_size given: cheap switches \
                 hold 8192 to 16384 and flood beyond"
            ),
        });
    }
}

/// A switch with shared learning has one port per MAC: it must be the same in every VLAN.
fn shared_learning(plan: &Plan, survey: &Survey, violations: &mut Vec<Finding>) {
    let cluster = plan.cluster();
    let trees = plan.specs().len();
    let shared = cluster.switches.iter().enumerate().filter(|(_, s)| s.learning == Learning::Svl);
    for (at, switch) in shared {
        let mut clash = None;
        'nics: for (k, node) in cluster.nodes.iter().enumerate() {
            for (i, nic) in node.nics.iter().enumerate() {
                let mut port: BTreeMap<Option<u32>, TreeId> = BTreeMap::new();
                for tree in (0..trees).map(TreeId::from) {
                    let is_here = plan.tree(tree).reaches(SwitchId::from(at));
                    if !is_here || !survey.receives(tree, survey.first_nic[k] + i) {
                        continue;
                    }
                    let mut way = Vec::new();
                    plan.tree(tree).walk(plan.graph(), SwitchId::from(at), nic.switch, &mut way);
                    port.entry(way.first().copied()).or_insert(tree);
                }
                let mut vids = port.values();
                if let (Some(a), Some(b)) = (vids.next(), vids.next()) {
                    clash = Some((NodeId::from(k), i, *a, *b));
                    break 'nics;
                }
            }
        }
        if let Some((node, nic, a, b)) = clash {
            let node = cluster.node(node);
            let one = if cluster.routing.paths > 1 { " with paths = 1" } else { "" };
            violations.push(Finding {
                kind: "shared-learning",
                object: switch.name.clone(),
                message: format!(
                    "learning = \"svl\" needs one port per MAC, and {} of {} is behind different \
                     ports on {} and {}: use stp{one}, or a switch with independent learning",
                    node.nics[nic].name,
                    node.name,
                    plan.specs()[a.index()].name,
                    plan.specs()[b.index()].name
                ),
            });
        }
    }
}

//! Resolves the topology kind `fnn`, the flat neighbourhood: nodes with NICs on several switches that no path joins.
//! Reads the wiring table, which lists the nodes on each switch, and the name of the uplink switch.

use std::collections::BTreeSet;

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::wiring::Wiring;
use tresse_topology::cluster::TopologyShape;
use tresse_topology::generate::generate;

use super::super::names::{bad_name, missing, name_help, names, valid_name};
use super::known::{Shape, fits};
use crate::file::Topology;
use crate::limits;
use crate::read::{At, Keys};
use crate::wiring::WIRING_HELP;

pub(super) fn shape(topology: &At<Topology>, found: &mut Found) -> Option<Shape> {
    let Some(wiring) = &topology.value.wiring else {
        if topology.value.lacks("wiring") {
            let help = "such as wiring = \"wiring.txt\", which `tresse design -o` writes";
            missing("wiring", "`topology`", &topology.span, help, found);
        }
        return None;
    };
    let mut refuse = |message: String, help: &str| {
        found.add(ProblemKind::BadWiring, &wiring.span, message, help.to_owned());
        None
    };
    let table = match Wiring::parse(&wiring.value) {
        Ok(table) => table,
        Err(error) => return refuse(format!("`wiring`, {error}"), WIRING_HELP),
    };
    let nodes = table.pcs();
    let rows = table.rows(nodes);
    if let Some(alone) = rows.iter().position(Vec::is_empty) {
        let message = format!("`wiring`: PC {alone} is on no switch");
        return refuse(message, "PCs are numbered from 0 without a gap");
    }
    if nodes < 2 {
        return refuse("`wiring` has no two PCs".into(), WIRING_HELP);
    }
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    if most > limits::NICS_PER_NODE as usize {
        let message = format!("`wiring`: a PC is on {most} switches");
        return refuse(message, &format!("this version plans at most {}", limits::NICS_PER_NODE));
    }
    if nodes > limits::FLAT_NODES {
        let message = format!("`wiring`: {nodes} PCs");
        return refuse(message, &format!("this version plans at most {}", limits::FLAT_NODES));
    }
    let fits = fits(nodes as u64, 1, most as u32, wiring, found);
    let kind = TopologyShape::Fnn { wiring: table, uplink: None, spares: Vec::new() };
    let uplink = topology.value.uplink.as_ref();
    let named = uplink.is_none_or(|name| is_free(name, &kind, found));
    let TopologyShape::Fnn { wiring, .. } = kind else { return None };
    let spares = spares(topology, &wiring, found);
    let kind = TopologyShape::Fnn { wiring, uplink: uplink.map(|name| name.value.clone()), spares };
    let shape = Shape::Generated { kind, nodes_per_switch: 1, nics_per_node: 1 };
    (fits && named).then_some(shape)
}

/// The names of the spares; those that nothing else may have are left out and reported.
fn spares(topology: &At<Topology>, wiring: &Wiring, found: &mut Found) -> Vec<String> {
    let Some(list) = &topology.value.spares else { return Vec::new() };
    if topology.value.uplink.is_none() {
        if topology.value.lacks("uplink") {
            let message = "`spares` need an `uplink` to be on";
            found.add(ProblemKind::MissingKey, &list.span, message, "uplink = \"u0\"".to_owned());
        }
        return Vec::new();
    }
    let plain = TopologyShape::Fnn { wiring: wiring.clone(), uplink: None, spares: Vec::new() };
    let fabric = generate(&plain, 1, 1);
    let nodes = fabric.nodes.iter().map(|node| &node.name);
    let mut taken: BTreeSet<String> =
        nodes.chain(fabric.switches.iter().map(|switch| &switch.name)).cloned().collect();
    taken.extend(topology.value.uplink.iter().map(|uplink| uplink.value.clone()));
    let mut spares = Vec::new();
    for text in &list.value {
        for name in names(text, found) {
            if taken.insert(name.clone()) {
                spares.push(name);
                continue;
            }
            let message = format!("`spares`: there is a node or a switch `{name}` already");
            found.add(ProblemKind::DuplicateName, &text.span, message, "another name".to_owned());
        }
    }
    if wiring.pcs() + spares.len() > limits::FLAT_NODES {
        let message = format!("{} PCs and {} spares", wiring.pcs(), spares.len());
        let help = format!("this version plans at most {} nodes", limits::FLAT_NODES);
        found.add(ProblemKind::TooLarge, &list.span, message, help);
        spares.clear();
    }
    spares
}

/// Whether the text is a valid name that no node of the wiring table has. Otherwise a problem is reported.
fn is_free(name: &At<String>, table: &TopologyShape, found: &mut Found) -> bool {
    let text = &name.value;
    if !valid_name(text) {
        found.add(ProblemKind::BadName, &name.span, bad_name(text), name_help(text));
        return false;
    }
    if generate(table, 1, 1).nodes.iter().all(|node| node.name != *text) {
        return true;
    }
    let message = format!("`uplink`: the wiring table has a node `{text}`");
    let help = "a name of its own, such as uplink = \"u0\", or a switch of the table".to_owned();
    found.add(ProblemKind::DuplicateName, &name.span, message, help);
    false
}

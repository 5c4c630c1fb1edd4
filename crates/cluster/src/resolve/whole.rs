//! The checks that need the whole fabric: names, ports, MAC addresses, and whether cables join all switches.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use tresse_base::hostlist;
use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::Components;
use tresse_topology::cluster::{Node, TopologyShape};

use super::fabric::{Draft, NOWHERE, read_all};
use crate::file::File;
use crate::read::At;

type Span = Range<usize>;

/// Of a fabric in many parts so many are named beside the largest.
const NAMED_PARTS: usize = 4;

impl Draft {
    /// Makes the checks that need the whole fabric.
    pub(super) fn finish(
        &mut self,
        file: &File,
        whole: &Span,
        kind: &TopologyShape,
        flat: bool,
        found: &mut Found,
    ) {
        if !self.known || self.plain {
            return;
        }
        if self.switches.is_empty() && self.named && !self.generated {
            let help = "list them as [[switch]], or cables between nodes as [[link]]".to_owned();
            found.add(ProblemKind::MissingKey, whole, "an explicit fabric without switches", help);
        }
        let entries = file.node.as_ref().map_or(0, |nodes| nodes.value.len());
        if self.nodes.is_empty() && entries == 0 && read_all(file, "node", &file.node) {
            let help = "list them as [[node]]".to_owned();
            found.add(ProblemKind::MissingKey, whole, "an explicit fabric without nodes", help);
        }
        let clash = |node: &&Node| self.switch_index.contains_key(&node.name);
        for Node { name, .. } in self.nodes.iter().filter(clash) {
            let span = file.node.as_ref().map_or(whole, |n| name_span(&n.value, name, whole));
            let message = format!("`{name}` is both a switch and a node");
            let help = "give the node another name".to_owned();
            found.add(ProblemKind::DuplicateName, span, message, help);
        }
        self.check_ports(fewer_cables(kind, flat), found);
        self.check_macs(found);
        let nowhere = self.links.iter().any(|l| l.a.switch == NOWHERE || l.b.switch == NOWHERE);
        if !self.generated && self.named && self.cabled && !nowhere && !flat {
            self.check_connected(whole, found);
        }
    }

    /// Reports switches that neither cables nor nodes with several NICs join. Those that nodes alone join are planes.
    fn check_connected(&self, whole: &Span, found: &mut Found) {
        let names: Vec<&str> = self.switches.iter().map(|switch| switch.name.as_str()).collect();
        let cables = self.links.iter().map(|link| (link.a.switch.index(), link.b.switch.index()));
        let nodes = self.nodes.iter().flat_map(|node| {
            let mut on =
                node.nics.iter().map(|nic| nic.switch.index()).filter(|at| *at < names.len());
            let first = on.next();
            on.filter_map(move |at| Some((first?, at)))
        });
        report_parts(["switch", "switches"], &names, cables.chain(nodes), whole, found);
    }
}

/// Reports the parts that no cable joins, if there are several. `what`: what cables join, one and many; `joined`: what
/// each cable joins.
pub(super) fn report_parts(
    what: [&str; 2],
    names: &[&str],
    joined: impl Iterator<Item = (usize, usize)>,
    whole: &Span,
    found: &mut Found,
) {
    let mut parts = Components::new(names.len());
    joined.for_each(|(a, b)| {
        parts.join(a, b);
    });
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..names.len() {
        members.entry(parts.root(at)).or_default().push(at);
    }
    let mut parts: Vec<Vec<usize>> = members.into_values().collect();
    parts.sort_by_key(|part| (Reverse(part.len()), part[0]));
    let [first, others @ ..] = &parts[..] else { return };
    if others.is_empty() {
        return;
    }
    let name = |part: &Vec<usize>| {
        let first = format!("`{}`", names[part[0]]);
        let more = part.len() - 1;
        if more == 0 { first } else { format!("{first} and {more} more") }
    };
    let named: Vec<_> = others.iter().take(NAMED_PARTS).map(name).collect();
    let more = others.len() - named.len();
    let rest = if more == 0 { String::new() } else { format!("; {more} parts more") };
    let [one, many] = what;
    // Nodes join switches too.
    let or_nodes = if one == "switch" { ", or nodes with a NIC on each" } else { "" };
    let (message, help) = if others.len() == 1 {
        let message = format!("no cable joins {one} {} to {one} {}", named[0], name(first));
        (message, format!("add a [[link]] between the two parts{or_nodes}"))
    } else {
        let parts = parts.len();
        let message = format!(
            "the {many} are {parts} parts that no cable joins: {}; {}{rest}",
            name(first),
            named.join("; ")
        );
        (message, format!("add a [[link]] from each to another, {} at least{or_nodes}", parts - 1))
    };
    found.add(ProblemKind::Disconnected, whole, message, help);
}

/// What else helps if a switch has too few ports.
fn fewer_cables(kind: &TopologyShape, flat: bool) -> &'static str {
    match kind {
        TopologyShape::Pmesh { .. } if kind.shares_switches() => ", or a smaller lines_per_switch",
        _ if flat || kind.is_routed() => "",
        _ => ", or a smaller nodes_per_switch or nics_per_node",
    }
}

fn name_span<'a>(entries: &'a [At<crate::file::Node>], name: &str, whole: &'a Span) -> &'a Span {
    let names = |text: &str| hostlist::expand(text).unwrap_or_default();
    let entry = entries.iter().filter_map(|e| e.value.name.as_ref());
    entry
        .into_iter()
        .find(|text| names(&text.value).iter().any(|n| n == name))
        .map_or(whole, |text| &text.span)
}

//! The checks that need the whole fabric: names, ports, MAC addresses, and whether cables join all switches.

use std::ops::Range;

use tresse_base::hostlist;
use tresse_base::problem::{Found, ProblemKind};
use tresse_topology::cluster::{Node, TopologyShape};

use super::fabric::{Draft, NOWHERE, read_all};
use crate::file::File;
use crate::read::At;

type Span = Range<usize>;

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
            let help = "list them as [[switch]]".to_owned();
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

    fn check_connected(&self, whole: &Span, found: &mut Found) {
        let mut root: Vec<usize> = (0..self.switches.len()).collect();
        fn top(root: &mut [usize], mut i: usize) -> usize {
            while root[i] != i {
                root[i] = root[root[i]];
                i = root[i];
            }
            i
        }
        for link in &self.links {
            let a = top(&mut root, link.a.switch.index());
            let b = top(&mut root, link.b.switch.index());
            root[a.max(b)] = a.min(b);
        }
        let apart = (1..root.len()).find(|i| top(&mut root, *i) != 0);
        if let Some(apart) = apart {
            let (a, b) = (&self.switches[0].name, &self.switches[apart].name);
            let message = format!("no cable joins switch `{b}` to switch `{a}`");
            let help = "add a [[link]] between the two parts".to_owned();
            found.add(ProblemKind::Disconnected, whole, message, help);
        }
    }
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

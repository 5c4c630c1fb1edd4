//! Resolves `[[demand]]`: which nodes send how much to which nodes.

use tresse_base::id::NodeId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;
use tresse_topology::cluster::{Node, Traffic};

use super::fabric::Draft;
use super::names::{missing, names};
use super::values::within;
use crate::file::Traffic as Entry;
use crate::limits;
use crate::read::{At, Keys};

impl Draft {
    pub(super) fn demand(
        &self,
        entries: Option<&At<Vec<At<Entry>>>>,
        found: &mut Found,
    ) -> Vec<Traffic> {
        let mut demand = Vec::new();
        for entry in entries.iter().flat_map(|entries| &entries.value) {
            let before = found.len();
            let ends = [("from", &entry.value.from), ("to", &entry.value.to)];
            let [from, to] = ends.map(|(key, text)| {
                let Some(text) = text else {
                    if entry.value.lacks(key) {
                        let help = format!("such as {key} = \"n0\"");
                        missing(key, "[[demand]]", &entry.span, &help, found);
                    }
                    return Vec::new();
                };
                self.senders(text, found)
            });
            let weight = entry.value.weight.as_ref();
            let weight = within(weight, "weight", 1..=limits::DEMAND, 1, found);
            if found.len() == before && self.known && from.len() == 1 && from == to {
                let message = "a node needs no traffic to itself";
                let span = entry.value.to.as_ref().map_or(&entry.span, |to| &to.span);
                found.add(ProblemKind::UnknownName, span, message, "name another node".to_owned());
            }
            demand.push(Traffic { from, to, weight });
        }
        demand
    }

    /// Returns the nodes of a hostlist of nodes and switches, ascending. A switch stands for the nodes on it.
    fn senders(&self, text: &At<String>, found: &mut Found) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for name in names(text, found) {
            if let Some(node) = self.node_index.get(&name) {
                nodes.push(NodeId::from(*node));
            } else if let Some(switch) = self.switch_index.get(&name) {
                let here = |(_, node): &(usize, &Node)| {
                    node.nics.iter().any(|nic| nic.switch.index() == *switch)
                };
                let on = self.nodes.iter().enumerate().filter(here);
                nodes.extend(on.map(|(k, _)| NodeId::from(k)));
            } else if found.repeats(ProblemKind::UnknownName, &text.span) {
                found.add(ProblemKind::UnknownName, &text.span, "", None);
            } else if self.known {
                let message = format!("no node or switch is called `{name}`");
                let all = self.nodes.iter().map(|n| n.name.as_str());
                let near =
                    suggestion(&name, all.chain(self.switches.iter().map(|s| s.name.as_str())));
                let help =
                    near.unwrap_or_else(|| "name nodes, or switches for all of theirs".into());
                found.add(ProblemKind::UnknownName, &text.span, message, help);
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}

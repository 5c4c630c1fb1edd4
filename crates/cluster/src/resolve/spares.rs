//! Spares of a flat neighbourhood (flat-neighborhood-network-compiler, section 1): nodes on the uplink switch alone, and
//! which of them takes the place of a node whose machine has failed.

use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;

use super::fabric::Draft;
use crate::file::{File, Node as Entry};
use crate::read::At;

impl Draft {
    /// Gives each node that an entry replaces the NICs of the entry's own machine, which is no node of its own from then
    /// on. Everything else of the node stays: its name, and so its addresses, and its place among all nodes.
    pub(super) fn replace(&mut self, file: &File, found: &mut Found) {
        let mut replaced: Vec<(usize, usize)> = Vec::new();
        for entry in file.node.iter().flat_map(|entries| &entries.value) {
            let Some((spare, node)) = self.replacement(&entry.value, found) else { continue };
            let Some((other, _)) = replaced.iter().find(|(_, other)| *other == node) else {
                replaced.push((spare, node));
                continue;
            };
            let (node, other) = (&self.nodes[node].name, &self.nodes[*other].name);
            let message = format!("`{other}` replaces `{node}` already");
            let span = entry.value.replaces.as_ref().map_or(&entry.span, |at| &at.span);
            found.add(ProblemKind::DuplicateName, span, message, "one spare for it".to_owned());
        }
        for (spare, node) in &replaced {
            let spare = self.nodes[*spare].clone();
            let node = &mut self.nodes[*node];
            (node.nics, node.machine, node.transit) = (spare.nics, Some(spare.name), spare.transit);
        }
        if replaced.is_empty() {
            return;
        }
        let mut at = 0..;
        self.nodes.retain(|_| {
            let at = at.next();
            !replaced.iter().any(|(spare, _)| Some(*spare) == at)
        });
        let named = self.nodes.iter().enumerate();
        self.node_index = named.map(|(at, node)| (node.name.clone(), at)).collect();
    }

    /// The machine that an entry is of, and the node that it replaces.
    fn replacement(&self, entry: &Entry, found: &mut Found) -> Option<(usize, usize)> {
        let (name, replaces) = (entry.name.as_ref()?, entry.replaces.as_ref()?);
        let mut refuse = |kind, at: &At<String>, message: String, help: String| {
            found.add(kind, &at.span, message, help);
            None
        };
        let Some(spare) = self.node_index.get(&name.value).copied() else {
            let message = format!("`replaces`: `{}` is not one node", name.value);
            return refuse(ProblemKind::UnknownName, name, message, "one entry for it".into());
        };
        let Some(node) = self.node_index.get(&replaces.value).copied() else {
            let message = format!("no node is called `{}`", replaces.value);
            let near = suggestion(&replaces.value, self.nodes.iter().map(|n| n.name.as_str()));
            let help = near.unwrap_or_else(|| "the node whose machine has failed".to_owned());
            return refuse(ProblemKind::UnknownName, replaces, message, help);
        };
        let help = || "a node of `spares` replaces one of the wiring table".to_owned();
        if !self.is_spare(spare) {
            let message = "`replaces` of a node that is not a spare".to_owned();
            return refuse(ProblemKind::UnknownChoice, name, message, help());
        }
        if self.is_spare(node) {
            let message = "`replaces` a spare".to_owned();
            return refuse(ProblemKind::UnknownChoice, replaces, message, help());
        }
        Some((spare, node))
    }

    fn is_spare(&self, node: usize) -> bool {
        self.spares.contains(&self.nodes[node].name)
    }
}

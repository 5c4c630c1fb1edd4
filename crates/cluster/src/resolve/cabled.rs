//! Cables between nodes as the file lists them: an explicit fabric without switches, in which `[[link]]` joins NICs of
//! nodes. Nodes that no `[[node]]` lists are those that the cables name; where the file has `[[node]]`, it has all of them.
//!
//! The NICs of a node are those of its entries, in their order, then those that only cables name. A cable with a list of
//! ends on both sides joins as many pairs of NICs, and is one cable nevertheless.

use std::collections::HashMap;
use std::ops::Range;

use tresse_base::id::NodeId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;
use tresse_base::units::Rate;
use tresse_topology::cluster::{Cable, NicEnd, TopologyShape};

use super::fabric::Draft;
use super::names::{hosts, is_nic_name, missing, names};
use super::shape::Shape;
use super::values::{mismatch, read_rate};
use super::whole::report_parts;
use crate::file::{File, Link as Entry};
use crate::forms::LinkEnds;
use crate::kinds::TopologyKind;
use crate::limits;
use crate::read::{At, Keys};

const MOST_NICS: usize = limits::NICS_PER_NODE as usize;

/// Nodes, their NICs, and the cables between these.
#[derive(Debug, Default)]
pub(super) struct Cabled {
    names: Vec<String>,
    index: HashMap<String, usize>,
    nics: Vec<Vec<Nic>>,
    cables: Vec<Cable>,
    /// Does the file list the nodes?
    lists_nodes: bool,
    /// Nodes that cables name and `[[node]]` does not, in the order of the file, and where the first is.
    unlisted: Vec<(String, Range<usize>)>,
}

#[derive(Debug, Default)]
struct Nic {
    name: String,
    /// Where an entry of `[[node]]` has it.
    listed: Option<Range<usize>>,
    /// The other end of its cable.
    to: Option<NicEnd>,
    rate: Option<Rate>,
}

/// Are the cables of this fabric between nodes?
pub(super) fn is_cabled(shape: &Shape, file: &File) -> bool {
    let entries = file.node.iter().flat_map(|nodes| &nodes.value);
    let mut nics = entries.flat_map(|node| &node.value.nics).flat_map(|nics| &nics.value);
    let explicit = matches!(shape, Shape::Explicit | Shape::Unknown(Some(TopologyKind::Explicit)));
    explicit
        && file.lacks("switch")
        && !file.lacks("link")
        && !nics.any(|nic| nic.value.switch.is_some())
}

impl Cabled {
    /// Reads `[[node]]` and `[[link]]` of a fabric whose cables are between nodes, and reports what is wrong with the cables.
    /// `whole`: the place of `topology`.
    pub(super) fn read(file: &File, whole: &Range<usize>, found: &mut Found) -> (Self, Shape) {
        let before = found.len();
        let mut cabled = Self::default();
        cabled.nodes(file);
        for entry in file.link.iter().flat_map(|links| &links.value) {
            cabled.link(entry, found);
        }
        cabled.report_unlisted(found);
        let unread = file.link.as_ref().is_some_and(|links| !links.whole)
            || file.node.as_ref().is_some_and(|nodes| !nodes.whole);
        if found.len() == before && !unread {
            cabled.check(whole, found);
        }
        let kind = TopologyShape::Cabled {
            nodes: cabled.names.len() as u32,
            cables: cabled.cables.clone(),
        };
        let shape = match found.len() == before && !unread {
            true => Shape::Generated { kind, nodes_per_switch: 1, nics_per_node: 1 },
            false => Shape::Unknown(Some(TopologyKind::Explicit)),
        };
        (cabled, shape)
    }

    /// The nodes that the file lists. What is wrong with their entries is reported when these are resolved.
    fn nodes(&mut self, file: &File) {
        self.lists_nodes = !file.lacks("node");
        for entry in file.node.iter().flat_map(|nodes| &nodes.value) {
            let Some(name) = &entry.value.name else { continue };
            for name in names(name, &mut Found::default()) {
                let node = self.node(&name);
                let nics = entry.value.nics.iter().flat_map(|nics| &nics.value).enumerate();
                for (at, nic) in nics.take(MOST_NICS + 1) {
                    let usual = || format!("eth{at}");
                    let name = nic.value.name.as_ref().map_or_else(usual, |n| n.value.clone());
                    let nic_at = self.nic(node, &name);
                    self.nics[node][nic_at].listed = Some(nic.span.clone());
                }
            }
        }
    }

    /// The number of a node, which is added if it is new.
    fn node(&mut self, name: &str) -> usize {
        if let Some(at) = self.index.get(name) {
            return *at;
        }
        self.names.push(name.to_owned());
        self.nics.push(Vec::new());
        self.index.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// The number of a NIC of a node, which is added if it is new.
    fn nic(&mut self, node: usize, name: &str) -> usize {
        let nics = &mut self.nics[node];
        nics.iter().position(|nic| nic.name == name).unwrap_or_else(|| {
            nics.push(Nic { name: name.to_owned(), ..Nic::default() });
            nics.len() - 1
        })
    }

    fn link(&mut self, entry: &At<Entry>, found: &mut Found) {
        let rate = entry.value.rate.as_ref().and_then(|rate| read_rate(rate, found));
        for key in ["a", "b"] {
            if entry.value.lacks(key) {
                missing(key, "[[link]]", &entry.span, "such as \"n1:eth0\"", found);
            }
        }
        let (Some(a), Some(b)) = (&entry.value.a, &entry.value.b) else { return };
        let [from, to] = [a, b].map(|ends| self.ends(ends, found));
        let (Some(from), Some(to)) = (from, to) else { return };
        if from.len() != to.len() {
            let message = format!("`a` lists {} ends and `b` {}", from.len(), to.len());
            let help = "a cable joins as many NICs of one node as of the other".to_owned();
            found.add(ProblemKind::CountMismatch, &b.span, message, help);
            return;
        }
        let counts: Vec<usize> = from.iter().chain(&to).map(Vec::len).collect();
        let count = counts[0];
        if let Some(other) = counts.iter().find(|other| **other != count) {
            let message = format!("the cables have {count} ends here and {other} there");
            let help = "all ends must name the same number of NICs".to_owned();
            found.add(ProblemKind::CountMismatch, &b.span, message, help);
            return;
        }
        for at in 0..count {
            let pairs = from.iter().zip(&to).map(|(a, b)| [a[at], b[at]]);
            self.cable(pairs.collect(), rate, (a, b), found);
        }
    }

    /// Adds one cable with these pairs of ends.
    fn cable(
        &mut self,
        pairs: Vec<[NicEnd; 2]>,
        rate: Option<Rate>,
        (a_text, b_text): (&At<LinkEnds>, &At<LinkEnds>),
        found: &mut Found,
    ) {
        let [a, b] = pairs[0].map(|end| end.node);
        if pairs.iter().any(|[from, to]| from.node != a || to.node != b) {
            let message = "the ends of one cable are in several nodes".to_owned();
            let help = "each list has NICs of one node; else a [[link]] for each cable".to_owned();
            found.add(ProblemKind::BadLinkEnd, &a_text.span, message, help);
            return;
        }
        if a == b {
            let name = &self.names[a.index()];
            let message = format!("both ends of the cable are in node `{name}`");
            let help = "a cable joins two nodes".to_owned();
            found.add(ProblemKind::SelfLink, &b_text.span, message, help);
            return;
        }
        for [from, to] in &pairs {
            for (end, other, text) in [(from, to, a_text), (to, from, b_text)] {
                let nic = &mut self.nics[end.node.index()][end.nic];
                if let Some(before) = nic.to.replace(*other) {
                    let message = format!(
                        "`{}` already has the cable to `{}`",
                        self.end(*end),
                        self.end(before)
                    );
                    let help = "each NIC is in one cable".to_owned();
                    found.add(ProblemKind::PortInUse, &text.span, message, help);
                    return;
                }
                nic.rate = rate.or(nic.rate);
            }
        }
        self.cables.push(Cable(pairs));
    }

    /// `node:nic` of an end.
    fn end(&self, end: NicEnd) -> String {
        let node = end.node.index();
        format!("{}:{}", self.names[node], self.nics[node][end.nic].name)
    }

    /// The ends of each text of one side of a `[[link]]`.
    fn ends(&mut self, ends: &At<LinkEnds>, found: &mut Found) -> Option<Vec<Vec<NicEnd>>> {
        if ends.value.0.is_empty() {
            let help = "such as \"n1:eth0\"".to_owned();
            found.add(ProblemKind::EmptyList, &ends.span, "a list without ends", help);
            return None;
        }
        let read: Vec<_> = ends.value.0.iter().map(|text| self.read_end(text, found)).collect();
        read.into_iter().collect()
    }

    /// Reads `node:nic`, where both are hostlists: one node with several NICs, one NIC of several nodes, or as many of each.
    fn read_end(&mut self, text: &At<String>, found: &mut Found) -> Option<Vec<NicEnd>> {
        let Some((nodes, nics)) = text.value.rsplit_once(':') else {
            let message = format!("`{}` is not `node:nic`", text.value);
            let known = self.index.contains_key(&text.value);
            let example = if known { text.value.as_str() } else { "n1" };
            let help = format!("such as \"{example}:eth0\"");
            found.add(ProblemKind::BadLinkEnd, &text.span, message, help);
            return None;
        };
        let nodes = names(&At { value: nodes.to_owned(), ..text.clone() }, found);
        let nics = hosts(nics, &text.span, found);
        if let Some(bad) = nics.iter().find(|nic| !is_nic_name(nic)) {
            let message = format!("`{bad}` is not an interface name");
            let help = "such as \"n1:eth0\"".to_owned();
            found.add(ProblemKind::BadLinkEnd, &text.span, message, help);
            return None;
        }
        if nodes.is_empty() || nics.is_empty() {
            return None;
        }
        if nodes.len() != nics.len() && nodes.len().min(nics.len()) > 1 {
            mismatch(&text.value, nics.len(), nodes.len(), &text.span, found);
            return None;
        }
        let count = nodes.len().max(nics.len());
        let ends = (0..count).map(|at| (&nodes[at % nodes.len()], &nics[at % nics.len()]));
        ends.map(|(node, nic)| self.find(node, nic, text, found)).collect()
    }

    /// The end called `node:nic`.
    fn find(
        &mut self,
        name: &str,
        nic: &str,
        text: &At<String>,
        found: &mut Found,
    ) -> Option<NicEnd> {
        if self.lists_nodes && !self.index.contains_key(name) {
            if !self.unlisted.iter().any(|(other, _)| other == name) {
                self.unlisted.push((name.to_owned(), text.span.clone()));
            }
            return None;
        }
        let node = self.node(name);
        let nic = self.nic(node, nic);
        if nic >= MOST_NICS {
            let message = format!("node `{name}` has more than {MOST_NICS} NICs");
            let help = format!("this version plans at most {MOST_NICS}");
            found.add(ProblemKind::TooLarge, &text.span, message, help);
            return None;
        }
        Some(NicEnd { node: NodeId::from(node), nic })
    }

    /// Reports nodes that cables name and the file does not list: one by one where they are few, as names that were
    /// misspelled, else all as one.
    fn report_unlisted(&self, found: &mut Found) {
        let listed = self.names.len();
        if let [(first, span), others @ ..] = &self.unlisted[..]
            && !others.is_empty()
            && self.unlisted.len() >= listed
        {
            let message = format!(
                "cables name {} nodes that no [[node]] lists, `{first}` first, and only {listed} of all are listed",
                others.len() + 1
            );
            let help = "list all nodes as [[node]], a name is enough, or none".to_owned();
            found.add(ProblemKind::UnknownName, span, message, help);
            return;
        }
        for (name, span) in &self.unlisted {
            let message = format!("no node is called `{name}`");
            let near = suggestion(name, self.names.iter().map(String::as_str));
            let help = near.unwrap_or_else(|| "list it as [[node]], as the others".to_owned());
            found.add(ProblemKind::UnknownName, span, message, help);
        }
    }

    /// Reports NICs without a cable, and parts that no cable joins.
    fn check(&self, whole: &Range<usize>, found: &mut Found) {
        if self.names.len() > limits::CABLED_NODES {
            let (has, most) = (self.names.len(), limits::CABLED_NODES);
            let message = format!("{has} nodes that are cabled to each other");
            let help = format!("this version plans at most {most}");
            found.add(ProblemKind::TooLarge, whole, message, help);
        }
        for (name, nics) in self.names.iter().zip(&self.nics) {
            let open = nics.iter().filter(|nic| nic.to.is_none());
            for (nic, span) in open.filter_map(|nic| Some((nic, nic.listed.as_ref()?))) {
                let message = format!("no [[link]] has NIC `{}` of node `{name}`", nic.name);
                let help = format!("such as a = \"{name}:{}\", or leave it out", nic.name);
                found.add(ProblemKind::MissingKey, span, message, help);
            }
        }
        if self.names.len() < 2 {
            let message = "an explicit fabric without switches and with fewer than two nodes";
            let help = "such as [[link]] with a = \"n1:eth0\", b = \"n2:eth0\"".to_owned();
            found.add(ProblemKind::MissingKey, whole, message, help);
            return;
        }
        let joined = self.cables.iter().filter_map(|cable| cable.0.first());
        let joined = joined.map(|[a, b]| (a.node.index(), b.node.index()));
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        report_parts(["node", "nodes"], &names, joined, whole, found);
    }
}

impl Draft {
    /// Gives nodes and NICs the names and rates of a fabric whose cables are listed.
    pub(super) fn name_cabled(&mut self, cabled: Cabled) {
        self.listed = true;
        if !self.generated {
            return;
        }
        self.node_index = cabled.index;
        for ((node, name), nics) in self.nodes.iter_mut().zip(cabled.names).zip(cabled.nics) {
            node.name = name;
            for (nic, listed) in node.nics.iter_mut().zip(nics) {
                nic.name = listed.name;
                nic.rate = listed.rate.unwrap_or(nic.rate);
            }
        }
    }
}

//! The switches, nodes and cables of a cluster file while it is being resolved. They start as the generated fabric, or
//! empty if the file lists everything; then `[[switch]]`, `[[node]]` and `[[link]]` change them. The place in the file
//! of each port and MAC address is kept, so that a conflict can be reported there.

use std::collections::HashMap;
use std::ops::Range;

use tresse_base::id::SwitchId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::suggestion;
use tresse_base::units::Prefix;
use tresse_topology::cluster::{Link, Node, Switch};
use tresse_topology::generate::{Fabric, default_switch, generate};

use super::names::{missing, names};
use super::shape::Shape;
use super::values::within;
use crate::file::{File, Switch as Entry};
use crate::limits;
use crate::read::{At, Keys};

type Span = Range<usize>;

/// Stands for a switch whose name was wrong; further checks ignore what is cabled to it.
pub(super) const NOWHERE: SwitchId = SwitchId(u32::MAX);

#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Whether the topology generates switches and nodes.
    pub(super) generated: bool,
    /// Whether the file lists the cables between nodes, which have no switches.
    pub(super) listed: bool,
    /// Whether the fabric is generated and no table changes it: no name is looked up and nothing can conflict.
    pub(super) plain: bool,
    /// Whether the kind and the size of the fabric are known.
    pub(super) known: bool,
    /// Whether all switches are known. An entry whose name could not be read may be any switch.
    pub(super) named: bool,
    /// Whether every cable of the file is in `links`. A refused cable may be the one that connects two parts.
    pub(super) cabled: bool,
    pub(super) switches: Vec<Switch>,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
    pub(super) switch_index: HashMap<String, usize>,
    pub(super) node_index: HashMap<String, usize>,
    /// `ports` of each switch as written.
    pub(super) given_ports: HashMap<usize, (u32, Span)>,
    /// Where (node, NIC) got its port, its MAC, its MTU.
    pub(super) nic_ports: HashMap<(usize, usize), Span>,
    pub(super) nic_macs: HashMap<(usize, usize), Span>,
    pub(super) nic_mtus: HashMap<(usize, usize), Span>,
    /// Where cable ends were written, by link.
    pub(super) link_ends: HashMap<usize, (Span, Span)>,
    /// How many names the entry that set a generated switch or node covers.
    pub(super) switch_width: HashMap<usize, usize>,
    pub(super) node_width: HashMap<usize, usize>,
    /// The networks behind nodes, and where they are written.
    pub(super) networks: Vec<(Prefix, Span)>,
    /// The names of the spares of a flat neighbourhood.
    pub(super) spares: Vec<String>,
    /// How many nodes the file gives names of their own, and how many the fabric has, where that differs.
    pub(super) hosts: Option<(usize, usize)>,
}

impl Draft {
    pub(super) fn new(shape: &Shape, file: &File) -> Self {
        let fabric = match shape {
            Shape::Generated { kind, nodes_per_switch, nics_per_node } => {
                generate(kind, *nodes_per_switch, *nics_per_node)
            }
            Shape::Explicit | Shape::Unknown(_) => Fabric::default(),
        };
        let rooted = file.routing.as_ref().is_some_and(|routing| routing.value.root.is_some());
        let plain = file.switch.is_none() && file.node.is_none() && file.link.is_none() && !rooted;
        let plain = plain && file.demand.is_none();
        let named = |count: usize| if plain { 0 } else { count };
        let index = |(i, name): (usize, &String)| (name.clone(), i);
        let switches = fabric.switches.iter().take(named(fabric.switches.len()));
        let nodes = fabric.nodes.iter().take(named(fabric.nodes.len()));
        Self {
            generated: matches!(shape, Shape::Generated { .. }),
            plain: plain && matches!(shape, Shape::Generated { .. }),
            known: shape.is_known(),
            named: shape.is_known()
                && (*shape != Shape::Explicit || read_all(file, "switch", &file.switch)),
            cabled: read_all(file, "link", &file.link),
            switch_index: switches.map(|s| &s.name).enumerate().map(index).collect(),
            node_index: nodes.map(|n| &n.name).enumerate().map(index).collect(),
            switches: fabric.switches,
            nodes: fabric.nodes,
            links: fabric.links,
            spares: shape.spares().to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn switches(&mut self, entries: Option<&At<Vec<At<Entry>>>>, found: &mut Found) {
        for entry in entries.iter().flat_map(|entries| &entries.value) {
            let Some(name) = &entry.value.name else {
                if entry.value.lacks("name") {
                    missing("name", "[[switch]]", &entry.span, "such as name = \"s00\"", found);
                }
                self.named &= self.generated;
                patch(&mut default_switch(String::new(), 0), &entry.value, found);
                continue;
            };
            let names = names(name, found);
            self.named &= self.generated || !names.is_empty();
            let mut patched = default_switch(String::new(), 0);
            let ports = patch(&mut patched, &entry.value, found);
            for text in &names {
                let Some(i) = self.switch_at(text, names.len(), name, found) else { continue };
                patch(&mut self.switches[i], &entry.value, &mut Found::default());
                if let Some(ports) = &ports {
                    self.given_ports.insert(i, ports.clone());
                }
            }
        }
    }

    /// Returns the switch for a name of an entry of `width` names; in an explicit fabric a new switch.
    fn switch_at(
        &mut self,
        text: &str,
        width: usize,
        name: &At<String>,
        found: &mut Found,
    ) -> Option<usize> {
        let existing = self.switch_index.get(text).copied();
        match existing {
            // A fabric of unknown kind may be one whose switches are only overridden.
            Some(i) if self.generated || !self.known => {
                let earlier = self.switch_width.insert(i, width);
                self.refuse_twice("switch", text, earlier, width, name, found).then_some(i)
            }
            Some(_) => {
                duplicate("switch", text, name, found);
                None
            }
            None if self.generated => {
                if found.repeats(ProblemKind::UnknownName, &name.span) {
                    found.add(ProblemKind::UnknownName, &name.span, "", None);
                    return None;
                }
                let message = format!("no switch is called `{text}`");
                let near = suggestion(text, self.switches.iter().map(|s| s.name.as_str()));
                let help = near.unwrap_or_else(|| self.switch_names());
                found.add(ProblemKind::UnknownName, &name.span, message, help);
                None
            }
            None if self.switches.len() >= limits::SWITCHES as usize => {
                let message = format!("more than {} switches", limits::SWITCHES);
                let help = format!("this version plans at most {}", limits::SWITCHES);
                found.add(ProblemKind::TooLarge, &name.span, message, help);
                None
            }
            None => {
                self.switches.push(default_switch(text.into(), 0));
                self.switch_index.insert(text.into(), self.switches.len() - 1);
                self.switch_width.insert(self.switches.len() - 1, width);
                Some(self.switches.len() - 1)
            }
        }
    }

    /// Reports an object named twice, unless a later entry refines an earlier, wider one.
    pub(super) fn refuse_twice(
        &self,
        what: &str,
        text: &str,
        earlier: Option<usize>,
        width: usize,
        name: &At<String>,
        found: &mut Found,
    ) -> bool {
        let refines = earlier.is_none_or(|earlier| width < earlier);
        if !refines {
            duplicate(what, text, name, found);
        }
        refines
    }

    fn switch_names(&self) -> String {
        match (self.switches.first(), self.switches.last()) {
            (Some(first), Some(last)) => format!("switches are {} to {}", first.name, last.name),
            _ => "list it as [[switch]]".to_owned(),
        }
    }

    /// Returns the switch with this name, or reports that there is none.
    pub(super) fn find_switch(&self, text: &str, span: &Span, found: &mut Found) -> SwitchId {
        if let Some(i) = self.switch_index.get(text) {
            return SwitchId::from(*i);
        }
        if found.repeats(ProblemKind::UnknownName, span) {
            found.add(ProblemKind::UnknownName, span, "", None);
        } else if self.named {
            let (kind, message, help) = if self.node_index.contains_key(text) {
                let message = format!("`{text}` is a node, not a switch");
                (ProblemKind::UnknownName, message, "a node's cables are in its `nics`".to_owned())
            } else {
                let near = suggestion(text, self.switches.iter().map(|s| s.name.as_str()));
                let help = near.unwrap_or_else(|| self.switch_names());
                (ProblemKind::UnknownName, format!("no switch is called `{text}`"), help)
            };
            found.add(kind, span, message, help);
        }
        NOWHERE
    }
}

/// Whether a list of the file was read or is absent.
pub(super) fn read_all<T>(file: &File, key: &str, list: &Option<At<Vec<At<T>>>>) -> bool {
    list.as_ref().map_or_else(|| file.lacks(key), |list| list.whole || !list.value.is_empty())
}

pub(super) fn duplicate(what: &str, text: &str, name: &At<String>, found: &mut Found) {
    let message = format!("{what} `{text}` is listed twice");
    let help = "give it another name, or join the two entries".to_owned();
    found.add(ProblemKind::DuplicateName, &name.span, message, help);
}

/// Applies the keys of an entry to a switch. Returns `ports` as written.
fn patch(switch: &mut Switch, entry: &Entry, found: &mut Found) -> Option<(u32, Span)> {
    switch.max_vlans =
        within(entry.max_vlans.as_ref(), "max_vlans", 1..=4094, switch.max_vlans, found);
    switch.max_frame = within(
        entry.max_frame.as_ref(),
        "max_frame",
        limits::MIN_FRAME..=limits::MAX_FRAME,
        switch.max_frame,
        found,
    );
    switch.fdb_age_seconds = within(
        entry.fdb_age_seconds.as_ref(),
        "fdb_age_seconds",
        limits::MIN_AGE..=limits::MAX_AGE,
        switch.fdb_age_seconds,
        found,
    );
    if let Some(size) = &entry.fdb_size {
        switch.fdb_size = Some(within(Some(size), "fdb_size", 1..=u32::MAX, 1, found));
    }
    if let Some(learning) = &entry.learning {
        switch.learning = learning.value;
    }
    if let Some(stp) = &entry.stp {
        switch.stp = stp.value;
    }
    if let Some(lag) = &entry.lag {
        switch.lag = lag.value;
    }
    let ports = entry.ports.as_ref()?;
    let count = within(Some(ports), "ports", 1..=limits::PORTS, 0, found);
    (count > 0).then(|| (count, ports.span.clone()))
}

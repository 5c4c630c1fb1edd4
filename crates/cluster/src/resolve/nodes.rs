//! Resolves `[[node]]` and its `nics`: all nodes of a fabric of kind `explicit`; in a generated fabric, further nodes
//! and changes to the generated ones.
//!
//! An entry of `nics` for a generated node changes the NIC that has the entry's name. If there is none, it renames and
//! changes the NIC at the same position in the list. An entry for a further NIC needs `switch` and `port`.

use std::collections::HashMap;

use tresse_base::id::SwitchId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::text::{nearest, suggestion};
use tresse_base::units::{Mac, Rate};
use tresse_topology::cluster::{Addressing, Nic, Node};
use tresse_topology::generate::derived_mac;

use super::fabric::{Draft, NOWHERE, duplicate};
use super::hosts::{Named, has_cable};
use super::names::{hosts, is_nic_name, missing, names};
use super::values::{mismatch, port_numbers, read_rate, within};
use crate::file::{Nic as NicEntry, Node as Entry};
use crate::forms::PortNumbers;
use crate::read::{At, Keys};
use crate::{guess, limits};

/// The keys of one `nics` entry, read once for all nodes of a hostlist.
struct Written<'a> {
    entry: &'a At<NicEntry>,
    name: Option<&'a At<String>>,
    mac: Option<Mac>,
    switches: Vec<SwitchId>,
    ports: Vec<u32>,
    rate: Option<Rate>,
    mtu: Option<u32>,
}

impl Draft {
    pub(super) fn nodes(&mut self, entries: Option<&At<Vec<At<Entry>>>>, found: &mut Found) {
        let mut all: Vec<Named<'_>> = Vec::new();
        for entry in entries.iter().flat_map(|entries| &entries.value) {
            let names = match &entry.value.name {
                Some(name) => names(name, found),
                None => {
                    if entry.value.lacks("name") {
                        missing("name", "[[node]]", &entry.span, "such as name = \"n00\"", found);
                    }
                    Vec::new()
                }
            };
            all.push((entry, names));
        }
        self.name_hosts(&all, found);
        for (entry, names) in all {
            let nics = self.read_nics(&entry.value, names.len(), found);
            let behind = self.read_behind(&entry.value, names.len(), found);
            let Some(name) = &entry.value.name else { continue };
            for (j, text) in names.iter().enumerate() {
                let Some(i) = self.node_at(text, names.len(), name, &entry.value, found) else {
                    continue;
                };
                if let Some(transit) = &entry.value.transit {
                    self.nodes[i].transit = transit.value;
                }
                behind.lay(&mut self.nodes[i]);
                self.lay_nics(i, j, &nics, found);
            }
            self.require_nics(entry, &names, found);
        }
    }

    fn node_at(
        &mut self,
        text: &str,
        width: usize,
        name: &At<String>,
        entry: &Entry,
        found: &mut Found,
    ) -> Option<usize> {
        let cabled = has_cable(entry);
        if let Some(i) = self.node_index.get(text).copied() {
            if !self.generated && self.known {
                duplicate("node", text, name, found);
                return None;
            }
            let earlier = self.node_width.insert(i, width);
            return self.refuse_twice("node", text, earlier, width, name, found).then_some(i);
        }
        if self.generated && !cabled {
            if found.repeats(ProblemKind::UnknownName, &name.span) {
                found.add(ProblemKind::UnknownName, &name.span, "", None);
                return None;
            }
            let message = format!("no node is called `{text}`");
            let known = || self.nodes.iter().map(|n| n.name.as_str());
            let help = match (self.hosts, nearest(text, known())) {
                (Some((has, wants)), None) => Some(format!(
                    "names of their own need an entry for each of the {wants} nodes, and {has} are named"
                )),
                _ => suggestion(text, known()),
            };
            let help = help.unwrap_or_else(|| {
                "a node beside the generated ones needs `nics` with switch and port".to_owned()
            });
            found.add(ProblemKind::UnknownName, &name.span, message, help);
            return None;
        }
        if self.nodes.len() >= limits::NODES as usize {
            let message = format!("more than {} nodes", limits::NODES);
            let help = format!("this version plans at most {}", limits::NODES);
            found.add(ProblemKind::TooLarge, &name.span, message, help);
            return None;
        }
        let i = self.nodes.len();
        self.nodes.push(Node::new(text.into(), Vec::new()));
        self.node_index.insert(text.into(), i);
        self.node_width.insert(i, width);
        Some(i)
    }

    fn require_nics(&self, entry: &At<Entry>, names: &[String], found: &mut Found) {
        let place = "[[node]]";
        match &entry.value.nics {
            Some(nics) if nics.value.is_empty() && nics.whole => {
                let help = "such as nics = [{ switch = \"s0\", port = 1 }]".to_owned();
                found.add(ProblemKind::EmptyList, &nics.span, "`nics` is empty", help);
            }
            None if !self.generated
                && self.known
                && !names.is_empty()
                && entry.value.lacks("nics") =>
            {
                let help = "such as nics = [{ switch = \"s0\", port = 1 }]";
                missing("nics", place, &entry.span, help, found);
            }
            _ => {}
        }
    }

    fn read_nics<'a>(&self, entry: &'a Entry, count: usize, found: &mut Found) -> Vec<Written<'a>> {
        let nics = entry.nics.iter().flat_map(|nics| &nics.value);
        nics.map(|nic| self.read_nic(nic, count, found)).collect()
    }

    fn read_nic<'a>(
        &self,
        entry: &'a At<NicEntry>,
        count: usize,
        found: &mut Found,
    ) -> Written<'a> {
        let nic = &entry.value;
        if nic.lacks("switch") != nic.lacks("port") {
            let (key, help) = match nic.switch {
                Some(_) => ("port", "such as port = 1"),
                None => ("switch", "such as switch = \"s0\""),
            };
            missing(key, "`nics`", &entry.span, help, found);
        }
        let switches = nic
            .switch
            .as_ref()
            .map(|switch| self.read_switches(switch, count, found))
            .unwrap_or_default();
        let most = self.most_ports(&switches);
        Written {
            entry,
            name: nic.name.as_ref().filter(|name| nic_name(name, found)),
            mac: nic.mac.as_ref().and_then(|mac| read_mac(mac, found)),
            switches,
            ports: nic.port.as_ref().map(|p| read_ports(p, count, most, found)).unwrap_or_default(),
            rate: nic.rate.as_ref().and_then(|rate| read_rate(rate, found)),
            mtu: nic.mtu.as_ref().map(|mtu| {
                within(Some(mtu), "mtu", limits::MIN_MTU..=limits::MAX_MTU, 1500, found)
            }),
        }
    }

    fn read_switches(&self, text: &At<String>, count: usize, found: &mut Found) -> Vec<SwitchId> {
        let names = names(text, found);
        if names.len() > 1 && names.len() != count {
            mismatch(&text.value, names.len(), count, &text.span, found);
            return Vec::new();
        }
        names.iter().map(|name| self.find_switch(name, &text.span, found)).collect()
    }

    fn lay_nics(&mut self, i: usize, j: usize, nics: &[Written<'_>], found: &mut Found) {
        let generated: HashMap<String, usize> =
            self.nodes[i].nics.iter().enumerate().map(|(k, nic)| (nic.name.clone(), k)).collect();
        // A list of all NICs is in their order, whatever their names.
        let whole = !self.listed
            && nics.len() == generated.len()
            && nics.iter().all(|nic| nic.name.is_some());
        for (position, written) in nics.iter().enumerate() {
            let name = written.name.filter(|_| !whole);
            let named = name.and_then(|name| generated.get(&name.value)).copied();
            let k = named.unwrap_or(position);
            if k >= self.nodes[i].nics.len() {
                let nowhere =
                    written.entry.value.lacks("switch") && written.entry.value.lacks("port");
                let beyond = self.generated && self.nodes[i].nics.iter().any(|n| n.peer.is_some());
                if nowhere && beyond {
                    let node = &self.nodes[i];
                    let message = format!(
                        "node `{}` has {} NICs in this fabric, and this is one more",
                        node.name,
                        generated.len()
                    );
                    let help =
                        "leave it out, or list all cables: topology explicit without [[switch]]";
                    found.add(
                        ProblemKind::CountMismatch,
                        &written.entry.span,
                        message,
                        help.to_owned(),
                    );
                } else if nowhere && self.known {
                    let help = "such as switch = \"s0\", port = 1";
                    missing("switch", "`nics`", &written.entry.span, help, found);
                }
                let nic = self.new_nic(i);
                self.nodes[i].nics.push(nic);
            }
            let k = k.min(self.nodes[i].nics.len() - 1);
            self.lay_nic(i, k, j, written);
        }
        self.refuse_same_names(i, nics, found);
    }

    fn new_nic(&self, node: usize) -> Nic {
        let k = self.nodes[node].nics.len();
        Nic {
            name: format!("eth{k}"),
            mac: derived_mac(node, k),
            mac_derived: true,
            switch: NOWHERE,
            port: 0,
            peer: None,
            rate: Rate::GIGABIT,
            mtu: 1500,
        }
    }

    fn lay_nic(&mut self, i: usize, k: usize, j: usize, written: &Written<'_>) {
        let of = |list: &[u32]| list.get(if list.len() == 1 { 0 } else { j }).copied();
        let nic = &mut self.nodes[i].nics[k];
        if let Some(name) = written.name {
            nic.name.clone_from(&name.value);
        }
        if let Some(mac) = written.mac {
            (nic.mac, nic.mac_derived) = (mac, false);
            let span = written.entry.value.mac.as_ref().map(|m| m.span.clone());
            self.nic_macs.insert((i, k), span.unwrap_or_default());
        }
        if !written.entry.value.lacks("switch") {
            let j = if written.switches.len() == 1 { 0 } else { j };
            nic.switch = written.switches.get(j).copied().unwrap_or(NOWHERE);
        }
        if !written.entry.value.lacks("port") {
            match of(&written.ports) {
                Some(number) => nic.port = number,
                None => nic.switch = NOWHERE,
            }
        }
        if let Some(port) = &written.entry.value.port {
            self.nic_ports.insert((i, k), port.span.clone());
        }
        nic.rate = written.rate.unwrap_or(nic.rate);
        if let Some(mtu) = written.mtu {
            nic.mtu = mtu;
            let span = written.entry.value.mtu.as_ref().map(|m| m.span.clone());
            self.nic_mtus.insert((i, k), span.unwrap_or_default());
        }
    }

    fn refuse_same_names(&self, i: usize, nics: &[Written<'_>], found: &mut Found) {
        let node = &self.nodes[i];
        for (k, nic) in node.nics.iter().enumerate() {
            if node.nics[..k].iter().any(|other| other.name == nic.name) {
                let span = nics.iter().rev().filter_map(|w| w.name).find(|n| n.value == nic.name);
                let span =
                    span.map(|n| n.span.clone()).or_else(|| Some(nics.last()?.entry.span.clone()));
                let message = format!("node `{}` has two NICs called `{}`", node.name, nic.name);
                let help = format!("such as `eth{k}`");
                found.add(ProblemKind::DuplicateName, &span.unwrap_or_default(), message, help);
            }
        }
        let named: Vec<_> = nics.iter().filter_map(|w| w.name).collect();
        for name in &named {
            let of = |nic: &&Nic| vlan_of(&name.value, &nic.name).is_some();
            if let Some(nic) = node.nics.iter().find(of) {
                let (name_, parent) = (&name.value, &nic.name);
                let message = format!("`{name_}` is the name of a VLAN interface of `{parent}`");
                let help = "a NIC of its own name, such as `eth1`".to_owned();
                found.add(ProblemKind::BadName, &name.span, message, help);
            }
        }
        for (n, name) in named.iter().enumerate() {
            if named[..n].iter().any(|other| other.value == name.value) {
                let message = format!("node `{}` has two NICs called `{}`", node.name, name.value);
                let help = format!("such as `eth{n}`");
                found.add(ProblemKind::DuplicateName, &name.span, message, help);
            }
        }
    }

    /// Reports each MTU below the 1280 bytes that IPv6 needs, if nodes have IPv6 addresses.
    pub(super) fn check_mtu(&self, addressing: &Addressing, found: &mut Found) {
        if !addressing.nodes.iter().any(|p| p.address.is_ipv6()) {
            return;
        }
        let mut small: Vec<_> = self
            .nic_mtus
            .iter()
            .map(|((i, k), span)| (span, self.nodes[*i].nics[*k].mtu))
            .filter(|(_, mtu)| *mtu < limits::MIN_MTU_IPV6)
            .collect();
        small.sort_by_key(|(span, _)| span.start);
        for (span, mtu) in small {
            let message = format!("mtu {mtu} is too small for IPv6");
            let help = format!("the nearest valid value is {}", limits::MIN_MTU_IPV6);
            found.add(ProblemKind::OutOfRange, span, message, help);
        }
    }
}

fn nic_name(name: &At<String>, found: &mut Found) -> bool {
    let good = is_nic_name(&name.value);
    if !good {
        let message = format!("`{}` is not an interface name", name.value);
        let help = match guess::name(&name.value, limits::NIC_NAME) {
            _ if name.value.contains('[') => "an entry of `nics` for each NIC".to_owned(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("1 to {} characters such as `eth0` or `enp3s0`", limits::NIC_NAME),
        };
        found.add(ProblemKind::BadName, &name.span, message, help);
    }
    good
}

/// Returns the VID in `name` if `name` is that of a VLAN interface of the NIC `parent`.
fn vlan_of(name: &str, parent: &str) -> Option<u16> {
    let vid = name.strip_prefix(parent)?.strip_prefix('.')?.parse().ok()?;
    (1..=4094).contains(&vid).then_some(vid)
}

/// What to do about a MAC address near which there is none of an interface.
const WITHOUT_MAC: &str = "leave it out for a derived one, good for lab and planning";

fn read_mac(text: &At<String>, found: &mut Found) -> Option<Mac> {
    let (message, help) = match text.value.parse::<Mac>() {
        Ok(mac) if mac.0 == [0; 6] => {
            (format!("`{mac}` is not the address of an interface"), WITHOUT_MAC.to_owned())
        }
        Ok(mac) if mac.0[0] & 1 == 1 => {
            let message = format!("`{mac}` is a group address, not that of an interface");
            let help = match guess::of_one(mac) {
                Some(near) => format!("the nearest valid value is {near}"),
                None => WITHOUT_MAC.to_owned(),
            };
            (message, help)
        }
        Ok(mac) => return Some(mac),
        Err(error) => {
            let help = guess::mac(&text.value);
            (error.to_string(), help.unwrap_or_else(|| "such as `02:00:00:00:00:01`".to_owned()))
        }
    };
    found.add(ProblemKind::BadMac, &text.span, message, help);
    None
}

fn read_ports(ports: &At<PortNumbers>, count: usize, most: u32, found: &mut Found) -> Vec<u32> {
    let texts = match &ports.value {
        PortNumbers::One(number) => vec![number.text.clone()],
        PortNumbers::List(text) => {
            let texts = hosts(text, &ports.span, found);
            if texts.len() > 1 && texts.len() != count {
                mismatch(text, texts.len(), count, &ports.span, found);
                return Vec::new();
            }
            texts
        }
    };
    port_numbers(&texts, most, &ports.span, found)
}

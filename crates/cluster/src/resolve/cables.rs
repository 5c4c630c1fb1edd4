//! Resolves `[[link]]`, the cables between switches, and checks the ends of all cables: the port exists, no other
//! cable uses it, and no two NICs have the same MAC address.

use std::collections::HashMap;
use std::ops::Range;

use tresse_base::id::SwitchId;
use tresse_base::problem::{Found, ProblemKind};
use tresse_base::units::Rate;
use tresse_topology::cluster::{Link, Port};

use super::fabric::{Draft, NOWHERE};
use super::names::{hosts, missing, names};
use super::values::{mismatch, port_numbers, read_rate};
use crate::file::Link as Entry;
use crate::forms::LinkEnds;
use crate::limits;
use crate::read::{At, Keys};

/// Stands for a cable end that could not be read; further checks ignore it.
const UNPLUGGED: Port = Port { switch: NOWHERE, port: 0 };

/// The object that a port is cabled to.
#[derive(Debug, Clone, Copy)]
enum Plug {
    Nic(usize, usize),
    /// A link, and whether it is its end `b`.
    Link(usize, bool),
}

impl Draft {
    pub(super) fn links(&mut self, entries: Option<&At<Vec<At<Entry>>>>, found: &mut Found) {
        for entry in entries.iter().flat_map(|entries| &entries.value) {
            let rate = entry.value.rate.as_ref().and_then(|rate| read_rate(rate, found));
            let [a_text, b_text] =
                [("a", &entry.value.a), ("b", &entry.value.b)].map(|(key, end)| {
                    if entry.value.lacks(key) {
                        missing(key, "[[link]]", &entry.span, "such as \"s00:23\"", found);
                    }
                    end.as_ref().and_then(|ends| only(ends, found))
                });
            let [a, b] =
                [a_text, b_text].map(|text| text.and_then(|text| self.read_end(text, found)));
            let (a, b) = match (a, b) {
                (Some(a), Some(b)) => (a, b),
                (Some(a), None) => (a.clone(), vec![UNPLUGGED; a.len()]),
                (None, Some(b)) => (vec![UNPLUGGED; b.len()], b),
                (None, None) => {
                    self.cabled = false;
                    continue;
                }
            };
            let none = At { value: String::new(), span: 0..0, key: 0..0, whole: true };
            let [a_text, b_text] = [a_text, b_text].map(|text| text.unwrap_or(&none));
            if a.len() != b.len() {
                let message =
                    format!("the cables have {} ends in `a` and {} in `b`", a.len(), b.len());
                let help = "both must name the same number of ports".to_owned();
                found.add(ProblemKind::CountMismatch, &b_text.span, message, help);
                self.cabled = false;
                continue;
            }
            for (a, b) in a.into_iter().zip(b) {
                self.link(a, b, rate.unwrap_or(Rate::GIGABIT), (a_text, b_text), found);
            }
        }
    }

    fn link(
        &mut self,
        a: Port,
        b: Port,
        rate: Rate,
        (a_text, b_text): (&At<String>, &At<String>),
        found: &mut Found,
    ) {
        if a.switch == b.switch && a.switch != NOWHERE {
            let name = &self.switches[a.switch.index()].name;
            let message = format!("both ends of the cable are in switch `{name}`");
            let help = "a cable joins two switches".to_owned();
            found.add(ProblemKind::SelfLink, &b_text.span, message, help);
            self.cabled = false;
        } else if self.links.len() >= limits::LINKS {
            let message = format!("more than {} cables", limits::LINKS);
            let help = format!("this version plans at most {}", limits::LINKS);
            found.add(ProblemKind::TooLarge, &a_text.span, message, help);
            self.cabled = false;
        } else {
            self.link_ends.insert(self.links.len(), (a_text.span.clone(), b_text.span.clone()));
            self.links.push(Link { a, b, rate });
        }
    }

    /// Reads `switch:port`, where both are hostlists: one switch with several ports, one port on several
    /// switches, or as many of each.
    fn read_end(&self, text: &At<String>, found: &mut Found) -> Option<Vec<Port>> {
        let Some((switches, ports)) = text.value.rsplit_once(':') else {
            let message = format!("`{}` is not `switch:port`", text.value);
            let known = self.switch_index.contains_key(&text.value);
            let example = if known { text.value.as_str() } else { "s00" };
            let help = format!("such as \"{example}:23\"");
            found.add(ProblemKind::BadLinkEnd, &text.span, message, help);
            return None;
        };
        let switches = At { value: switches.to_owned(), ..text.clone() };
        let switches = names(&switches, found);
        let ids: Vec<_> =
            switches.iter().map(|name| self.find_switch(name, &text.span, found)).collect();
        let numbers = hosts(ports, &text.span, found);
        let numbers = port_numbers(&numbers, self.most_ports(&ids), &text.span, found);
        if switches.is_empty() || numbers.is_empty() {
            return None;
        }
        let count = switches.len().max(numbers.len());
        if switches.len() != numbers.len() && switches.len().min(numbers.len()) > 1 {
            mismatch(ports, numbers.len(), switches.len(), &text.span, found);
            return None;
        }
        let nth = |i: usize| Port { switch: ids[i % ids.len()], port: numbers[i % numbers.len()] };
        Some((0..count).map(nth).collect())
    }

    /// Returns the highest port that each of these switches may have.
    pub(super) fn most_ports(&self, switches: &[SwitchId]) -> u32 {
        let given = switches.iter().filter_map(|switch| self.given_ports.get(&switch.index()));
        given.map(|(count, _)| *count).min().unwrap_or(limits::PORTS)
    }

    pub(super) fn check_ports(&mut self, fewer: &str, found: &mut Found) {
        let mut used: Vec<(SwitchId, u32, Option<Range<usize>>, Plug)> = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            for (k, nic) in node.nics.iter().enumerate() {
                let span = self.nic_ports.get(&(i, k)).cloned();
                used.push((nic.switch, nic.port, span, Plug::Nic(i, k)));
            }
        }
        for (i, link) in self.links.iter().enumerate() {
            let ends = self.link_ends.get(&i);
            let (a, b) = (ends.map(|e| e.0.clone()), ends.map(|e| e.1.clone()));
            used.push((link.a.switch, link.a.port, a, Plug::Link(i, false)));
            used.push((link.b.switch, link.b.port, b, Plug::Link(i, true)));
        }
        used.retain(|(switch, port, ..)| *switch != NOWHERE && *port != 0);
        used.sort_by_key(|(.., span, _)| span.as_ref().map(|s| s.start));
        let mut taken: HashMap<(SwitchId, u32), Plug> = HashMap::new();
        for (switch, port, _, plug) in &used {
            taken.entry((*switch, *port)).or_insert(*plug);
        }
        let mut needed: HashMap<SwitchId, u32> = HashMap::new();
        let mut seen = HashMap::new();
        for (switch, port, span, plug) in &used {
            let given = self.given_ports.get(&switch.index()).map(|(count, _)| *count);
            let most = needed.entry(*switch).or_insert(0);
            let name = &self.switches[switch.index()].name;
            match (span, given) {
                (Some(span), Some(count)) if *port > count => {
                    let message = format!("switch `{name}` has no port {port}: it has {count}");
                    let repeats = found.repeats(ProblemKind::PortOutOfRange, span);
                    let help = (!repeats).then(|| free_port(&taken, *switch, *port, given));
                    found.add(ProblemKind::PortOutOfRange, span, message, help);
                }
                _ => *most = (*most).max(*port),
            }
            let first = *seen.entry((*switch, *port)).or_insert(*plug);
            if let Some(span) = span
                && !same(first, *plug)
            {
                let message =
                    format!("port {port} of switch `{name}` already has {}", self.plug(first));
                let repeats = found.repeats(ProblemKind::PortInUse, span);
                let help = (!repeats).then(|| free_port(&taken, *switch, *port, given));
                found.add(ProblemKind::PortInUse, span, message, help);
            }
        }
        self.size_switches(&needed, fewer, found);
    }

    /// Sets the number of ports: `ports` if given, else the highest cabled port, but never less than the
    /// generator's number. `fewer` is further advice for switches with too few ports.
    fn size_switches(&mut self, needed: &HashMap<SwitchId, u32>, fewer: &str, found: &mut Found) {
        for (i, switch) in self.switches.iter_mut().enumerate() {
            let needed = needed.get(&SwitchId::from(i)).copied().unwrap_or(0);
            let Some((count, span)) = self.given_ports.get(&i) else {
                switch.ports = switch.ports.max(needed).max(1);
                continue;
            };
            if *count < needed {
                let message =
                    format!("switch `{}` has {count} ports and needs {needed}", switch.name);
                let help = format!("ports = {needed}{fewer}");
                found.add(ProblemKind::TooFewPorts, span, message, help);
            }
            switch.ports = *count;
        }
    }

    pub(super) fn check_macs(&self, found: &mut Found) {
        let mut nics = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            for (k, nic) in node.nics.iter().enumerate() {
                nics.push((self.nic_macs.get(&(i, k)), nic.mac, i, k));
            }
        }
        nics.sort_by_key(|(span, ..)| span.map(|s| s.start));
        let mut seen = HashMap::new();
        for (span, mac, i, k) in nics {
            let (first_i, first_k) = *seen.entry(mac).or_insert((i, k));
            if let Some(span) = span
                && (first_i, first_k) != (i, k)
            {
                let owner = self.plug(Plug::Nic(first_i, first_k));
                let message = format!("MAC `{mac}` is already that of {owner}");
                let help = "every NIC has its own; leave it out for a derived one".to_owned();
                found.add(ProblemKind::DuplicateMac, span, message, help);
            }
        }
    }

    fn plug(&self, plug: Plug) -> String {
        match plug {
            Plug::Nic(i, k) => {
                let node = &self.nodes[i];
                format!("{} of node `{}`", node.nics[k].name, node.name)
            }
            Plug::Link(i, at_b) => {
                let other = if at_b { self.links[i].a } else { self.links[i].b };
                match self.switches.get(other.switch.index()) {
                    Some(switch) => format!("the cable to `{}:{}`", switch.name, other.port),
                    None => "a cable".to_owned(),
                }
            }
        }
    }
}

/// The one text of an end; lists are for cables between nodes.
fn only<'a>(ends: &'a At<LinkEnds>, found: &mut Found) -> Option<&'a At<String>> {
    let [only] = &ends.value.0[..] else {
        let message = format!("{} ends of a cable between switches", ends.value.0.len());
        let help =
            "one text, such as \"s00:[23-24]\"; lists are for cables between nodes".to_owned();
        found.add(ProblemKind::BadLinkEnd, &ends.span, message, help);
        return None;
    };
    Some(only)
}

fn same(a: Plug, b: Plug) -> bool {
    match (a, b) {
        (Plug::Nic(i, k), Plug::Nic(j, l)) => (i, k) == (j, l),
        (Plug::Link(i, x), Plug::Link(j, y)) => (i, x) == (j, y),
        _ => false,
    }
}

fn free_port(
    taken: &HashMap<(SwitchId, u32), Plug>,
    switch: SwitchId,
    wanted: u32,
    ports: Option<u32>,
) -> String {
    let most = ports.unwrap_or(limits::PORTS);
    let free = |port: &u32| (1..=most).contains(port) && !taken.contains_key(&(switch, *port));
    let near = (0..=limits::PORTS)
        .flat_map(|d| [wanted.saturating_sub(d), wanted.saturating_add(d)])
        .find(free);
    match near {
        Some(port) => format!("the nearest free port is {port}"),
        None => format!("all {most} ports of this switch are taken"),
    }
}

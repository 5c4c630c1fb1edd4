//! The cables between switches, and the stations at their ports, from the tables of the switches.
//!
//! LLDP goes from one end of a cable to the other and no further (IEEE 802.1AB, clause 7.1), so a neighbour is at the
//! other end. Where two switches do not both tell their neighbours, their forwarding tables show the cables of a
//! spanning tree ([`complement`]). All that neither shows is in [`Wires::unseen`].

mod complement;
mod far;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;

use self::far::Far;
use crate::cable::{PortAt, SeenBy, SeenCable};
use crate::host::DiscoveredHost;
use crate::port;
use crate::table::SwitchTable;

/// All that the switches' tables show.
#[derive(Debug, Clone, Default)]
pub struct Wires {
    /// The cables, sorted.
    pub cables: Vec<SeenCable>,
    /// Where each station is that is at one port alone.
    pub stations: BTreeMap<Mac, PortAt>,
    /// In words, what could not be seen.
    pub unseen: Vec<String>,
    tables: Vec<SwitchTable>,
    /// Switches that were heard and have no table.
    heard: BTreeSet<String>,
    /// Names that switches are known to have.
    known: Vec<String>,
}

impl Wires {
    /// Puts the tables of switches together. `hosts` are the nodes, by whose names and MACs a neighbour is known to be
    /// no switch. O(neighbours^2 of each pair of switches), and for switches without LLDP O(switches^2 x stations).
    #[must_use]
    pub fn of(tables: Vec<SwitchTable>, hosts: &[DiscoveredHost]) -> Self {
        Self::beside(tables, hosts, Vec::new())
    }

    /// The same, where switches with a name like one of `known` have that name: in another case, or one of the two with a
    /// domain.
    #[must_use]
    pub fn beside(
        mut tables: Vec<SwitchTable>,
        hosts: &[DiscoveredHost],
        known: Vec<String>,
    ) -> Self {
        let mut wires = Self { known, ..Self::default() };
        for table in &mut tables {
            table.name = wires.known_name(&table.name).to_owned();
        }
        wires.tables = tables;
        wires.by_lldp(hosts);
        wires.by_forwarding();
        wires.cables.sort();
        wires.place_stations(hosts);
        wires.name_gaps();
        wires.unseen.sort();
        wires.unseen.dedup();
        wires
    }

    /// Whether there is no table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The names of all switches that have a table or were heard by LLDP.
    pub fn switches(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|table| &*table.name).chain(self.heard.iter().map(String::as_str))
    }

    /// The table of the switch of this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&SwitchTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The name here of a switch that calls itself `device`.
    #[must_use]
    pub fn name_of<'a>(&'a self, device: &'a str) -> &'a str {
        match far::named(&self.tables, device) {
            Some(at) => &self.tables[at].name,
            None => self.known_name(device),
        }
    }

    /// The known name that is like this one, or this one.
    fn known_name<'a>(&'a self, device: &'a str) -> &'a str {
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        far::alike(&known, device).map_or(device, |at| known[at])
    }

    /// The number of a port in the cluster file, if its name has one.
    #[must_use]
    pub fn number(&self, switch: &str, port: &str) -> Option<u32> {
        match self.table(switch) {
            Some(table) => {
                let mut all = table.ports();
                let others = self.cables.iter().flat_map(|cable| [&cable.a, &cable.b]);
                all.extend(others.filter(|end| end.switch == switch).map(|end| &*end.port));
                port::number(port, table.numbering, &all)
            }
            None => port::number(port, port::Numbering::FromOne, &BTreeSet::new()),
        }
    }

    /// Whether a cable ends at this port of a switch.
    #[must_use]
    pub fn is_trunk(&self, switch: &str, port: &str) -> bool {
        let here = |end: &PortAt| end.switch == switch && port::same(&end.port, port);
        self.cables.iter().any(|cable| here(&cable.a) || here(&cable.b))
    }

    fn by_lldp(&mut self, hosts: &[DiscoveredHost]) {
        let far = far::Names::new(&self.tables, hosts);
        let mut found: BTreeMap<(PortAt, PortAt), SeenBy> = BTreeMap::new();
        let mut heard = BTreeSet::new();
        let mut unseen = Vec::new();
        for (here, table) in self.tables.iter().enumerate() {
            let mut of_port: BTreeMap<&str, BTreeSet<(String, PortAt)>> = BTreeMap::new();
            let mut seen = Vec::new();
            for neighbour in &table.neighbours {
                let a = PortAt { switch: table.name.clone(), port: neighbour.port.clone() };
                match far.of(neighbour) {
                    Far::Host => continue,
                    Far::Switch(there) if there == here => {
                        unseen.push(format!(
                            "{} hears {} itself: a cable with both ends in one switch is left out",
                            a.words(),
                            table.name
                        ));
                    }
                    Far::Switch(there) => {
                        let (port, back) = far.port(here, neighbour, there);
                        let b = PortAt { switch: self.tables[there].name.clone(), port };
                        of_port
                            .entry(&neighbour.port)
                            .or_default()
                            .insert((b.switch.clone(), b.clone()));
                        seen.push((a, b, back));
                    }
                    Far::Unread(name) => {
                        let name = self.known_name(&name).to_owned();
                        let port = neighbour.far.iter().find(|text| port::mac(text).is_none());
                        let port = port.or(neighbour.far.first()).cloned().unwrap_or_default();
                        heard.insert(name.clone());
                        let b = PortAt { switch: name, port };
                        of_port
                            .entry(&neighbour.port)
                            .or_default()
                            .insert((b.switch.clone(), b.clone()));
                        seen.push((a, b, false));
                    }
                }
            }
            for (a, b, back) in seen {
                if of_port[&*a.port].len() > 1 {
                    let names: BTreeSet<&str> =
                        of_port[&*a.port].iter().map(|(name, _)| &**name).collect();
                    let names: Vec<&str> = names.into_iter().collect();
                    unseen.push(format!(
                        "{} hears {} at once: what stands between them passes LLDP on, and is not seen",
                        a.words(),
                        names.join(", ")
                    ));
                    continue;
                }
                let by = if back { SeenBy::BothEnds } else { SeenBy::OneEnd };
                // Sorted if both ends hear each other; else the end that hears comes first.
                let swap = back && b < a || found.contains_key(&(b.clone(), a.clone()));
                let ends = if swap { (b, a) } else { (a, b) };
                let known = found.entry(ends).or_insert(by);
                *known = (*known).min(by);
            }
        }
        self.cables = found.into_iter().map(|((a, b), by)| SeenCable { a, b, by }).collect();
        self.heard = heard;
        self.unseen = unseen;
    }

    /// Cables that forwarding tables show, between switches of which one at least does not tell its neighbours.
    fn by_forwarding(&mut self) {
        let mut ends: BTreeMap<PortAt, BTreeSet<PortAt>> = BTreeMap::new();
        let shown = complement::shown(&self.tables);
        for (name, (lacks, of)) in &shown.lacking {
            self.unseen.push(format!(
                "{name} has forgotten {lacks} of {of} stations, so its forwarding table shows no cables: let every node send a \
                 broadcast, and read the tables of all switches again"
            ));
        }
        for (a, b) in shown.cables {
            if self.is_trunk(&a.switch, &a.port) || self.is_trunk(&b.switch, &b.port) {
                continue;
            }
            ends.entry(a.clone()).or_default().insert(b.clone());
            ends.entry(b).or_default().insert(a);
        }
        for (a, others) in &ends {
            if others.len() > 1 {
                let words: Vec<String> = others.iter().map(PortAt::words).collect();
                self.unseen.push(format!(
                    "{} leads to {}: forwarding tables do not show which of these is at the other end of the cable",
                    a.words(),
                    words.join(" or ")
                ));
            } else if let Some(b) = others.first()
                && a < b
                && ends[b].len() == 1
            {
                self.cables.push(SeenCable {
                    a: a.clone(),
                    b: b.clone(),
                    by: SeenBy::ForwardingTables,
                });
            }
        }
    }

    /// Stations are at ports that lead to no switch.
    fn place_stations(&mut self, hosts: &[DiscoveredHost]) {
        let own: BTreeSet<Mac> =
            self.tables.iter().flat_map(|table| table.own.keys().copied()).collect();
        let mut at: BTreeMap<Mac, BTreeSet<PortAt>> = BTreeMap::new();
        let mut on: BTreeMap<PortAt, BTreeSet<Mac>> = BTreeMap::new();
        let trunks: BTreeSet<(&str, &str)> = self
            .cables
            .iter()
            .flat_map(|cable| [&cable.a, &cable.b])
            .map(|end| (&*end.switch, &*end.port))
            .collect();
        for table in &self.tables {
            let named = table.neighbours.iter().filter(|n| n.bridge != Some(true));
            let named = named.flat_map(|n| n.macs().map(move |mac| (&n.port, mac)));
            let hosts: BTreeSet<Mac> =
                hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mac).collect();
            let named = named.filter(|(_, mac)| hosts.contains(mac));
            let learned = table.learned.iter().map(|learned| (&learned.port, learned.mac));
            for (port, mac) in named.chain(learned) {
                let name = table.name.as_str();
                let is_trunk = trunks.contains(&(name, port))
                    || trunks.iter().any(|(s, p)| *s == name && port::same(p, port));
                if own.contains(&mac) || is_trunk {
                    continue;
                }
                let here = PortAt { switch: table.name.clone(), port: port.clone() };
                at.entry(mac).or_default().insert(here.clone());
                on.entry(here).or_default().insert(mac);
            }
        }
        let owner: BTreeMap<Mac, usize> = hosts
            .iter()
            .enumerate()
            .flat_map(|(k, host)| host.nics.iter().map(move |nic| (nic.mac, k)))
            .collect();
        for (port, macs) in &on {
            let owners: BTreeSet<Option<usize>> =
                macs.iter().map(|mac| owner.get(mac).copied()).collect();
            if macs.len() > 1 && (owners.len() > 1 || owners.contains(&None)) {
                self.unseen.push(format!(
                    "{} has {} stations behind it and no switch that tells its name: an unmanaged switch, or a cable whose \
                     other end is not seen",
                    port.words(),
                    macs.len()
                ));
            }
        }
        for (mac, ports) in at {
            let first = ports.first().filter(|port| ports.len() == 1 && on[*port].len() == 1);
            if let Some(port) = first {
                self.stations.insert(mac, port.clone());
            }
        }
    }

    fn name_gaps(&mut self) {
        for name in &self.heard {
            self.unseen.push(format!("{name} is heard by LLDP, but its own tables were not given: other cables of it are not seen"));
        }
        for table in &self.tables {
            if !table.lldp {
                self.unseen.push(format!(
                    "{} shows its forwarding table alone: of its cables those are not seen that spanning tree blocks or \
                     nothing is sent over",
                    table.name
                ));
            }
            let cabled =
                self.cables.iter().any(|c| c.a.switch == table.name || c.b.switch == table.name);
            if !cabled && self.tables.len() + self.heard.len() > 1 {
                self.unseen.push(format!("{}: no cable to another switch is seen", table.name));
            }
        }
        for cable in self.cables.iter().filter(|cable| cable.by == SeenBy::OneEnd) {
            if self.table(&cable.b.switch).is_some_and(|table| table.lldp) {
                self.unseen.push(format!(
                    "{} hears {}, which does not hear it: the tables are of different times, or one direction is cut",
                    cable.a.words(),
                    cable.b.words()
                ));
            }
        }
    }
}

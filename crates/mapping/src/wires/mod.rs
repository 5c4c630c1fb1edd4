//! The cables between switches, and the stations at their ports, from the tables of the switches.
//!
//! LLDP goes from one end of a cable to the other and no further (IEEE 802.1AB, clause 7.1), so a neighbour is at the
//! other end. Where two switches do not both tell their neighbours, their forwarding tables show the cables of a
//! spanning tree ([`complement`]). All that neither shows is in [`Wires::unseen`].

mod claims;
mod complement;
mod far;
mod left;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;

use self::left::LeftOut;
use crate::cable::{PortAt, SeenBy, SeenCable};
use crate::host::DiscoveredHost;
use crate::port;
use crate::table::SwitchTable;
use crate::without::{Without, WithoutError};

/// All that the switches' tables show.
#[derive(Debug, Clone, Default)]
pub struct Wires {
    /// The cables, sorted.
    pub cables: Vec<SeenCable>,
    /// Where each station is that is at one port alone.
    pub stations: BTreeMap<Mac, PortAt>,
    /// In words, what could not be seen, and what is not believed.
    pub unseen: Vec<String>,
    /// In words, the ports and switches that are left out.
    pub left_out: Vec<String>,
    tables: Vec<SwitchTable>,
    /// Switches that were heard and have no table.
    heard: BTreeSet<String>,
    /// Names that switches are known to have.
    known: Vec<String>,
    /// Ports that hear a switch and have no cable that is believed.
    doubted: BTreeSet<PortAt>,
    left: LeftOut,
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
    pub fn beside(tables: Vec<SwitchTable>, hosts: &[DiscoveredHost], known: Vec<String>) -> Self {
        Self { known, ..Self::default() }.with(tables, hosts, |_| LeftOut::default())
    }

    /// The same without the switches and ports that `without` names, what is behind these ports, and the other ends of
    /// their cables. What is left out stands in [`Wires::left_out`].
    ///
    /// # Errors
    /// As [`WithoutError`] lists.
    pub fn without(
        tables: Vec<SwitchTable>,
        hosts: &[DiscoveredHost],
        known: Vec<String>,
        without: &Without,
    ) -> Result<Self, WithoutError> {
        let wires = Self { known, ..Self::default() };
        let mut wrong = None;
        let wires = wires.with(tables, hosts, |wires| {
            LeftOut::of(&wires.tables, &wires.known, hosts, without).unwrap_or_else(|error| {
                wrong = Some(error);
                LeftOut::default()
            })
        });
        wrong.map_or(Ok(wires), Err)
    }

    fn with(
        mut self,
        mut tables: Vec<SwitchTable>,
        hosts: &[DiscoveredHost],
        left: impl FnOnce(&Self) -> LeftOut,
    ) -> Self {
        for table in &mut tables {
            table.name = far::known_name(&self.known, &table.name).to_owned();
        }
        self.tables = tables;
        self.left = left(&self);
        self.left.cut(&mut self.tables);
        self.left_out = self.left.words();
        self.by_lldp(hosts);
        self.by_forwarding();
        self.cables.sort();
        self.place_stations(hosts);
        self.name_gaps();
        self.unseen.sort();
        self.unseen.dedup();
        self
    }

    /// Whether this port or its switch is left out.
    #[must_use]
    pub fn is_left_out(&self, switch: &str, port: &str) -> bool {
        self.left.has(switch, port)
    }

    /// Whether this switch is left out.
    #[must_use]
    pub fn is_switch_left_out(&self, switch: &str) -> bool {
        self.left.has_switch(switch)
    }

    /// The ports that are left out.
    pub fn ports_left_out(&self) -> impl Iterator<Item = &PortAt> {
        self.left.ports.keys()
    }

    /// The port left out behind which this station is, if it is at no other.
    #[must_use]
    pub fn behind_left_out(&self, mac: Mac) -> Option<&PortAt> {
        self.left.stations.get(&mac).filter(|_| !self.stations.contains_key(&mac))
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
        far::name_of(&self.tables, &self.known, device)
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

    /// The cable that ends at this port of a switch.
    fn cable_at(&self, port: &PortAt) -> Option<&SeenCable> {
        let here = |end: &PortAt| end.switch == port.switch && port::same(&end.port, &port.port);
        self.cables.iter().find(|cable| here(&cable.a) || here(&cable.b))
    }

    fn by_lldp(&mut self, hosts: &[DiscoveredHost]) {
        let names = far::Names::new(&self.tables, hosts);
        let (claims, loops) = names.claims(&self.known);
        let has_table = |name: &str| self.tables.iter().any(|table| table.name == name);
        let heard = claims.iter().map(|claim| claim.heard.switch.clone());
        let heard: BTreeSet<String> = heard.filter(|name| !has_table(name)).collect();
        let settled = claims::settle(claims);
        self.cables = settled.cables;
        self.doubted = settled.doubted;
        self.heard = heard;
        self.unseen = settled.unseen;
        self.unseen.extend(loops);
    }

    /// Cables that forwarding tables show, between switches of which one at least does not tell its neighbours.
    fn by_forwarding(&mut self) {
        let mut ends: BTreeMap<PortAt, BTreeSet<PortAt>> = BTreeMap::new();
        let shown = complement::shown(&self.tables, &self.left.stations);
        for (name, (lacks, of)) in &shown.lacking {
            self.unseen.push(format!(
                "{name} has forgotten {lacks} of {of} stations, so its forwarding table shows no cables: let every node send a \
                 broadcast, and read the tables of all switches again"
            ));
        }
        for (name, more) in &shown.apart {
            self.unseen.push(format!(
                "{name} knows all stations of the switches that know some of its own, but not {more} that others know in the same \
                 VLAN: its forwarding table shows no cables until these are left out (--without) or known to it"
            ));
        }
        let mut all: BTreeMap<&PortAt, usize> = BTreeMap::new();
        for (a, b) in &shown.cables {
            *all.entry(a).or_default() += 1;
            *all.entry(b).or_default() += 1;
        }
        for (a, b) in &shown.cables {
            let known = [a, b].map(|end| self.cable_at(end));
            if known == [None, None] && ![a, b].iter().any(|end| self.doubted.contains(end)) {
                ends.entry(a.clone()).or_default().insert(b.clone());
                ends.entry(b.clone()).or_default().insert(a.clone());
            } else if known[0] != known[1] && all[a] == 1 && all[b] == 1 {
                // By forwarding tables alone it would be a cable.
                let believed = known.into_iter().flatten().map(|cable| cable.words());
                let believed = believed.collect::<Vec<_>>().join(" and ");
                let words = format!(
                    "the cable from {} to {} (forwarding tables say so) is left out: {}; a switch without stations may be \
                     between, or an entry is out of date",
                    a.words(),
                    b.words(),
                    if believed.is_empty() {
                        "LLDP claims others, of which none is believed".to_owned()
                    } else {
                        format!("LLDP shows {believed}, which is believed")
                    }
                );
                self.unseen.push(words);
            }
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
            .chain(&self.doubted)
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
    }
}

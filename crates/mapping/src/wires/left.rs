//! What is left out of the wires: switches, ports, the other ends of their cables, and the stations behind them.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;

use super::claims::Claim;
use super::far::{self, Far, Names};
use crate::cable::PortAt;
use crate::host::DiscoveredHost;
use crate::port;
use crate::table::SwitchTable;
use crate::without::{Without, WithoutError};

/// What is left out.
#[derive(Debug, Clone, Default)]
pub(super) struct LeftOut {
    switches: BTreeSet<String>,
    /// Each with what its neighbour is, in words.
    pub(super) ports: BTreeMap<PortAt, Option<String>>,
    /// Stations behind these ports.
    pub(super) stations: BTreeMap<Mac, PortAt>,
}

impl LeftOut {
    /// Finds what `without` names among the tables, the `known` names of switches, and what the nodes hear.
    pub(super) fn of(
        tables: &[SwitchTable],
        known: &[String],
        hosts: &[DiscoveredHost],
        without: &Without,
    ) -> Result<Self, WithoutError> {
        let names = Names::new(tables, hosts);
        let (claims, _) = names.claims(known);
        let nics: BTreeSet<Mac> =
            hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mac).collect();
        let heard = hosts.iter().flat_map(|host| &host.nics).flat_map(|nic| &nic.heard);
        let heard = heard.filter(|sender| !sender.flooded && !nics.contains(&sender.mac));
        let mut seen: BTreeSet<&str> = tables.iter().map(|table| &*table.name).collect();
        seen.extend(claims.iter().map(|claim| &*claim.heard.switch));
        seen.extend(heard.map(|sender| far::name_of(tables, known, &sender.device)));
        seen.extend(known.iter().map(String::as_str));
        let seen: Vec<&str> = seen.into_iter().collect();
        let of_name = |name: &str| match far::named(tables, name) {
            Some(at) => Some(&*tables[at].name),
            None => far::alike(&seen, far::known_name(known, name)).map(|at| seen[at]),
        };
        let mut left = Self::default();
        left.switches.extend(without.switches().filter_map(of_name).map(str::to_owned));
        for (entry, switch, port) in without.ports()? {
            let Some(name) = of_name(switch) else {
                if hosts.iter().any(|host| host.name == switch) {
                    continue; // One of its NICs, which it does not have here.
                }
                return Err(WithoutError::Switch {
                    entry: entry.to_owned(),
                    switch: switch.to_owned(),
                    seen: seen.iter().map(|name| (*name).to_owned()).collect(),
                });
            };
            let table = tables.iter().find(|table| table.name == name);
            let all = table.map(SwitchTable::ports).unwrap_or_default();
            let number = port.parse::<u32>().ok();
            let is_number = |name: &str| {
                let numbering = table.map(|table| table.numbering).unwrap_or_default();
                number.is_some() && port::number(name, numbering, &all) == number
            };
            let fits = |name: &&&str| port::same(name, port) || is_number(name);
            let mut found: Vec<&str> = all.iter().filter(fits).copied().collect();
            let of_claim = claims.iter().filter(|claim| claim.heard.switch == name);
            found.extend(of_claim.map(|claim| &*claim.heard.port).filter(|name| fits(&name)));
            if found.is_empty() {
                found.push(port);
            }
            let at = |port: &str| PortAt { switch: name.to_owned(), port: port.to_owned() };
            left.ports.extend(found.into_iter().map(|port| (at(port), None)));
        }
        left.add_far_ends(&claims);
        left.add_ports_to_switches(tables, known, &names);
        left.add_stations(tables);
        Ok(left)
    }

    /// Both ends of each cable of which one end is left out.
    fn add_far_ends(&mut self, claims: &[Claim]) {
        let mut more = BTreeMap::new();
        for claim in claims {
            let ends = [&claim.hears, &claim.heard];
            for (here, there) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let is_left =
                    self.has(&here.switch, &here.port) || self.has(&there.switch, &there.port);
                if is_left && !self.switches.contains(&here.switch) && !here.port.is_empty() {
                    more.insert(here.clone(), Some(there.words()));
                }
            }
        }
        self.ports.extend(more);
    }

    /// Ports that hear a switch that is left out beside others.
    fn add_ports_to_switches(
        &mut self,
        tables: &[SwitchTable],
        known: &[String],
        names: &Names<'_>,
    ) {
        for table in tables.iter().filter(|table| !self.switches.contains(&table.name)) {
            for neighbour in &table.neighbours {
                let name = match names.of(neighbour) {
                    Far::Switch(there) => tables[there].name.clone(),
                    Far::Unread(name) => far::known_name(known, &name).to_owned(),
                    Far::Host => continue,
                };
                if self.switches.contains(&name) {
                    let at = PortAt { switch: table.name.clone(), port: neighbour.port.clone() };
                    self.ports.entry(at).or_insert(Some(name));
                }
            }
        }
    }

    fn add_stations(&mut self, tables: &[SwitchTable]) {
        let mut stations = BTreeMap::new();
        for table in tables {
            let here = |port: &str| PortAt { switch: table.name.clone(), port: port.to_owned() };
            for learned in table.learned.iter().filter(|l| self.has(&table.name, &l.port)) {
                stations.entry(learned.mac).or_insert_with(|| here(&learned.port));
            }
            for (mac, port) in table.own.iter().filter(|_| self.switches.contains(&table.name)) {
                stations.entry(*mac).or_insert_with(|| here(port));
            }
        }
        self.stations = stations;
    }

    /// Takes what is left out from the tables.
    pub(super) fn cut(&self, tables: &mut Vec<SwitchTable>) {
        tables.retain(|table| !self.switches.contains(&table.name));
        for table in tables {
            let name = table.name.clone();
            let of = |port: &str| self.has(&name, port);
            table.left_out =
                table.ports().into_iter().filter(|p| of(p)).map(str::to_owned).collect();
            table.neighbours.retain(|neighbour| !of(&neighbour.port));
            table.learned.retain(|learned| !of(&learned.port));
        }
    }

    pub(super) fn has_switch(&self, switch: &str) -> bool {
        let names: Vec<&str> = self.switches.iter().map(String::as_str).collect();
        far::alike(&names, switch).is_some()
    }

    pub(super) fn has(&self, switch: &str, port: &str) -> bool {
        let first = PortAt { switch: switch.to_owned(), port: String::new() };
        let of = self.ports.range(first..).map(|(at, _)| at);
        let mut of = of.take_while(|at| at.switch == switch);
        self.has_switch(switch) || of.any(|at| port::same(&at.port, port))
    }

    /// In words, what is left out.
    pub(super) fn words(&self) -> Vec<String> {
        let switches = self.switches.iter().map(|name| format!("{name} with all its ports"));
        let ports = self.ports.iter().map(|(at, to)| match to {
            Some(to) => format!("{}, which leads to {to}", at.words()),
            None => at.words(),
        });
        switches.chain(ports).collect()
    }
}

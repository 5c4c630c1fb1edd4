//! Who the neighbour of a switch port is, and at which of its ports.

use std::collections::BTreeSet;

use tresse_base::units::Mac;

use super::claims::{Claim, Strength};
use crate::cable::PortAt;
use crate::host::DiscoveredHost;
use crate::port;
use crate::table::{Neighbour, SwitchTable};

/// Names of at least this length may have been cut: IOS cuts to 20 characters.
const CUT: usize = 20;

/// The sender of LLDP frames.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Far {
    /// A switch, by the index of its table.
    Switch(usize),
    /// A switch whose tables were not given, by its name.
    Unread(String),
    /// No switch.
    Host,
}

/// The index of the table of the switch that calls itself `device`, by system name or chassis ID.
pub(super) fn named(tables: &[SwitchTable], device: &str) -> Option<usize> {
    let names: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
    let mac = port::mac(device);
    let by_mac = || mac.and_then(|mac| tables.iter().position(|t| t.own.contains_key(&mac)));
    alike(&names, device).or_else(by_mac)
}

/// The index of the one of these names that a switch which calls itself `device` has.
pub(super) fn alike(names: &[&str], device: &str) -> Option<usize> {
    let label = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    if let Some(at) = names.iter().position(|name| name.eq_ignore_ascii_case(device)) {
        return Some(at);
    }
    let only = |fits: &dyn Fn(&str) -> bool| {
        let mut all = (0..names.len()).filter(|at| fits(names[*at]));
        all.next().filter(|_| all.next().is_none())
    };
    if port::mac(device).is_some() || device.is_empty() {
        return None;
    }
    // One may have a domain, the other none.
    let unqualified =
        |name: &str| label(name) == label(device) && (!name.contains('.') || !device.contains('.'));
    let begins = |name: &str| device.len() >= CUT && name.starts_with(device);
    only(&unqualified).or_else(|| only(&begins))
}

/// The known name that is like this one, or this one.
pub(super) fn known_name<'a>(known: &'a [String], device: &'a str) -> &'a str {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    alike(&names, device).map_or(device, |at| names[at])
}

/// The name of a switch that calls itself `device`: that of its table, else the known one.
pub(super) fn name_of<'a>(
    tables: &'a [SwitchTable],
    known: &'a [String],
    device: &'a str,
) -> &'a str {
    match named(tables, device) {
        Some(at) => &tables[at].name,
        None => known_name(known, device),
    }
}

/// What is known by which a neighbour is told.
pub(super) struct Names<'a> {
    tables: &'a [SwitchTable],
    hosts: BTreeSet<String>,
    nics: BTreeSet<Mac>,
}

impl<'a> Names<'a> {
    pub(super) fn new(tables: &'a [SwitchTable], hosts: &[DiscoveredHost]) -> Self {
        let nics = hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mac).collect();
        Self { tables, hosts: hosts.iter().map(|host| host.name.clone()).collect(), nics }
    }

    /// Who the neighbour is. What says nothing of itself is taken for a switch, unless it is a node that was asked.
    pub(super) fn of(&self, neighbour: &Neighbour) -> Far {
        if neighbour.macs().any(|mac| self.nics.contains(&mac)) {
            return Far::Host;
        }
        let system = neighbour.system.as_deref();
        let known = system.and_then(|name| named(self.tables, name));
        let by_mac = || neighbour.macs().find_map(|mac| named(self.tables, &mac.to_string()));
        if let Some(at) = known.or_else(by_mac) {
            return Far::Switch(at);
        }
        let is_host = system.is_some_and(|name| self.hosts.contains(name));
        if is_host || neighbour.bridge == Some(false) || self.introduces(neighbour) {
            return Far::Host;
        }
        Far::Unread(neighbour.device().to_owned())
    }

    /// Whether these are frames as nodes send them: the chassis is the name, the port a MAC.
    fn introduces(&self, neighbour: &Neighbour) -> bool {
        let own_name = neighbour.system.is_some() && neighbour.system == neighbour.chassis;
        own_name && neighbour.far.first().is_some_and(|id| port::mac(id).is_some())
    }

    /// The port of the switch `there` at which the neighbour of `here` is, as `there` spells it, and what `there` says
    /// of that.
    pub(super) fn port(
        &self,
        here: usize,
        neighbour: &Neighbour,
        there: usize,
    ) -> (String, Strength) {
        let (near, far) = (&self.tables[here], &self.tables[there]);
        let back: Vec<&Neighbour> =
            far.neighbours.iter().filter(|n| self.of(n) == Far::Switch(here)).collect();
        let forth = |n: &&&Neighbour| names(far, &n.port, &neighbour.far);
        let both = |n: &&&Neighbour| names(near, &neighbour.port, &n.far);
        if let Some(found) = back.iter().find(|n| forth(n) && both(n)) {
            return (found.port.clone(), Strength::Agreed);
        }
        // With one cable between two switches there is nothing to confuse, unless an end names another port.
        let theirs: BTreeSet<&str> = back.iter().map(|n| &*n.port).collect();
        let ours: BTreeSet<&str> = near
            .neighbours
            .iter()
            .filter(|n| self.of(n) == Far::Switch(there))
            .map(|n| &*n.port)
            .collect();
        if let (1, [first, ..], 1) = (ours.len(), &back[..], theirs.len())
            && !names_another(far, &first.port, &neighbour.far)
            && back.iter().any(|n| !names_another(near, &neighbour.port, &n.far))
        {
            return (first.port.clone(), Strength::Agreed);
        }
        // Of several, one whose name fits from this end.
        if let Some(found) = back.iter().find(forth) {
            return (found.port.clone(), Strength::Answered);
        }
        let own =
            neighbour.macs().find_map(|mac| far.own.get(&mac)).filter(|port| !port.is_empty());
        let named = neighbour.far.iter().find(|text| port::mac(text).is_none());
        let spelt = named.map(|name| {
            let ports = far.ports();
            let known = ports.iter().find(|port| port::same(port, name));
            known.map_or_else(|| name.clone(), |port| (*port).to_owned())
        });
        (own.cloned().or(spelt).unwrap_or_default(), Strength::Alone)
    }

    /// All claims of all tables, and in words the neighbours that are the switch itself. `known` are names of switches.
    pub(super) fn claims(&self, known: &[String]) -> (Vec<Claim>, Vec<String>) {
        let (mut claims, mut loops) = (Vec::new(), Vec::new());
        for (here, table) in self.tables.iter().enumerate() {
            for neighbour in &table.neighbours {
                let at = |switch: &str, port: String| PortAt { switch: switch.to_owned(), port };
                let hears = at(&table.name, neighbour.port.clone());
                match self.of(neighbour) {
                    Far::Host => {}
                    Far::Switch(there) if there == here => loops.push(itself(&hears)),
                    Far::Switch(there) => {
                        let (port, strength) = self.port(here, neighbour, there);
                        let (far, tells) = (&self.tables[there], self.tables[there].lldp);
                        let heard = at(&far.name, port);
                        claims.push(Claim { hears, heard, strength, tells });
                    }
                    Far::Unread(name) => {
                        let port = neighbour.far.iter().find(|text| port::mac(text).is_none());
                        let port = port.or(neighbour.far.first()).cloned().unwrap_or_default();
                        let heard = at(known_name(known, &name), port);
                        let strength = Strength::Alone;
                        match heard.switch == hears.switch {
                            true => loops.push(itself(&hears)),
                            false => claims.push(Claim { hears, heard, strength, tells: false }),
                        }
                    }
                }
            }
        }
        (claims, loops)
    }
}

/// What is said of a port that hears its own switch.
fn itself(hears: &PortAt) -> String {
    format!(
        "{} hears {} itself: a cable with both ends in one switch is left out",
        hears.words(),
        hears.switch
    )
}

/// Whether one of these names is that of this port.
fn names(table: &SwitchTable, port: &str, names: &[String]) -> bool {
    let own = |mac: Mac| table.own.get(&mac).is_some_and(|of| of == port);
    names.iter().any(|name| port::same(name, port) || port::mac(name).is_some_and(own))
}

/// Whether these are names of another port than this one, as far as that can be told.
fn names_another(table: &SwitchTable, port: &str, all: &[String]) -> bool {
    let other = |name: &String| match port::mac(name) {
        Some(mac) => table.own.get(&mac).is_some_and(|of| !of.is_empty()),
        None => port::differ(name, port),
    };
    !names(table, port, all) && all.iter().any(other)
}

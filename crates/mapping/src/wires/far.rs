//! Who the neighbour of a switch port is, and at which of its ports.

use std::collections::BTreeSet;

use tresse_base::units::Mac;

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

    /// The port of the switch `there` at which the neighbour of `here` is, as `there` spells it, and whether `there`
    /// hears `here` at this port.
    pub(super) fn port(&self, here: usize, neighbour: &Neighbour, there: usize) -> (String, bool) {
        let (near, far) = (&self.tables[here], &self.tables[there]);
        let back: Vec<&Neighbour> =
            far.neighbours.iter().filter(|n| self.of(n) == Far::Switch(here)).collect();
        let is = |table: &SwitchTable, port: &str, names: &[String]| {
            let own = |mac: Mac| table.own.get(&mac).is_some_and(|of| of == port);
            names.iter().any(|name| port::same(name, port) || port::mac(name).is_some_and(own))
        };
        let forth = |n: &&&Neighbour| is(far, &n.port, &neighbour.far);
        let both = |n: &&&Neighbour| is(near, &neighbour.port, &n.far);
        if let Some(found) = back.iter().find(|n| forth(n) && both(n)) {
            return (found.port.clone(), true);
        }
        // With one cable between two switches there is nothing to confuse.
        let theirs: BTreeSet<&str> = back.iter().map(|n| &*n.port).collect();
        let ours: BTreeSet<&str> = near
            .neighbours
            .iter()
            .filter(|n| self.of(n) == Far::Switch(there))
            .map(|n| &*n.port)
            .collect();
        if let (1, Some(port)) = (ours.len(), theirs.first().filter(|_| theirs.len() == 1)) {
            return ((*port).to_owned(), true);
        }
        // Of several, one whose name fits from this end.
        if let Some(found) = back.iter().find(forth) {
            return (found.port.clone(), false);
        }
        let own =
            neighbour.macs().find_map(|mac| far.own.get(&mac)).filter(|port| !port.is_empty());
        let named = neighbour.far.iter().find(|text| port::mac(text).is_none());
        let spelt = named.map(|name| {
            let ports = far.ports();
            let known = ports.iter().find(|port| port::same(port, name));
            known.map_or_else(|| name.clone(), |port| (*port).to_owned())
        });
        (own.cloned().or(spelt).unwrap_or_default(), false)
    }
}

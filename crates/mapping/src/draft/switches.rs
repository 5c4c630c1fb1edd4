//! Names for the switches of a draft, and a port for each cable.

use std::collections::{BTreeMap, BTreeSet};

use tresse_topology::Components;

use super::names::{fresh, plain};
use super::{At, Discovered, End};

/// The switches of a draft with their names there, and the ports in use.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// By what they call themselves.
    pub(super) named: BTreeMap<String, String>,
    /// Of those that do not, by their first NIC.
    of_first: BTreeMap<At, String>,
    /// Those that do not tell their name.
    pub(super) silent: BTreeSet<String>,
    /// Ports in use.
    pub(super) ports: BTreeMap<String, BTreeSet<u32>>,
    /// Where each NIC is.
    pub(super) at: BTreeMap<At, (String, u32)>,
    /// Both ends of each cable between switches, `s1:3`, in the order of the wires.
    pub(super) links: Vec<[String; 2]>,
    /// For each switch the number of the part of the fabric in which it is.
    part: BTreeMap<String, usize>,
}

impl Switches {
    /// Names the switches, and gives each cable a port: that which its end names, if it does and no other cable has it.
    pub(super) fn of(found: &Discovered<'_>) -> Self {
        let mut switches = Self::default();
        let hosts: BTreeSet<String> = found.hosts.iter().map(|host| plain(&host.name)).collect();
        for device in found.wires.switches() {
            switches.name(device, &hosts);
        }
        switches.cable(found, &hosts);
        // Named ports are assigned first; other NICs get the ports that are left.
        let mut ends: Vec<(&At, &End)> = found.ends.iter().collect();
        let number = |end: &End| match end {
            End::Switch { device, port } => found.wires.number(device, port),
            _ => None,
        };
        ends.sort_by_key(|(_, end)| number(end).is_none());
        for (at, end) in ends {
            let name = match end {
                End::Switch { device, .. } => switches.name(device, &hosts),
                End::Silent(first) => switches.silent(*first, &hosts),
                _ => continue,
            };
            let port = switches.take(&name, number(end));
            switches.at.insert(*at, (name, port));
        }
        switches
    }

    fn cable(&mut self, found: &Discovered<'_>, hosts: &BTreeSet<String>) {
        let ends = |at: usize| [&found.wires.cables[at].a, &found.wires.cables[at].b];
        let mut links = vec![[const { String::new() }; 2]; found.wires.cables.len()];
        let all: Vec<(usize, usize)> = (0..links.len()).flat_map(|k| [(k, 0), (k, 1)]).collect();
        // Ends with a number first, as with NICs.
        for with_number in [true, false] {
            for &(k, side) in &all {
                let end = ends(k)[side];
                let number = found.wires.number(&end.switch, &end.port);
                if number.is_some() == with_number {
                    let name = self.name(&end.switch, hosts);
                    let port = self.take(&name, number);
                    links[k][side] = format!("{name}:{port}");
                }
            }
        }
        self.links = links;
        let names: Vec<&String> = self.ports.keys().collect();
        let index = |name: &String| names.binary_search(&name).unwrap_or_default();
        let mut parts = Components::new(names.len());
        for cable in &found.wires.cables {
            parts.join(index(&self.named[&cable.a.switch]), index(&self.named[&cable.b.switch]));
        }
        self.part =
            names.iter().enumerate().map(|(k, name)| ((*name).clone(), parts.root(k))).collect();
    }

    /// Whether cables that were seen join two switches, perhaps through others.
    pub(super) fn are_joined(&self, [a, b]: [&String; 2]) -> bool {
        self.part.get(a).is_some_and(|part| self.part.get(b) == Some(part))
    }

    /// The name of the switch that calls itself `device`.
    fn name(&mut self, device: &str, hosts: &BTreeSet<String>) -> String {
        if let Some(known) = self.named.get(device) {
            return known.clone();
        }
        let name = self.free(&plain(device), hosts);
        self.named.insert(device.to_owned(), name.clone());
        name
    }

    fn silent(&mut self, first: At, hosts: &BTreeSet<String>) -> String {
        if let Some(known) = self.of_first.get(&first) {
            return known.clone();
        }
        let name = self.free(&format!("s{}", self.of_first.len()), hosts);
        self.of_first.insert(first, name.clone());
        self.silent.insert(name.clone());
        name
    }

    fn free(&mut self, name: &str, hosts: &BTreeSet<String>) -> String {
        let taken = self.ports.keys().chain(hosts).cloned().collect();
        let name = fresh(name, &taken);
        self.ports.entry(name.clone()).or_default();
        name
    }

    /// Takes the wanted port if it is free, else the first that is.
    fn take(&mut self, name: &str, wanted: Option<u32>) -> u32 {
        let ports = self.ports.entry(name.to_owned()).or_default();
        let port = wanted.filter(|port| !ports.contains(port)).unwrap_or_else(|| {
            (1..).find(|port| !ports.contains(port)).expect("numbers do not end")
        });
        ports.insert(port);
        port
    }

    /// The largest port in use.
    pub(super) fn last_port(&self, name: &str) -> u32 {
        self.ports.get(name).and_then(|ports| ports.last()).copied().unwrap_or(0)
    }
}

//! An InfiniBand network: combines forwarding tables and cables, so that each table entry leads to the
//! switch or host at the far end of the cable.

use std::collections::BTreeMap;

use tresse_base::problem::{Found, ProblemKind, Problems};
use tresse_topology::{Channel, Graph};

use super::cables::End;
use super::dump::Table;
use super::{Cables, Dump, FAULTS, hexadecimal};

/// An InfiniBand network: its switches with their forwarding tables, and the ports of hosts that are
/// cabled to them. Switches are numbered in the order of the dump of forwarding tables, hosts in the
/// order of the switch ports.
#[derive(Debug, Clone)]
pub struct LftNetwork {
    pub(super) graph: Graph,
    pub(super) names: Vec<String>,
    pub(super) tables: Vec<Table>,
    /// By switch and port.
    pub(super) exits: Vec<Vec<Exit>>,
    pub(super) hosts: Vec<Host>,
    /// Hosts by switch.
    pub(super) at: Vec<u64>,
    /// Mbit/s by cable of the graph; `None` where one cable of the network has an unknown speed.
    pub(super) rates: Option<Vec<u64>>,
}

/// Far end of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// No cable.
    Nothing,
    /// A switch.
    Switch(Channel),
    /// A host.
    Host(u32),
}

/// A port of a host, to which frames are sent.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub name: String,
    pub switch: u32,
    /// The base LID first.
    pub lids: Vec<u16>,
    /// Mbit/s, where known.
    pub rate: Option<u64>,
}

impl LftNetwork {
    /// Brings `dump`, of which `text` is the text, together with `cables`.
    ///
    /// # Errors
    /// Switches and hosts that only one of the two knows.
    pub fn new(dump: Dump, text: &str, cables: &Cables) -> Result<Self, Problems> {
        let mut found = Found::default();
        let known: BTreeMap<u64, u32> =
            dump.tables.iter().zip(0..).map(|(table, s)| (table.guid, s)).collect();
        strangers(&dump, cables, &known, &mut found);
        if !found.is_empty() {
            return Err(found.into_problems(text, &dump.file));
        }
        let mut network = Self::of_cables(cables, &known, &dump);
        network.names = distinct(dump.tables.iter().map(|t| (t.name.clone(), t.guid)));
        network.tables = dump.tables;
        Ok(network)
    }

    fn of_cables(cables: &Cables, known: &BTreeMap<u64, u32>, dump: &Dump) -> Self {
        let (mut edges, mut rates) = (Vec::new(), Vec::new());
        let mut ports: Vec<Vec<(u8, usize)>> = vec![Vec::new(); known.len()];
        let mut exits = vec![vec![Exit::Nothing; 256]; known.len()];
        let (mut hosts, mut host_names, mut at) = (Vec::new(), Vec::new(), vec![0; known.len()]);
        let mut sorted: Vec<_> = cables.ports.iter().collect();
        sorted.sort_by_key(|((guid, port), _)| (known.get(guid), *port));
        for (&(guid, port), (end, rate)) in sorted {
            let Some(&s) = known.get(&guid) else { continue };
            match end {
                // Each cable once, from its lower end.
                End::Switch(other, far) if (guid, port) < (*other, *far) => {
                    let Some(&t) = known.get(other) else { continue };
                    ports[s as usize].push((port, edges.len()));
                    ports[t as usize].push((*far, edges.len()));
                    edges.push((s, t));
                    rates.push(*rate);
                }
                End::Switch(..) => {}
                End::Host(guid, lid, name) => {
                    exits[s as usize][usize::from(port)] = Exit::Host(hosts.len() as u32);
                    at[s as usize] += 1;
                    let mut lids: Vec<u16> = dump
                        .lids
                        .get(guid)
                        .map_or_else(Vec::new, |(lids, _)| lids.iter().copied().collect());
                    lids.retain(|l| l != lid);
                    lids.insert(0, *lid);
                    hosts.push(Host { name: String::new(), switch: s, lids, rate: *rate });
                    host_names.push((name.clone(), *guid));
                }
            }
        }
        for (host, name) in hosts.iter_mut().zip(distinct(host_names.into_iter())) {
            host.name = name;
        }
        let graph = Graph::from_edges(known.len(), &edges);
        for (s, ports) in (0u32..).zip(&ports) {
            for &(port, edge) in ports {
                let mut out = graph.out(s);
                if let Some(channel) = out.find(|c| graph.link(*c).index() == edge) {
                    exits[s as usize][usize::from(port)] = Exit::Switch(channel);
                }
            }
        }
        let all_known = hosts.iter().all(|host: &Host| host.rate.is_some());
        let rates = rates.into_iter().collect::<Option<Vec<u64>>>().filter(|_| all_known);
        Self { graph, names: Vec::new(), tables: Vec::new(), exits, hosts, at, rates }
    }

    /// Returns where frames to `lid` go from a switch.
    pub(super) fn exit(&self, switch: u32, lid: u16) -> Exit {
        let port = self.tables[switch as usize].port(lid);
        port.map_or(Exit::Nothing, |port| self.exits[switch as usize][usize::from(port)])
    }
}

/// Reports switches and hosts that only one of the two files contains: the files are then of
/// different times.
fn strangers(dump: &Dump, cables: &Cables, known: &BTreeMap<u64, u32>, found: &mut Found) {
    let file = &cables.file;
    let help = || Some(format!("take both files of one sweep: {file} is older or newer"));
    for table in &dump.tables {
        if !cables.switches.contains_key(&table.guid) {
            let message = format!("no cable of switch {} is in {file}", table.name);
            found.add(ProblemKind::UnknownName, &table.place, message, help());
        }
    }
    let near = cables.switches.iter().map(|(guid, name)| (*guid, name.clone()));
    let far = cables.ports.values().filter_map(|(end, _)| match end {
        End::Switch(guid, _) => Some((*guid, String::new())),
        End::Host(..) => None,
    });
    let switches: BTreeMap<u64, String> = far.chain(near).collect();
    for (guid, name) in switches.iter().filter(|(guid, _)| !known.contains_key(guid)) {
        let message =
            format!("no table of switch {name} {guid:#018x} is here, and {file} has its cables");
        found.add(ProblemKind::Incomplete, &(0..0), message, help());
    }
    let hosts: BTreeMap<u64, u16> = cables
        .ports
        .values()
        .filter_map(|(end, _)| match end {
            End::Host(guid, lid, _) => Some((*guid, *lid)),
            End::Switch(..) => None,
        })
        .collect();
    for (guid, (lids, place)) in &dump.lids {
        let message = match hosts.get(guid) {
            Some(lid) if lids.contains(lid) => continue,
            Some(lid) => format!("host port {guid:#018x} has LID {lid:#06x} in {file}, not here"),
            None => format!("no cable of host port {guid:#018x} is in {file}"),
        };
        found.add(ProblemKind::UnknownName, place, message, help());
    }
    found.cut(FAULTS);
}

/// Names of which each stands for one thing: descriptions, with the GUID where two are the same.
fn distinct(named: impl Iterator<Item = (String, u64)>) -> Vec<String> {
    let named: Vec<_> = named.collect();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in &named {
        *count.entry(name).or_default() += 1;
    }
    named
        .iter()
        .map(|(name, guid)| match count[name.as_str()] {
            1 => name.clone(),
            _ if hexadecimal(name) == Some(*guid) => name.clone(),
            _ => format!("{name} {guid:#018x}"),
        })
        .collect()
}

//! What is at a port of the cluster file, by all that was seen.

use std::collections::BTreeSet;

use tresse_base::id::{NodeId, SwitchId};
use tresse_base::units::Mac;

use super::change::End;
use super::sight::Sight;
use crate::cable::PortAt;
use crate::draft::Discovered;

/// What is at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum There {
    /// A cable to this port of another switch.
    Cable(End),
    /// These stations.
    Stations(BTreeSet<Mac>),
    /// Nothing that sends LLDP, and no station was learned, if a forwarding table was read.
    Nothing,
    /// Nothing looks there.
    Unseen,
}

/// All that was seen, beside the cluster file.
pub(super) struct Look<'a> {
    pub(super) sight: Sight<'a>,
    pub(super) found: &'a Discovered<'a>,
    /// Switches that have a table, were heard by a switch or by a node.
    pub(super) seen: BTreeSet<String>,
    /// Switches of the file that are gone.
    pub(super) gone: BTreeSet<SwitchId>,
    /// Ends of cables of the file that are gone or have moved.
    pub(super) free: BTreeSet<End>,
    /// What could not be seen, in words.
    pub(super) unknown: Vec<String>,
    /// Cables with the numbers of both ends; 0 for one that has none.
    pub(super) cables: Vec<[End; 2]>,
}

impl<'a> Look<'a> {
    pub(super) fn new(sight: Sight<'a>, found: &'a Discovered<'a>) -> Self {
        let mut seen: BTreeSet<String> = sight.wires.switches().map(str::to_owned).collect();
        for (host, of) in sight.hosts.iter().enumerate() {
            let ports = (0..of.nics.len()).filter_map(|nic| found.port_of(host, nic));
            seen.extend(ports.map(|(device, _)| device.to_owned()));
        }
        let mut look = Self {
            sight,
            found,
            seen,
            gone: BTreeSet::new(),
            free: BTreeSet::new(),
            unknown: Vec::new(),
            cables: Vec::new(),
        };
        let ends = |at: &PortAt| look.end(&at.switch, &at.port);
        look.cables =
            sight.wires.cables.iter().map(|cable| [ends(&cable.a), ends(&cable.b)]).collect();
        look
    }

    /// A port by the number that it has in the cluster file.
    pub(super) fn end(&self, switch: &str, port: &str) -> End {
        let port = self.sight.wires.number(switch, port).unwrap_or(0);
        End { switch: switch.to_owned(), port }
    }

    /// Whether a port of the cluster file, or its switch, is left out.
    pub(super) fn is_left_out(&self, end: &End) -> bool {
        let mut ports = self.sight.wires.ports_left_out();
        self.sight.wires.is_switch_left_out(&end.switch)
            || ports.any(|at| at.switch == end.switch && self.end(&at.switch, &at.port) == *end)
    }

    /// What is at a port.
    pub(super) fn at(&self, end: &End) -> There {
        if self.is_left_out(end) {
            return There::Unseen;
        }
        for [a, b] in &self.cables {
            for (here, there) in [(a, b), (b, a)] {
                if here == end {
                    return There::Cable(there.clone());
                }
            }
        }
        let stations: BTreeSet<Mac> = self
            .sight
            .wires
            .stations
            .iter()
            .filter(|(_, at)| at.switch == end.switch && self.end(&at.switch, &at.port) == *end)
            .map(|(mac, _)| *mac)
            .collect();
        if !stations.is_empty() {
            return There::Stations(stations);
        }
        let Some(table) = self.sight.wires.table(&end.switch) else { return There::Unseen };
        // Neighbours or stations that were not understood are something.
        let is_here = |port: &String| self.end(&end.switch, port) == *end;
        let busy = table.neighbours.iter().any(|n| is_here(&n.port))
            || table.learned.iter().any(|learned| is_here(&learned.port));
        if busy { There::Unseen } else { There::Nothing }
    }

    /// The switch to which the file has a cable at this port, unless that is known to be gone.
    pub(super) fn beyond(&self, end: &End) -> Option<String> {
        let cluster = self.sight.cluster;
        let ends = cluster.links.iter().map(|link| [link.a, link.b].map(|at| End::of(cluster, at)));
        let mut others = ends.filter_map(|[a, b]| match (a == *end, b == *end) {
            (true, _) => Some(b.switch),
            (_, true) => Some(a.switch),
            _ => None,
        });
        others.next().filter(|_| !self.free.contains(end))
    }

    /// Whether one of these stations is a node's that hears the switch itself: then there is no other between.
    pub(super) fn is_direct(&self, end: &End, stations: &BTreeSet<Mac>) -> bool {
        let nics = self.sight.hosts.iter().flat_map(|host| &host.nics);
        let hears = |name: &str| self.sight.wires.name_of(name) == end.switch;
        nics.filter(|nic| stations.contains(&nic.mac))
            .any(|nic| nic.heard.iter().any(|heard| !heard.flooded && hears(&heard.device)))
    }

    /// Whether a switch tells its LLDP neighbours, and hears other switches.
    pub(super) fn hears(&self, switch: &str) -> bool {
        let table = self.sight.wires.table(switch);
        let cabled = self.cables.iter().any(|[a, b]| a.switch == switch || b.switch == switch);
        table.is_some_and(|table| table.lldp) && cabled
    }

    /// Whether a switch is known to send LLDP: somebody hears it.
    pub(super) fn speaks(&self, switch: &str) -> bool {
        self.sight
            .wires
            .cables
            .iter()
            .any(|cable| cable.a.switch == switch || cable.b.switch == switch)
    }

    pub(super) fn kept(&self, name: &str) -> bool {
        self.sight.keep.contains(name)
    }

    /// The host that answered as this node.
    pub(super) fn host(&self, node: NodeId) -> Option<usize> {
        let cluster = self.sight.cluster;
        let names = [&*cluster.node(node).name, cluster.machine(node)];
        self.sight.hosts.iter().position(|host| names.contains(&&*host.name))
    }

    /// The index of a NIC of the file in the host that is its node: by MAC, else by name.
    pub(super) fn nic(&self, node: NodeId, nic: usize, host: usize) -> Option<usize> {
        let wanted = &self.sight.cluster.node(node).nics[nic];
        let nics = &self.sight.hosts[host].nics;
        let by_mac = nics.iter().position(|nic| nic.mac == wanted.mac);
        by_mac.or_else(|| nics.iter().position(|nic| nic.name == wanted.name))
    }

    /// Where a NIC of a host is.
    pub(super) fn place(&self, host: usize, nic: usize) -> Option<End> {
        let (device, port) = self.found.port_of(host, nic)?;
        Some(self.end(device, port))
    }
}

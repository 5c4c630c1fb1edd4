//! The NICs of nodes with what they hear, as their daemons say it.

use std::collections::BTreeSet;

use tresse_base::units::Mac;
use tresse_cluster::cables::{HostInterface, Sign};
use tresse_control::{HeardLine, LldpLine, NeighbourList, NicLine};

/// A NIC that listened this long has heard every neighbour: they announce themselves several times in it.
const PATIENCE_MS: u64 = 5000;

/// The input of a discovery for one node: its NICs, with the LLDP frames that they have received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredHost {
    /// The name by which the node is reached.
    pub name: String,
    /// Its NICs, in order.
    pub nics: Vec<DiscoveredNic>,
}

/// A NIC of a node, with the LLDP neighbours that it hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredNic {
    /// The interface.
    pub name: String,
    /// Its MAC.
    pub mac: Mac,
    /// Whether it has carrier.
    pub carrier: bool,
    /// The LLDP neighbours.
    pub heard: Vec<LldpSender>,
}

/// A sender whose LLDP frames a NIC has received: a switch port, or a NIC of another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpSender {
    /// The device's name, or else its chassis id.
    pub device: String,
    /// Its port, or the port's description if the port is a MAC.
    pub port: String,
    /// The MAC of the port.
    pub mac: Mac,
    /// Whether the device says that it is a host that forwards nothing.
    pub station: bool,
    /// Whether the frame was sent to all stations.
    pub flooded: bool,
}

/// The NICs of the node `name` that are `wanted`, with what they hear. NICs without a MAC are left out.
#[must_use]
pub fn host(name: &str, list: &NeighbourList, wanted: &impl Fn(&str) -> bool) -> DiscoveredHost {
    let nics = list.nics.iter().filter(|nic| wanted(&nic.name)).filter_map(|nic| {
        Some(DiscoveredNic {
            name: nic.name.clone(),
            mac: nic.mac.as_ref()?.parse().ok()?,
            carrier: nic.carrier,
            heard: nic.lldp.iter().filter_map(heard).collect(),
        })
    });
    DiscoveredHost { name: name.to_owned(), nics: nics.collect() }
}

/// The NICs to choose from, as `Without` takes them: up to `few` one by one (`n0:eth1`), more of them by name on all hosts.
#[must_use]
pub fn choices(hosts: &[DiscoveredHost], few: usize) -> Vec<String> {
    let nics = || hosts.iter().flat_map(|host| host.nics.iter().map(move |nic| (host, nic)));
    if nics().count() <= few {
        return nics().map(|(host, nic)| format!("{}:{}", host.name, nic.name)).collect();
    }
    let names: BTreeSet<&String> = nics().map(|(_, nic)| &nic.name).collect();
    names.into_iter().cloned().collect()
}

fn heard(line: &LldpLine) -> Option<LldpSender> {
    let described = || line.description.clone().unwrap_or_default();
    Some(LldpSender {
        device: line.system.clone().unwrap_or_else(|| line.chassis.clone()),
        port: if line.port_mac.is_some() { described() } else { line.port.clone() },
        mac: line.port_mac.as_ref().unwrap_or(&line.source).parse().ok()?,
        station: line.station,
        flooded: line.flooded,
    })
}

/// What a NIC says of its cable, as input of the check of cables.
#[must_use]
pub fn interface(nic: &NicLine) -> HostInterface {
    // Announcements on a VLAN come from all nodes, so they say nothing about this cable.
    let heard = nic.heard.iter().filter(|line| line.vid.is_none()).filter_map(announcement);
    // LLDP frames to all stations cross switches, so they say nothing about this cable.
    let lldp = nic.lldp.iter().filter(|line| !line.flooded);
    HostInterface {
        name: nic.name.clone(),
        mac: nic.mac.as_ref().and_then(|mac| mac.parse().ok()),
        carrier: nic.carrier,
        patient: nic.listening_ms.is_some_and(|ms| ms >= PATIENCE_MS),
        signs: lldp.map(introduction).chain(heard).collect(),
    }
}

fn announcement(line: &HeardLine) -> Option<Sign> {
    Some(Sign::Announcement { mac: line.mac.parse().ok()?, foreign: line.foreign })
}

fn introduction(line: &LldpLine) -> Sign {
    Sign::Lldp {
        system: line.system.clone(),
        port: line.port.clone(),
        port_mac: line.port_mac.as_ref().and_then(|mac| mac.parse().ok()),
        description: line.description.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nics_are_chosen_one_by_one_and_more_by_name() {
        let nic = |name: &&str| DiscoveredNic {
            name: (*name).to_owned(),
            mac: "02:00:00:00:00:01".parse().unwrap(),
            carrier: true,
            heard: Vec::new(),
        };
        let host = |name: &str, nics: &[&str]| DiscoveredHost {
            name: name.into(),
            nics: nics.iter().map(nic).collect(),
        };
        let hosts = [host("n0", &["eth1", "eth0"]), host("n1", &["eth1"])];
        assert_eq!(choices(&hosts, 3), ["n0:eth1", "n0:eth0", "n1:eth1"]);
        assert_eq!(choices(&hosts, 2), ["eth0", "eth1"]);
    }
}

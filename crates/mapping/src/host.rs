//! The NICs of nodes with what they hear, as their daemons say it.

use tresse_base::units::Mac;
use tresse_control::{LldpLine, NeighbourList};

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

fn heard(line: &LldpLine) -> Option<LldpSender> {
    let described = || line.description.clone().unwrap_or_default();
    Some(LldpSender {
        device: line.system.clone().unwrap_or_else(|| line.chassis.clone()),
        port: if line.port_mac.is_some() { described() } else { line.port.clone() },
        mac: line.port_mac.as_ref().unwrap_or(&line.source).parse().ok()?,
        flooded: line.flooded,
    })
}

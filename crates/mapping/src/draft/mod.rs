//! Drafts a cluster file from the LLDP frames that the NICs of the nodes receive (`tresse discover`). Switches send
//! LLDP. Nodes send it too, in two frames: one that only the other end of the cable receives, and one to all stations,
//! which switches flood.
//!
//! | LLDP frames that a NIC receives | where its cable ends |
//! |---|---|
//! | not flooded, from one device that is neither a node nor a host | at the port that this switch names |
//! | not flooded, from one NIC, and flooded from no other NIC | at that NIC |
//! | from NICs in any other combination | with these NICs on a switch that sends no LLDP |
//! | none, but from a host that was not asked | at that host |
//! | none | unknown |
//!
//! The tables of switches, if they are given ([`Wires`]), say where the NICs are that hear no switch, and which cables
//! there are between switches. If all cables join nodes directly, the kind of topology that they form (ring, torus,
//! ...) is recognised. Names come from other machines, so invalid characters in them are replaced.

pub mod emit;
mod names;
mod shape;
mod switches;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tresse_base::units::Mac;
use tresse_topology::Components;

use crate::cable::{PortAt, SeenCable};
use crate::host::{DiscoveredHost, DiscoveredNic, LldpSender};
use crate::wires::Wires;

/// Identifies a NIC by the index of its host and its index there.
type At = (usize, usize);

/// Where a cable ends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// At a switch that names itself and the port.
    Switch { device: String, port: String },
    /// At another NIC.
    Peer(At),
    /// At a switch that sends no LLDP. All NICs on that switch share this first NIC.
    Silent(At),
    /// At or behind a port of a switch that is left out.
    LeftOut(PortAt),
    /// At a host that was not asked, by its name.
    Stranger(String),
    /// At something that sends nothing.
    Unknown,
    /// Nowhere: there is no carrier.
    Unplugged,
}

/// A draft of a cluster file, with what it was made of.
#[derive(Debug, Serialize)]
pub struct Drafted<'a> {
    /// Format of this object.
    pub format: u32,
    /// The cluster file.
    pub cluster: &'a str,
    /// The cables between switches.
    pub cables: &'a [SeenCable],
    /// In words, what could not be seen, and what is not believed.
    pub unseen: &'a [String],
    /// In words, the ports and switches that are left out.
    pub left_out: &'a [String],
}

impl<'a> Drafted<'a> {
    /// A draft of these wires.
    #[must_use]
    pub fn of(format: u32, cluster: &'a str, wires: &'a Wires) -> Self {
        let Wires { cables, unseen, left_out, .. } = wires;
        Self { format, cluster, cables, unseen, left_out }
    }
}

/// The result of a discovery: for each NIC of the nodes the place where its cable ends, as far as the LLDP frames that
/// it received show it.
#[derive(Debug, Clone)]
pub struct Discovered<'a> {
    hosts: &'a [DiscoveredHost],
    wires: &'a Wires,
    ends: BTreeMap<At, End>,
    /// Pairs of switches with names, of which NICs hear each other.
    joined: BTreeSet<(String, String)>,
}

impl<'a> Discovered<'a> {
    /// Evaluates what these hosts hear, beside what the tables of switches show. O(everything heard).
    #[must_use]
    pub fn of(hosts: &'a [DiscoveredHost], wires: &'a Wires) -> Self {
        let all = hosts.iter().enumerate().flat_map(|(host, of)| {
            of.nics.iter().enumerate().map(move |(nic, it)| ((host, nic), it))
        });
        let at_of: Vec<At> = all.clone().map(|(at, _)| at).collect();
        let owner: BTreeMap<Mac, At> = all.clone().map(|(at, nic)| (nic.mac, at)).collect();
        let index = |at: At| at_of.partition_point(|other| *other < at);
        let other =
            |at: At, heard: &LldpSender| owner.get(&heard.mac).copied().filter(|o| *o != at);
        let mut ends = BTreeMap::new();
        let mut parts = Components::new(at_of.len());
        for (at, nic) in all.clone() {
            let strange = |h: &&LldpSender| !h.flooded && !owner.contains_key(&h.mac);
            let strange: Vec<&LldpSender> = nic.heard.iter().filter(strange).collect();
            let devices: BTreeSet<(&str, &str)> =
                strange.iter().filter(|h| !h.station).map(|h| (&*h.device, &*h.port)).collect();
            let near = nic.heard.iter().filter(|h| !h.flooded).filter_map(|h| other(at, h));
            let near: BTreeSet<At> = near.collect();
            let far: BTreeSet<At> = nic.heard.iter().filter_map(|h| other(at, h)).collect();
            let end = match (devices.first(), near.first()) {
                _ if !nic.carrier => End::Unplugged,
                (Some((device, port)), _) if devices.len() == 1 => {
                    End::Switch { device: (*device).to_owned(), port: (*port).to_owned() }
                }
                (_, Some(peer)) if far.len() == 1 => End::Peer(*peer),
                _ if far.is_empty() => match strange.iter().find(|h| h.station) {
                    Some(host) => End::Stranger(host.device.clone()),
                    None => End::Unknown,
                },
                _ => {
                    for other in &far {
                        parts.join(index(at), index(*other));
                    }
                    End::Silent(at)
                }
            };
            ends.insert(at, end);
        }
        // All NICs on a switch hear each other, except those that lost a frame.
        let silent: BTreeSet<usize> = ends
            .iter()
            .filter(|(_, end)| matches!(end, End::Silent(_)))
            .map(|(at, _)| parts.root(index(*at)))
            .collect();
        let mut first: BTreeMap<usize, At> = BTreeMap::new();
        for (at, end) in &mut ends {
            let root = parts.root(index(*at));
            if silent.contains(&root) && matches!(end, End::Silent(_) | End::Peer(_)) {
                *end = End::Silent(*first.entry(root).or_insert(*at));
            }
        }
        for (at, end) in &mut ends {
            let mac = hosts[at.0].nics[at.1].mac;
            match (&end, wires.stations.get(&mac)) {
                (End::Switch { device, port }, _) => {
                    let (device, port) = (wires.name_of(device).to_owned(), port.clone());
                    *end = match wires.is_left_out(&device, &port) {
                        true => End::LeftOut(PortAt { switch: device, port }),
                        false => End::Switch { device, port },
                    };
                }
                (End::Unknown | End::Stranger(_) | End::Silent(_) | End::Peer(_), None)
                    if wires.behind_left_out(mac).is_some() =>
                {
                    end.clone_from(
                        &wires.behind_left_out(mac).cloned().map_or(End::Unknown, End::LeftOut),
                    );
                }
                (End::Unknown | End::Stranger(_) | End::Silent(_) | End::Peer(_), Some(port)) => {
                    *end = End::Switch { device: port.switch.clone(), port: port.port.clone() };
                }
                _ => {}
            }
        }
        let joined = joined(&ends, all, &other);
        Self { hosts, wires, ends, joined }
    }

    /// The switch and port at which a NIC's cable ends, by host and NIC, as far as it is known.
    #[must_use]
    pub fn port_of(&self, host: usize, nic: usize) -> Option<(&str, &str)> {
        match self.ends.get(&(host, nic))? {
            End::Switch { device, port } => Some((device, port)),
            _ => None,
        }
    }

    /// The port that is left out at or behind which a NIC is, by host and NIC.
    #[must_use]
    pub fn left_out(&self, host: usize, nic: usize) -> Option<&PortAt> {
        match self.ends.get(&(host, nic))? {
            End::LeftOut(at) => Some(at),
            _ => None,
        }
    }

    fn nic(&self, (host, nic): At) -> &DiscoveredNic {
        &self.hosts[host].nics[nic]
    }
}

/// Returns the pairs of switches with names of which a NIC on one hears a NIC on the other.
fn joined<'a>(
    ends: &BTreeMap<At, End>,
    all: impl Iterator<Item = (At, &'a DiscoveredNic)>,
    other: &impl Fn(At, &LldpSender) -> Option<At>,
) -> BTreeSet<(String, String)> {
    let device = |at: &At| match ends.get(at) {
        Some(End::Switch { device, .. }) => Some(device.clone()),
        _ => None,
    };
    let mut joined = BTreeSet::new();
    for (at, nic) in all {
        let Some(own) = device(&at) else { continue };
        let heard = nic.heard.iter().filter_map(|h| other(at, h)).filter_map(|o| device(&o));
        let pairs = heard.filter(|theirs| *theirs != own);
        joined.extend(pairs.map(|theirs| {
            let (a, b) = if own < theirs { (&own, &theirs) } else { (&theirs, &own) };
            (a.clone(), b.clone())
        }));
    }
    joined
}

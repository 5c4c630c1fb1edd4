//! Determines where a cable ends from the LLDP frames and announcements that its interface has received.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use tresse_base::id::SwitchId;
use tresse_base::units::Mac;
use tresse_topology::Layout;
use tresse_topology::cluster::{Cluster, Nic, NicEnd, Port};

use super::heard::{HostInterface, Sign};

/// The other end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A switch, and the port if known. If the switch holds several lines of nodes, also the line, numbered as by
    /// [`Layout::line`], if known.
    Port { switch: SwitchId, port: Option<u32>, line: Option<usize> },
    /// Another node's NIC.
    Nic(NicEnd),
    /// Something that is not in the file, by the name that it gives itself.
    Unknown(String),
}

impl Place {
    /// Whether this place of the file agrees with the place found.
    pub(super) fn fits(&self, found: &Self) -> bool {
        match (self, found) {
            (
                Self::Port { switch: a, port: wanted, line: own },
                Self::Port { switch: b, port, line },
            ) => a == b && (port.is_none() || port == wanted) && (line.is_none() || line == own),
            (a, b) => a == b,
        }
    }
}

/// The kind of frame that showed where a cable ends: LLDP, or the announcement of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// LLDP.
    Lldp,
    /// Our own announcements.
    Announcements,
}

/// The end of a cable by names, for reports: a switch with its port, a node with its NIC, or
/// something unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PlaceView {
    /// The switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// The line of nodes on the switch, if the switch holds several and the port is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The port of the switch, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The NIC of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic: Option<String>,
    /// The name of something that is not in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

impl fmt::Display for PlaceView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [&self.switch, &self.line, &self.node, &self.nic, &self.other];
        let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
        f.write_str(&names.join(" "))?;
        self.port.map_or(Ok(()), |port| write!(f, " port {port}"))
    }
}

/// The cluster with its NICs indexed by MAC and by port.
pub(super) struct Reader<'a> {
    cluster: &'a Cluster,
    by_mac: BTreeMap<Mac, NicEnd>,
    by_port: BTreeMap<Port, NicEnd>,
    /// The layout, if switches hold several lines of nodes.
    lines: Option<Layout>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        let (mut by_mac, mut by_port) = (BTreeMap::new(), BTreeMap::new());
        for (k, node) in cluster.nodes.iter().enumerate() {
            for (nic, of_nic) in node.nics.iter().enumerate() {
                let end = NicEnd { node: k.into(), nic };
                by_mac.insert(of_nic.mac, end);
                if of_nic.peer.is_none() {
                    by_port.insert(Port { switch: of_nic.switch, port: of_nic.port }, end);
                }
            }
        }
        let lines = Layout::of(&cluster.kind).filter(Layout::shares_switches);
        Self { cluster, by_mac, by_port, lines }
    }

    pub(super) fn nic(&self, end: NicEnd) -> &'a Nic {
        &self.cluster.node(end.node).nics[end.nic]
    }

    /// Returns node and NIC by name: `n03 eth0`.
    pub(super) fn name(&self, end: NicEnd) -> String {
        format!("{} {}", self.cluster.node(end.node).name, self.nic(end).name)
    }

    pub(super) fn with_mac(&self, mac: Mac) -> Option<NicEnd> {
        self.by_mac.get(&mac).copied()
    }

    /// Returns where the cable of a NIC ends according to the file.
    pub(super) fn expected(&self, end: NicEnd) -> Place {
        let nic = self.nic(end);
        match nic.peer {
            Some(peer) => Place::Nic(peer),
            None => Place::Port { switch: nic.switch, port: Some(nic.port), line: self.line(end) },
        }
    }

    /// Returns the line of a NIC, if its switch holds several lines.
    fn line(&self, end: NicEnd) -> Option<usize> {
        self.lines.as_ref().map(|layout| layout.line(end.node, end.nic))
    }

    /// Returns the NICs on a switch, or on one line of it if `line` is given.
    pub(super) fn at(&self, switch: SwitchId, line: Option<usize>) -> impl Iterator<Item = NicEnd> {
        self.on(switch).filter(move |end| line.is_none() || self.line(*end) == line)
    }

    /// Returns the NICs on a switch.
    fn on(&self, switch: SwitchId) -> impl Iterator<Item = NicEnd> {
        let all = Port { switch, port: 0 }..=Port { switch, port: u32::MAX };
        self.by_port.range(all).map(|(_, end)| *end)
    }

    /// Returns the NICs that a NIC hears if it is cabled correctly.
    pub(super) fn others(&self, end: NicEnd, expected: &Place) -> Vec<NicEnd> {
        match expected {
            Place::Port { switch, line, .. } => {
                self.at(*switch, *line).filter(|other| *other != end).collect()
            }
            Place::Nic(peer) => vec![*peer],
            Place::Unknown(_) => Vec::new(),
        }
    }

    /// Returns where the cable of an interface ends that hears this NIC, if this NIC is cabled correctly.
    pub(super) fn beside(&self, heard: NicEnd) -> Place {
        let nic = self.nic(heard);
        match nic.peer {
            Some(_) => Place::Nic(heard),
            None => Place::Port { switch: nic.switch, port: None, line: self.line(heard) },
        }
    }

    /// Whether announcements come only from the same switch or the other end of the cable. With an uplink they
    /// may come from any switch.
    pub(super) fn is_near(&self) -> bool {
        self.cluster.uplink().is_none()
    }

    /// Returns the NICs of the file that an interface hears.
    pub(super) fn heard(&self, interface: &HostInterface) -> BTreeSet<NicEnd> {
        interface.signs.iter().filter_map(|sign| self.nic_of(sign)).collect()
    }

    /// Returns where the cable of an interface ends, if that is known: the switch that LLDP names, else the place
    /// where most of the NICs heard belong (unless there is an uplink), else an unknown LLDP sender. Of equally
    /// likely places it is `expected`, else the first.
    pub(super) fn read(
        &self,
        interface: &HostInterface,
        expected: Option<&Place>,
    ) -> Option<(Place, By)> {
        let is_expected = |place: &Place| expected.is_some_and(|e| e.fits(place));
        let ports: Vec<Place> =
            interface.signs.iter().filter_map(|sign| self.port_of(sign, expected)).collect();
        let port = ports.iter().find(|place| is_expected(place)).or(ports.first());
        if let Some(port) = port {
            return Some((port.clone(), By::Lldp));
        }
        if !self.is_near() && !self.heard(interface).is_empty() {
            return None;
        }
        let mut votes: Vec<(Place, By, usize)> = Vec::new();
        for sign in &interface.signs {
            let Some(place) = self.nic_of(sign).map(|end| self.beside(end)) else { continue };
            match votes.iter_mut().find(|(voted, ..)| *voted == place) {
                Some((.., votes)) => *votes += 1,
                None => votes.push((place, by(sign), 1)),
            }
        }
        // `max_by_key` returns the last of equal elements.
        let most = votes.iter().rev().max_by_key(|(place, _, votes)| (*votes, is_expected(place)));
        most.map(|(place, by, _)| (place.clone(), *by)).or_else(|| {
            let stranger = interface.signs.iter().find_map(stranger)?;
            Some((Place::Unknown(stranger), By::Lldp))
        })
    }

    /// Returns the name of an LLDP sender that is not in the file.
    pub(super) fn nobody(&self, sign: &Sign) -> Option<String> {
        let known = self.nic_of(sign).is_some() || self.port_of(sign, None).is_some();
        stranger(sign).filter(|_| !known)
    }

    /// Returns the NIC of the file that sent a frame.
    fn nic_of(&self, sign: &Sign) -> Option<NicEnd> {
        match sign {
            Sign::Announcement { foreign: true, .. } => None,
            Sign::Announcement { mac, .. } => self.with_mac(*mac),
            Sign::Lldp { system, port, port_mac, description } => {
                if let Some(end) = port_mac.and_then(|mac| self.with_mac(mac)) {
                    return Some(end);
                }
                let nodes = self.cluster.nodes.iter();
                let node = nodes.enumerate().find(|(_, node)| is(system, &node.name));
                let (k, node) = node?;
                let named = |nic: &Nic| *port == nic.name || is(description, &nic.name);
                let nic = node.nics.iter().position(named)?;
                Some(NicEnd { node: k.into(), nic })
            }
        }
    }

    /// Returns the switch of the file that sent a frame, with the port if its name shows the number.
    fn port_of(&self, sign: &Sign, expected: Option<&Place>) -> Option<Place> {
        let Sign::Lldp { system, port, port_mac, description } = sign else { return None };
        let switch = self.cluster.switches.iter().position(|switch| is(system, &switch.name))?;
        let switch = SwitchId::from(switch);
        // Exported configurations describe each port by the device at its other end.
        let described = description
            .as_ref()
            .and_then(|description| self.on(switch).find(|end| self.name(*end) == *description));
        if let Some(end) = described {
            return Some(self.port(switch, self.nic(end).port));
        }
        let texts = [Some(port).filter(|_| port_mac.is_none()), description.as_ref()];
        let numbers: Vec<u32> = texts.into_iter().flatten().filter_map(|t| number(t)).collect();
        let places = numbers.iter().map(|n| self.port(switch, *n));
        let fitting = places.clone().find(|place| expected.is_some_and(|e| e.fits(place)));
        let nowhere = Place::Port { switch, port: None, line: None };
        fitting.or_else(|| places.clone().next()).or(Some(nowhere))
    }

    /// Returns the place of a port, with its line if there is one.
    fn port(&self, switch: SwitchId, port: u32) -> Place {
        let owner = self.by_port.get(&Port { switch, port });
        Place::Port { switch, port: Some(port), line: owner.and_then(|end| self.line(*end)) }
    }

    /// Returns the NIC or the link that the file has at this place.
    pub(super) fn owner(&self, place: &Place) -> Option<String> {
        match place {
            Place::Nic(end) => self.nic(*end).peer.map(|peer| self.name(peer)),
            Place::Port { switch, port, .. } => {
                let port = Port { switch: *switch, port: (*port)? };
                if let Some(end) = self.by_port.get(&port) {
                    return Some(self.name(*end));
                }
                let (_, link) = self.cluster.cables().find(|(_, l)| l.a == port || l.b == port)?;
                let name = |port: Port| self.cluster.switch(port.switch).name.as_str();
                Some(format!("{}-{}", name(link.a), name(link.b)))
            }
            Place::Unknown(_) => None,
        }
    }

    pub(super) fn view(&self, place: &Place) -> PlaceView {
        match place {
            Place::Port { switch, port, line } => PlaceView {
                switch: Some(self.cluster.switch(*switch).name.clone()),
                line: line
                    .filter(|_| port.is_none())
                    .and_then(|line| self.lines.as_ref().map(|layout| layout.line_name(line))),
                port: *port,
                ..PlaceView::default()
            },
            Place::Nic(end) => PlaceView {
                node: Some(self.cluster.node(end.node).name.clone()),
                nic: Some(self.nic(*end).name.clone()),
                ..PlaceView::default()
            },
            Place::Unknown(name) => PlaceView { other: Some(name.clone()), ..PlaceView::default() },
        }
    }
}

const fn by(sign: &Sign) -> By {
    match sign {
        Sign::Lldp { .. } => By::Lldp,
        Sign::Announcement { .. } => By::Announcements,
    }
}

/// Whether the system name found is `name`, with or without a domain.
fn is(found: &Option<String>, name: &str) -> bool {
    let rest = found.as_ref().and_then(|found| found.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the sender of an LLDP frame by the names that it gives itself.
fn stranger(sign: &Sign) -> Option<String> {
    match sign {
        Sign::Lldp { system, port, .. } => {
            Some(format!("{} {port}", system.as_deref().unwrap_or("a nameless device")))
        }
        Sign::Announcement { .. } => None,
    }
}

/// Returns the last number in the name of a port, counted as in the file: `swp3`, `Gi1/0/3` and `port 3` are 3. Junos
/// (`ge-0/0/2`) counts from 0.
fn number(text: &str) -> Option<u32> {
    let end = text.rfind(|c: char| c.is_ascii_digit())?;
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let number: u32 = text[start..=end].parse().ok()?;
    let junos = ["ge-", "xe-", "et-", "mge-"].iter().any(|kind| text.starts_with(kind));
    number.checked_add(u32::from(junos))
}

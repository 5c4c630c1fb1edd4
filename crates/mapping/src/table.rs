//! What one switch says of its ports, in a form that is independent of vendors: its LLDP neighbours, and the stations
//! that its forwarding table has learned.

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::units::Mac;

use crate::port::{self, Numbering};

/// The tables of one switch, as far as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SwitchTable {
    /// The switch's name.
    pub name: String,
    /// Whether its LLDP neighbours were read; there may be none.
    pub lldp: bool,
    /// Whether its forwarding table was read; it may be empty.
    pub fdb: bool,
    /// LLDP neighbours, in the order of the table.
    pub neighbours: Vec<Neighbour>,
    /// Learned stations, in the order of the table; no group addresses.
    pub learned: Vec<Learned>,
    /// MACs of the switch itself, each with the port that has it; empty for the switch as a whole.
    pub own: BTreeMap<Mac, String>,
    /// Ports that are left out, so that nothing above names them.
    pub(crate) left_out: BTreeSet<String>,
    /// How the names of its ports are numbered.
    pub(crate) numbering: Numbering,
}

/// The sender of LLDP frames that a switch port receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// The port that receives the frames.
    pub port: String,
    /// The sender's system name.
    pub system: Option<String>,
    /// The sender's chassis ID.
    pub chassis: Option<String>,
    /// Names of the sender's port: its ID, its description.
    pub far: Vec<String>,
    /// Whether the sender says that it is a bridge or router; `None` if it says nothing of that.
    pub bridge: Option<bool>,
}

/// A station that a switch has learned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Learned {
    /// The port behind which it is.
    pub port: String,
    /// Its MAC.
    pub mac: Mac,
    /// The VLAN in which it was learned, if the table names it.
    pub vid: Option<u16>,
}

impl Neighbour {
    /// Whether there is any sign of who the sender is.
    pub(crate) fn is_named(&self) -> bool {
        !self.device().is_empty()
    }

    /// The MACs by which the sender names itself or its port.
    pub(crate) fn macs(&self) -> impl Iterator<Item = Mac> + '_ {
        self.far.iter().chain(&self.chassis).filter_map(|text| port::mac(text))
    }

    /// The sender in words: its system name, else its chassis ID.
    pub(crate) fn device(&self) -> &str {
        self.system.as_deref().or(self.chassis.as_deref()).unwrap_or_default()
    }
}

impl SwitchTable {
    /// An empty table.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Adds a neighbour, if it says who it is.
    pub(crate) fn hear(&mut self, neighbour: Neighbour) {
        if !neighbour.port.is_empty()
            && neighbour.is_named()
            && !self.neighbours.contains(&neighbour)
        {
            self.neighbours.push(neighbour);
        }
    }

    /// Adds a station; group addresses are none.
    pub(crate) fn learn(&mut self, learned: Learned) {
        if learned.mac.0[0] & 1 == 0 && learned.mac != Mac([0; 6]) {
            self.learned.push(learned);
        }
    }

    /// The ports that the table names, sorted.
    pub(crate) fn ports(&self) -> BTreeSet<&str> {
        let heard = self.neighbours.iter().map(|n| n.port.as_str());
        let own = self.own.values().filter(|port| !port.is_empty()).map(String::as_str);
        let left = self.left_out.iter().map(String::as_str);
        let learned = self.learned.iter().map(|l| l.port.as_str());
        heard.chain(learned).chain(own).chain(left).collect()
    }
}

//! A generated fabric, and what all generators share: names, MAC addresses and the default switch.

use tresse_base::units::Mac;

use crate::cluster::{Learning, Link, Node, Stp, Switch};

/// Switches, nodes and cables of a generated fabric, in index order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fabric {
    /// Switches `s<k>`.
    pub switches: Vec<Switch>,
    /// Nodes `n<k>`; node k is on switch floor(k / nodes per switch).
    pub nodes: Vec<Node>,
    /// Cables: by lower switch, then dimension (or, in a clique, by the other switch).
    pub links: Vec<Link>,
}

/// Returns a switch of this name with this number of ports, and with the cluster file's defaults for everything else.
#[must_use]
pub fn default_switch(name: String, ports: u32) -> Switch {
    Switch {
        name,
        ports,
        max_vlans: 4094,
        learning: Learning::Ivl,
        max_frame: 1522,
        stp: Stp::Off,
        fdb_size: None,
        fdb_age_seconds: 300,
        lag: false,
    }
}

/// Returns the locally administered MAC address of a generated NIC, `02:54:nn:nn:nn:ii`: nn is the index of the node,
/// ii the index of the NIC in the node (K21: good for lab and planning only). The addresses are distinct for fewer
/// than 2^24 nodes with at most 256 NICs each.
#[must_use]
pub const fn derived_mac(node: usize, nic: usize) -> Mac {
    let [.., a, b, c] = (node as u32).to_be_bytes();
    Mac([0x02, 0x54, a, b, c, nic as u8])
}

/// Names of the form `<letter><k>`, zero-padded to the width of the largest index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names {
    letter: char,
    width: usize,
}

impl Names {
    pub(super) fn new(letter: char, count: u32) -> Self {
        let largest = count.saturating_sub(1);
        Self { letter, width: largest.checked_ilog10().unwrap_or(0) as usize + 1 }
    }

    pub(super) fn of(self, k: u32) -> String {
        format!("{}{k:0width$}", self.letter, width = self.width)
    }
}

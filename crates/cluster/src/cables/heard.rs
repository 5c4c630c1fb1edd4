//! The input of a comparison of cables: the host's interfaces, and the frames that each has
//! received.

use tresse_base::units::Mac;

/// An interface of the host, with the LLDP frames and announcements that it has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its MAC.
    pub mac: Option<Mac>,
    /// Whether it has carrier.
    pub carrier: bool,
    /// Whether the caller has listened long enough to conclude something from silence.
    pub patient: bool,
    /// What was received and has not expired.
    pub signs: Vec<Sign>,
}

/// An LLDP frame or an announcement that an interface has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// An LLDP frame.
    Lldp {
        /// The name of the switch or host.
        system: Option<String>,
        /// Its port, as text.
        port: String,
        /// Its port, if LLDP gives a MAC address.
        port_mac: Option<Mac>,
        /// The port's description.
        description: Option<String>,
    },
    /// An untagged announcement of a node.
    Announcement {
        /// The NIC that sent it.
        mac: Mac,
        /// Whether the announcement is of another fabric.
        foreign: bool,
    },
}

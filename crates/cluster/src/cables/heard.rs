//! The input of the cable check [`compare`](super::compare): the network interfaces of the host, each with the LLDP
//! frames and announcements that it has received.

use tresse_base::units::Mac;

/// A network interface of the host, with the LLDP frames and announcements that it has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInterface {
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

/// A frame received on an interface that shows where its cable ends: an LLDP frame, or the announcement by which the
/// NIC of another node makes itself known.
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

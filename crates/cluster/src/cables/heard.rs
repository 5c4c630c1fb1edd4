//! What the caller tells of the host: its interfaces, and what each of them hears.

use tresse_base::units::Mac;

/// An interface of the host, with who is heard on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its MAC.
    pub mac: Option<Mac>,
    /// Has it carrier?
    pub carrier: bool,
    /// Was it listened on for so long that silence means something?
    pub patient: bool,
    /// Whatever was heard and still holds.
    pub signs: Vec<Sign>,
}

/// Something heard on an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// By LLDP.
    Lldp {
        /// The name of the switch or host.
        system: Option<String>,
        /// Its port, as text.
        port: String,
        /// Its port, where that is a MAC.
        port_mac: Option<Mac>,
        /// The port's description.
        description: Option<String>,
    },
    /// An announcement without tag.
    Announcement {
        /// The NIC that sent it.
        mac: Mac,
        /// Is it of another fabric?
        foreign: bool,
    },
}

//! The result of comparing the cables of one node with the cluster file.

use serde::Serialize;

use super::order::{Named, OrderBy};
use super::place::{By, PlaceView};

/// The verdict on the cable of one NIC: it ends where the cluster file says, it is swapped with another, it is
/// missing, it ends at something that the file does not have, or its end is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The cable ends where the file says.
    Ok,
    /// The cable ends where the file has another cable.
    Swapped,
    /// There is no such interface, or no carrier, or nothing at the other end.
    Missing,
    /// The cable ends at something that the file does not have.
    Extra,
    /// Nothing received shows where the cable ends.
    Unknown,
}

impl Verdict {
    /// Returns the word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Swapped => "swapped",
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Unknown => "unknown",
        }
    }
}

/// The result of the cable check for one NIC of the cluster file: where its cable should end, where it ends, and the
/// verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NicReport {
    /// Its name in the file.
    pub nic: String,
    /// The interface of the NIC, found by its MAC, else by its name.
    pub interface: Option<String>,
    /// Where the cable ends according to the file.
    pub expected: PlaceView,
    /// Where the cable was found to end.
    pub found: Option<PlaceView>,
    /// The source of `found`: LLDP or announcements.
    pub by: Option<By>,
    /// The verdict.
    pub verdict: Verdict,
    /// The cables with which it is swapped, by NIC (`n03 eth0`) or link (`s00-s01`); empty if unknown.
    pub with: Vec<String>,
    /// NICs that belong on the same switch, or on the same line there, and are not heard.
    pub silent: Vec<String>,
    /// The verdict in words; empty if all is well.
    pub message: String,
}

/// Something found on one interface of the node that the cluster file does not have there: a cable of an interface
/// that is no NIC of the file, or a sender of frames that does not belong at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extra {
    /// The interface of this node.
    pub interface: String,
    /// What was found, in words.
    pub message: String,
}

/// The result of the cable check for one node: a report on each of its NICs, what was found beside the cluster file,
/// and the interfaces that have exchanged their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CableReport {
    /// The node.
    pub node: String,
    /// Its NICs in the file's order.
    pub nics: Vec<NicReport>,
    /// What was found and is not in the file.
    pub extra: Vec<Extra>,
    /// The NIC of the file for each interface, if another order of the node's own NICs explains what was found.
    pub order: Vec<Named>,
    /// How the order was found.
    pub order_by: Option<OrderBy>,
    /// Whether nothing is swapped, missing, extra or in another order.
    pub fine: bool,
}

//! The comparison of one node with the cluster file, as it is reported.

use serde::Serialize;

use super::order::{Named, OrderBy};
use super::place::{By, PlaceView};

/// What became of one NIC of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Where the file has it.
    Ok,
    /// Where the file has another cable.
    Swapped,
    /// Not there, without carrier, or with nobody at the other end.
    Missing,
    /// At something that the file does not have.
    Extra,
    /// Nothing tells.
    Unknown,
}

/// One NIC of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NicReport {
    /// Its name in the file.
    pub nic: String,
    /// The interface that it is, by its MAC, else by its name.
    pub interface: Option<String>,
    /// Where the file has it.
    pub expected: PlaceView,
    /// Where it is.
    pub found: Option<PlaceView>,
    /// What told so.
    pub by: Option<By>,
    /// The comparison.
    pub verdict: Verdict,
    /// The cables that it is swapped with, by NIC (`n03 eth0`) or link (`s00-s01`); empty where it is
    /// not known which.
    pub with: Vec<String>,
    /// NICs that belong on the same switch, or line on it, and are not heard.
    pub silent: Vec<String>,
    /// In words; empty where all is well.
    pub message: String,
}

/// Something on a cable that the file does not have there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extra {
    /// The interface of this node.
    pub interface: String,
    /// In words.
    pub message: String,
}

/// The comparison of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The node.
    pub node: String,
    /// Its NICs in the file's order.
    pub nics: Vec<NicReport>,
    /// What is there and not in the file.
    pub extra: Vec<Extra>,
    /// Where another order of the node's own NICs explains what was found: the file's NIC that each
    /// interface is.
    pub order: Vec<Named>,
    /// How the order was found.
    pub order_by: Option<OrderBy>,
    /// Nothing is swapped, missing, extra or in another order.
    pub fine: bool,
}

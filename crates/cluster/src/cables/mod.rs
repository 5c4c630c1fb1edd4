//! Compares what is plugged into one node with the cluster file: what each NIC hears (LLDP where there
//! is some, else announcements) says where its cable ends.
//!
//! LLDP names a switch and its port, and may name another host's NIC. An announcement without tag
//! comes from the other end of a cable, or from a node on the same switch: it tells the switch (where that
//! holds several lines of nodes, the line), not the port. Where several are heard, the switch that most of
//! them belong on counts. Announcements on VLANs cross switches and tell nothing, nor do those of a flat
//! neighbourhood with an uplink, which every NIC hears wherever it is: there LLDP alone tells.
//!
//! Pure: who was heard, and whether long enough, is for the caller to say. O(NICs of the cluster).

mod judge;
mod order;
mod place;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::judge::Judge;
use self::order::Order;

pub use self::order::{Named, OrderBy};
pub use self::place::{By, PlaceView};
use self::place::{Place, Reader};
use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_topology::cluster::{Cluster, Nic, NicEnd};

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

/// Compares the `interfaces` of the host that is `node`.
#[must_use]
pub fn compare(cluster: &Cluster, node: NodeId, interfaces: &[Interface]) -> Report {
    let reader = Reader::new(cluster);
    let nics = &cluster.node(node).nics;
    let matched = matched(nics, interfaces);
    let ends = (0..nics.len()).map(|nic| NicEnd { node, nic });
    let seen: Vec<Seen<'_>> = ends
        .zip(&matched)
        .map(|(end, interface)| {
            let expected = reader.expected(end);
            let found =
                interface.filter(|i| i.carrier).and_then(|i| reader.read(i, Some(&expected)));
            Seen { end, interface: *interface, expected, found }
        })
        .collect();
    let judge = Judge { cluster, reader: &reader, seen: &seen };
    let reports: Vec<NicReport> = seen.iter().map(|seen| judge.nic(seen)).collect();
    let mut extra: Vec<Extra> = seen.iter().flat_map(|seen| judge.strangers(seen)).collect();
    let used: BTreeSet<&str> = matched.iter().flatten().map(|i| i.name.as_str()).collect();
    let spare = interfaces.iter().filter(|i| i.carrier && !used.contains(i.name.as_str()));
    extra.extend(spare.filter_map(|i| judge.spare(i)));
    let Order { names, by } = order::found(&reader, nics, &seen);
    let fine = extra.is_empty()
        && names.is_empty()
        && reports.iter().all(|r| matches!(r.verdict, Verdict::Ok | Verdict::Unknown));
    Report {
        node: cluster.node(node).name.clone(),
        nics: reports,
        extra,
        order: names,
        order_by: by,
        fine,
    }
}

/// A NIC of the file beside the interface that it is.
struct Seen<'a> {
    end: NicEnd,
    interface: Option<&'a Interface>,
    expected: Place,
    found: Option<(Place, By)>,
}

impl Seen<'_> {
    /// Is it where the file has it?
    fn fits(&self) -> bool {
        self.found.as_ref().is_some_and(|(found, _)| self.expected.fits(found))
    }
}

/// The interface of each NIC: that with its MAC, else that with its name and no other NIC's MAC.
fn matched<'a>(nics: &[Nic], interfaces: &'a [Interface]) -> Vec<Option<&'a Interface>> {
    let by_mac: BTreeMap<Mac, &Interface> =
        interfaces.iter().filter_map(|i| Some((i.mac?, i))).collect();
    let claimed: BTreeSet<&str> =
        nics.iter().filter_map(|nic| Some(by_mac.get(&nic.mac)?.name.as_str())).collect();
    let by_name = |nic: &Nic| {
        interfaces.iter().find(|i| i.name == nic.name && !claimed.contains(i.name.as_str()))
    };
    nics.iter().map(|nic| by_mac.get(&nic.mac).copied().or_else(|| by_name(nic))).collect()
}

//! Checks whether the cables of one node are plugged as the cluster file says. The frames that each NIC receives (LLDP
//! if there is any, else the announcements of other nodes) show where its cable ends.
//!
//! LLDP names a switch and its port, or the NIC of another host. An announcement is a frame by which a NIC makes
//! itself known. If it is untagged, it comes from the other end of the cable, or from a node on the same switch: so it
//! identifies the switch, but not the port. On a P-Mesh switch that holds several lines of nodes (each an untagged
//! VLAN) it also identifies the line. If the announcements of several NICs are received, the cable is taken to end at
//! the switch to which, by the cluster file, most of these NICs are cabled.
//!
//! Announcements that cross switches identify nothing. These are the announcements on tagged VLANs, and all
//! announcements of a flat neighbourhood with an uplink switch, which joins all other switches: there only LLDP
//! counts.
//!
//! This module does no I/O: the caller passes what was received, and whether it has listened long enough to conclude
//! something from silence. O(NICs of the cluster).

mod heard;
mod judge;
mod order;
mod place;
mod report;
mod seen;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use tresse_base::id::NodeId;
use tresse_base::units::Mac;
use tresse_topology::cluster::{Cluster, Nic, NicEnd};

use self::judge::Judge;
use self::order::Order;
use self::place::Reader;
use self::seen::Seen;

pub use self::heard::{HostInterface, Sign};
pub use self::order::{Named, OrderBy};
pub use self::place::{By, PlaceView};
pub use self::report::{CableReport, Extra, NicReport, Verdict};

/// Compares the cables of `node` with the cluster file and returns a report with a verdict on each NIC that the file
/// gives the node. The frames that the `interfaces` of the host have received show where the cables really end. A NIC
/// is matched with the interface that has its MAC address, else with the one that has its name.
#[must_use]
pub fn compare(cluster: &Cluster, node: NodeId, interfaces: &[HostInterface]) -> CableReport {
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
    CableReport {
        node: cluster.node(node).name.clone(),
        nics: reports,
        extra,
        order: names,
        order_by: by,
        fine,
    }
}

/// Returns the interface of each NIC: the one with its MAC, else the one with its name and no other NIC's MAC.
fn matched<'a>(nics: &[Nic], interfaces: &'a [HostInterface]) -> Vec<Option<&'a HostInterface>> {
    let by_mac: BTreeMap<Mac, &HostInterface> =
        interfaces.iter().filter_map(|i| Some((i.mac?, i))).collect();
    let claimed: BTreeSet<&str> =
        nics.iter().filter_map(|nic| Some(by_mac.get(&nic.mac)?.name.as_str())).collect();
    let by_name = |nic: &Nic| {
        interfaces.iter().find(|i| i.name == nic.name && !claimed.contains(i.name.as_str()))
    };
    nics.iter().map(|nic| by_mac.get(&nic.mac).copied().or_else(|| by_name(nic))).collect()
}

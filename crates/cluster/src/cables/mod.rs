//! Compares the cables of one node with the cluster file. What each NIC receives (LLDP if there is any, else
//! announcements of other nodes) shows where its cable ends.
//!
//! LLDP names a switch and its port, or the NIC of another host. An untagged announcement comes from the other
//! end of a cable, or from a node on the same switch. It identifies the switch (and the line, if the switch
//! holds several lines of nodes) but not the port. If several nodes are heard, the switch on which most of them
//! belong is taken. Announcements on VLANs cross switches and therefore identify nothing. Neither do those of a
//! flat neighbourhood with an uplink, which every NIC receives: there only LLDP counts.
//!
//! This module is pure: the caller says what was received, and whether it listened long enough.
//! O(NICs of the cluster).

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

pub use self::heard::{Interface, Sign};
pub use self::order::{Named, OrderBy};
pub use self::place::{By, PlaceView};
pub use self::report::{Extra, NicReport, Report, Verdict};

/// Compares the `interfaces` of a host with the NICs of `node` in the file.
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

/// Returns the interface of each NIC: the one with its MAC, else the one with its name and no other NIC's MAC.
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

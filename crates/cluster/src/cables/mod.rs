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

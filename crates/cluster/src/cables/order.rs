//! Finds NICs of one node that have exchanged their interface names. The kernel names interfaces in the order in
//! which drivers find them, so `eth0` need not be the `eth0` of the file.

use serde::Serialize;
use tresse_topology::cluster::Nic;

use super::place::Reader;
use super::seen::Seen;

/// The name of an interface on the host, together with the different name that the cluster file gives the same NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The interface.
    pub interface: String,
    /// The file's NIC.
    pub nic: String,
}

/// The evidence that interfaces of the node have exchanged their names: their MAC addresses, or the ends of their
/// cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderBy {
    /// The MACs of the file are on interfaces with other names.
    Mac,
    /// The cables of the file are at interfaces with other names.
    Cable,
}

impl OrderBy {
    /// Returns what to do about it.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Mac => {
                "the kernel found the NICs in another order: give them the names of the file by their \
                 MACs (systemd.link, udev), or change the names in the file"
            }
            Self::Cable => {
                "swap the cables; or, where the kernel found the NICs in another order than the file \
                 says, change the names or MACs in the file, or name them by MAC (systemd.link, udev)"
            }
        }
    }
}

/// An order of NICs that differs from the file's. Without names there is none.
pub(super) struct Order {
    pub(super) names: Vec<Named>,
    pub(super) by: Option<OrderBy>,
}

/// Returns the order that explains what was found: by MACs, else by cables if every NIC is cabled like some NIC
/// of the same node.
pub(super) fn found(reader: &Reader<'_>, nics: &[Nic], seen: &[Seen<'_>]) -> Order {
    let pairs = |other: &dyn Fn(usize) -> Option<usize>| -> Vec<Named> {
        let named = |(at, seen): (usize, &Seen<'_>)| {
            let interface = seen.interface?.name.clone();
            Some(Named { interface, nic: nics[other(at)?].name.clone() })
        };
        let all = seen.iter().enumerate().filter_map(named);
        all.filter(|named| named.interface != named.nic).collect()
    };
    let of_mac = |seen: &Seen<'_>| {
        let mac = seen.interface.and_then(|i| i.mac);
        mac == Some(reader.nic(seen.end).mac)
    };
    let by_mac = pairs(&|at| of_mac(&seen[at]).then_some(at));
    if !by_mac.is_empty() {
        return Order { names: by_mac, by: Some(OrderBy::Mac) };
    }
    let Some(places) = permutation(seen).filter(|to| to.iter().enumerate().any(|(a, b)| a != *b))
    else {
        return Order { names: Vec::new(), by: None };
    };
    Order { names: pairs(&|at| places.get(at).copied()), by: Some(OrderBy::Cable) }
}

/// Returns for each NIC the NIC in whose place it is: itself if it fits, else the first place that is still free.
/// `None` if a NIC is elsewhere.
fn permutation(seen: &[Seen<'_>]) -> Option<Vec<usize>> {
    let mut to: Vec<Option<usize>> =
        seen.iter().enumerate().map(|(at, seen)| seen.fits().then_some(at)).collect();
    for (at, nic) in seen.iter().enumerate() {
        if to[at].is_none() {
            let (found, _) = nic.found.as_ref()?;
            let free = |other: &usize| !to.contains(&Some(*other));
            let place = (0..seen.len()).filter(free).find(|k| seen[*k].expected.fits(found));
            to[at] = Some(place?);
        }
    }
    to.into_iter().collect()
}

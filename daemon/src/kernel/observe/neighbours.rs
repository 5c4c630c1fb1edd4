//! Permanent neighbours. Source: include/uapi/linux/neighbour.h.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_fabric::reconcile::ObservedNeighbour;
use tresse_fabric::units::Mac;

use super::super::channel::{DumpError, Tables};
use super::super::message::{Attributes, Malformed, Message, half, word};
use super::Names;

pub(super) fn neighbours(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<(String, IpAddr), ObservedNeighbour>, DumpError> {
    let mut by_interface: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    channel.dump(libc::RTM_GETNEIGH, &[0; NDMSG], |message| {
        let neighbour = neighbour(message)?;
        if let (true, Some(address), Some(mac)) =
            (neighbour.state & NUD_PERMANENT != 0, neighbour.address, neighbour.mac)
        {
            let observed = ObservedNeighbour { mac, protocol: neighbour.protocol };
            let interface = names.name(neighbour.ifindex)?;
            by_interface.entry(interface).or_default().push((address, observed));
        }
        Ok(())
    })?;
    // A map is made fastest of what is in order, and the names need no comparing.
    let sorted = by_interface.into_iter().flat_map(|(interface, mut neighbours)| {
        neighbours.sort_by_key(|(address, _)| *address);
        let keyed = move |(address, observed)| ((interface.to_owned(), address), observed);
        neighbours.into_iter().map(keyed)
    });
    Ok(sorted.collect())
}

/// Bytes of `struct ndmsg`.
pub(in crate::kernel) const NDMSG: usize = 12;
/// A neighbour that never expires.
pub(in crate::kernel) const NUD_PERMANENT: u16 = 0x80;
/// NDA_DST.
pub(in crate::kernel) const NDA_DST: u16 = 1;
pub(in crate::kernel) const NDA_LLADDR: u16 = 2;
pub(in crate::kernel) const NDA_PROTOCOL: u16 = 12;

/// A neighbour message.
pub(in crate::kernel) struct RawNeighbour {
    pub ifindex: u32,
    pub state: u16,
    pub address: Option<IpAddr>,
    pub mac: Option<Mac>,
    pub protocol: u8,
}

/// Reads an `RTM_NEWNEIGH` or `RTM_DELNEIGH`.
pub(in crate::kernel) fn neighbour(message: &Message<'_>) -> Result<RawNeighbour, Malformed> {
    let attributes = Attributes::after(message.payload, NDMSG, "ndmsg")?;
    let mut neighbour = RawNeighbour {
        ifindex: word(message.payload, 4),
        state: half(message.payload, 8),
        address: None,
        mac: None,
        protocol: 0,
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            NDA_DST => neighbour.address = attribute.address("NDA_DST").ok(),
            NDA_LLADDR => neighbour.mac = <[u8; 6]>::try_from(attribute.value).ok().map(Mac),
            NDA_PROTOCOL => neighbour.protocol = attribute.u8("NDA_PROTOCOL")?,
            _ => {}
        }
    }
    Ok(neighbour)
}

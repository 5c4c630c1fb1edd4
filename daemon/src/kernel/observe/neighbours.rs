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
    let mut neighbours = BTreeMap::new();
    channel.dump(libc::RTM_GETNEIGH, &[0; NDMSG], |message| {
        let neighbour = neighbour(message)?;
        if let (true, Some(address), Some(mac)) =
            (neighbour.state & NUD_PERMANENT != 0, neighbour.address, neighbour.mac)
        {
            let interface = names.name(neighbour.ifindex)?.to_owned();
            let observed = ObservedNeighbour { mac, protocol: neighbour.protocol };
            neighbours.insert((interface, address), observed);
        }
        Ok(())
    })?;
    Ok(neighbours)
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

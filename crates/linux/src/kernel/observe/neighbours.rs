//! Reads the kernel's permanent neighbour entries. Source: include/uapi/linux/neighbour.h.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_core::ParseableParametrized as _;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourHeader, NeighbourMessage, NeighbourState,
};
use tresse_base::units::Mac;
use tresse_reconcile::ObservedNeighbour;

use super::super::channel::{DumpError, Tables};
use super::super::message::{MalformedMessage, Message, attributes, bytes};
use super::names::Names;

pub(super) fn neighbours(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<(String, IpAddr), ObservedNeighbour>, DumpError> {
    let mut by_interface: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    let all = bytes(&NeighbourMessage::default());
    channel.dump(libc::RTM_GETNEIGH, &all, |message| {
        let neighbour = neighbour(message)?;
        if let (NeighbourState::Permanent, Some(address), Some(mac)) =
            (neighbour.state, neighbour.address, neighbour.mac)
        {
            let observed = ObservedNeighbour { mac, protocol: neighbour.protocol };
            let interface = names.name(neighbour.ifindex)?;
            by_interface.entry(interface).or_default().push((address, observed));
        }
        Ok(())
    })?;
    // A map is built fastest from sorted entries, and the names need no comparison.
    let sorted = by_interface.into_iter().flat_map(|(interface, mut neighbours)| {
        neighbours.sort_by_key(|(address, _)| *address);
        let keyed = move |(address, observed)| ((interface.to_owned(), address), observed);
        neighbours.into_iter().map(keyed)
    });
    Ok(sorted.collect())
}

/// Bytes of `struct ndmsg`.
pub(super) const NDMSG: usize = 12;
pub(in crate::kernel) const NDA_PROTOCOL: u16 = 12;

/// A neighbour as decoded.
pub(in crate::kernel) struct RawNeighbour {
    pub ifindex: u32,
    pub state: NeighbourState,
    /// `None` if it is not an IP address.
    pub address: Option<IpAddr>,
    pub mac: Option<Mac>,
    pub protocol: u8,
}

/// Decodes the parts of an `RTM_NEWNEIGH` or `RTM_DELNEIGH` that concern us, without allocating a
/// message.
pub(in crate::kernel) fn neighbour(
    message: &Message<'_>,
) -> Result<RawNeighbour, MalformedMessage> {
    let header = NeighbourHeader::parse(message.payload)?;
    let mut neighbour = RawNeighbour {
        ifindex: header.ifindex,
        state: header.state,
        address: None,
        mac: None,
        protocol: 0,
    };
    for attribute in attributes(message.payload, NDMSG, "ndmsg")? {
        let attribute = attribute?;
        if !matches!(attribute.kind(), libc::NDA_DST | libc::NDA_LLADDR | NDA_PROTOCOL) {
            continue;
        }
        match NeighbourAttribute::parse_with_param(&attribute, header.family)? {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(address)) => {
                neighbour.address = Some(address.into());
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(address)) => {
                neighbour.address = Some(address.into());
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => {
                neighbour.mac = bytes.try_into().map(Mac).ok();
            }
            NeighbourAttribute::Protocol(protocol) => neighbour.protocol = protocol.into(),
            _ => {}
        }
    }
    Ok(neighbour)
}

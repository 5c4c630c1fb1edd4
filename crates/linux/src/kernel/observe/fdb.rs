//! Reads the forwarding entries (FDB) of VXLAN interfaces of ours. Source: include/uapi/linux/neighbour.h,
//! drivers/net/vxlan/vxlan_core.c.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::neighbour::{NeighbourHeader, NeighbourMessage};
use tresse_base::units::Mac;
use tresse_reconcile::ObservedLink;

use super::super::channel::{DumpError, Tables};
use super::super::message::{attributes, bytes};
use super::names::Names;
use super::neighbours::NDMSG;

/// The permanent entries by (interface, MAC address), with the address to which frames are sent.
pub(super) fn fdb(
    channel: &mut impl Tables,
    names: &Names,
    links: &BTreeMap<String, ObservedLink>,
) -> Result<BTreeMap<(String, Mac), IpAddr>, DumpError> {
    let mut found = BTreeMap::new();
    let mut all = NeighbourMessage::default();
    all.header.family = AddressFamily::Bridge;
    channel.dump(libc::RTM_GETNEIGH, &bytes(&all), |message| {
        let header = NeighbourHeader::parse(message.payload)?;
        // `bridge` sets NUD_NOARP too.
        let is_permanent = u16::from(header.state) & libc::NUD_PERMANENT != 0;
        if header.family != AddressFamily::Bridge || !is_permanent {
            return Ok(());
        }
        let name = names.name(header.ifindex)?;
        if !links.get(name).is_some_and(ObservedLink::is_tunnel) {
            return Ok(());
        }
        let (mut mac, mut at) = (None, None);
        for attribute in attributes(message.payload, NDMSG, "ndmsg")? {
            let attribute = attribute?;
            match attribute.kind() {
                libc::NDA_LLADDR => mac = attribute.value().try_into().map(Mac).ok(),
                libc::NDA_DST => at = address(attribute.value()),
                _ => {}
            }
        }
        found.extend(mac.zip(at).map(|(mac, at)| ((name.to_owned(), mac), at)));
        Ok(())
    })?;
    Ok(found)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let ipv4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    ipv4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

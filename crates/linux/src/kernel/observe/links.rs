//! Reads links and their addresses. Source: include/uapi/linux/{if_link,if_addr}.h.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_core::Parseable as _;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::address::{AddressAttribute, AddressHeader, AddressMessage};
use netlink_packet_route::link::{InfoKind, LinkFlags};
use tresse_base::kernel::{TUNNEL_INTERFACE_IPV6, TUNNEL_PORT, TUNNEL_VNI};
use tresse_reconcile::{LinkKind, ObservedAddress, ObservedLink};

use super::super::channel::{DumpError, Tables};
use super::super::link::{self, Link};
use super::super::message::{attributes, bytes};
use super::names::Names;

const IFA_PROTO: u16 = 11;
/// Bytes of `struct ifaddrmsg`.
const IFADDRMSG: usize = 8;

pub(super) fn links(
    channel: &mut impl Tables,
) -> Result<(BTreeMap<String, ObservedLink>, Names), DumpError> {
    let carrier = LinkFlags::LowerUp | LinkFlags::Running;
    let mut found = Vec::new();
    channel.dump(libc::RTM_GETLINK, &link::dump(), |message| {
        found.push(Link::parse(message.payload)?);
        Ok(())
    })?;
    let names = Names(found.iter().map(|link| (link.ifindex, link.name.clone())).collect());
    let mut links = BTreeMap::new();
    for link in &found {
        let master = link.master.map(|master| names.name(master)).transpose()?.map(str::to_owned);
        let below = link.lower.filter(|_| !link.lower_elsewhere);
        let mut observed = ObservedLink {
            index: link.ifindex,
            kind: None,
            mac: link.mac,
            mtu: link.mtu_bytes,
            up: link.is_up(),
            carrier: link.flags.contains(carrier),
            alias: link.alias.clone(),
            master,
            lower: below
                .filter(|lower| *lower != 0)
                .and_then(|lower| names.name(lower).ok().map(str::to_owned)),
        };
        observed.kind = match (&link.kind, link.vid, below) {
            (Some(InfoKind::Vlan), Some(vid), Some(lower)) => {
                Some(LinkKind::Vlan { parent: names.name(lower)?.to_owned(), vid })
            }
            (Some(InfoKind::Dummy), ..) => Some(LinkKind::Dummy),
            (Some(InfoKind::Tun), ..) => Some(LinkKind::Tun),
            (Some(InfoKind::Vxlan), ..) if link.vxlan == Some((TUNNEL_VNI, TUNNEL_PORT)) => {
                Some(LinkKind::Vxlan { ipv6: link.name == TUNNEL_INTERFACE_IPV6 })
            }
            (Some(InfoKind::Bridge), ..)
                if observed.is_ours()
                    && found.iter().all(|other| other.master != Some(link.ifindex)) =>
            {
                Some(LinkKind::Dummy)
            }
            _ => None,
        };
        links.insert(link.name.clone(), observed);
    }
    Ok((links, names))
}

pub(super) fn addresses(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<(String, IpAddr), ObservedAddress>, DumpError> {
    let mut addresses = BTreeMap::new();
    let all = bytes(&AddressMessage::default());
    channel.dump(libc::RTM_GETADDR, &all, |message| {
        let header = AddressHeader::parse(message.payload)?;
        // Addresses of other families have other lengths.
        if !matches!(header.family, AddressFamily::Inet | AddressFamily::Inet6) {
            return Ok(());
        }
        let (mut address, mut local, mut protocol) = (None, None, 0);
        for attribute in attributes(message.payload, IFADDRMSG, "ifaddrmsg")? {
            let attribute = attribute?;
            if !matches!(attribute.kind(), libc::IFA_ADDRESS | libc::IFA_LOCAL | IFA_PROTO) {
                continue;
            }
            match AddressAttribute::parse(&attribute)? {
                AddressAttribute::Address(found) => address = Some(found),
                AddressAttribute::Local(found) => local = Some(found),
                AddressAttribute::Protocol(found) => protocol = found.into(),
                _ => {}
            }
        }
        if let Some(address) = local.or(address) {
            let interface = names.name(header.index)?.to_owned();
            let observed = ObservedAddress { len: header.prefix_len, protocol };
            addresses.insert((interface, address), observed);
        }
        Ok(())
    })?;
    Ok(addresses)
}

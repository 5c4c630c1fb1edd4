//! Links and their addresses. Source: include/uapi/linux/{if_link,if_addr}.h.

use std::collections::BTreeMap;
use std::net::IpAddr;

use tresse_fabric::id::Vid;
use tresse_fabric::reconcile::{LinkKind, ObservedAddress, ObservedLink};
use tresse_fabric::units::Mac;

use super::super::channel::{DumpError, Tables};
use super::super::message::{Attribute, Attributes, Malformed, word, write_attribute};
use super::Names;

/// A link as dumped, before indices become names.
#[derive(Default)]
struct RawLink {
    index: u32,
    flags: u32,
    name: String,
    mac: Option<Mac>,
    mtu: u32,
    parent: Option<u32>,
    master: Option<u32>,
    alias: Option<String>,
    kind: String,
    vid: Option<u16>,
    vlan_protocol: u16,
    foreign_parent: bool,
}

pub(super) fn links(
    channel: &mut impl Tables,
) -> Result<(BTreeMap<String, ObservedLink>, Names), DumpError> {
    const IFINFOMSG: usize = 16;
    const IFLA_EXT_MASK: u16 = 29;
    const RTEXT_FILTER_SKIP_STATS: u32 = 8;
    const IFF_UP: u32 = 1;
    const IFF_RUNNING: u32 = 1 << 6;
    const IFF_LOWER_UP: u32 = 1 << 16;
    const CARRIER: u32 = IFF_LOWER_UP | IFF_RUNNING;
    const ETH_P_8021Q: u16 = 0x8100;

    let mut body = vec![0; IFINFOMSG];
    write_attribute(&mut body, IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    let mut raw = Vec::new();
    channel.dump(libc::RTM_GETLINK, &body, |message| {
        let attributes = Attributes::after(message.payload, IFINFOMSG, "ifinfomsg")?;
        let mut link = RawLink {
            index: word(message.payload, 4),
            flags: word(message.payload, 8),
            ..RawLink::default()
        };
        for attribute in attributes {
            link_attribute(&mut link, &attribute?)?;
        }
        raw.push(link);
        Ok(())
    })?;
    let names = Names(raw.iter().map(|l| (l.index, l.name.clone())).collect());
    let mut links = BTreeMap::new();
    for link in &raw {
        let master = link.master.map(|m| names.name(m)).transpose()?.map(str::to_owned);
        let alias = link.alias.clone();
        let mut observed = ObservedLink {
            index: link.index,
            kind: None,
            mac: link.mac,
            mtu: link.mtu,
            up: link.flags & IFF_UP != 0,
            carrier: link.flags & CARRIER == CARRIER,
            alias,
            master,
            lower: link
                .parent
                .filter(|parent| !link.foreign_parent && *parent != 0)
                .and_then(|parent| names.name(parent).ok().map(str::to_owned)),
        };
        observed.kind = match (link.kind.as_str(), link.vid, link.parent) {
            ("vlan", Some(vid), Some(parent))
                if link.vlan_protocol == ETH_P_8021Q && !link.foreign_parent =>
            {
                Some(LinkKind::Vlan { parent: names.name(parent)?.to_owned(), vid: Vid(vid) })
            }
            ("dummy", ..) => Some(LinkKind::Dummy),
            ("tun", ..) => Some(LinkKind::Tun),
            ("bridge", ..)
                if observed.is_ours() && raw.iter().all(|l| l.master != Some(link.index)) =>
            {
                Some(LinkKind::Dummy)
            }
            _ => None,
        };
        links.insert(link.name.clone(), observed);
    }
    Ok((links, names))
}

fn link_attribute(link: &mut RawLink, attribute: &Attribute<'_>) -> Result<(), Malformed> {
    const IFLA_ADDRESS: u16 = 1;
    const IFLA_IFNAME: u16 = 3;
    const IFLA_MTU: u16 = 4;
    const IFLA_LINK: u16 = 5;
    const IFLA_MASTER: u16 = 10;
    const IFLA_LINKINFO: u16 = 18;
    const IFLA_IFALIAS: u16 = 20;
    const IFLA_LINK_NETNSID: u16 = 37;
    const IFLA_INFO_KIND: u16 = 1;
    const IFLA_INFO_DATA: u16 = 2;
    const IFLA_VLAN_ID: u16 = 1;
    const IFLA_VLAN_PROTOCOL: u16 = 5;

    match attribute.kind {
        IFLA_ADDRESS => link.mac = <[u8; 6]>::try_from(attribute.value).ok().map(Mac),
        IFLA_IFNAME => link.name = attribute.text(),
        IFLA_MTU => link.mtu = attribute.u32("IFLA_MTU")?,
        IFLA_LINK => link.parent = Some(attribute.u32("IFLA_LINK")?),
        IFLA_MASTER => link.master = Some(attribute.u32("IFLA_MASTER")?).filter(|m| *m != 0),
        IFLA_IFALIAS => link.alias = Some(attribute.text()),
        IFLA_LINK_NETNSID => link.foreign_parent = true,
        IFLA_LINKINFO => {
            let mut data = None;
            for info in Attributes(attribute.value) {
                let info = info?;
                match info.kind {
                    IFLA_INFO_KIND => link.kind = info.text(),
                    IFLA_INFO_DATA => data = Some(info.value),
                    _ => {}
                }
            }
            if let ("vlan", Some(data)) = (link.kind.as_str(), data) {
                for field in Attributes(data) {
                    let field = field?;
                    match field.kind {
                        IFLA_VLAN_ID => link.vid = Some(field.u16("IFLA_VLAN_ID")?),
                        IFLA_VLAN_PROTOCOL => {
                            link.vlan_protocol = u16::from_be(field.u16("IFLA_VLAN_PROTOCOL")?);
                        }
                        _ => {}
                    }
                }
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn addresses(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<(String, IpAddr), ObservedAddress>, DumpError> {
    const IFADDRMSG: usize = 8;
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    const IFA_PROTO: u16 = 11;

    let mut addresses = BTreeMap::new();
    channel.dump(libc::RTM_GETADDR, &[0; IFADDRMSG], |message| {
        let attributes = Attributes::after(message.payload, IFADDRMSG, "ifaddrmsg")?;
        let (mut address, mut local, mut protocol) = (None, None, 0);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                IFA_ADDRESS => address = attribute.address("IFA_ADDRESS").ok(),
                IFA_LOCAL => local = attribute.address("IFA_LOCAL").ok(),
                IFA_PROTO => protocol = attribute.u8("IFA_PROTO")?,
                _ => {}
            }
        }
        if let Some(address) = local.or(address) {
            let interface = names.name(word(message.payload, 4))?.to_owned();
            let len = message.payload[1];
            addresses.insert((interface, address), ObservedAddress { len, protocol });
        }
        Ok(())
    })?;
    Ok(addresses)
}

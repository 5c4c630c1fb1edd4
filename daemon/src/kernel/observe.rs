//! Reads what the kernel holds into an [`Observed`]; changes nothing, decides nothing.
//!
//! Six dumps with strict checking (links, addresses, neighbours, nexthops, routes of both
//! families), read in place: no allocation per route of ours. A dump that the kernel interrupted,
//! or an object on an interface that appeared meanwhile, starts the whole observation again.
//! Source: rtnetlink(7), include/uapi/linux/{if_link,if_addr,neighbour,rtnetlink}.h.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;

use tresse_fabric::id::Vid;
use tresse_fabric::reconcile::{
    LinkKind, Observed, ObservedAddress, ObservedLink, ObservedNeighbour, ObservedNexthop,
    ObservedRoute, PROTOCOL,
};
use tresse_fabric::units::{Mac, Prefix};

use super::channel::{Channel, DumpError, Tables};
use super::message::{Attribute, Attributes, Malformed, Message, half, word, write_attribute};
use super::nexthop::{self, Nexthop};
use super::sysctl;

/// How often an observation is begun before it is given up.
const ATTEMPTS: u32 = 8;

/// Why the kernel's state could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The netlink socket could not be opened, written or read.
    #[error("read {table} over a netlink socket")]
    Socket {
        /// The table.
        table: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A dump was refused or its replies could not be read.
    #[error("dump {table}{}", text.as_deref().map(|t| format!(" ({t})")).unwrap_or_default())]
    Dump {
        /// The table.
        table: &'static str,
        /// The kernel's extended-ACK text.
        text: Option<String>,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// A reply was malformed.
    #[error("dump {table}")]
    Malformed {
        /// The table.
        table: &'static str,
        /// What was wrong.
        #[source]
        source: Malformed,
    },
    /// The tables changed during every attempt.
    #[error("dump {table}: the kernel's tables changed during each of {ATTEMPTS} attempts")]
    Unstable {
        /// The table that changed last.
        table: &'static str,
    },
    /// A sysctl exists but cannot be read.
    #[error("read /proc/sys/{key}")]
    Sysctl {
        /// Path below `/proc/sys`.
        key: String,
        /// The error.
        #[source]
        source: io::Error,
    },
}

/// Reads links, addresses, permanent neighbours, nexthop objects and the unicast routes of the
/// main table of the calling thread's network namespace, and the sysctls named (paths below
/// `/proc/sys`; one that does not exist is left out).
///
/// # Errors
/// As [`ObserveError`] lists; a partial observation is never returned.
pub fn observe<'a>(
    sysctl_keys: impl IntoIterator<Item = &'a str>,
) -> Result<Observed, ObserveError> {
    let mut attempt = 1;
    let mut observed = loop {
        match look() {
            Err((table, DumpError::Interrupted)) if attempt == ATTEMPTS => {
                return Err(ObserveError::Unstable { table });
            }
            Err((_, DumpError::Interrupted)) => attempt += 1,
            Err((table, DumpError::Io(source))) => {
                return Err(ObserveError::Socket { table, source });
            }
            Err((table, DumpError::Malformed(source))) => {
                return Err(ObserveError::Malformed { table, source });
            }
            Err((table, DumpError::Kernel(source, text))) => {
                return Err(ObserveError::Dump { table, text, source });
            }
            Ok(observed) => break observed,
        }
    };
    for key in sysctl_keys {
        match sysctl::read(key) {
            Ok(Some(value)) => {
                observed.sysctls.insert(key.to_owned(), value);
            }
            Ok(None) => {}
            Err(source) => return Err(ObserveError::Sysctl { key: key.to_owned(), source }),
        }
    }
    Ok(observed)
}

type TableError = (&'static str, DumpError);

fn look() -> Result<Observed, TableError> {
    tables(&mut Channel::open().map_err(|e| ("links", e.into()))?)
}

/// Interface names by ifindex.
struct Names(HashMap<u32, String>);

impl Names {
    /// An index without a name belongs to an interface that came after the dump of links.
    fn name(&self, index: u32) -> Result<&str, DumpError> {
        self.0.get(&index).map(String::as_str).ok_or(DumpError::Interrupted)
    }
}

/// All tables as one source dumps them, without the sysctls.
pub(super) fn tables(source: &mut impl Tables) -> Result<Observed, TableError> {
    let (links, names) = links(source).map_err(|e| ("links", e))?;
    Ok(Observed {
        links,
        addresses: addresses(source, &names).map_err(|e| ("addresses", e))?,
        neighbours: neighbours(source, &names).map_err(|e| ("neighbours", e))?,
        nexthops: nexthops(source, &names).map_err(|e| ("nexthops", e))?,
        routes: routes(source, &names).map_err(|e| ("routes", e))?,
        sysctls: BTreeMap::new(),
    })
}

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

fn links(channel: &mut impl Tables) -> Result<(BTreeMap<String, ObservedLink>, Names), DumpError> {
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
        };
        observed.kind = match (link.kind.as_str(), link.vid, link.parent) {
            ("vlan", Some(vid), Some(parent))
                if link.vlan_protocol == ETH_P_8021Q && !link.foreign_parent =>
            {
                Some(LinkKind::Vlan { parent: names.name(parent)?.to_owned(), vid: Vid(vid) })
            }
            ("dummy", ..) => Some(LinkKind::Dummy),
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

fn addresses(
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

fn neighbours(
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
pub(super) const NDMSG: usize = 12;
/// A neighbour that never expires.
pub(super) const NUD_PERMANENT: u16 = 0x80;
/// NDA_DST.
pub(super) const NDA_DST: u16 = 1;

/// A neighbour message.
pub(super) struct RawNeighbour {
    pub ifindex: u32,
    pub state: u16,
    pub address: Option<IpAddr>,
    pub mac: Option<Mac>,
    pub protocol: u8,
}

/// Reads an `RTM_NEWNEIGH` or `RTM_DELNEIGH`.
pub(super) fn neighbour(message: &Message<'_>) -> Result<RawNeighbour, Malformed> {
    const NDA_LLADDR: u16 = 2;
    const NDA_PROTOCOL: u16 = 12;

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

fn nexthops(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<u32, ObservedNexthop>, DumpError> {
    let mut nexthops = BTreeMap::new();
    channel.dump(nexthop::RTM_GETNEXTHOP, &nexthop::DUMP, |message| {
        let nexthop = Nexthop::parse(message.payload)?;
        let interface = nexthop.ifindex.map(|i| names.name(i)).transpose()?.map(str::to_owned);
        let observed = ObservedNexthop {
            protocol: nexthop.protocol,
            interface,
            via: nexthop.via,
            labels: nexthop.labels,
            group: nexthop.group,
        };
        nexthops.insert(nexthop.id, observed);
        Ok(())
    })?;
    Ok(nexthops)
}

/// A route and its key.
type Keyed = ((Prefix, u32), ObservedRoute);

/// Bytes of `struct rtmsg`.
const RTMSG: usize = 12;

fn routes(
    channel: &mut impl Tables,
    names: &Names,
) -> Result<BTreeMap<(Prefix, u32), ObservedRoute>, DumpError> {
    let mut routes = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut body = [0; RTMSG];
        body[0] = family as u8;
        body[4] = libc::RT_TABLE_MAIN;
        body[7] = libc::RTN_UNICAST;
        let result = channel.dump(libc::RTM_GETROUTE, &body, |message| {
            if let Some(route) = route(message, names)? {
                routes.push(route);
            }
            Ok(())
        });
        match result {
            // The main table comes into being with its first route.
            Err(DumpError::Kernel(source, _)) if source.raw_os_error() == Some(libc::ENOENT) => {}
            Err(DumpError::Kernel(source, _))
                if matches!(source.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP)) => {
            }
            result => result?,
        }
    }
    routes.sort_by_key(|(key, route): &Keyed| (*key, route.protocol != PROTOCOL));
    routes.dedup_by_key(|(key, _)| *key);
    Ok(routes.into_iter().collect())
}

fn route(message: &Message<'_>, names: &Names) -> Result<Option<Keyed>, DumpError> {
    const RTA_DST: u16 = 1;
    const RTA_OIF: u16 = 4;
    const RTA_PRIORITY: u16 = 6;
    const RTA_PREFSRC: u16 = 7;
    const RTA_METRICS: u16 = 8;
    const RTA_NH_ID: u16 = 30;
    const RTAX_MTU: u16 = 2;
    const RTAX_ADVMSS: u16 = 8;

    let payload = message.payload;
    let attributes = Attributes::after(payload, RTMSG, "rtmsg")?;
    let (table, kind) = (payload[4], payload[7]);
    if message.kind != libc::RTM_NEWROUTE
        || table != libc::RT_TABLE_MAIN
        || kind != libc::RTN_UNICAST
    {
        return Ok(None);
    }
    let unspecified = match i32::from(payload[0]) {
        libc::AF_INET => IpAddr::from([0; 4]),
        libc::AF_INET6 => IpAddr::from([0; 16]),
        _ => return Ok(None),
    };
    let mut prefix = Prefix { address: unspecified, len: payload[1] };
    let (mut metric, mut oif) = (0, None);
    let mut route = ObservedRoute {
        protocol: payload[5],
        nexthop: None,
        interface: None,
        src: None,
        mtu: None,
        advmss: None,
    };
    for attribute in attributes {
        let attribute = attribute?;
        match attribute.kind {
            RTA_DST => prefix.address = attribute.address("RTA_DST")?,
            RTA_OIF => oif = Some(attribute.u32("RTA_OIF")?),
            RTA_PRIORITY => metric = attribute.u32("RTA_PRIORITY")?,
            RTA_PREFSRC => route.src = Some(attribute.address("RTA_PREFSRC")?),
            RTA_NH_ID => route.nexthop = Some(attribute.u32("RTA_NH_ID")?),
            RTA_METRICS => {
                for value in Attributes(attribute.value) {
                    let value = value?;
                    match value.kind {
                        RTAX_MTU => route.mtu = Some(value.u32("RTAX_MTU")?),
                        RTAX_ADVMSS => route.advmss = Some(value.u32("RTAX_ADVMSS")?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if route.nexthop.is_none() {
        route.interface = oif.map(|i| names.name(i)).transpose()?.map(str::to_owned);
    }
    Ok(Some(((prefix, metric), route)))
}

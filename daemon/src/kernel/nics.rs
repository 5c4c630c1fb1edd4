//! The NICs of this host: Ethernet interfaces that nothing but a driver stands behind, or one end of a
//! veth pair. Source: include/uapi/linux/if_link.h.

use std::io;

use tresse_fabric::reconcile::ALIAS_PREFIX;
use tresse_fabric::units::Mac;

use super::channel::{Channel, DumpError};
use super::message::{Attributes, half, word, write_attribute};

/// A NIC of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNic {
    /// Its name.
    pub name: String,
    /// Its number.
    pub ifindex: u32,
    /// Its MAC.
    pub mac: Option<Mac>,
    /// Is it set up?
    pub up: bool,
    /// Has it carrier?
    pub carrier: bool,
    /// How often it lost its carrier so far (IFLA_CARRIER_DOWN_COUNT).
    pub losses: u32,
}

/// How often a list is begun before it is given up.
const ATTEMPTS: u32 = 8;

/// The NICs in the calling thread's network namespace, in the order of their numbers. One dump of all
/// interfaces.
///
/// # Errors
/// What netlink says.
pub fn nics() -> io::Result<Vec<HostNic>> {
    let mut channel = Channel::open()?;
    for _ in 0..ATTEMPTS {
        match list(&mut channel) {
            Err(DumpError::Interrupted) => {}
            Err(DumpError::Kernel(error, _) | DumpError::Io(error)) => return Err(error),
            Err(other) => return Err(io::Error::other(other)),
            Ok(nics) => return Ok(nics),
        }
    }
    Err(io::Error::other("the interfaces changed during every attempt to list them"))
}

fn list(channel: &mut Channel) -> Result<Vec<HostNic>, DumpError> {
    const IFINFOMSG: usize = 16;
    const IFLA_ADDRESS: u16 = 1;
    const IFLA_IFNAME: u16 = 3;
    const IFLA_LINKINFO: u16 = 18;
    const IFLA_IFALIAS: u16 = 20;
    const IFLA_EXT_MASK: u16 = 29;
    const IFLA_CARRIER_DOWN_COUNT: u16 = 48;
    const IFLA_INFO_KIND: u16 = 1;
    const RTEXT_FILTER_SKIP_STATS: u32 = 8;
    const ARPHRD_ETHER: u16 = 1;
    const IFF_UP: u32 = 1;
    const IFF_LOWER_UP: u32 = 1 << 16;

    let mut body = vec![0; IFINFOMSG];
    write_attribute(&mut body, IFLA_EXT_MASK, &RTEXT_FILTER_SKIP_STATS.to_ne_bytes());
    let mut nics = Vec::new();
    channel.dump(libc::RTM_GETLINK, &body, |message| {
        let attributes = Attributes::after(message.payload, IFINFOMSG, "ifinfomsg")?;
        let flags = word(message.payload, 8);
        let mut nic = HostNic {
            name: String::new(),
            ifindex: word(message.payload, 4),
            mac: None,
            up: flags & IFF_UP != 0,
            carrier: flags & IFF_LOWER_UP != 0,
            losses: 0,
        };
        let mut is_nic = half(message.payload, 2) == ARPHRD_ETHER;
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                IFLA_ADDRESS => nic.mac = attribute.value.try_into().map(Mac).ok(),
                IFLA_IFNAME => nic.name = attribute.text(),
                IFLA_IFALIAS => is_nic &= !attribute.text().starts_with(ALIAS_PREFIX),
                IFLA_CARRIER_DOWN_COUNT => {
                    nic.losses = attribute.u32("IFLA_CARRIER_DOWN_COUNT")?;
                }
                IFLA_LINKINFO => {
                    for info in Attributes(attribute.value) {
                        let info = info?;
                        is_nic &= info.kind != IFLA_INFO_KIND || info.text() == "veth";
                    }
                }
                _ => {}
            }
        }
        if is_nic {
            nics.push(nic);
        }
        Ok(())
    })?;
    nics.sort_by_key(|nic| nic.ifindex);
    Ok(nics)
}

//! Lists this host's NICs: Ethernet interfaces with a driver of their own (no bridge, VLAN or other
//! virtual link), and ends of veth pairs. Source: include/uapi/linux/if_link.h.

use std::io;

use netlink_packet_route::link::{InfoKind, LinkFlags};
use tresse_base::units::Mac;
use tresse_reconcile::ALIAS_PREFIX;

use super::channel::{Channel, DumpError};
use super::link::{self, Link};

/// A NIC of this host with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNic {
    /// Its name.
    pub name: String,
    /// Its ifindex.
    pub ifindex: u32,
    /// Its MAC address.
    pub mac: Option<Mac>,
    /// Is it set up?
    pub up: bool,
    /// Does it have carrier?
    pub carrier: bool,
    /// Number of carrier losses so far (IFLA_CARRIER_DOWN_COUNT).
    pub losses: u32,
}

/// How often an interrupted list is started again before giving up.
const ATTEMPTS: u32 = 8;

/// Lists the NICs of the calling thread's network namespace in the order of ifindex, from one dump
/// of all interfaces. NICs are Ethernet interfaces with a driver of their own, and veth ends, but
/// no interface that this project created.
///
/// # Errors
/// Netlink's error.
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
    let mut nics = Vec::new();
    channel.dump(libc::RTM_GETLINK, &link::dump(), |message| {
        let link = Link::parse(message.payload)?;
        let ours = link.alias.as_ref().is_some_and(|alias| alias.starts_with(ALIAS_PREFIX));
        let driven = matches!(link.kind, None | Some(InfoKind::Veth));
        if link.ethernet && driven && !ours {
            nics.push(HostNic {
                ifindex: link.ifindex,
                mac: link.mac,
                up: link.is_up(),
                carrier: link.flags.contains(LinkFlags::LowerUp),
                losses: link.carrier_losses,
                name: link.name,
            });
        }
        Ok(())
    })?;
    nics.sort_by_key(|nic| nic.ifindex);
    Ok(nics)
}

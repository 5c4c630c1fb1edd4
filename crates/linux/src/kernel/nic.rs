//! Reads what the forwarding engine needs to know of a NIC: ifindex, MAC address, MTU, and whether
//! a queueing discipline delays its frames (K13).

use std::io;

use tresse_base::units::Mac;

use super::channel::{Channel, DumpError};
use super::filter::{self, Qdisc};
use super::link::{self, Carried, Link};

/// State of a NIC as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicState {
    /// Its ifindex; a new NIC with the same name would have another.
    pub ifindex: u32,
    /// Its MAC address; `None` if it is not Ethernet.
    pub mac: Option<Mac>,
    /// The largest payload that it can send.
    pub mtu_bytes: u32,
    /// Is it set up?
    pub up: bool,
    /// Does it have a queueing discipline that may delay frames on purpose: any but noqueue, mq,
    /// fq_codel and pfifo_fast?
    pub shaped: bool,
}

/// Reads the state of `interface` in the calling thread's network namespace.
///
/// Uses our own socket, because if the crate rtnetlink does not know one attribute of the NIC's
/// driver, it drops the whole reply and then waits for ever.
///
/// # Errors
/// `ENODEV` if there is no such interface; otherwise netlink's error.
pub fn nic(interface: &str) -> io::Result<NicState> {
    let mut channel = Channel::open()?;
    let link = channel
        .ask(libc::RTM_GETLINK, &link::named(interface), |message| Link::parse(message.payload))
        .map_err(flat)?;
    let shaped = shaped(&mut channel, link.ifindex).map_err(flat)?;
    Ok(NicState {
        ifindex: link.ifindex,
        mac: link.mac,
        mtu_bytes: link.mtu_bytes,
        up: link.is_up(),
        shaped,
    })
}

/// What `interface` has carried so far.
///
/// # Errors
/// As [`nic`].
pub fn carried(interface: &str) -> io::Result<Carried> {
    let request = link::named(interface);
    let link = Channel::open()?
        .ask(libc::RTM_GETLINK, &request, |message| Link::parse(message.payload))
        .map_err(flat)?;
    Ok(link.carried)
}

fn shaped(channel: &mut Channel, ifindex: u32) -> Result<bool, DumpError> {
    const PLAIN: [&str; 4] = ["noqueue", "mq", "fq_codel", "pfifo_fast"];

    let mut shaped = false;
    channel.dump(libc::RTM_GETQDISC, &filter::qdiscs(ifindex), |message| {
        let qdisc = Qdisc::parse(message.payload)?;
        let sends = qdisc.ifindex == ifindex && !qdisc.ingress;
        shaped |= sends && !PLAIN.contains(&qdisc.kind.as_str());
        Ok(())
    })?;
    Ok(shaped)
}

fn flat(error: DumpError) -> io::Error {
    match error {
        DumpError::Kernel(error, _) | DumpError::Io(error) => error,
        other => io::Error::other(other),
    }
}

//! What the forwarding engine has to know of one NIC: its number, MAC, MTU, and whether something
//! shapes what it sends (K13).

use std::io;

use tresse_base::units::Mac;

use super::channel::{Channel, DumpError};
use super::filter::{self, Qdisc};
use super::link::{self, Link};

/// A NIC as the kernel has it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicState {
    /// Its number, which another NIC of the same name would not have.
    pub ifindex: u32,
    /// Its MAC; `None` for what is no Ethernet.
    pub mac: Option<Mac>,
    /// The largest payload that it sends.
    pub mtu_bytes: u32,
    /// Is it set up?
    pub up: bool,
    /// Has it a queueing discipline that may hold frames back on purpose? Everything does, but for
    /// noqueue, mq, fq_codel and pfifo_fast.
    pub shaped: bool,
}

/// Looks at `interface` in the calling thread's network namespace.
///
/// Over our own socket: rtnetlink decodes the whole answer, drops it where one attribute of the NIC's
/// driver is unknown to it, and then waits for ever.
///
/// # Errors
/// `ENODEV` where there is none; otherwise what netlink says.
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

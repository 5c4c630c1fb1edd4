//! What the forwarding engine has to know of one NIC: its number, MAC, MTU, and whether something
//! shapes what it sends (K13).

use std::io;

use tresse_fabric::units::Mac;

use super::channel::{Channel, DumpError};
use super::message::{Attributes, word, write_attribute};

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
/// # Errors
/// `ENODEV` where there is none; otherwise what netlink says.
pub fn nic(interface: &str) -> io::Result<NicState> {
    const IFINFOMSG: usize = 16;
    const IFF_UP: u32 = 1;
    const IFLA_ADDRESS: u16 = 1;
    const IFLA_IFNAME: u16 = 3;
    const IFLA_MTU: u16 = 4;

    let mut channel = Channel::open()?;
    let mut body = vec![0; IFINFOMSG];
    write_attribute(&mut body, IFLA_IFNAME, &[interface.as_bytes(), &[0]].concat());
    let mut state = channel
        .ask(libc::RTM_GETLINK, &body, |message| {
            let attributes = Attributes::after(message.payload, IFINFOMSG, "ifinfomsg")?;
            let (ifindex, flags) = (word(message.payload, 4), word(message.payload, 8));
            let up = flags & IFF_UP != 0;
            let mut state = NicState { ifindex, mac: None, mtu_bytes: 0, up, shaped: false };
            for attribute in attributes {
                let attribute = attribute?;
                match (attribute.kind, attribute.value.len()) {
                    (IFLA_ADDRESS, _) => state.mac = attribute.value.try_into().map(Mac).ok(),
                    (IFLA_MTU, 4) => state.mtu_bytes = word(attribute.value, 0),
                    _ => {}
                }
            }
            Ok(state)
        })
        .map_err(flat)?;
    state.shaped = shaped(&mut channel, state.ifindex).map_err(flat)?;
    Ok(state)
}

fn shaped(channel: &mut Channel, ifindex: u32) -> Result<bool, DumpError> {
    const TCMSG: usize = 20;
    const TCA_KIND: u16 = 1;
    const TC_H_INGRESS: u32 = 0xffff_fff1;
    const PLAIN: [&[u8]; 4] = [b"noqueue\0", b"mq\0", b"fq_codel\0", b"pfifo_fast\0"];

    let mut shaped = false;
    let mut request = [0; TCMSG];
    request[4..8].copy_from_slice(&ifindex.to_ne_bytes());
    channel.dump(libc::RTM_GETQDISC, &request, |message| {
        let attributes = Attributes::after(message.payload, TCMSG, "tcmsg")?;
        if word(message.payload, 4) != ifindex || word(message.payload, 12) == TC_H_INGRESS {
            return Ok(());
        }
        for attribute in attributes {
            let attribute = attribute?;
            shaped |= attribute.kind == TCA_KIND && !PLAIN.contains(&attribute.value);
        }
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

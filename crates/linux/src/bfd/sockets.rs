//! The sockets of the BFD sessions, all `AF_PACKET`: an unprivileged program can neither take what they receive nor put
//! anything into it, and no route and no `rp_filter` keeps it out. One for each interface sends and receives nothing;
//! one for each family receives.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, LinkAddr, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use pnet::packet::ethernet::EtherTypes;
use socket2::{Domain, Protocol, Socket, Type};
use tresse_liveness::received::{Arrival, decode};
use tresse_liveness::{MULTI_HOP_PORT, Seal, Sending, Watching, frame};

use super::error::BfdError;
use super::filter::{LONGEST, filter};
use super::ports::Ports;
use crate::sys::packet;

/// Of control traffic, before what users send (`TC_PRIO_CONTROL`).
const PRIORITY: i32 = 7;
/// What is taken from a socket at once: more than it holds in normal times, so that nobody is judged to
/// be silent whose packets wait; and a flood of one kind keeps nothing else waiting for long.
const ROUND: usize = 4096;
/// Room for the packets of thousands of sessions that arrive while this host is kept waiting.
const WAITING_BYTES: usize = 4 << 20;

/// All sockets of the BFD sessions.
pub(super) struct Sockets {
    identifier: u16,
    /// One for each interface: what one does not take keeps none of the others waiting.
    out: RefCell<BTreeMap<u32, Socket>>,
    /// For IPv4 and for IPv6.
    incoming: [Socket; 2],
    /// The interfaces that they take frames from.
    interfaces: BTreeSet<u32>,
    ports: Ports,
}

/// What came in, and how long ago by the kernel's stamp; none if it was damaged.
pub(super) struct Received<'a> {
    pub content: Option<Arrival<'a>>,
    pub age: Duration,
}

impl Sockets {
    /// Opens them; `identifier` is that of our echoes. Nothing is received before [`watch`](Self::watch).
    pub fn open(identifier: u16) -> Result<Self, BfdError> {
        let refused = |step| move |source| BfdError::Refused { step, source };
        // Refused here rather than with the first packet.
        outgoing().map_err(refused("open a packet socket"))?;
        let listen = |ipv4| incoming(ipv4, identifier).map_err(refused("listen for packets"));
        Ok(Self {
            identifier,
            out: RefCell::default(),
            incoming: [listen(true)?, listen(false)?],
            interfaces: BTreeSet::new(),
            ports: Ports::default(),
        })
    }

    /// Receives by the interfaces, and for the addresses, of what is watched.
    ///
    /// # Errors
    /// If the kernel takes no other filter: then the one before stays, and this is tried again the next time.
    pub fn watch(&mut self, watching: &Watching) -> io::Result<()> {
        let ends = |(here, _): (IpAddr, IpAddr)| here;
        let paths = watching.paths.iter();
        let own = paths.flat_map(|path| [Some(path.source), path.nodes.map(ends)]).flatten();
        self.ports.hold(&own.collect());
        let interfaces: BTreeSet<u32> =
            watching.interfaces.values().map(|interface| interface.ifindex).collect();
        if self.interfaces != interfaces {
            self.interfaces.clear();
            for (socket, ipv4) in self.incoming.iter().zip([true, false]) {
                let attach = |of| socket.attach_filter(&filter(ipv4, self.identifier, of));
                // Of many interfaces the filter may be longer than the kernel takes (`optmem_max`). The sessions look at
                // the interface too.
                attach(Some(&interfaces)).or_else(|_| attach(None))?;
            }
            self.interfaces = interfaces;
        }
        Ok(())
    }

    /// Closes the sockets of interfaces that are not watched: each change of plans brings interfaces with new
    /// numbers.
    pub fn close_others(&mut self, watched: &BTreeSet<u32>) {
        self.out.get_mut().retain(|ifindex, _| watched.contains(ifindex));
    }

    /// How many ports of BFD are another program's.
    pub fn taken(&self) -> u64 {
        self.ports.taken
    }

    /// Descriptors that become readable.
    pub fn descriptors(&self) -> impl Iterator<Item = &Socket> {
        self.incoming.iter()
    }

    /// Hands what has come in to `take`, a bounded number of each kind.
    pub fn receive(&self, mut take: impl FnMut(Received<'_>)) {
        let mut buffer = [0; LONGEST];
        let mut any = false;
        for socket in &self.incoming {
            // An error (an interface has gone) is taken with the call.
            for _ in 0..ROUND {
                let Ok(Some(message)) = message(socket, &mut buffer) else { break };
                let Message { ifindex, age, length } = message;
                any = true;
                take(Received { content: decode(&buffer[..length], ifindex), age });
            }
        }
        if any {
            self.ports.empty();
        }
    }

    /// Sends one thing.
    pub fn send(&self, sending: &Sending, seal: &mut Seal) -> io::Result<()> {
        match sending {
            Sending::Planned(headers, content) => {
                let ifindex = headers.ifindex;
                let mut out = self.out.borrow_mut();
                let socket = match out.entry(ifindex) {
                    Entry::Occupied(open) => open.into_mut(),
                    Entry::Vacant(none) => none.insert(outgoing()?),
                };
                let frame = frame::planned(headers, content, seal);
                let sent = packet::send_by(socket.as_fd(), ifindex, &frame);
                if sent.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENXIO)) {
                    out.remove(&ifindex);
                }
                sent
            }
            Sending::Routed { source: from, destination: to, ends, packet } => {
                let domain = if from.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
                let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
                socket.set_nonblocking(true)?;
                if from.is_ipv4() {
                    socket.set_ttl_v4(255)?;
                } else {
                    socket.set_unicast_hops_v6(255)?;
                }
                socket.bind(&SocketAddr::new(*from, 0).into())?;
                let packet = seal.sign(*ends, MULTI_HOP_PORT, &packet.emit());
                socket.send_to(&packet, &SocketAddr::new(*to, MULTI_HOP_PORT).into())?;
                Ok(())
            }
        }
    }
}

fn outgoing() -> io::Result<Socket> {
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    setsockopt(&socket, sockopt::Priority, &PRIORITY)?;
    Ok(socket)
}

/// Takes nothing in before it gets a filter for some interface.
fn incoming(ipv4: bool, identifier: u16) -> io::Result<Socket> {
    let ethertype = if ipv4 { EtherTypes::Ipv4 } else { EtherTypes::Ipv6 };
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
    socket.set_nonblocking(true)?;
    packet::offload_header(socket.as_fd())?;
    socket.attach_filter(&filter(ipv4, identifier, Some(&BTreeSet::new())))?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    // Without the capability the socket has the usual room.
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &WAITING_BYTES);
    packet::bind(socket.as_fd(), 0, ethertype.0)?;
    Ok(socket)
}

/// What the kernel says of a received frame, and its length in bytes.
struct Message {
    ifindex: u32,
    /// How long ago it was received.
    age: Duration,
    length: usize,
}

/// The next frame; none where there is none.
fn message(socket: &Socket, buffer: &mut [u8]) -> nix::Result<Option<Message>> {
    let mut space = nix::cmsg_space!(libc::timespec);
    let mut parts = [IoSliceMut::new(buffer)];
    let descriptor = socket.as_raw_fd();
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = match recvmsg::<LinkAddr>(descriptor, &mut parts, Some(&mut space), flags) {
        Err(Errno::EAGAIN) => return Ok(None),
        other => other?,
    };
    let mut age = Duration::ZERO;
    for more in message.cmsgs()? {
        if let ControlMessageOwned::ScmTimestampns(stamp) = more {
            age = since(stamp);
        }
    }
    let ifindex = message.address.map_or(0, |from| from.ifindex() as u32);
    Ok(Some(Message { ifindex, age, length: message.bytes }))
}

/// The time since a stamp of the kernel; zero if the clock was set back meanwhile.
fn since(stamp: TimeSpec) -> Duration {
    let now = ClockId::CLOCK_REALTIME.now().map(Duration::from).unwrap_or_default();
    now.saturating_sub(stamp.into())
}

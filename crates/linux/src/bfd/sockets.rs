//! The sockets of the BFD sessions. Frames are sent through `AF_PACKET` sockets that receive
//! nothing. Control packets are received by UDP sockets, which also report TTL and arrival
//! interface, and echo replies by raw sockets that receive nothing else.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use tresse_liveness::{Datagram, Echo, MULTI_HOP_PORT, SINGLE_HOP_PORT, Sending};

use super::error::BfdError;
use super::frame;
use crate::sys::packet;

/// Of control traffic, before what users send (`TC_PRIO_CONTROL`).
const PRIORITY: i32 = 7;
/// What is taken from a socket at once: more than it holds in normal times, so that nobody is judged to
/// be silent whose packets wait; and a flood of one kind keeps nothing else waiting for long.
const ROUND: usize = 4096;
/// Room for the packets of thousands of sessions that arrive while this host is kept waiting.
const WAITING_BYTES: usize = 4 << 20;
/// Longer than any control packet or answer.
const LONG: usize = 256;

/// All sockets of the BFD sessions.
pub(super) struct Sockets {
    /// One for each interface: what one does not take keeps none of the others waiting.
    out: RefCell<BTreeMap<u32, Socket>>,
    control: Vec<Control>,
    echoes: Vec<(Socket, bool)>,
}

struct Control {
    socket: Socket,
    multi_hop: bool,
}

/// What came in, and how long ago by the kernel's stamp.
pub(super) struct Received<'a> {
    pub content: Arrival<'a>,
    pub age: Duration,
}

pub(super) enum Arrival<'a> {
    Control(Datagram<'a>),
    Echo(Echo),
}

impl Sockets {
    /// Opens them; `identifier` is that of our echoes.
    pub fn open(identifier: u16) -> Result<Self, BfdError> {
        let refused = |step| move |source| BfdError::Refused { step, source };
        // Refused here rather than with the first packet.
        outgoing().map_err(refused("open a packet socket"))?;
        let mut sockets = Self { out: RefCell::default(), control: Vec::new(), echoes: Vec::new() };
        for ipv4 in [true, false] {
            for port in [SINGLE_HOP_PORT, MULTI_HOP_PORT] {
                match control(ipv4, port) {
                    Ok(socket) => {
                        let multi_hop = port == MULTI_HOP_PORT;
                        sockets.control.push(Control { socket, multi_hop });
                    }
                    Err(error) if !ipv4 && is_absent(&error) => {}
                    Err(source) if source.raw_os_error() == Some(libc::EADDRINUSE) => {
                        return Err(BfdError::Taken { port });
                    }
                    Err(source) => return Err(refused("listen for control packets")(source)),
                }
            }
            match echoes(ipv4, identifier) {
                Ok(socket) => sockets.echoes.push((socket, ipv4)),
                Err(error) if !ipv4 && is_absent(&error) => {}
                Err(source) => return Err(refused("listen for answers to echoes")(source)),
            }
        }
        Ok(sockets)
    }

    /// Descriptors that become readable.
    pub fn descriptors(&self) -> impl Iterator<Item = &Socket> {
        let control = self.control.iter().map(|control| &control.socket);
        control.chain(self.echoes.iter().map(|(socket, _)| socket))
    }

    /// Hands what has come in to `take`, a bounded number of each kind.
    pub fn receive(&self, mut take: impl FnMut(Received<'_>)) {
        let mut buffer = [0; LONG];
        for Control { socket, multi_hop } in &self.control {
            // An error (ICMP says that a port is closed) is taken with the call.
            for _ in 0..ROUND {
                let Ok(Some(message)) = message(socket, &mut buffer) else { break };
                let Message { ifindex, source, ttl, age, length } = message;
                let payload = &buffer[..length];
                let multi_hop = *multi_hop;
                let datagram = Datagram { ifindex, source, ttl, multi_hop, payload };
                take(Received { content: Arrival::Control(datagram), age });
            }
        }
        for (socket, ipv4) in &self.echoes {
            for _ in 0..ROUND {
                let Ok(Some(Message { age, length, .. })) = message(socket, &mut buffer) else {
                    break;
                };
                if let Some(echo) = frame::answer(&buffer[..length], *ipv4) {
                    take(Received { content: Arrival::Echo(echo), age });
                }
            }
        }
    }

    /// Sends one thing.
    pub fn send(&self, sending: &Sending) -> io::Result<()> {
        match sending {
            Sending::Planned(headers, content) => {
                let ifindex = headers.ifindex;
                let mut out = self.out.borrow_mut();
                let socket = match out.entry(ifindex) {
                    Entry::Occupied(open) => open.into_mut(),
                    Entry::Vacant(none) => none.insert(outgoing()?),
                };
                let frame = frame::planned(headers, content);
                let sent = packet::send_by(socket.as_fd(), ifindex, &frame);
                if sent.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ENXIO)) {
                    out.remove(&ifindex);
                }
                sent
            }
            Sending::Routed { source: from, destination: to, packet } => {
                let domain = if from.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
                let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
                socket.set_nonblocking(true)?;
                if from.is_ipv4() {
                    socket.set_ttl_v4(255)?;
                } else {
                    socket.set_unicast_hops_v6(255)?;
                }
                socket.bind(&SocketAddr::new(*from, 0).into())?;
                socket.send_to(&packet.emit(), &SocketAddr::new(*to, MULTI_HOP_PORT).into())?;
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

/// A kernel without the family.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

fn control(ipv4: bool, port: u16) -> io::Result<Socket> {
    let domain = if ipv4 { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    patient(&socket)?;
    let any: IpAddr = if ipv4 {
        setsockopt(&socket, sockopt::Ipv4PacketInfo, &true)?;
        setsockopt(&socket, sockopt::Ipv4RecvTtl, &true)?;
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        socket.set_only_v6(true)?;
        setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
        setsockopt(&socket, sockopt::Ipv6RecvHopLimit, &true)?;
        Ipv6Addr::UNSPECIFIED.into()
    };
    socket.bind(&SocketAddr::new(any, port).into())?;
    Ok(socket)
}

/// Hears answers with our identifier alone: other programs ask too.
fn echoes(ipv4: bool, identifier: u16) -> io::Result<Socket> {
    const LDX_MSH: u16 = 0xb1;
    const LD_B_IND: u16 = 0x50;
    const LD_H_IND: u16 = 0x48;
    const LDX_IMM: u16 = 0x01;
    const JEQ_K: u16 = 0x15;
    const RET_K: u16 = 0x06;
    let (domain, protocol, answer) = if ipv4 {
        (Domain::IPV4, Protocol::ICMPV4, 0)
    } else {
        (Domain::IPV6, Protocol::ICMPV6, 129)
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_nonblocking(true)?;
    patient(&socket)?;
    // The IPv4 header comes first, the IPv6 one does not.
    let header = SockFilter::new(if ipv4 { LDX_MSH } else { LDX_IMM }, 0, 0, 0);
    socket.attach_filter(&[
        header,
        SockFilter::new(LD_B_IND, 0, 0, 0),
        SockFilter::new(JEQ_K, 0, 3, answer),
        SockFilter::new(LD_H_IND, 0, 0, 4),
        SockFilter::new(JEQ_K, 0, 1, identifier.into()),
        SockFilter::new(RET_K, 0, 0, LONG as u32),
        SockFilter::new(RET_K, 0, 0, 0),
    ])?;
    Ok(socket)
}

/// What the kernel says of a received message, and its length in bytes.
struct Message {
    /// 0 where the socket does not ask for it, as for the TTL.
    ifindex: u32,
    source: IpAddr,
    ttl: u8,
    /// How long ago it was received.
    age: Duration,
    length: usize,
}

/// The next message; none where there is none.
fn message(socket: &Socket, buffer: &mut [u8]) -> nix::Result<Option<Message>> {
    let mut space = nix::cmsg_space!(
        libc::in6_pktinfo,
        libc::in_pktinfo,
        libc::c_int,
        libc::c_int,
        libc::timespec
    );
    let mut parts = [IoSliceMut::new(buffer)];
    let descriptor = socket.as_raw_fd();
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = match recvmsg::<SockaddrStorage>(descriptor, &mut parts, Some(&mut space), flags)
    {
        Err(Errno::EAGAIN) => return Ok(None),
        other => other?,
    };
    let (mut ifindex, mut ttl, mut age) = (0, 0, Duration::ZERO);
    for more in message.cmsgs()? {
        match more {
            ControlMessageOwned::Ipv4PacketInfo(info) => ifindex = info.ipi_ifindex as u32,
            ControlMessageOwned::Ipv6PacketInfo(info) => ifindex = info.ipi6_ifindex,
            ControlMessageOwned::Ipv4Ttl(value) | ControlMessageOwned::Ipv6HopLimit(value) => {
                ttl = u8::try_from(value).unwrap_or(0);
            }
            ControlMessageOwned::ScmTimestampns(stamp) => age = since(stamp),
            _ => {}
        }
    }
    let address = message.address.as_ref();
    let ipv4 = address.and_then(|a| a.as_sockaddr_in()).map(|a| IpAddr::from(a.ip()));
    let ipv6 = || address.and_then(|a| a.as_sockaddr_in6()).map(|a| IpAddr::from(a.ip()));
    // One without a source is as good as one from nobody: no session has such a peer.
    let source = ipv4.or_else(ipv6).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
    Ok(Some(Message { ifindex, source, ttl, age, length: message.bytes }))
}

/// The time since a stamp of the kernel; zero if the clock was set back meanwhile.
fn since(stamp: TimeSpec) -> Duration {
    let now = ClockId::CLOCK_REALTIME.now().map(Duration::from).unwrap_or_default();
    now.saturating_sub(stamp.into())
}

/// Room for what arrives while this host is kept waiting, and stamps of when it did.
fn patient(socket: &Socket) -> io::Result<()> {
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    // Without the capability the socket has the usual room.
    let _ = setsockopt(socket, sockopt::RcvBufForce, &WAITING_BYTES);
    Ok(())
}

//! Holds the UDP ports of BFD, so that this host's kernel does not answer packets of BFD with "port unreachable". What
//! comes in by them is thrown away: packets are received by `AF_PACKET`, since any program can take a UDP port before us.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind::AddrInUse};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};
use tresse_liveness::{MULTI_HOP_PORT, SINGLE_HOP_PORT};

/// What is thrown away at once.
const ROUND: usize = 4096;

/// Sockets bound to the ports of BFD, as far as no other program has them.
#[derive(Default)]
pub(super) struct Ports {
    held: BTreeMap<SocketAddr, Socket>,
    /// How many could not be had when they were last asked for.
    pub taken: u64,
}

impl Ports {
    /// Holds both ports on all addresses of a family, or, where somebody else has one, on each of these.
    pub fn hold(&mut self, addresses: &BTreeSet<IpAddr>) {
        self.held.retain(|at, _| at.ip().is_unspecified() || addresses.contains(&at.ip()));
        self.taken = 0;
        for port in [SINGLE_HOP_PORT, MULTI_HOP_PORT] {
            for any in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
                if self.bind(SocketAddr::new(any, port)).is_ok() {
                    continue;
                }
                for address in addresses.iter().filter(|a| a.is_ipv4() == any.is_ipv4()) {
                    let bound = self.bind(SocketAddr::new(*address, port));
                    self.taken += u64::from(bound.is_err_and(|e| e.kind() == AddrInUse));
                }
            }
        }
    }

    /// Throws away what has come in.
    pub fn empty(&self) {
        for socket in self.held.values() {
            (0..ROUND).take_while(|_| socket.recv(&mut []).is_ok()).for_each(drop);
        }
    }

    /// Binds an address and a port. Never with `SO_REUSEADDR` or `SO_REUSEPORT`: who binds the same then, and later,
    /// gets all.
    fn bind(&mut self, at: SocketAddr) -> io::Result<()> {
        if self.held.contains_key(&at) {
            return Ok(());
        }
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        if at.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&at.into())?;
        self.held.insert(at, socket);
        Ok(())
    }
}

//! Finds the hosts that have TCP connections to given ports of this one, by sock_diag(7).
//!
//! Established connections of all namespaces stand in one hash table, with half a million buckets on a
//! large machine. The kernel walks all of it for each dump, and for each read of `/proc/net/tcp` again:
//! that took most of the processor time of a daemon whose plan changed. Where the namespace has no TCP
//! socket at all, which `/proc/net/sockstat` counts, nothing is walked.
//! Source: include/uapi/linux/{sock_diag,inet_diag}.h.
//!
//! | offset | bytes | field of `inet_diag_req_v2`, and of `inet_diag_msg` |
//! |---|---|---|
//! | 0 | 1 | family |
//! | 1 | 1 | protocol; state |
//! | 4 | 4 | states (request only: the ids begin at 8 there) |
//! | 4 | 4 | local and remote port, big endian |
//! | 8 | 16 | local address |
//! | 24 | 16 | remote address |

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{fs, io};

use netlink_sys::protocols::NETLINK_SOCK_DIAG;

use super::channel::{Channel, DumpError};
use super::message::{MalformedMessage, Message};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// Bytes of `struct inet_diag_req_v2`.
const REQUEST: usize = 56;
/// TCP_ESTABLISHED of include/net/tcp_states.h, and its bit.
const ESTABLISHED: u8 = 1;
const ESTABLISHED_BIT: u32 = 1 << ESTABLISHED;

/// The remote addresses of established TCP connections to these local ports, in the calling thread's
/// network namespace; of each address family at most `most`.
///
/// # Errors
/// The socket's; `NotFound` if the kernel has no sock_diag for TCP.
pub fn tcp_peers(ports: &BTreeSet<u16>, most: usize) -> io::Result<BTreeSet<IpAddr>> {
    let mut peers = BTreeSet::new();
    for (family, file, counter) in [
        (libc::AF_INET, "/proc/thread-self/net/sockstat", "TCP:"),
        (libc::AF_INET6, "/proc/thread-self/net/sockstat6", "TCP6:"),
    ] {
        let counted = fs::read_to_string(file).ok().and_then(|text| in_use(&text, counter));
        if counted != Some(0) {
            peers.extend(of_family(family as u8, ports, most)?);
        }
    }
    Ok(peers)
}

fn of_family(family: u8, ports: &BTreeSet<u16>, most: usize) -> io::Result<BTreeSet<IpAddr>> {
    let mut request = [0; REQUEST];
    request[0] = family;
    request[1] = libc::IPPROTO_TCP as u8;
    request[4..8].copy_from_slice(&ESTABLISHED_BIT.to_ne_bytes());
    let mut peers = BTreeSet::new();
    let mut channel = Channel::of(NETLINK_SOCK_DIAG)?;
    let dumped = channel.dump(SOCK_DIAG_BY_FAMILY, &request, |message| {
        if message.kind == SOCK_DIAG_BY_FAMILY && peers.len() < most {
            peers.extend(peer(message, ports)?);
        }
        Ok(())
    });
    match dumped {
        // Whatever changes meanwhile, what is established all the time is there.
        Ok(()) | Err(DumpError::Interrupted) => Ok(peers),
        Err(DumpError::Kernel(error, _) | DumpError::Io(error)) => Err(error),
        Err(error @ DumpError::Malformed(_)) => Err(io::Error::other(error.to_string())),
    }
}

/// The remote address of an established connection to one of the ports.
fn peer(message: &Message<'_>, ports: &BTreeSet<u16>) -> Result<Option<IpAddr>, MalformedMessage> {
    let Some((fixed, _)) = message.payload.split_first_chunk::<40>() else {
        return Err(MalformedMessage::without("inet_diag_msg"));
    };
    let port = u16::from_be_bytes([fixed[4], fixed[5]]);
    if fixed[1] != ESTABLISHED || !ports.contains(&port) {
        return Ok(None);
    }
    let remote = fixed.last_chunk::<16>().copied().unwrap_or_default();
    let [a, b, c, d, ..] = remote;
    Ok(Some(match i32::from(fixed[0]) {
        libc::AF_INET => Ipv4Addr::new(a, b, c, d).into(),
        _ => {
            let address = Ipv6Addr::from(remote);
            address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
        }
    }))
}

/// The number behind `inuse` in the line of `counter`: sockets of this namespace.
fn in_use(text: &str, counter: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(counter))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == "inuse")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn peers_of_a_port_are_found_in_both_families() {
        for host in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let at = (host.parse::<IpAddr>().unwrap(), 0);
            // A machine without IPv6 has no such address.
            let Ok(listener) = TcpListener::bind(at) else { continue };
            let port = listener.local_addr().unwrap().port();
            let ports = BTreeSet::from([port]);
            assert_eq!(tcp_peers(&ports, 64).unwrap(), BTreeSet::new());
            let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let accepted = listener.accept().unwrap();
            let expected = there.local_addr().unwrap().ip().to_canonical();
            assert_eq!(tcp_peers(&ports, 64).unwrap(), BTreeSet::from([expected]), "{host}");
            assert_eq!(tcp_peers(&BTreeSet::from([port + 1]), 64).unwrap(), BTreeSet::new());
            assert_eq!(tcp_peers(&ports, 0).unwrap(), BTreeSet::new());
            drop((there, accepted));
        }
    }

    #[test]
    fn sockets_in_use_are_counted_by_the_line_of_their_family() {
        let text =
            "sockets: used 9\nTCP: inuse 5 orphan 0 tw 1 alloc 7 mem 2\nUDP: inuse 3 mem 1\n";
        assert_eq!(in_use(text, "TCP:"), Some(5));
        assert_eq!(in_use("TCP6: inuse 0\nUDP6: inuse 1\n", "TCP6:"), Some(0));
        assert_eq!(in_use(text, "TCP6:"), None);
        assert_eq!(in_use("TCP: orphan 0\n", "TCP:"), None);
    }

    #[test]
    fn a_message_that_is_cut_off_is_refused() {
        let message = Message { kind: 20, flags: 0, sequence: 1, payload: &[2; 39] };
        assert!(peer(&message, &BTreeSet::new()).is_err());
    }
}

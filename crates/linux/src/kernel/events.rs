//! Reports that the kernel's tables (links, addresses, routes ...) changed, but not how: the engine
//! then observes them again. The kernel deletes nexthops and routes without an event, and RTM_DEL*
//! messages cannot be relied on (K1).
//!
//! It has a socket of its own, because rtnetlink logs an error for each nexthop message. Events are
//! collected for 5 ms after the first one, or 1 ms if a link changed (K23: when a NIC loses
//! carrier, each of its VLAN interfaces has an event).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use netlink_packet_route::link::LinkFlags;
use netlink_packet_route::route::{RouteHeader, RouteType};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};
use tresse_reconcile::{PROTOCOL, TABLES};

use super::channel::raise_receive_queue;
use super::filter::Qdisc;
use super::link::Link;
use super::message::{Message, Messages};
use super::nexthop::{RTM_DELNEXTHOP, RTM_NEWNEXTHOP};
use super::observe::{is_for_icmp, neighbour};
use super::route::Route;
use super::rule::{RT_TABLE_LOCAL, SeenRule};
use super::table_route::SeenTableRoute;
use super::unreachable;
use crate::sys::readiness;

const COALESCE: Duration = Duration::from_millis(5);
/// Shorter wait after a link change: paths that the daemon itself forwards stand still until it
/// knows.
const COALESCE_LINKS: Duration = Duration::from_millis(1);
/// Number of datagrams read without a pause. A burst up to this size is reported as one change,
/// however slow the processor is (K23); an endless flood does not block the thread.
const DATAGRAMS: usize = 4096;
const RECEIVE_BYTES: usize = 64 * 1024;
const RECEIVE_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// RTNLGRP_LINK, NEIGH, TC, IPV4_IFADDR, IPV4_ROUTE, IPV4_RULE, IPV6_IFADDR, IPV6_ROUTE, IPV6_RULE,
/// IPV4_NETCONF, IPV6_NETCONF, MPLS_ROUTE, NEXTHOP.
const GROUPS: [u32; 13] = [1, 3, 4, 5, 7, 8, 9, 11, 19, 24, 25, 27, 32];

/// A kind of change in the kernel's tables, as [`KernelEvents`] reports it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum KernelEvent {
    /// An interface was added, removed or changed, carrier included.
    LinkChanged,
    /// An address was added, removed or changed.
    AddressChanged,
    /// A permanent neighbour, or one of ours, was added, removed or changed.
    NeighbourChanged,
    /// A unicast route of the main table or of a table of ours, or a label route, was added,
    /// removed or changed.
    RouteChanged,
    /// A policy rule that leads to a table of ours, or bears our protocol number, was added or
    /// removed.
    RuleChanged,
    /// A nexthop object or group was added, removed or changed.
    NexthopChanged,
    /// An ingress qdisc or a filter was added, removed or changed.
    FilterChanged,
    /// Forwarding, or what else the kernel tells of the sysctls of interfaces, was switched.
    SysctlChanged,
    /// Events were lost (ENOBUFS): anything may have changed.
    Overrun,
}

/// Subscription to kernel events of one network namespace. Dropping it ends the subscription.
pub struct KernelEvents {
    socket: AsyncFd<OwnedFd>,
    buffer: Vec<u8>,
    pending: BTreeSet<KernelEvent>,
    carriers: BTreeMap<String, bool>,
    until: Option<Instant>,
}

impl KernelEvents {
    /// Subscribes in the calling thread's network namespace. Changes from now on are reported, so
    /// subscribe before the first observation.
    ///
    /// # Errors
    /// The socket's, and `Other` outside a tokio runtime with I/O.
    pub fn subscribe() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.set_non_blocking(true)?;
        raise_receive_queue(&socket, RECEIVE_QUEUE_BYTES)?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        Ok(Self {
            socket: readiness::watch(socket.as_fd().try_clone_to_owned()?)?,
            buffer: vec![0; RECEIVE_BYTES],
            pending: BTreeSet::new(),
            carriers: BTreeMap::new(),
            until: None,
        })
    }

    /// The interfaces that have changed since the last call: `false` for one that is set up and has no carrier.
    pub fn take_carriers(&mut self) -> BTreeMap<String, bool> {
        std::mem::take(&mut self.carriers)
    }

    /// Returns what changed since the last call: at least one event, each kind once, in the order
    /// of [`KernelEvent`]. Waits for the first event and then 5 ms more. Cancel safe: no event is lost.
    ///
    /// # Errors
    /// The socket's; the subscription is then of no further use.
    pub async fn next(&mut self) -> io::Result<Vec<KernelEvent>> {
        loop {
            if let Some(until) = self.until {
                tokio::select! {
                    biased;
                    guard = self.socket.readable() => guard?.retain_ready(),
                    () = sleep_until(until) => {
                        self.until = None;
                        return Ok(std::mem::take(&mut self.pending).into_iter().collect());
                    }
                }
            } else {
                self.socket.readable().await?.retain_ready();
            }
            for _ in 0..DATAGRAMS {
                if !self.drain()? {
                    break;
                }
            }
            if !self.pending.is_empty() {
                let links = self.pending.contains(&KernelEvent::LinkChanged);
                let until = Instant::now() + if links { COALESCE_LINKS } else { COALESCE };
                self.until = Some(self.until.map_or(until, |before| before.min(until)));
            }
            if self.until.is_some_and(|until| until <= Instant::now()) {
                self.until = None;
                return Ok(std::mem::take(&mut self.pending).into_iter().collect());
            }
        }
    }

    /// Reads one datagram of events into `pending`, or clears readiness and returns false.
    fn drain(&mut self) -> io::Result<bool> {
        let Self { socket, buffer, pending, carriers, .. } = self;
        let received = socket.try_io(tokio::io::Interest::READABLE, |socket| {
            recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT).map_err(io::Error::from)
        });
        match received {
            Ok(length) => {
                for message in Messages(&buffer[..length]).flatten() {
                    pending.extend(event(&message));
                    let is_link = matches!(message.kind, libc::RTM_NEWLINK | libc::RTM_DELLINK);
                    if is_link && let Ok(link) = Link::parse(message.payload) {
                        let is_gone = message.kind == libc::RTM_DELLINK || !link.is_up();
                        let has_carrier = is_gone || link.flags.contains(LinkFlags::LowerUp);
                        carriers.insert(link.name, has_carrier);
                    }
                }
                Ok(true)
            }
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {
                pending.insert(KernelEvent::Overrun);
                Ok(true)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// The event that a message stands for, if it concerns us.
pub(super) fn event(message: &Message<'_>) -> Option<KernelEvent> {
    match message.kind {
        libc::RTM_NEWLINK | libc::RTM_DELLINK => Some(KernelEvent::LinkChanged),
        libc::RTM_NEWADDR | libc::RTM_DELADDR => Some(KernelEvent::AddressChanged),
        RTM_NEWNEXTHOP | RTM_DELNEXTHOP => Some(KernelEvent::NexthopChanged),
        libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH => {
            // The deletion of a permanent neighbour is reported with the state FAILED; ours still
            // have their protocol number then.
            // `bridge` makes forwarding entries with NUD_NOARP too.
            let neighbour = neighbour(message).ok()?;
            let is_permanent = u16::from(neighbour.state) & libc::NUD_PERMANENT != 0;
            (is_permanent || neighbour.protocol == PROTOCOL)
                .then_some(KernelEvent::NeighbourChanged)
        }
        libc::RTM_NEWROUTE | libc::RTM_DELROUTE => {
            let header = RouteHeader::parse(message.payload).ok()?;
            let main = header.table == RouteHeader::RT_TABLE_MAIN;
            let route = || Route::with(&header, message.payload).ok();
            let ours = match header.kind {
                RouteType::Unicast if main => true,
                RouteType::Unicast => {
                    let route = route()?;
                    is_for_icmp(&route) || SeenTableRoute::of(&route).is_some()
                }
                RouteType::Unreachable => main && unreachable::prefix(&route()?).is_some(),
                _ => false,
            };
            ours.then_some(KernelEvent::RouteChanged)
        }
        libc::RTM_NEWRULE | libc::RTM_DELRULE => {
            let seen = SeenRule::parse(message.payload).ok()?;
            let local = seen.table == RT_TABLE_LOCAL;
            (seen.protocol == PROTOCOL || TABLES.contains(&seen.table) || local)
                .then_some(KernelEvent::RuleChanged)
        }
        // `ip_forward` switches every interface, and tells of each.
        libc::RTM_NEWNETCONF => Some(KernelEvent::SysctlChanged),
        libc::RTM_NEWTFILTER | libc::RTM_DELTFILTER => Some(KernelEvent::FilterChanged),
        libc::RTM_NEWQDISC | libc::RTM_DELQDISC => {
            let qdisc = Qdisc::parse(message.payload).ok()?;
            qdisc.takes_filters().then_some(KernelEvent::FilterChanged)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, payload: &[u8]) -> Message<'_> {
        Message { kind, flags: 0, sequence: 0, payload }
    }

    #[test]
    fn only_what_concerns_us_is_an_event() {
        let main = [2, 32, 0, 0, 254, 78, 0, 1, 0, 0, 0, 0];
        assert_eq!(event(&message(libc::RTM_NEWROUTE, &main)), Some(KernelEvent::RouteChanged));
        let local = [2, 32, 0, 0, 255, 2, 0, 2, 0, 0, 0, 0];
        assert_eq!(event(&message(libc::RTM_NEWROUTE, &local)), None);
        let mut refusing = vec![2, 16, 0, 0, 254, 78, 0, 7, 0, 0, 0, 0, 8, 0, 6, 0];
        refusing.extend(u32::MAX.to_ne_bytes());
        assert_eq!(event(&message(libc::RTM_DELROUTE, &refusing)), Some(KernelEvent::RouteChanged));
        refusing[16..].copy_from_slice(&[0; 4]);
        assert_eq!(event(&message(libc::RTM_DELROUTE, &refusing)), None);
        let mut table_route = vec![2, 32, 0, 0, 252, 78, 0, 1, 0, 0, 0, 0, 8, 0, 15, 0];
        table_route.extend(TABLES.start.to_ne_bytes());
        assert_eq!(
            event(&message(libc::RTM_DELROUTE, &table_route)),
            Some(KernelEvent::RouteChanged)
        );
        table_route[16..].copy_from_slice(&TABLES.end.to_ne_bytes());
        assert_eq!(event(&message(libc::RTM_DELROUTE, &table_route)), None);
        let mut rule = vec![2, 0, 0, 0, 252, 0, 0, 1, 0, 0, 0, 0, 8, 0, 15, 0];
        rule.extend(TABLES.start.to_ne_bytes());
        assert_eq!(event(&message(libc::RTM_DELRULE, &rule)), Some(KernelEvent::RuleChanged));
        rule[16..].copy_from_slice(&TABLES.end.to_ne_bytes());
        assert_eq!(event(&message(libc::RTM_DELRULE, &rule)), None);
        let permanent = [2, 0, 0, 0, 1, 0, 0, 0, 0x80, 0, 0, 0];
        assert_eq!(
            event(&message(libc::RTM_NEWNEIGH, &permanent)),
            Some(KernelEvent::NeighbourChanged)
        );
        let stale = [2, 0, 0, 0, 1, 0, 0, 0, 0x04, 0, 0, 0];
        assert_eq!(event(&message(libc::RTM_NEWNEIGH, &stale)), None);
        assert_eq!(event(&message(libc::RTM_NEWNEIGH, &[2])), None);
        assert_eq!(event(&message(libc::RTM_NEWROUTE, &[2])), None);
    }
}

//! Sends single requests for links, addresses, policy rules and routes with the crate rtnetlink;
//! each reply is awaited before the next request.
//!
//! What that crate does not do well uses our own socket ([`super::channel`]): dumps, because its
//! streams hide `NLM_F_DUMP_INTR` and netlink-proto drops messages that it cannot decode; routes
//! and neighbours by the ten thousand, which it sends one by one; nexthop objects, MPTCP endpoints,
//! label routes and tc filters, for which it has no requests.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use netlink_packet_core::ErrorMessage;
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressMessage, AddressProtocol, AddressScope,
};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute, LinkMessage,
};
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::rule::RuleMessage;
use netlink_sys::AsyncSocket as _;
use rtnetlink::{
    AddressMessageBuilder, Error, Handle, LinkBridge, LinkDummy, LinkMessageBuilder, LinkUnspec,
    LinkVlan, LinkVxlan, RouteMessageBuilder,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tresse_base::id::Vid;
use tresse_base::kernel::{TUNNEL_PORT, TUNNEL_VNI};
use tresse_base::units::Mac;
use tresse_reconcile::{NODE_INTERFACE, PROTOCOL};

use super::channel::extended;
use super::message::HEADER;

/// Longest wait for a reply. The kernel replies while the request is being sent, but that can last:
/// all network namespaces share one lock (the RTNL), so many daemons on one busy machine, as in a
/// lab, wait for each other.
const ANSWER: Duration = Duration::from_secs(60);

/// The kernel's reply to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// 0: success.
    pub errno: i32,
    /// Text of the extended ACK (NLMSGERR_ATTR_MSG).
    pub text: Option<String>,
}

/// Error: the request was sent, but its reply was lost.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Lost(pub String);

/// A connection of rtnetlink in one network namespace. Dropping it closes the connection.
pub(super) struct Requests {
    handle: Handle,
    connection: JoinHandle<()>,
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Requests {
    /// Connects in the calling thread's network namespace, within a tokio runtime.
    ///
    /// # Errors
    /// The socket's.
    pub fn open() -> io::Result<Self> {
        let (mut connection, handle, _) = rtnetlink::new_connection()?;
        let socket = connection.socket_mut().socket_mut();
        socket.set_ext_ack(true)?;
        // Then the error holds no copy of the request, and its text begins at a known offset.
        socket.set_cap_ack(true)?;
        Ok(Self { handle, connection: tokio::spawn(connection) })
    }

    /// Creates an interface; never replaces one of the same name (`NLM_F_EXCL`).
    pub async fn add_link(&self, message: LinkMessage) -> Result<Answer, Lost> {
        answer(self.handle.link().add(message).execute()).await
    }

    /// Changes an existing interface.
    pub async fn change_link(&self, message: LinkMessage) -> Result<Answer, Lost> {
        answer(self.handle.link().change(message).execute()).await
    }

    /// Deletes an interface.
    pub async fn delete_link(&self, ifindex: u32) -> Result<Answer, Lost> {
        answer(self.handle.link().del(ifindex).execute()).await
    }

    /// Adds an address; never replaces an existing one (`NLM_F_EXCL`).
    pub async fn add_address(&self, message: AddressMessage) -> Result<Answer, Lost> {
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let mut request = self.handle.address().add(0, unspecified, 0);
        *request.message_mut() = message;
        answer(request.execute()).await
    }

    /// Deletes an address.
    pub async fn delete_address(&self, message: AddressMessage) -> Result<Answer, Lost> {
        answer(self.handle.address().del(message).execute()).await
    }

    /// Adds a policy rule; never replaces an existing one (`NLM_F_EXCL`).
    pub async fn add_rule(&self, message: RuleMessage) -> Result<Answer, Lost> {
        let mut request = self.handle.rule().add();
        *request.message_mut() = message;
        answer(request.execute()).await
    }

    /// Deletes a policy rule.
    pub async fn delete_rule(&self, message: RuleMessage) -> Result<Answer, Lost> {
        answer(self.handle.rule().del(message).execute()).await
    }

    /// Returns the route that packets to `peer` take.
    ///
    /// # Errors
    /// The kernel's, if there is no route; `TimedOut` if no readable reply came.
    pub async fn route_get(&self, peer: IpAddr) -> io::Result<RouteMessage> {
        let to = match peer {
            IpAddr::V4(peer) => {
                RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(peer, 32).build()
            }
            IpAddr::V6(peer) => {
                RouteMessageBuilder::<Ipv6Addr>::new().destination_prefix(peer, 128).build()
            }
        };
        let mut routes = std::pin::pin!(self.handle.route().get(to).execute());
        match timeout(ANSWER, routes.try_next()).await {
            Ok(Ok(Some(route))) => Ok(route),
            Ok(Err(Error::NetlinkError(error))) => Err(error.to_io()),
            Ok(Err(other)) => Err(io::Error::other(other)),
            Ok(Ok(None)) | Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, LATE)),
        }
    }
}

const LATE: &str = "no answer that can be read came within 5 s";

/// Awaits the reply to one request.
async fn answer(request: impl Future<Output = Result<(), Error>>) -> Result<Answer, Lost> {
    match timeout(ANSWER, request).await {
        Ok(Ok(())) => Ok(Answer { errno: 0, text: None }),
        Ok(Err(Error::NetlinkError(error))) => refused(&error),
        Ok(Err(other)) => Err(Lost(other.to_string())),
        Err(_) => Err(Lost(LATE.into())),
    }
}

/// The errno and text of an error reply: its payload is the request's header, then the extended
/// ACK.
fn refused(error: &ErrorMessage) -> Result<Answer, Lost> {
    let errno = error.raw_code().wrapping_neg();
    let text = match error.header.len() {
        0..HEADER => None,
        _ => extended(&error.header, HEADER).map_err(|malformed| Lost(malformed.to_string()))?,
    };
    Ok(Answer { errno, text })
}

/// Runs `work` to its end on a thread of its own, in the network namespace of the caller. The
/// caller may be a task of a tokio runtime, which must not be entered twice.
///
/// # Errors
/// If the thread or its runtime cannot be made.
pub(super) fn blocking<T: Send>(work: impl AsyncFnOnce() -> T + Send) -> io::Result<T> {
    let run = || -> io::Result<T> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        Ok(runtime.block_on(work()))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("netlink".into()).spawn_scoped(scope, run)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The request that creates a VLAN interface.
pub(super) fn vlan(name: &str, parent: u32, vid: Vid, mtu: u32) -> LinkMessage {
    LinkVlan::new(name, parent, vid.0).mtu(mtu).build()
}

/// The request that creates a dummy interface.
pub(super) fn dummy(name: &str, mtu: u32) -> LinkMessage {
    LinkDummy::new(name).mtu(mtu).build()
}

/// The request that creates a bridge without ports, set down, in place of a dummy (K8).
pub(super) fn bridge(name: &str, mtu: u32) -> LinkMessage {
    LinkMessageBuilder::<LinkBridge>::new(name).mtu(mtu).build()
}

/// The request that creates a VXLAN interface that learns nothing and floods nothing (RFC 7348), between addresses of a family.
pub(super) fn vxlan(name: &str, mtu: u32, mac: Option<Mac>, ipv6: bool) -> LinkMessage {
    let link = LinkVxlan::new(name, TUNNEL_VNI).port(TUNNEL_PORT).learning(false).mtu(mtu);
    let link = if ipv6 { link.local6(Ipv6Addr::UNSPECIFIED) } else { link };
    match mac {
        Some(mac) => link.address(mac.0.to_vec()).build(),
        None => link.build(),
    }
}

/// The request that completes a new link: MTU, alias, and no link-local address, so that nothing is
/// flooded before the canary (K5). The kernel ignores alias and addrgenmode at creation.
pub(super) fn finished(name: &str, mtu: u32, alias: &str) -> LinkMessage {
    let link = LinkUnspec::new_with_name(name).mtu(mtu).alias(alias);
    if !Path::new("/proc/sys/net/ipv6/conf").exists() {
        return link.build();
    }
    let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let family = vec![AfSpecUnspec::Inet6(vec![mode])];
    link.append_extra_attribute(LinkAttribute::AfSpecUnspec(family)).build()
}

/// The request that changes MTU and alias, and the MAC address if there is one.
pub(super) fn changed(ifindex: u32, mtu: u32, alias: &str, mac: Option<Mac>) -> LinkMessage {
    let link = LinkUnspec::new_with_index(ifindex).mtu(mtu).alias(alias);
    match mac {
        Some(mac) => link.address(mac.0.to_vec()).build(),
        None => link.build(),
    }
}

/// The request that sets a link up or down.
pub(super) fn state(ifindex: u32, up: bool) -> LinkMessage {
    let link = LinkUnspec::new_with_index(ifindex);
    if up { link.up().build() } else { link.down().build() }
}

/// An address of ours. IFA_PROTO exists since Linux 5.18; older kernels ignore it, and the daemon's
/// state file keeps the mark instead.
pub(super) fn address(ifindex: u32, interface: &str, address: IpAddr) -> AddressMessage {
    let mut flags = AddressFlags::Noprefixroute;
    let mut message = match address {
        IpAddr::V4(address) => {
            AddressMessageBuilder::<Ipv4Addr>::new().index(ifindex).address(address, 32).build()
        }
        IpAddr::V6(address) => {
            flags |= AddressFlags::Nodad;
            AddressMessageBuilder::<Ipv6Addr>::new().index(ifindex).address(address, 128).build()
        }
    };
    message.header.scope = match address {
        IpAddr::V4(_) if interface != NODE_INTERFACE => AddressScope::Link,
        _ => AddressScope::Universe,
    };
    message.attributes.push(AddressAttribute::Flags(flags));
    message.attributes.push(AddressAttribute::Protocol(AddressProtocol::Other(PROTOCOL)));
    message
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::super::message::{bytes, write_attribute};
    use super::*;

    #[test]
    fn a_refusal_carries_errno_and_text() {
        let mut error = ErrorMessage::default();
        error.code = NonZero::new(-libc::EPERM);
        let expected =
            |text: Option<&str>| Answer { errno: libc::EPERM, text: text.map(str::to_owned) };
        assert_eq!(refused(&error).unwrap(), expected(None));
        error.header = vec![0; HEADER];
        assert_eq!(refused(&error).unwrap(), expected(None));
        write_attribute(&mut error.header, 1, b"no way\0");
        assert_eq!(refused(&error).unwrap(), expected(Some("no way")));
        error.header.push(1);
        assert!(refused(&error).is_err());
    }

    #[test]
    fn addresses_are_the_kernels_bytes() {
        let of = |interface: &str, text: &str| bytes(&address(3, interface, text.parse().unwrap()));
        #[rustfmt::skip]
        let expected = [
            2, 32, 0, 253, 3, 0, 0, 0,
            8, 0, 1, 0, 10, 78, 0, 1,
            8, 0, 2, 0, 10, 78, 0, 1,
            8, 0, 8, 0, 0, 2, 0, 0,
            5, 0, 11, 0, 78, 0, 0, 0,
        ];
        assert_eq!(of("eth0", "10.78.0.1"), expected);
        assert_eq!(of(NODE_INTERFACE, "10.78.0.1")[..8], [2, 32, 0, 0, 3, 0, 0, 0]);
        let ipv6 = of("eth0", "fd78::1");
        assert_eq!(ipv6[..8], [10, 128, 0, 0, 3, 0, 0, 0]);
        assert_eq!(ipv6[48..56], [8, 0, 8, 0, 2, 2, 0, 0], "nodad and noprefixroute");
    }

    #[test]
    fn links_are_asked_for_down_and_changed_by_their_state_alone() {
        for message in [vlan("v", 3, Vid(7), 1500), dummy("d", 1500), bridge("b", 1500)] {
            assert!(message.header.flags.is_empty());
        }
        for up in [true, false] {
            let message = state(3, up);
            assert_eq!((message.header.index, message.attributes.len()), (3, 0));
            assert_eq!(
                (message.header.flags.bits(), message.header.change_mask.bits()),
                (up.into(), 1)
            );
        }
    }

    #[test]
    fn blocking_work_runs_within_another_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(async { blocking(async || 7) });
        assert_eq!(answer.unwrap(), 7);
    }
}

//! Turns [`tresse_reconcile::Observed`] and [`tresse_reconcile::Operation`] into
//! netlink and back. Decides nothing: only `reconcile` compares, only this module executes.
//!
//! - [`observe`] reads everything that concerns us, [`execute`] carries out operations and says
//!   exactly which took effect, [`Events`] tells that something changed, [`carrier`] asks a
//!   driver, [`nic`] looks at one NIC, [`nics`] lists them, [`LldpSocket`] hears LLDP, [`AnnounceSocket`] sends and receives the announcements of
//!   one interface, [`label_support`] says what this kernel can do with labels, [`ways`] by which
//!   routes packets leave.
//! - All of it concerns the network namespace of the calling thread (at opening, for sockets).
//! - Calls other than `async` ones block until the kernel has answered.
//!
//! Links, addresses, policy rules and `route get` are asked for one by one through rtnetlink
//! (`requests`). Dumps and events come over our own socket (`channel`, `events`) and are decoded by
//! netlink-packet-route. Nexthop objects, MPTCP endpoints and tc filters, which the crates lack, are in
//! `nexthop`, `mptcp` and `filter`. Routes and neighbours go out in batches of many messages per system
//! call, written without allocation by `bulk`.

mod ahead;
mod announce;
mod bulk;
mod channel;
mod encode;
mod error;
mod events;
mod execute;
mod filter;
#[doc(hidden)]
pub mod fuzz;
mod label;
mod link;
mod lldp;
mod message;
mod mptcp;
mod nexthop;
mod nic;
mod nics;
mod observe;
mod requests;
mod route;
mod rule;
mod single;
mod support;
mod sysctl;
mod turn;
mod way;

use std::io;

pub use announce::{AnnounceError, AnnounceSocket};
pub use error::ExecuteError;
pub use events::{Event, Events};
pub use execute::{Outcome, Status, Tun, execute};
pub use lldp::LldpSocket;
pub use message::Malformed;
pub use nic::{NicState, nic};
pub use nics::{HostNic, nics};
pub use observe::{ObserveError, observe};
pub use support::{LabelSupport, NoKernelEngine, label_support};
pub use way::{Way, ways};

/// Has `interface` carrier, asked of its driver (ETHTOOL_GLINK)? `None`: no such interface, or the
/// driver cannot tell.
///
/// Opens a socket of the calling thread's network namespace each time; cheap enough for a poll of
/// a few NICs every 10 ms.
#[must_use]
pub fn carrier(interface: &str) -> Option<bool> {
    use std::os::fd::AsFd as _;
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::DGRAM, None).ok()?;
    crate::sys::ethtool::carrier(socket.as_fd(), interface).ok()
}

/// The ifindex of `interface` in the calling thread's network namespace.
fn ifindex(interface: &str) -> io::Result<u32> {
    Ok(nix::net::if_::if_nametoindex(interface)?)
}

//! Reads the kernel's objects into [`tresse_reconcile::Observed`], and carries out
//! [`tresse_reconcile::Operation`]s, over netlink. Decides nothing: `reconcile` compares, this module executes.
//!
//! - [`observe`] reads all objects that this project uses; [`execute`] carries out operations and
//!   reports which took effect; [`KernelEvents`] reports that something changed.
//! - [`carrier`], [`nic`] and [`nics`] read the state of NICs. [`LldpSocket`] and
//!   [`AnnounceSocket`] send and receive the daemon's own frames. [`label_support`] says what this
//!   kernel can do with labels, [`host_routes`] which routes packets take, [`tcp_peers`] who is
//!   connected to a port.
//! - All functions work in the network namespace of the calling thread (sockets: the one where they
//!   were opened).
//! - Functions that are not `async` block until the kernel has replied.
//!
//! Links, addresses, policy rules and `route get` are requested one by one through the crate
//! rtnetlink (`requests`). Dumps and events use our own socket (`channel`, `events`) and are
//! decoded by netlink-packet-route. Nexthop objects, MPTCP endpoints and tc filters, which the
//! crates lack, are in `nexthop`, `mptcp` and `filter`. Routes and neighbours are sent in batches
//! of many messages per system call, written without allocation by `bulk`.

mod ahead;
mod announce;
mod broadcast;
mod bulk;
mod channel;
mod encode;
mod error;
mod events;
mod execute;
mod filter;
#[doc(hidden)]
pub mod fuzz;
mod host_route;
mod label;
mod link;
mod lldp;
mod message;
mod mptcp;
mod nexthop;
mod nic;
mod nics;
mod observe;
mod outcome;
mod records;
mod requests;
mod route;
mod rule;
mod single;
mod support;
mod sysctl;
mod table_route;
mod tcp;
mod unreachable;

use std::io;

pub use announce::{AnnounceError, AnnounceSocket};
pub use broadcast::BroadcastSocket;
pub use error::ExecuteError;
pub use events::{KernelEvent, KernelEvents};
pub use execute::execute;
pub use host_route::{HostRoute, host_routes};
pub use link::Carried;
pub use lldp::LldpSocket;
pub use message::MalformedMessage;
pub use nic::{NicState, carried, nic};
pub use nics::{HostNic, nics};
pub use observe::{ObserveError, observe};
pub use outcome::{ExecutionOutcome, OperationStatus, Tun};
pub use records::RecordsSocket;
pub use support::{LabelSupport, NoKernelEngine, label_support};
pub use tcp::tcp_peers;

/// Returns whether `interface` has carrier according to its driver (ETHTOOL_GLINK); `None` if there
/// is no such interface or the driver cannot tell.
///
/// Opens a socket in the calling thread's network namespace at each call: cheap enough to poll a
/// few NICs every 10 ms.
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

//! The raw socket that sends and receives the announcements of one interface (K5, K17).
//!
//! It decides nothing: the engine says what to send and what a received frame means. The socket is
//! created with protocol 0, gets its filter, and is then bound to one ifindex, so that it never
//! queues a frame of another kind or interface. The frames are those of [`tresse_frame::announce`];
//! the kernel's VLAN interface adds and removes the tag.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use socket2::{Domain, Protocol, SockFilter, SockRef, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tresse_base::units::Mac;
use tresse_frame::announce::{Announcement, ETHERTYPE, GROUP, SIGNED_LEN, WireError};
use tresse_frame::keys::Keys;

use crate::bpf::{JEQ_K, LDH_ABS, RET_K};
use crate::sys::{packet, readiness};

/// Why a socket for announcements or LLDP could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// The interface does not exist.
    #[error("open a packet socket: there is no interface `{interface}`")]
    NoInterface {
        /// Its name.
        interface: String,
    },
    /// The kernel refused a step.
    #[error("open a packet socket on {interface}: {step} (CAP_NET_RAW is needed)")]
    Refused {
        /// The interface.
        interface: String,
        /// What was refused.
        step: &'static str,
        /// The error.
        #[source]
        source: io::Error,
    },
}

/// Sends and receives announcements (frames of EtherType 0x88B5 by which NICs make themselves
/// known) on one interface.
pub struct AnnounceSocket {
    socket: AsyncFd<OwnedFd>,
}

impl AnnounceSocket {
    /// Opens the socket on `interface` in the calling thread's network namespace. Needs a tokio
    /// runtime with I/O.
    ///
    /// # Errors
    /// See [`AnnounceError`].
    pub fn open(interface: &str) -> Result<Self, AnnounceError> {
        let socket = open(interface, ETHERTYPE, &[GROUP])?;
        Ok(Self { socket })
    }

    /// Sends one announcement, signed if the keys are to sign; `source` is the MAC address of the NIC.
    ///
    /// # Errors
    /// `ENETDOWN` while the interface is down, `ENOBUFS` if its queue is full.
    pub fn send(&self, source: Mac, announcement: &Announcement, keys: &Keys) -> io::Result<()> {
        let frame = announcement.signed(source, keys);
        let sent = SockRef::from(self.socket.get_ref()).send(&frame)?;
        if sent == frame.len() { Ok(()) } else { Err(io::Error::other("a frame was cut short")) }
    }

    /// Receives the next frame: its source MAC address and announcement, or why it is not one that is signed as the
    /// keys that are there then want it. Cancel safe.
    ///
    /// # Errors
    /// The socket's: `ENETDOWN` once if the interface goes down; the socket stays usable.
    pub async fn recv(
        &self,
        keys: &RefCell<Keys>,
    ) -> io::Result<Result<(Mac, Announcement), WireError>> {
        // More room than a frame needs, so that a longer one is noticed.
        let mut buffer = [0; 2 * SIGNED_LEN];
        let length = self
            .socket
            .async_io(Interest::READABLE, |socket| Ok(nix::unistd::read(socket, &mut buffer)?))
            .await?;
        Ok(Announcement::open(&buffer[..length], &keys.borrow()))
    }
}

/// Opens a raw socket that receives frames of one EtherType on one interface, including those to
/// the multicast addresses in `groups`.
pub(super) fn open(
    interface: &str,
    ethertype: u16,
    groups: &[Mac],
) -> Result<AsyncFd<OwnedFd>, AnnounceError> {
    open_with(interface, ethertype, &filter(ethertype), groups)
}

/// The same with a filter of its own.
pub(super) fn open_with(
    interface: &str,
    ethertype: u16,
    filter: &[SockFilter],
    groups: &[Mac],
) -> Result<AsyncFd<OwnedFd>, AnnounceError> {
    let refused = |step| {
        move |source| AnnounceError::Refused { interface: interface.to_owned(), step, source }
    };
    let ifindex = super::ifindex(interface)
        .map_err(|_| AnnounceError::NoInterface { interface: interface.to_owned() })?;
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))
        .map_err(refused("create an AF_PACKET socket"))?;
    socket.set_nonblocking(true).map_err(refused("set it non-blocking"))?;
    socket.attach_filter(filter).map_err(refused("attach the filter"))?;
    packet::ignore_outgoing(socket.as_fd()).map_err(refused("ignore outgoing frames"))?;
    for group in groups {
        packet::join_group(socket.as_fd(), ifindex, group.0).map_err(refused("join a group"))?;
    }
    packet::bind(socket.as_fd(), ifindex, ethertype).map_err(refused("bind"))?;
    readiness::watch(socket.into()).map_err(refused("register with the runtime"))
}

/// Classic BPF: accepts frames of one EtherType, drops all others.
fn filter(ethertype: u16) -> [SockFilter; 4] {
    [
        SockFilter::new(LDH_ABS, 0, 0, 12),
        SockFilter::new(JEQ_K, 0, 1, u32::from(ethertype)),
        SockFilter::new(RET_K, 0, 0, 0x0004_0000),
        SockFilter::new(RET_K, 0, 0, 0),
    ]
}

//! The socket over which one interface's LLDP comes in, and goes out where an operator asks for it. Frames are
//! those of [`tresse_frame::lldp`].

use std::io;
use std::os::fd::OwnedFd;

use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tresse_base::units::Mac;
use tresse_frame::lldp::{ETHERTYPE, GROUPS, Lldp, LldpError, MOST_BYTES};

use super::announce::{self, AnnounceError};

/// Hears LLDP on one interface.
pub struct LldpSocket {
    socket: AsyncFd<OwnedFd>,
}

impl LldpSocket {
    /// Opens the socket on `interface` of the calling thread's network namespace, within a tokio
    /// runtime with I/O.
    ///
    /// # Errors
    /// As [`AnnounceError`] lists.
    pub fn open(interface: &str) -> Result<Self, AnnounceError> {
        Ok(Self { socket: announce::open(interface, ETHERTYPE, &GROUPS)? })
    }

    /// Sends one frame from `source`, the MAC of the interface.
    ///
    /// # Errors
    /// `ENETDOWN` while the interface is down, `ENOBUFS` when its queue is full.
    pub fn send(&self, source: Mac, lldp: &Lldp) -> io::Result<()> {
        SockRef::from(self.socket.get_ref()).send(&lldp.emit(source)).map(drop)
    }

    /// The next frame: its source MAC and content, or why it is none. Cancel safe.
    ///
    /// # Errors
    /// The socket's: `ENETDOWN` once when the interface goes down; the socket stays usable.
    pub async fn recv(&self) -> io::Result<Result<(Mac, Lldp), LldpError>> {
        // Room for one byte more, so that a frame too long is seen as such.
        let mut buffer = [0; MOST_BYTES + 1];
        let length = self
            .socket
            .async_io(Interest::READABLE, |socket| Ok(nix::unistd::read(socket, &mut buffer)?))
            .await?;
        Ok(Lldp::parse(&buffer[..length]))
    }
}

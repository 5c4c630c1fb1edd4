//! The raw socket that receives the LLDP frames of one interface, and sends some when an operator
//! asks for it. Frames are those of [`tresse_frame::lldp`].

use std::io;
use std::os::fd::OwnedFd;

use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tresse_base::units::Mac;
use tresse_frame::lldp::{ETHERTYPE, GROUPS, Lldp, LldpError, MOST_BYTES};

use super::announce::{self, AnnounceError};

/// Receives and sends LLDP frames on one interface.
pub struct LldpSocket {
    socket: AsyncFd<OwnedFd>,
}

impl LldpSocket {
    /// Opens the socket on `interface` in the calling thread's network namespace. Needs a tokio
    /// runtime with I/O.
    ///
    /// # Errors
    /// See [`AnnounceError`].
    pub fn open(interface: &str) -> Result<Self, AnnounceError> {
        Ok(Self { socket: announce::open(interface, ETHERTYPE, &GROUPS)? })
    }

    /// Sends one frame; `source` is the MAC address of the interface.
    ///
    /// # Errors
    /// `ENETDOWN` while the interface is down, `ENOBUFS` if its queue is full.
    pub fn send(&self, source: Mac, lldp: &Lldp) -> io::Result<()> {
        SockRef::from(self.socket.get_ref()).send(&lldp.emit(source)).map(drop)
    }

    /// Receives the next frame: its source MAC address and content, or why it is not LLDP. Cancel
    /// safe.
    ///
    /// # Errors
    /// The socket's: `ENETDOWN` once if the interface goes down; the socket stays usable.
    pub async fn recv(&self) -> io::Result<Result<(Mac, Lldp), LldpError>> {
        // One byte more than the longest frame, so that a longer one is noticed.
        let mut buffer = [0; MOST_BYTES + 1];
        let length = self
            .socket
            .async_io(Interest::READABLE, |socket| Ok(nix::unistd::read(socket, &mut buffer)?))
            .await?;
        Ok(Lldp::parse(&buffer[..length]))
    }
}

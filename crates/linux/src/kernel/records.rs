//! The raw socket that sends and receives the records of one interface: what nodes pass on to each other of their
//! NICs and paths. Frames are those of [`tresse_frame::records`].

use std::io;
use std::os::fd::OwnedFd;

use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tresse_frame::records::{ETHERTYPE, FRAME_MOST, RecordsFrame};

use super::announce::{self, AnnounceError};

/// Sends and receives records on one interface.
pub struct RecordsSocket {
    socket: AsyncFd<OwnedFd>,
}

impl RecordsSocket {
    /// Opens the socket on `interface` in the calling thread's network namespace. Needs a tokio
    /// runtime with I/O.
    ///
    /// # Errors
    /// See [`AnnounceError`].
    pub fn open(interface: &str) -> Result<Self, AnnounceError> {
        Ok(Self { socket: announce::open(interface, ETHERTYPE, &[])? })
    }

    /// Sends one frame.
    ///
    /// # Errors
    /// `ENETDOWN` while the interface is down, `ENOBUFS` if its queue is full.
    pub fn send(&self, frame: &RecordsFrame) -> io::Result<()> {
        SockRef::from(self.socket.get_ref()).send(&frame.emit()).map(drop)
    }

    /// Receives the next frame; `None` if it is not one of records. Cancel safe.
    ///
    /// # Errors
    /// The socket's: `ENETDOWN` once if the interface goes down; the socket stays usable.
    pub async fn recv(&self) -> io::Result<Option<RecordsFrame>> {
        let mut buffer = [0; FRAME_MOST];
        let length = self
            .socket
            .async_io(Interest::READABLE, |socket| Ok(nix::unistd::read(socket, &mut buffer)?))
            .await?;
        Ok(RecordsFrame::parse(&buffer[..length]))
    }
}

//! The raw socket that counts what an interface receives for all stations, and reads a few of these frames.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use socket2::SockFilter;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tresse_frame::broadcast::{Broadcast, ENOUGH};

use super::announce::{self, AnnounceError};
use crate::bpf::{JEQ_K, LDH_ABS, LDW_ABS, RET_K};
use crate::sys::packet;

const ETH_P_ALL: u16 = 3;

/// Counts the frames to all stations that one interface receives. Those that nobody reads are counted and no more.
pub struct BroadcastSocket {
    socket: AsyncFd<OwnedFd>,
}

impl BroadcastSocket {
    /// Opens the socket on `interface` in the calling thread's network namespace. Needs a tokio runtime with I/O.
    ///
    /// # Errors
    /// See [`AnnounceError`].
    pub fn open(interface: &str) -> Result<Self, AnnounceError> {
        Ok(Self { socket: announce::open_with(interface, ETH_P_ALL, &filter(), &[])? })
    }

    /// Waits for the next frame and reads it. Cancel safe.
    ///
    /// # Errors
    /// The socket's: `ENETDOWN` once if the interface goes down; the socket stays usable.
    pub async fn recv(&self) -> io::Result<Option<Broadcast>> {
        let mut buffer = [0; ENOUGH];
        let read = |socket: &OwnedFd| Ok(nix::unistd::read(socket, &mut buffer)?);
        let length = self.socket.async_io(Interest::READABLE, read).await?;
        Ok(Broadcast::parse(&buffer[..length]))
    }

    /// How many have come since the last call, also those that were not read.
    ///
    /// # Errors
    /// None known.
    pub fn take_counted(&self) -> io::Result<u32> {
        packet::take_received(self.socket.get_ref().as_fd())
    }
}

/// Classic BPF: accepts the beginning of frames to ff:ff:ff:ff:ff:ff, drops all others.
const fn filter() -> [SockFilter; 6] {
    [
        SockFilter::new(LDW_ABS, 0, 0, 0),
        SockFilter::new(JEQ_K, 0, 3, u32::MAX),
        SockFilter::new(LDH_ABS, 0, 0, 4),
        SockFilter::new(JEQ_K, 0, 1, 0xffff),
        SockFilter::new(RET_K, 0, 0, ENOUGH as u32),
        SockFilter::new(RET_K, 0, 0, 0),
    ]
}

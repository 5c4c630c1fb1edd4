//! One virtio-serial port on the guest's side. Non-blocking; the kernel reports a hang-up while no
//! client is connected.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::vm::channel::{GRACE, PORT_PREFIX};
use crate::vm::wire::{self, Decoder, FrameError, GuestReply, GuestRequest, HELLO, WELCOME};

/// A virtio-serial port in the guest, with the bytes that were read from it and not yet decoded.
#[derive(Debug)]
pub struct GuestPort {
    file: File,
    decoder: Decoder,
    buffer: Vec<u8>,
}

/// Why a client's session on a port ended.
#[derive(Debug, thiserror::Error)]
pub enum SessionEnd {
    /// The client has gone.
    #[error("client gone")]
    Gone,
    /// Another client has taken its place, or the stream is damaged: look for a greeting.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The port failed.
    #[error("port: {0}")]
    Io(#[from] io::Error),
}

impl GuestPort {
    /// Opens every port that the host gave us.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut ports = Vec::new();
        for entry in fs::read_dir("/sys/class/virtio-ports")? {
            let entry = entry?;
            let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if name.starts_with(PORT_PREFIX) {
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .custom_flags(libc::O_NONBLOCK)
                    .open(std::path::Path::new("/dev").join(entry.file_name()))?;
                let buffer = vec![0; READ_BYTES];
                ports.push(Self { file, decoder: Decoder::default(), buffer });
            }
        }
        Ok(ports)
    }

    /// Whether a client is connected.
    pub fn has_client(&self) -> bool {
        let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        let polled = poll(&mut fds, PollTimeout::ZERO);
        let events = fds[0].revents().unwrap_or(PollFlags::empty());
        polled.is_ok() && !events.contains(PollFlags::POLLHUP)
    }

    /// Waits for the greeting and answers it.
    pub fn welcome(&mut self) -> Result<(), SessionEnd> {
        loop {
            if let Some((nonce, _)) = self.decoder.greeting(HELLO) {
                return Ok(self.write(&wire::greeting(WELCOME, nonce))?);
            }
            self.wait(PollFlags::POLLIN)?;
            self.fill()?;
        }
    }

    /// Waits for the next frame.
    pub fn receive(&mut self) -> Result<(GuestRequest, Vec<u8>), SessionEnd> {
        loop {
            if let Some(frame) = self.buffered()? {
                return Ok(frame);
            }
            self.wait(PollFlags::POLLIN)?;
            self.fill()?;
        }
    }

    /// The next frame if it has arrived already.
    pub fn buffered(&mut self) -> Result<Option<(GuestRequest, Vec<u8>)>, SessionEnd> {
        Ok(self.decoder.frame()?)
    }

    /// Reads what is there.
    pub fn fill(&mut self) -> Result<(), SessionEnd> {
        match self.file.read(&mut self.buffer) {
            Ok(0) if self.comes_back() => Ok(()),
            Ok(0) => Err(SessionEnd::Gone),
            Ok(got) => {
                self.decoder.push(&self.buffer[..got]);
                Ok(())
            }
            Err(error) if transient(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends one frame, waiting for a slow client.
    pub fn send(&mut self, reply: &GuestReply, payload: &[u8]) -> Result<(), SessionEnd> {
        let frame = wire::encode(reply, payload)?;
        Ok(self.write(&frame)?)
    }

    /// Forgets what a client left that has gone.
    pub fn reset(&mut self) {
        self.decoder = Decoder::default();
    }

    /// For use in `poll`.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if transient(&error) => self.wait(PollFlags::POLLOUT)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn wait(&self, events: PollFlags) -> io::Result<()> {
        let mut fds = [PollFd::new(self.file.as_fd(), events)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let seen = fds[0].revents().unwrap_or(PollFlags::empty());
        let gone = seen.contains(PollFlags::POLLHUP) && events == PollFlags::POLLOUT;
        match gone && !self.comes_back() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }

    /// The kernel tells of clients that come and go apart from what they send, and later: what
    /// looks like the end of this client may be that of the one before. A session that ended then
    /// would wait for a greeting while its client waits for an answer. One that goes on sees a new
    /// client's greeting by its bytes.
    fn comes_back(&self) -> bool {
        let end = Instant::now() + GRACE;
        while !self.has_client() {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(GRACE / 100);
        }
        true
    }
}

fn transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

const READ_BYTES: usize = 64 << 10;

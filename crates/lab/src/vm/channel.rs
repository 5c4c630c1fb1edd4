//! The host's end of one virtio-serial port of the virtual machine.
//!
//! QEMU accepts one client at a time on a port's socket, so a client holds a lock file while it
//! uses the port; the kernel releases the lock when the process ends. Dropping a [`GuestChannel`] makes
//! the guest end the program that it runs for it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::fcntl::{Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use thiserror::Error;

use super::wire::{self, Decoder, FrameError, GuestReply, GuestRequest, HELLO, VERSION, WELCOME};

/// Why the guest could not be reached, or did not answer.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// Every port has a client.
    #[error("all {ports} channels of the virtual machine are busy")]
    Busy {
        /// Number of ports.
        ports: usize,
    },
    /// The guest does not greet back.
    #[error("the guest behind {} did not answer within {seconds} s", socket.display())]
    Silent {
        /// The port's socket.
        socket: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The guest was started by another version of this program.
    #[error("the running virtual machine uses protocol {found}, expected {VERSION}: stop it first")]
    Version {
        /// The guest's version.
        found: u32,
    },
    /// The connection ended while an answer was due.
    #[error("the virtual machine ended the connection")]
    Closed,
    /// A frame that this side does not understand.
    #[error("malformed frame from the guest")]
    Frame(#[from] FrameError),
    /// An operation on the socket or its lock failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// A connection to the guest over one virtio-serial port, on which both ends have greeted each
/// other.
#[derive(Debug)]
pub struct GuestChannel {
    stream: UnixStream,
    decoder: Decoder,
    socket: PathBuf,
    buffer: Vec<u8>,
    _lock: Flock<File>,
}

impl GuestChannel {
    /// Takes a free port of the machine whose sockets are in `dir` and greets the guest; a port
    /// that stays silent is left for the next one.
    pub fn open(dir: &Path, deadline: Instant) -> Result<Self, ChannelError> {
        let mut silent = None;
        loop {
            for port in 0..PORTS {
                let lock = dir.join(format!("{port}.lock"));
                let file = File::create(&lock).map_err(at(&lock))?;
                match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                    Ok(lock) => {
                        let end = deadline.min(Instant::now() + PORT_PATIENCE);
                        match Self::greet(dir.join(socket_name(port)), lock, end) {
                            Err(error @ ChannelError::Silent { .. }) => silent = Some(error),
                            other => return other,
                        }
                    }
                    Err((_, nix::errno::Errno::EWOULDBLOCK)) => {}
                    Err((_, errno)) => return Err(at(&lock)(errno.into())),
                }
            }
            if Instant::now() >= deadline {
                return Err(silent.unwrap_or(ChannelError::Busy { ports: PORTS }));
            }
            std::thread::sleep(RETRY);
        }
    }

    /// Sends one frame.
    pub fn send(&mut self, request: &GuestRequest, payload: &[u8]) -> Result<(), ChannelError> {
        let frame = wire::encode(request, payload)?;
        match self.stream.write_all(&frame) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ChannelError::Closed),
            other => other.map_err(at(&self.socket)),
        }
    }

    /// Waits for the next frame.
    pub fn receive(&mut self) -> Result<(GuestReply, Vec<u8>), ChannelError> {
        loop {
            if let Some(frame) = self.buffered()? {
                return Ok(frame);
            }
            self.fill()?;
        }
    }

    /// The next frame if it has arrived already.
    pub fn buffered(&mut self) -> Result<Option<(GuestReply, Vec<u8>)>, ChannelError> {
        Ok(self.decoder.frame()?)
    }

    /// Reads once, waiting if nothing is there.
    pub fn fill(&mut self) -> Result<(), ChannelError> {
        let got = match self.stream.read(&mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other.map_err(at(&self.socket))?,
        };
        if got == 0 {
            self.decoder.finish()?;
            return Err(ChannelError::Closed);
        }
        self.decoder.push(&self.buffer[..got]);
        Ok(())
    }

    /// For use in `poll`.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// A guest that still held the last client's half frame takes the greeting for its rest; a
    /// pause without a client that is longer than its [`GRACE`] tells it, so each attempt is a new
    /// connection.
    fn greet(socket: PathBuf, lock: Flock<File>, deadline: Instant) -> Result<Self, ChannelError> {
        let started = Instant::now();
        let mut patience = Duration::from_millis(500);
        let mut lock = Some(lock);
        loop {
            let stream = UnixStream::connect(&socket).map_err(at(&socket))?;
            let nonce = nonce();
            let mut decoder = Decoder::default();
            let end = (Instant::now() + patience).min(deadline);
            let answer = exchange(&stream, nonce, &mut decoder, end).map_err(at(&socket))?;
            if let Some(found) = answer {
                if found != VERSION {
                    return Err(ChannelError::Version { found });
                }
                let buffer = vec![0; 256 << 10];
                let Some(lock) = lock.take() else { return Err(ChannelError::Closed) };
                return Ok(Self { stream, decoder, socket, buffer, _lock: lock });
            }
            if Instant::now() >= deadline {
                let seconds = started.elapsed().as_secs();
                return Err(ChannelError::Silent { socket, seconds });
            }
            drop(stream);
            std::thread::sleep(2 * GRACE);
            patience = (patience * 2).min(Duration::from_secs(5));
        }
    }
}

/// Sends the greeting and waits for the guest's version; `None` at the end of patience.
fn exchange(
    mut stream: &UnixStream,
    nonce: u64,
    decoder: &mut Decoder,
    end: Instant,
) -> io::Result<Option<u32>> {
    stream.write_all(&wire::greeting(HELLO, nonce))?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        while let Some((echo, version)) = decoder.greeting(WELCOME) {
            if echo == nonce {
                return Ok(Some(version));
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(stream.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, timeout) {
            Ok(0) => return Ok(None),
            Err(nix::errno::Errno::EINTR) => continue,
            other => other?,
        };
        let got = stream.read(&mut buffer)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        decoder.push(&buffer[..got]);
    }
}

fn nonce() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64).rotate_left(20) ^ u64::from(std::process::id())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ChannelError + use<> {
    let path = path.to_owned();
    move |source| ChannelError::Io { path, source }
}

/// Returns the file name of the socket of virtio-serial port `port` in the machine's state
/// directory.
pub fn socket_name(port: usize) -> String {
    format!("{port}.sock")
}

/// Number of virtio-serial ports of the virtual machine, and so of clients that can be connected at
/// the same time; a virtio-serial device has at most 31.
pub const PORTS: usize = 16;
/// Prefix of the name of a virtio-serial port inside the guest; the port's number follows.
pub const PORT_PREFIX: &str = "tresse.";
/// How long the guest waits, after the kernel reported that a port has no client, before it treats
/// the client as gone.
pub const GRACE: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_millis(100);
const PORT_PATIENCE: Duration = Duration::from_secs(12);

//! The connections between ranks: who accepts them, and how both ends prove that they belong to the job.
//!
//! The end that connects proves that it knows the token of the job, and so does the other (`tresse_ring::proof`). Then it
//! says which of its connections this is:
//!
//! | offset | bytes | field, little-endian |
//! |---|---|---|
//! | 0 | 8 | number of the communicator |
//! | 8 | 4 | number of the ring |
//! | 12 | 4 | rank of the end that connects, in the communicator |

use std::collections::HashMap;
use std::io::{self, Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tresse_ring::proof::{self, Token};
use tresse_ring::strangers::Strangers;

use crate::threads;

/// How long a stranger has to prove itself, and how long a rank waits for one that has to connect to it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to try to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// How long to accept nothing where this process has too many files open.
const PAUSE: Duration = Duration::from_millis(20);
/// Most connections that wait for the rank to ask for them.
const MOST: usize = 4096;

/// Which connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name {
    /// Number of the communicator.
    pub comm: u64,
    /// Number of the ring.
    pub ring: u32,
    /// Rank of the end that connects, in the communicator.
    pub from: u32,
}

impl Name {
    /// The bytes of the table above.
    #[must_use]
    pub fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.comm.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.ring.to_le_bytes());
        bytes[12..].copy_from_slice(&self.from.to_le_bytes());
        bytes
    }

    /// Reads the bytes of the table above.
    ///
    /// # Errors
    /// Those of `stream`, which may end before.
    pub fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; 16];
        stream.read_exact(&mut bytes)?;
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[at + k]));
        let comm = u64::from(word(0)) | u64::from(word(4)) << 32;
        Ok(Self { comm, ring: word(8), from: word(12) })
    }
}

/// Accepts the connections of other ranks, on a thread of its own, until it is dropped.
#[derive(Debug)]
pub struct Door {
    /// Where it accepts them.
    pub port: u16,
    listener: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    come: Mutex<Come>,
    new: Condvar,
    strangers: Strangers,
}

#[derive(Debug, Default)]
struct Come {
    token: Option<Token>,
    streams: HashMap<Name, TcpStream>,
    closed: bool,
}

impl Door {
    /// Opens it, at any address and port of this host. Nobody is let in before [`let_in`](Self::let_in).
    ///
    /// # Errors
    /// Errors of the kernel.
    pub fn open() -> io::Result<Self> {
        let any = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
        let any = any.map(|address| SocketAddr::new(address, 0));
        let listener = TcpListener::bind(any[0]).or_else(|_| TcpListener::bind(any[1]))?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let (door, own) = (listener.try_clone()?, shared.clone());
        threads::spawn(move || accept(&door, &own))?;
        Ok(Self { port, listener, shared })
    }

    /// Lets in who knows this token.
    pub fn let_in(&self, token: Token) {
        self.shared.lock().token = Some(token);
        self.shared.new.notify_all();
    }

    /// Closes the connections of a communicator that nobody waits for.
    pub fn forget(&self, comm: u64) {
        self.shared.lock().streams.retain(|name, _| name.comm != comm);
    }

    /// Waits for a connection.
    ///
    /// # Errors
    /// Nobody has connected in time.
    pub fn wait(&self, name: Name) -> io::Result<TcpStream> {
        let deadline = Instant::now() + PATIENCE;
        let mut come = self.shared.lock();
        loop {
            if let Some(stream) = come.streams.remove(&name) {
                return Ok(stream);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let waited = self.shared.new.wait_timeout(come, left);
            come = waited.expect("nobody panics with it").0;
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.strangers.end();
        self.shared.new.notify_all();
        // Wakes the thread, which then sees that it is closed.
        let loopback = match self.listener.local_addr() {
            Ok(SocketAddr::V4(_)) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            _ => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        drop(TcpStream::connect((loopback, self.port)));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Come> {
        self.come.lock().expect("nobody panics with it")
    }

    /// The token, once it is known; `None` if the door is closed.
    fn token(&self) -> Option<Token> {
        let mut come = self.lock();
        while come.token.is_none() && !come.closed {
            come = self.new.wait(come).expect("nobody panics with it");
        }
        if come.closed { None } else { come.token }
    }
}

/// Accepts connections, each proved on a thread of its own so that a silent one holds up nobody.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let Some(token) = shared.token() else { return };
    for stream in listener.incoming() {
        if shared.lock().closed {
            return;
        }
        let entered = stream.and_then(|stream| Ok((shared.strangers.enter(&stream)?, stream)));
        let Ok((number, stream)) = entered else {
            // Too many open files; or it is closed, which the next turn sees.
            thread::sleep(PAUSE);
            continue;
        };
        let own = shared.clone();
        let prove = move || {
            let proved = prove(stream, &token);
            own.strangers.leave(number);
            let mut come = own.lock();
            if let Ok((name, stream)) = proved
                && come.streams.len() < MOST
            {
                come.streams.insert(name, stream);
                own.new.notify_all();
            }
        };
        drop(threads::spawn(prove));
    }
}

fn prove(mut stream: TcpStream, token: &Token) -> io::Result<(Name, TcpStream)> {
    stream.set_read_timeout(Some(PATIENCE))?;
    proof::welcome(&mut stream, token)?;
    let name = Name::read(&mut stream)?;
    ready(&stream)?;
    Ok((name, stream))
}

/// Connects to the door of another rank.
///
/// # Errors
/// Nothing accepts connections there, or it does not know the token.
pub fn connect(to: SocketAddr, token: &Token, name: Name) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, CONNECT)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    proof::greet(&mut stream, token)?;
    stream.write_all(&name.encode())?;
    ready(&stream)?;
    Ok(stream)
}

/// A connection that does not block, and whose last small piece does not wait.
fn ready(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(door: &Door) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, door.port).into()
    }

    #[test]
    fn ranks_of_the_job_are_let_in_by_name() {
        let door = Door::open().unwrap();
        door.let_in([7; 16]);
        let names = [1, 2].map(|ring| Name { comm: 5 << 32 | 1, ring, from: 3 });
        let mut ends = names.map(|name| connect(address(&door), &[7; 16], name).unwrap());
        for (ring, name) in names.into_iter().enumerate().rev() {
            ends[ring].write_all(&[ring as u8]).unwrap();
            let mut stream = door.wait(name).unwrap();
            stream.set_nonblocking(false).unwrap();
            let mut byte = [9];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [ring as u8]);
        }
    }

    #[test]
    fn others_are_not() {
        let door = Door::open().unwrap();
        door.let_in([7; 16]);
        let name = Name { comm: 1, ring: 0, from: 0 };
        assert!(connect(address(&door), &[8; 16], name).is_err());
        let port = address(&door);
        drop(door);
        // The thread has gone, and with it the listener.
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(port).is_ok() {
            assert!(Instant::now() < deadline, "the door is still open");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

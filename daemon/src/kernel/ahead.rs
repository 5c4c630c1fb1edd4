//! Receives a long dump in a thread of its own while the caller reads what came before: the kernel
//! works out a datagram of a dump when the one before is received, so that in one thread the two
//! take turns.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

/// Bytes that are handed over at a time: several datagrams, because each handing over wakes a
/// thread.
const BATCH_BYTES: usize = 320 * 1024;
/// Batches that may wait to be read.
const BATCHES: usize = 4;

/// Receives all that is queued on a socket, of datagrams of at most `datagram` bytes; `take` sees
/// them in order, several in a row, until it says that no more is of interest.
///
/// # Errors
/// Those of `take` and of the socket; `WouldBlock` where `take` wants more than there is.
pub(super) fn receive<E: From<io::Error>>(
    socket: &(impl AsRawFd + Sync),
    datagram: usize,
    mut take: impl FnMut(&[u8]) -> Result<bool, E>,
) -> Result<(), E> {
    let (full, batches) = sync_channel::<io::Result<(Vec<u8>, usize)>>(BATCHES);
    let (spent, spare) = channel();
    thread::scope(|scope| {
        let fill = move || {
            loop {
                let mut buffer = spare.try_recv().unwrap_or_else(|_| vec![0; BATCH_BYTES]);
                let filled = fill(socket, datagram, &mut buffer).map(|length| (buffer, length));
                let ends = filled.is_err();
                if full.send(filled).is_err() || ends {
                    return;
                }
            }
        };
        thread::Builder::new().name("dump".into()).spawn_scoped(scope, fill)?;
        for batch in batches {
            let (buffer, length) = batch?;
            if take(&buffer[..length])? {
                return Ok(());
            }
            let _ = spent.send(buffer);
        }
        Err(io::Error::from(io::ErrorKind::WouldBlock).into())
    })
}

/// Receives as many datagrams as surely fit, at least one.
fn fill(socket: &impl AsRawFd, datagram: usize, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while buffer.len() - length >= datagram {
        match recv(socket.as_raw_fd(), &mut buffer[length..], MsgFlags::MSG_DONTWAIT) {
            Ok(received) => length += received,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) if length > 0 => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(length)
}

//! Receives a long netlink dump in a second thread, while the caller decodes the datagrams received
//! before. The kernel prepares a datagram of a dump only when the one before has been received, so
//! with one thread the kernel and the reader would wait for each other.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

/// Bytes handed to the caller at a time: several datagrams, because each handover wakes a thread.
const BATCH_BYTES: usize = 320 * 1024;
/// Number of batches that may wait for the caller.
const BATCHES: usize = 4;

/// Receives the datagrams that are queued on a socket, each of at most `datagram` bytes. `take`
/// gets them in order, several at a time, until it returns false.
///
/// # Errors
/// Those of `take` and of the socket; `WouldBlock` if `take` wants more than there is.
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

/// Receives as many datagrams as fit, at least one.
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    const DATAGRAM: usize = 1000;

    /// A socket on which datagrams of these first bytes and lengths are queued.
    fn queued(datagrams: &[(u8, usize)]) -> (UnixDatagram, UnixDatagram) {
        let (from, to) = UnixDatagram::pair().unwrap();
        for (first, length) in datagrams {
            assert_eq!(from.send(&vec![*first; *length]).unwrap(), *length);
        }
        (from, to)
    }

    #[test]
    fn all_is_taken_in_order_until_no_more_is_wanted() {
        let sent: Vec<_> = (0..8).map(|n| (n, 100 + usize::from(n))).collect();
        let (_from, to) = queued(&sent);
        let expected: Vec<u8> = sent.iter().flat_map(|(n, length)| vec![*n; *length]).collect();
        let mut seen = Vec::new();
        let take = |bytes: &[u8]| {
            seen.extend_from_slice(bytes);
            Ok::<_, io::Error>(seen.len() == expected.len())
        };
        receive(&to, DATAGRAM, take).unwrap();
        assert_eq!(seen, expected);
    }

    #[test]
    fn the_errors_of_both_ends_are_told() {
        let (_from, to) = queued(&[(1, 10)]);
        let short = receive(&to, DATAGRAM, |_| Ok::<_, io::Error>(false)).unwrap_err();
        assert_eq!(short.kind(), io::ErrorKind::WouldBlock);
        let (_from, to) = queued(&[(1, 10), (2, 10)]);
        let refused = receive(&to, DATAGRAM, |_| Err(io::Error::other("malformed")));
        assert_eq!(refused.unwrap_err().to_string(), "malformed");
        let plain = std::fs::File::open("/dev/null").unwrap();
        let not_a_socket = receive(&plain, DATAGRAM, |_| Ok::<_, io::Error>(true)).unwrap_err();
        assert_eq!(not_a_socket.raw_os_error(), Some(Errno::ENOTSOCK as i32));
    }
}

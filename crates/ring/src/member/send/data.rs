//! Sends bytes of the copied files over the connection to another member, with `sendfile`.

use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::sendfile::sendfile;

use super::problem::Problem;
use crate::content::Stripe;
use crate::member::described::Described;
use crate::member::state::Shared;
use crate::member::times::STALL;
use crate::named;

/// Sends ranges of the copied files over a connection. Keeps the file read last open.
#[derive(Default)]
pub struct Reader {
    open: Option<(PathBuf, File)>,
}

impl Reader {
    /// Sends a range of a stream whose bytes are all present.
    pub fn send(
        &mut self,
        shared: &Shared,
        stream: &TcpStream,
        of: u32,
        bytes: Range<u64>,
    ) -> Result<(), Problem> {
        let (part, stripe) = shared.stream(of);
        let mut at = bytes.start;
        while at < bytes.end {
            let described = described(shared, part)?;
            match self.spans(&described, stripe, at, bytes.end - at, stream) {
                Ok(count) => at += count,
                // The file has got its final name in the meantime.
                Err((count, Problem::Own(error)))
                    if error.kind() == io::ErrorKind::NotFound
                        && !Arc::ptr_eq(&described, &self::described(shared, part)?) =>
                {
                    at += count;
                }
                Err((_, problem)) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Sends one range of the files. Returns how many bytes were sent, with an error too.
    fn spans(
        &mut self,
        described: &Described,
        stripe: Stripe,
        at: u64,
        bytes: u64,
        stream: &TcpStream,
    ) -> Result<u64, (u64, Problem)> {
        let mut sent = 0;
        for span in described.content.spans(stripe, at, bytes) {
            let mut end = 0;
            while end < span.bytes {
                let file = self.file(span.path).map_err(|e| (sent, own(span.path, e)))?;
                let mut offset = (span.offset + end) as i64;
                let count = (span.bytes - end) as usize;
                let count = sendfile(stream, file, Some(&mut offset), count)
                    .map_err(|errno| (sent, problem(span.path, errno)))?;
                if count == 0 {
                    let shorter =
                        io::Error::new(io::ErrorKind::UnexpectedEof, "has become shorter");
                    return Err((sent, own(span.path, shorter)));
                }
                end += count as u64;
                sent += count as u64;
            }
        }
        Ok(sent)
    }

    fn file(&mut self, path: &Path) -> io::Result<&File> {
        match &mut self.open {
            Some((of, _)) if of == path => {}
            open => *open = Some((path.to_owned(), File::open(path)?)),
        }
        let open = self.open.as_ref().expect("it was opened");
        Ok(&open.1)
    }
}

fn described(shared: &Shared, part: usize) -> io::Result<Arc<Described>> {
    let described = shared.state().parts[part].described.clone();
    described.ok_or_else(|| io::Error::other("what is sent is not known"))
}

fn own(path: &Path, error: io::Error) -> Problem {
    Problem::Own(named(path, &error))
}

/// Decides which end an error of `sendfile` belongs to.
fn problem(path: &Path, errno: Errno) -> Problem {
    match errno {
        // A timeout of the connection is reported as EAGAIN.
        Errno::EAGAIN => {
            let words = format!("nothing could be sent for {} seconds", STALL.as_secs());
            Problem::Connection(io::Error::new(io::ErrorKind::TimedOut, words))
        }
        // Errors of the file: those that disks and network file systems return.
        Errno::EIO | Errno::ESTALE | Errno::EUCLEAN | Errno::ENOMEDIUM | Errno::EREMOTEIO => {
            own(path, errno.into())
        }
        _ => Problem::Connection(errno.into()),
    }
}

//! The calls of one client, cut out of what it sends: each ends with a zero byte. Of a call that is longer than its sender
//! may send nothing is kept.

use std::io;
use std::time::Duration;

use tokio::net::unix::OwnedReadHalf;
use tresse_control::NodeError;
use zlink::Connection;
use zlink::tokio::unix::Stream;

use super::limits::Limits;
use super::permission::permit;

/// A client that stops in the middle of a call for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(30);

/// The receiving side of a client's connection.
#[derive(Debug)]
pub struct Incoming {
    read: OwnedReadHalf,
    limits: Limits,
    buffer: Vec<u8>,
    /// So many bytes of `buffer` have no zero byte.
    seen: usize,
    /// The bytes of the present call that were not kept, and why.
    dropped: Option<(usize, NodeError)>,
}

impl Incoming {
    /// Nothing has been read yet.
    pub const fn new(read: OwnedReadHalf, limits: Limits) -> Self {
        Self { read, limits, buffer: Vec::new(), seen: 0, dropped: None }
    }

    /// The next call without its zero byte, or why it is refused; `None`: the client sends no more.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub async fn next(
        &mut self,
        peer: &mut Connection<Stream>,
    ) -> io::Result<Option<Result<Vec<u8>, NodeError>>> {
        loop {
            if let Some(zero) = self.buffer[self.seen..].iter().position(|byte| *byte == 0) {
                let rest = self.buffer.split_off(self.seen + zero + 1);
                let mut call = std::mem::replace(&mut self.buffer, rest);
                call.pop();
                self.seen = 0;
                let refused = self.dropped.take().map(|(_, why)| why);
                return Ok(Some(refused.map_or(Ok(call), Err)));
            }
            self.seen = self.buffer.len();
            let dropped = self.dropped.as_ref().map_or(0, |(bytes, _)| *bytes);
            if dropped + self.seen > self.limits.call_bytes {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the call is too long"));
            }
            if self.seen > self.limits.reader_bytes
                && let Err(why) = permit(peer).await
            {
                self.dropped = Some((dropped + self.seen, why));
                self.buffer.clear();
                self.seen = 0;
            }
            if self.more().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads what is there, at least a byte; 0: the end. Waits for the beginning of a call as long as it takes.
    async fn more(&mut self) -> io::Result<usize> {
        self.buffer.reserve(self.limits.read_bytes);
        let begun = self.dropped.is_some() || !self.buffer.is_empty();
        let (read, buffer) = (&self.read, &mut self.buffer);
        // Not `read_buf`: it takes a read that fills less than the buffer for the last one until new data come. On a
        // Unix socket there may be more, and calls of megabytes were not read to their end (seen on 6.18).
        let more = async {
            loop {
                read.readable().await?;
                match read.try_read_buf(buffer) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return result,
                }
            }
        };
        if !begun {
            return more.await;
        }
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the client does not go on");
        tokio::time::timeout(PATIENCE, more).await.map_err(late)?
    }
}

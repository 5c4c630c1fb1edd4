//! One connection's calls and answers: `call` finds the method, zlink carries it out, this reads and
//! writes.
//!
//! zlink's own loop is not used: its buffers grow by 256 octets, each time with the whole message
//! serialised anew, so that an answer of some 100 KB held the thread for seconds.

use std::io;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use zlink::service::{MethodReply, Service};
use zlink::tokio::unix::Stream;
use zlink::{Connection, Reply};

use super::call::Message;
use super::service::Node;

/// Largest request: a cluster file of thousands of listed nodes, with its lock.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// How long a client may leave an answer unread before it is dropped.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// Read at a time.
const READ_BYTES: usize = 16 * 1024;

/// Answers calls until the client closes the connection or breaks the protocol.
///
/// # Errors
/// What ended the connection, other than its regular end.
pub(super) async fn converse(stream: UnixStream, mut node: Node) -> io::Result<()> {
    let stream = stream.into_std()?;
    // Only asked for the peer's credentials; never read from or written to.
    let named = Stream::try_from(stream.try_clone()?).map_err(io::Error::other)?;
    let mut connection = Connection::new(named);
    let (mut read, mut write) = UnixStream::from_std(stream)?.into_split();
    let mut buffer = Vec::new();
    let mut seen = 0;
    loop {
        let Some(end) = buffer[seen..].iter().position(|byte| *byte == 0) else {
            seen = buffer.len();
            if seen > REQUEST_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
            }
            buffer.reserve(READ_BYTES);
            if read.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
            continue;
        };
        let end = seen + end;
        let message = Message::parse(&buffer[..end])?;
        buffer.drain(..=end);
        seen = 0;
        let oneway = message.oneway();
        let call = match message.call() {
            Ok(call) => call,
            Err(_) if oneway => continue,
            Err(error) => {
                send(&mut write, &error).await?;
                continue;
            }
        };
        let (reply, _) = node.handle(&call, &mut connection, Vec::new()).await;
        match reply {
            _ if oneway => {}
            MethodReply::Single(parameters) => send(&mut write, &Reply::new(parameters)).await?,
            MethodReply::Error(error) => send(&mut write, &error).await?,
            MethodReply::Multi(mut replies) => {
                while let Some((reply, _)) = replies.next().await {
                    match reply {
                        Ok(reply) => send(&mut write, &reply).await?,
                        Err(error) => send(&mut write, &error).await?,
                    }
                }
            }
            _ => return Ok(()),
        }
    }
}

async fn send(write: &mut OwnedWriteHalf, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(0);
    tokio::time::timeout(WRITE_PATIENCE, write.write_all(&bytes))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))?
}

//! Reads the calls of one client from its connection and writes the replies.
//!
//! zlink supplies the interfaces, their errors and the peer's credentials. Its service loop is not
//! used: its buffers grow by 256 bytes and serialize the whole message again each time, so that a
//! reply of 100 KB blocked the thread for seconds; and its error for a wrong call does not name the
//! fault.

use std::cell::Cell;
use std::io;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Serialize;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{broadcast, mpsc};
use tresse_control::{Access, Call, Event, INTERFACE, NodeError};
use zlink::tokio::unix::Stream;
use zlink::varlink_service::{self, Info, InterfaceDescription};
use zlink::{Connection, Reply};

use super::call::{Asked, Message, SERVICE, no_interface};
use super::events::watch;
use super::permission::may_change;
use super::request::{Request, ask};

/// Longest call in bytes: a cluster file that lists thousands of nodes, with its lock.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// Longest call in bytes of who may change nothing: what such calls carry is short.
const READER_BYTES: usize = 64 * 1024;
/// A client that stops in the middle of a call for this long is disconnected.
const READ_PATIENCE: Duration = Duration::from_secs(30);
/// A client that does not read its reply for this long is disconnected.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes read at a time.
const READ_BYTES: usize = 16 * 1024;

/// The channels that connect a connection with the main loop.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Calls to the main loop.
    pub(crate) requests: mpsc::Sender<Request>,
    /// Events from the main loop.
    pub(crate) events: broadcast::Sender<Event>,
}

/// Answers calls until the client closes the connection or violates the protocol. Once it is `gone`, only calls
/// that want no reply are carried out.
///
/// # Errors
/// What ended the connection, unless the client closed it.
pub(crate) async fn converse(stream: UnixStream, node: Node, gone: &Cell<bool>) -> io::Result<()> {
    let stream = stream.into_std()?;
    // Used only to get the peer's credentials; never read or written.
    let named = Stream::try_from(stream.try_clone()?).map_err(io::Error::other)?;
    let mut peer = Connection::new(named);
    let (mut read, mut write) = UnixStream::from_std(stream)?.into_split();
    let mut buffer = Vec::new();
    let mut seen = 0;
    // Bytes of a call that is too long for who sends it, and is not kept.
    let mut dropped = 0;
    loop {
        let Some(end) = buffer[seen..].iter().position(|byte| *byte == 0) else {
            seen = buffer.len();
            if dropped + seen > REQUEST_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
            }
            if seen > READER_BYTES && refused(&mut peer).await.is_err() {
                dropped += seen;
                buffer.clear();
                seen = 0;
            }
            let begun = dropped + seen > 0;
            buffer.reserve(READ_BYTES);
            let read = more_of(&mut read, &mut buffer);
            let read = match begun {
                true => tokio::time::timeout(READ_PATIENCE, read).await.map_err(|_| {
                    io::Error::new(io::ErrorKind::TimedOut, "the client does not go on")
                })?,
                false => read.await,
            };
            if read? == 0 {
                return Ok(());
            }
            continue;
        };
        let end = seen + end;
        if std::mem::take(&mut dropped) > 0 {
            buffer.drain(..=end);
            seen = 0;
            if let Err(error) = refused(&mut peer).await {
                send(&mut write, &error).await?;
            }
            continue;
        }
        let message = Message::parse(&buffer[..end])?;
        buffer.drain(..=end);
        seen = 0;
        let (oneway, more) = (message.oneway(), message.streams());
        let asked = message.asked();
        if gone.get() && !oneway {
            continue;
        }
        let mut out = Out { write: &mut write, silent: oneway };
        match asked {
            Err(error) => out.send(&error).await?,
            Ok(Asked::Info) => out.send(&Reply::new(Some(info()?))).await?,
            Ok(Asked::Description(interface)) => match description(&interface) {
                Some(description) => out.send(&Reply::new(Some(description))).await?,
                None => out.send(&no_interface(interface)).await?,
            },
            Ok(Asked::Node(Call::Monitor)) if oneway => {}
            Ok(Asked::Node(Call::Monitor)) => {
                let mut events = watch(node.events.subscribe(), more);
                while let Some(event) = events.next().await {
                    out.send(&event).await?;
                }
            }
            Ok(Asked::Node(call)) => match answer(&node, call, &mut peer).await {
                Ok(reply) => out.send(&Reply::new(reply.parameters())).await?,
                Err(error) => out.send(&error).await?,
            },
        }
    }
}

/// Reads what is there, at least a byte; 0: the end. Not by `read_buf`, which takes a read that fills less than the buffer
/// for the last one until new data come, and on a Unix socket it may not be: then a call was never read to its end (seen
/// on 6.18 with calls of megabytes).
async fn more_of(read: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        read.readable().await?;
        match read.try_read_buf(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}

/// The name and version of this service.
fn info() -> io::Result<Info<'static>> {
    let (product, version) = ("tressed", env!("CARGO_PKG_VERSION"));
    Info::new("Tresse", product, version, "https://tresse.example/", [INTERFACE, SERVICE])
        .map_err(io::Error::other)
}

/// The description of an interface, if it exists here.
fn description(interface: &str) -> Option<InterfaceDescription<'static>> {
    match interface {
        INTERFACE => Some(tresse_control::call::DESCRIPTION.into()),
        SERVICE => Some(varlink_service::DESCRIPTION.into()),
        _ => None,
    }
}

/// Checks the peer's permission and returns the main loop's reply.
async fn answer(
    node: &Node,
    call: Call,
    peer: &mut Connection<Stream>,
) -> Result<tresse_control::Reply, NodeError> {
    if call.access() == Access::Group {
        refused(peer).await?;
    }
    ask(&node.requests, call).await
}

/// Refuses a peer that may change nothing.
async fn refused(peer: &mut Connection<Stream>) -> Result<(), NodeError> {
    let peer = peer.peer_credentials().await.map_err(|error| NodeError::Internal {
        message: format!("the caller's credentials: {error}"),
    })?;
    match may_change(peer) {
        true => Ok(()),
        false => Err(NodeError::NotPermitted { uid: peer.unix_user_id().as_raw() }),
    }
}

/// Writes the replies to one call.
struct Out<'a> {
    write: &'a mut OwnedWriteHalf,
    /// Does the client want no reply?
    silent: bool,
}

impl Out<'_> {
    async fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        if self.silent { Ok(()) } else { send(self.write, message).await }
    }
}

async fn send(write: &mut OwnedWriteHalf, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(0);
    tokio::time::timeout(WRITE_PATIENCE, write.write_all(&bytes))
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))?
}

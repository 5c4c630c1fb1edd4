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
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{broadcast, mpsc};
use tresse_control::{Access, Call, Event, INTERFACE, NodeError};
use zlink::tokio::unix::Stream;
use zlink::varlink_service::{self, Info, InterfaceDescription};
use zlink::{Connection, Reply};

use super::call::{Asked, Message, SERVICE, no_interface};
use super::events::watch;
use super::incoming::Incoming;
use super::permission::permit;
use super::request::{Request, ask};
use super::users::Place;

/// A client that does not read its reply for this long is disconnected.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of a call that takes long to parse: a millisecond, and more.
const LONG_CALL: usize = 64 * 1024;

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
pub(crate) async fn converse(
    stream: UnixStream,
    node: Node,
    place: &Place,
    gone: &Cell<bool>,
) -> io::Result<()> {
    let stream = stream.into_std()?;
    // Used only to get the peer's credentials; never read or written.
    let named = Stream::try_from(stream.try_clone()?).map_err(io::Error::other)?;
    let mut peer = Connection::new(named);
    let (read, mut write) = UnixStream::from_std(stream)?.into_split();
    let mut incoming = Incoming::new(read, place.limits());
    while let Some(call) = incoming.next(&mut peer).await? {
        let message = match call {
            // Long ones on another thread, so that the main loop goes on meanwhile.
            Ok(call) if call.len() > LONG_CALL => {
                tokio::task::spawn_blocking(move || Message::parse(&call)).await??
            }
            Ok(call) => Message::parse(&call)?,
            Err(error) => {
                send(&mut write, &error).await?;
                continue;
            }
        };
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
            Ok(Asked::Node(call)) => match answer(&node, call, place, &mut peer).await {
                Ok(reply) => out.send(&Reply::new(reply.parameters())).await?,
                Err(error) => out.send(&error).await?,
            },
        }
    }
    Ok(())
}

/// The name and version of this service.
fn info() -> io::Result<Info<'static>> {
    let (product, version) = ("tressed", env!("CARGO_PKG_VERSION"));
    Info::new("Tresse", product, version, "man:tressed(8)", [INTERFACE, SERVICE])
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

/// Checks the peer's permission, waits for its turn and returns the main loop's reply.
async fn answer(
    node: &Node,
    call: Call,
    place: &Place,
    peer: &mut Connection<Stream>,
) -> Result<tresse_control::Reply, NodeError> {
    if call.access() == Access::Group {
        permit(peer).await?;
    }
    place.turn(&call).await;
    ask(&node.requests, call).await
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

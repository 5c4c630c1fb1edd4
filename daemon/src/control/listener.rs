//! The listening control socket: accepts connections, and runs a task for each.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};
use tresse_control::Event;

use super::exchange::{Node, converse};
use super::limits::Limits;
use super::request::Request;
use super::socket::{BindError, UnixSocket};
use super::users::{Place, Users};

/// How long what a client left behind is read.
const LAST: Duration = Duration::from_secs(1);

/// The listening control socket of the daemon, which accepts clients and answers their calls.
#[derive(Debug)]
pub struct Server {
    socket: UnixSocket,
    limits: Limits,
}

impl Server {
    /// Binds `path`; see [`UnixSocket::bind`].
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(path: &Path, limits: Limits) -> Result<Self, BindError> {
        Ok(Self { socket: UnixSocket::bind(path, "socket")?, limits })
    }

    /// Accepts and serves connections until dropped. Must run in a `LocalSet`.
    pub async fn run(
        self,
        requests: mpsc::Sender<Request>,
        events: broadcast::Sender<Event>,
    ) -> std::convert::Infallible {
        let users = Users::new(self.limits);
        let node = Node { requests, events };
        loop {
            let stream = match self.socket.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors: waits until some connections end.
                    tracing::warn!(%error, "cannot accept a control connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(uid) = stream.peer_cred().map(|peer| peer.uid()) else { continue };
            let Some(place) = users.enter(uid) else {
                tracing::debug!(uid, "too many control connections");
                continue;
            };
            tokio::task::spawn_local(serve(stream, node.clone(), place));
        }
    }
}

/// Serves one connection until the peer closes it, also while it waits for events.
async fn serve(stream: UnixStream, node: Node, place: Place) {
    let watched = stream.as_fd().try_clone_to_owned().map(std::os::unix::net::UnixStream::from);
    let Ok(watched) = watched.and_then(UnixStream::from_std) else { return };
    let gone = Cell::new(false);
    let mut conversation = std::pin::pin!(converse(stream, node, &place, &gone));
    let result = tokio::select! {
        // First: what a client asked before it left is not carried out, for nobody would hear of it. Think of a
        // daemon that stood still, and of an operator who has gone another way since.
        biased;
        () = hang_up(watched) => {
            gone.set(true);
            // Calls that want no reply are still read.
            tokio::time::timeout(LAST, &mut conversation).await.unwrap_or(Ok(()))
        }
        result = &mut conversation => result,
    };
    if let Err(error) = result {
        tracing::debug!(%error, "control connection ended");
    }
}

/// Waits until the peer has closed the connection (EPOLLHUP). A peer that only shuts down its
/// sending side (EPOLLRDHUP) still gets its replies.
async fn hang_up(stream: UnixStream) {
    while let Ok(ready) = stream.ready(Interest::WRITABLE).await {
        if ready.is_write_closed() {
            return;
        }
        // Clears the readiness, so that the next iteration waits for the next change.
        let again = || Err::<(), _>(io::Error::from(io::ErrorKind::WouldBlock));
        let _ = stream.try_io(Interest::WRITABLE, again);
    }
}

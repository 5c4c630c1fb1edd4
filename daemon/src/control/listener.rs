//! The listening control socket: limits the number of connections per user, and runs a task for
//! each connection.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc};
use tresse_control::Event;

use super::exchange::{Node, converse};
use super::request::Request;
use super::socket::{BindError, UnixSocket};

/// Largest number of connections of one user other than root.
const PER_USER: usize = 16;
/// Largest number of connections of all users other than root. Root is always accepted.
const ALL_USERS: usize = 128;
/// How long what a client left behind is read.
const LAST: Duration = Duration::from_secs(1);

/// The listening control socket of the daemon, which accepts clients and answers their calls.
#[derive(Debug)]
pub struct Server(UnixSocket);

impl Server {
    /// Binds `path`; see [`UnixSocket::bind`].
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        UnixSocket::bind(path, "socket").map(Self)
    }

    /// Accepts and serves connections until dropped. Must run in a `LocalSet`.
    pub async fn run(
        self,
        requests: mpsc::Sender<Request>,
        events: broadcast::Sender<Event>,
    ) -> std::convert::Infallible {
        let users: Rc<RefCell<BTreeMap<u32, usize>>> = Rc::default();
        let node = Node { requests, events };
        loop {
            let stream = match self.0.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors: waits until some connections end.
                    tracing::warn!(%error, "cannot accept a control connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok(uid) = stream.peer_cred().map(|peer| peer.uid()) else { continue };
            let Some(place) = Place::take(&users, uid) else {
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
    let mut conversation = std::pin::pin!(converse(stream, node, &gone));
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
    drop(place);
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

/// One of the connections that a user may have.
#[derive(Debug)]
struct Place {
    users: Rc<RefCell<BTreeMap<u32, usize>>>,
    uid: u32,
}

impl Place {
    fn take(users: &Rc<RefCell<BTreeMap<u32, usize>>>, uid: u32) -> Option<Self> {
        let mut counts = users.borrow_mut();
        let others: usize = counts.iter().filter(|(u, _)| **u != 0).map(|(_, n)| n).sum();
        let own = counts.entry(uid).or_default();
        if uid != 0 && (*own >= PER_USER || others >= ALL_USERS) {
            return None;
        }
        *own += 1;
        Some(Self { users: users.clone(), uid })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.users.borrow_mut();
        if let Some(count) = counts.get_mut(&self.uid) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.uid);
            }
        }
    }
}

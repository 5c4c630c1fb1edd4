//! The listening socket: bound safely, connections counted per user, one server each.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{broadcast, mpsc};
use tresse_control::Event;

use super::exchange::converse;
use super::request::Request;
use super::service::Node;

/// Connections of one user other than root.
const PER_USER: usize = 16;
/// Connections of all users other than root; root is never kept out.
const ALL_USERS: usize = 128;

/// The control socket.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    inode: (u64, u64),
}

/// Why the socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon answers there.
    #[error("{}: another tressed listens there: stop it, or set `socket` in tressed.toml", path.display())]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// Something that is not a socket is there.
    #[error("{}: exists and is not a socket: remove it, or set `socket` in tressed.toml", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was being done.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
}

impl Server {
    /// Binds `path`, replacing a socket that nobody listens on any more. Its directory is created
    /// with mode 0755 where it is missing; the socket has mode 0666, as reading is open to all.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let fail =
            |action| move |source| BindError::Io { action, path: path.to_path_buf(), source };
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
            fs::create_dir_all(parent).map_err(fail("create the directory of"))?;
            fs::set_permissions(parent, fs::Permissions::from_mode(0o755))
                .map_err(fail("open the directory of"))?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(BindError::NotASocket { path: path.to_path_buf() });
            }
            Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(fail("remove the stale socket"))?;
                }
                _ => return Err(BindError::InUse { path: path.to_path_buf() }),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(fail("look at")(source)),
        }
        let listener = UnixListener::bind(path).map_err(fail("listen on"))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))
            .map_err(fail("open to all users"))?;
        let found = fs::symlink_metadata(path).map_err(fail("look at"))?;
        Ok(Self { listener, path: path.to_path_buf(), inode: (found.dev(), found.ino()) })
    }

    /// Serves connections until dropped. Runs inside a `LocalSet`.
    pub async fn run(
        self,
        requests: mpsc::Sender<Request>,
        events: broadcast::Sender<Event>,
    ) -> std::convert::Infallible {
        let users: Rc<RefCell<BTreeMap<u32, usize>>> = Rc::default();
        let node = Node { requests, events };
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of descriptors: give connections time to end.
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

impl Drop for Server {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.inode);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Serves one connection until its peer is gone, also one that only waits for events.
async fn serve(stream: UnixStream, node: Node, place: Place) {
    let watched = stream.as_fd().try_clone_to_owned().map(std::os::unix::net::UnixStream::from);
    let Ok(watched) = watched.and_then(UnixStream::from_std) else { return };
    tokio::select! {
        result = converse(stream, node) => {
            if let Err(error) = result {
                tracing::debug!(%error, "control connection ended");
            }
        }
        () = hang_up(watched) => {}
    }
    drop(place);
}

/// Waits until the peer has closed its end (EPOLLHUP; a peer that only shuts down its writing
/// side gives EPOLLRDHUP and still gets its answers).
async fn hang_up(stream: UnixStream) {
    while let Ok(ready) = stream.ready(Interest::WRITABLE).await {
        if ready.is_write_closed() {
            return;
        }
        // Clears the readiness, so that the next turn waits for the next change.
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

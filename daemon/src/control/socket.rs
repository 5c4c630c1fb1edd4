//! Unix sockets that replace a stale socket file when bound, and remove their file when dropped.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// Why the daemon cannot listen on a socket.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another daemon answers there.
    #[error(
        "{}: another tressed listens there: stop it, or set `{setting}` in tressed.toml",
        path.display()
    )]
    InUse {
        /// The path.
        path: PathBuf,
        /// The configuration key that holds the path.
        setting: &'static str,
    },
    /// Something that is not a socket is there.
    #[error(
        "{}: exists and is not a socket: remove it, or set `{setting}` in tressed.toml",
        path.display()
    )]
    NotASocket {
        /// The path.
        path: PathBuf,
        /// The configuration key that holds the path.
        setting: &'static str,
    },
    /// The system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// The step that failed.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
}

/// A listening Unix socket. Dropping it removes the socket's file.
#[derive(Debug)]
pub struct UnixSocket {
    /// The socket.
    pub listener: UnixListener,
    path: PathBuf,
    inode: (u64, u64),
}

impl UnixSocket {
    /// Binds `path`, replacing a socket file on which nothing listens any more. `setting` is the
    /// configuration key to name in errors. Creates a missing directory with mode 0755; the socket
    /// has mode 0666, because every user may read.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(path: &Path, setting: &'static str) -> Result<Self, BindError> {
        let fail =
            |action| move |source| BindError::Io { action, path: path.to_path_buf(), source };
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty() && !p.exists()) {
            fs::create_dir_all(parent).map_err(fail("create the directory of"))?;
            fs::set_permissions(parent, fs::Permissions::from_mode(0o755))
                .map_err(fail("open the directory of"))?;
        }
        match fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(BindError::NotASocket { path: path.to_path_buf(), setting });
            }
            Ok(_) => match std::os::unix::net::UnixStream::connect(path) {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    fs::remove_file(path).map_err(fail("remove the stale socket"))?;
                }
                _ => return Err(BindError::InUse { path: path.to_path_buf(), setting }),
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
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == self.inode);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

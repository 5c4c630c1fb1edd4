//! The target of the control socket, whose clients are of several users.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tempfile::TempDir;

/// User and group nobody, as Debian numbers them.
const NOBODY: u32 = 65_534;

/// Sends `bytes` to the control socket, as clients of several users.
pub fn control(bytes: &[u8]) {
    thread_local! {
        static DIRECTORY: TempDir = open_directory().expect("a directory that others may enter");
        static OTHER: Other = Other::start();
    }
    let socket = DIRECTORY.with(|directory| directory.path().join("control"));
    OTHER.with(|other| tressed::fuzz::control(bytes, &socket, &|path| other.connect(path)));
}

fn open_directory() -> io::Result<TempDir> {
    let directory = tempfile::tempdir()?;
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
    Ok(directory)
}

/// A thread of another user, if this one may become one: on Linux each thread has a user of its own.
struct Other {
    asked: Sender<PathBuf>,
    connected: Receiver<io::Result<UnixStream>>,
}

impl Other {
    fn start() -> Self {
        let (asked, paths) = channel::<PathBuf>();
        let (connects, connected) = channel();
        std::thread::spawn(move || {
            // Who is not root stays who it is, and is no other user than root.
            if rustix::process::geteuid().is_root() {
                become_nobody().expect("root may become anybody");
            }
            paths.iter().try_for_each(|path| connects.send(UnixStream::connect(path)))
        });
        Self { asked, connected }
    }

    fn connect(&self, path: &Path) -> io::Result<UnixStream> {
        let gone = || io::Error::other("the thread of another user is gone");
        self.asked.send(path.to_owned()).map_err(|_| gone())?;
        self.connected.recv().map_err(|_| gone())?
    }
}

fn become_nobody() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

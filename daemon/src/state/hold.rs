//! Locks the state directory for one daemon; creates it if missing, and tests that it can be
//! written.
//!
//! The lock is flock(2) on the file `lock`: the kernel releases it when the process ends, however
//! it ends. The pid in the file is for messages only.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::{User, geteuid};

/// The user that the unit runs the daemon as. Root may run one for once.
const USER: &str = "tresse";
/// How long to wait for a killed daemon to release the lock: the kernel closes its sockets first.
const PATIENCE: Duration = Duration::from_secs(5);

/// An exclusive lock on a state directory, released on drop. It can be taken on a full disk, too.
#[derive(Debug)]
pub struct Hold {
    _lock: Flock<File>,
    full: bool,
}

/// Why the daemon cannot use its state directory.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Another daemon uses it.
    #[error(
        "{}: another tressed{} keeps its state there: stop it, or set another `state_dir` in \
         tressed.toml",
        directory.display(),
        pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
    )]
    Taken {
        /// The state directory.
        directory: PathBuf,
        /// The other daemon's process id.
        pid: Option<u32>,
    },
    /// Nothing can be kept there.
    #[error(
        "{}: cannot {action} for state: correct its owner or mode, or set another `state_dir` in \
         tressed.toml",
        path.display()
    )]
    Unusable {
        /// The step that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
}

impl Hold {
    /// Locks `directory`, which is created with mode 0750 if missing. Waits 5 s for a daemon that
    /// holds the lock: it may have been killed a moment ago.
    ///
    /// # Errors
    /// [`HoldError`].
    pub fn take(directory: &Path) -> Result<Self, HoldError> {
        Self::take_within(directory, PATIENCE)
    }

    fn take_within(directory: &Path, patience: Duration) -> Result<Self, HoldError> {
        let until = Instant::now() + patience;
        let fail = |action, path: &Path| {
            let path = path.to_path_buf();
            move |source| HoldError::Unusable { action, path, source }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(directory)
            .map_err(fail("make the directory", directory))?;
        is_own(directory).map_err(fail("trust the directory", directory))?;
        let path = directory.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // Every user who can open the file can lock it.
            .mode(0o600)
            .custom_flags(OFlag::O_NOFOLLOW.bits())
            .open(&path)
            .map_err(fail("open the lock", &path))?;
        let mut lock = loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => break lock,
                Err((again, Errno::EWOULDBLOCK)) if Instant::now() < until => {
                    file = again;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err((mut file, Errno::EWOULDBLOCK)) => {
                    let pid = pid_in(&mut file);
                    return Err(HoldError::Taken { directory: directory.into(), pid });
                }
                Err((_, errno)) => return Err(fail("lock", &path)(errno.into())),
            }
        };
        let named = lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id()));
        // The present state can still be read, and the plan in force needs a daemon.
        let unless_full = |tried: io::Result<()>| match tried {
            Err(error) if is_full(&error) => Ok(true),
            tried => tried.map(|()| false),
        };
        let mut full = unless_full(named).map_err(fail("write the lock", &path))?;
        let probe = directory.join("state.json.new");
        full |= unless_full(try_write(&probe)).map_err(fail("write", &probe))?;
        match fs::remove_file(&probe) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(fail("write", &probe)(error));
            }
            _ => {}
        }
        Ok(Self { _lock: lock, full })
    }

    /// Is there no room for new state?
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.full
    }
}

/// May nobody but its owner, who is this user, root, or the user of the unit, write in a directory? Others could plant
/// links there.
fn is_own(directory: &Path) -> io::Result<()> {
    let metadata = fs::metadata(directory)?;
    let owner = metadata.uid();
    let of_unit =
        || User::from_name(USER).ok().flatten().is_some_and(|user| user.uid.as_raw() == owner);
    if owner != 0 && owner != geteuid().as_raw() && !of_unit() {
        let words = format!("it belongs to user {owner}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    }
    if metadata.mode() & 0o022 != 0 {
        let words =
            format!("mode {:o} lets others write there: chmod go-w", metadata.mode() & 0o777);
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, words));
    }
    Ok(())
}

/// Makes a file that replaces another by its name, whatever there is of a former try. No link is followed.
pub(super) fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)
}

/// Writes a small file, which the caller removes, to find whether files can be written there.
pub(super) fn try_write(path: &Path) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(b"{}")?;
    file.sync_all()
}

/// Does the error mean that there is no room?
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.take(32).read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_state_directory_has_one_daemon_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("a/b");
        let held = Hold::take(&state).unwrap();
        let error = Hold::take_within(&state, Duration::ZERO).unwrap_err().to_string();
        let own = format!("(pid {})", std::process::id());
        assert!(error.contains(state.to_str().unwrap()) && error.contains(&own), "{error}");
        assert!(error.contains("state_dir"), "{error}");
        let leaving = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(held);
        });
        drop(Hold::take(&state).unwrap());
        leaving.join().unwrap();
        let left: Vec<_> = fs::read_dir(&state).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
        let mode = fs::metadata(state.join("lock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Whoever can write in the directory of a daemon of root would have it write elsewhere.
    #[test]
    fn planted_links_are_not_followed_and_directories_of_others_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (state, target) = (directory.path().join("state"), directory.path().join("precious"));
        fs::write(&target, "precious").unwrap();
        fs::create_dir(&state).unwrap();
        std::os::unix::fs::symlink(&target, state.join("state.json.new")).unwrap();
        drop(Hold::take(&state).unwrap());
        std::os::unix::fs::symlink(&target, state.join("state.json.new")).unwrap();
        create(&state.join("state.json.new")).unwrap().write_all(b"{}").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        fs::remove_file(state.join("lock")).unwrap();
        std::os::unix::fs::symlink(&target, state.join("lock")).unwrap();
        assert!(matches!(Hold::take(&state), Err(HoldError::Unusable { .. })));
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");

        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let error = Hold::take(&open).unwrap_err();
        assert!(error.to_string().contains("trust the directory"), "{error}");
    }

    #[test]
    fn a_directory_that_keeps_nothing_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        for unusable in [file.join("state"), file.clone(), "/proc/tresse".into()] {
            let error = Hold::take(&unusable).unwrap_err();
            assert!(matches!(error, HoldError::Unusable { .. }), "{error}");
            let error = error.to_string();
            assert!(error.contains(unusable.to_str().unwrap()), "{error}");
        }
    }
}

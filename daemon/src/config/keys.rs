//! Reads the file of the fabric's keys, which nobody but the daemon may read.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use tresse_base::text::read_help;
use tresse_frame::keys::{Keys, KeysError};

/// More than two keys and some lines of comment have.
const BYTES_MOST: u64 = 4096;

/// Why the file of keys cannot be used. No error has any part of a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read.
    #[error("cannot read {}: {error}{}", path.display(), read_help(error.kind()).map_or_else(String::new, |help| format!(": {help}")))]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// Others may read or write it.
    #[error("{}: mode {mode:04o}, expected 0400: whoever reads the key can send as any node: chmod 0400", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is another user's.
    #[error("{}: it belongs to user {owner}, expected {user} or root: chown it", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// The user that this daemon runs as.
        user: u32,
    },
    /// Its text is no file of keys.
    #[error("{}: {error}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: KeysError,
    },
}

/// The keys in a file.
///
/// # Errors
/// [`KeyFileError`].
pub fn load(path: &Path) -> Result<Keys, KeyFileError> {
    let read = |error| KeyFileError::Read { path: path.into(), error };
    // Without waiting for the other end of a pipe.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    let file = file.map_err(read)?;
    let metadata = file.metadata().map_err(read)?;
    let (mode, owner, user) = (metadata.mode() & 0o7777, metadata.uid(), geteuid().as_raw());
    if owner != user && owner != 0 {
        return Err(KeyFileError::Owner { path: path.into(), owner, user });
    }
    if mode & !0o400 != 0 {
        return Err(KeyFileError::Mode { path: path.into(), mode });
    }
    if !metadata.is_file() || metadata.len() > BYTES_MOST {
        let words = format!("it is no file of at most {BYTES_MOST} bytes");
        return Err(read(io::Error::new(io::ErrorKind::InvalidData, words)));
    }
    let mut text = String::new();
    file.take(BYTES_MOST).read_to_string(&mut text).map_err(read)?;
    Keys::parse(&text).map_err(|error| KeyFileError::Text { path: path.into(), error })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use super::*;

    #[test]
    fn a_file_that_others_may_read_or_write_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.key");
        let refused = || load(&path).unwrap_err().to_string();
        assert!(refused().contains("fabric.key"));
        fs::write(&path, "01".repeat(32)).unwrap();
        for mode in [0o440, 0o404, 0o600, 0o644, 0o4400] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let error = refused();
            assert!(error.contains("fabric.key: mode") && error.contains("chmod 0400"), "{error}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert!(load(&path).unwrap().signs());
        if geteuid().is_root() {
            chown(&path, Some(65_534), None).unwrap();
            let error = refused();
            assert!(error.contains("belongs to user 65534, expected 0 or root"), "{error}");
        }
    }

    #[test]
    fn what_is_no_key_is_named_by_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.key");
        fs::write(&path, "none\nsecret\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        let error = load(&path).unwrap_err().to_string();
        assert!(error.contains("fabric.key: line 2 is neither a key"), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

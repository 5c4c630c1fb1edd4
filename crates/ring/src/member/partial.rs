//! An unfinished copy on disk: a directory `.NAME.tresse` beside the final name, with the received
//! files and a record of the progress. A later run can continue it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::content::{EntryKind, Manifest, ManifestEntry};
use crate::frame::Hash;
use crate::{named, wrong};

/// Up to this many files are flushed to the disk one by one; with more, their whole file system is.
const SINGLE: usize = 16;

/// Longest name in bytes that still has room for prefix and suffix within a file system's 255.
const LONG: usize = 240;

/// The saved progress of an unfinished copy, from which a later run continues: which manifest, how
/// many bytes are stored, and their checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedProgress {
    /// Checksum of the manifest.
    pub manifest: Hash,
    /// Bytes received from the beginning without a gap.
    #[serde(rename = "octets")]
    pub bytes: u64,
    /// Checksum of those bytes.
    pub hash: Hash,
}

/// An unfinished copy on disk, in a directory of its own. A lock on the directory excludes other
/// runs.
#[derive(Debug)]
pub struct Partial {
    target: PathBuf,
    directory: PathBuf,
    /// Whether this run created the directory.
    new: bool,
    _lock: Flock<File>,
}

impl Partial {
    /// Creates or opens the unfinished copy for `target`; also returns the progress that an earlier
    /// run noted.
    pub fn open(target: &Path) -> io::Result<(Self, Option<SavedProgress>)> {
        let named = |e: io::Error| named(target, &e);
        let refused = |words: &str| wrong(format!("{}: {words}", target.display()));
        let name = target.file_name().ok_or_else(|| refused("not the name of a file"))?;
        if fs::read_dir(target).is_ok_and(|mut inside| inside.next().is_some()) {
            return Err(refused("is a directory that is not empty"));
        }
        let mut name = name.as_bytes().to_vec();
        if name.len() > LONG {
            let hash = blake3::hash(&name).to_hex();
            name.splice(LONG - 16.., hash.bytes().take(16));
        }
        let hidden = [b".", &name[..], b".tresse"].concat();
        let directory = target.with_file_name(std::ffi::OsStr::from_bytes(&hidden));
        let (new, lock) = loop {
            let new = match DirBuilder::new().mode(0o700).create(&directory) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(named(e)),
                made => made.is_ok(),
            };
            let own = match fs::symlink_metadata(&directory) {
                // Another run has just ended and removed it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                own => own.map_err(named)?,
            };
            if !own.is_dir() || own.uid() != nix::unistd::geteuid().as_raw() {
                let words = format!("{} is not ours: remove it", directory.display());
                return Err(refused(&words));
            }
            let file = match File::open(&directory) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                file => file.map_err(named)?,
            };
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
                .map_err(|_| refused("is being copied to by another run"))?;
            // A lock on a directory that has just been removed excludes nobody.
            let locked = lock.metadata().map_err(named)?;
            let there = fs::symlink_metadata(&directory);
            if there.is_ok_and(|it| (it.dev(), it.ino()) == (locked.dev(), locked.ino())) {
                break (new, lock);
            }
        };
        let note = fs::read(directory.join("state")).ok();
        let left: Option<SavedProgress> = note.and_then(|note| serde_json::from_slice(&note).ok());
        // Content shorter than the record says cannot be continued.
        let content = fs::symlink_metadata(directory.join("content"));
        let all_there = |left: &SavedProgress| match &content {
            Ok(content) => !content.is_file() || content.len() >= left.bytes,
            Err(_) => false,
        };
        let left = left.filter(all_there);
        Ok((Self { target: target.to_owned(), directory, new, _lock: lock }, left))
    }

    /// Returns the path at which the content is stored until it is complete.
    pub fn content(&self) -> PathBuf {
        self.directory.join("content")
    }

    /// Adds the final name to an error.
    pub fn named(&self, error: &io::Error) -> io::Error {
        named(&self.target, error)
    }

    /// Removes all received content, to start from the beginning.
    pub fn clear(&self) -> io::Result<()> {
        if self.new {
            return Ok(());
        }
        let content = self.content();
        let _ = fs::remove_file(self.directory.join("state"));
        let removed = match fs::symlink_metadata(&content) {
            Ok(of) if of.is_dir() => fs::remove_dir_all(&content),
            Ok(_) => fs::remove_file(&content),
            Err(_) => Ok(()),
        };
        removed.map_err(|e| self.named(&e))
    }

    /// Fails if the manifest is a directory and the target an existing file, or the reverse.
    pub fn can_become(&self, manifest: &Manifest) -> io::Result<()> {
        let link = fs::symlink_metadata(&self.target).is_ok_and(|of| of.is_symlink());
        let refused = match (fs::metadata(&self.target), manifest.is_directory()) {
            _ if link && manifest.is_directory() => "is a symbolic link, and a directory is copied",
            (Ok(of), false) if of.is_dir() => "is a directory, and a file is copied",
            (Ok(of), true) if !of.is_dir() => "is a file, and a directory is copied",
            _ => return Ok(()),
        };
        Err(self.named(&io::Error::new(io::ErrorKind::AlreadyExists, refused)))
    }

    /// Creates the directories of the manifest.
    pub fn make_directories(&self, manifest: &Manifest) -> io::Result<()> {
        let directories =
            manifest.entries.iter().filter(|entry| entry.kind == EntryKind::Directory);
        for entry in directories {
            let path = entry.path.below(&self.content());
            match DirBuilder::new().mode(0o700).create(path) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(self.named(&e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes the note of the progress.
    pub fn note(&self, left: &SavedProgress) -> io::Result<()> {
        let new = self.directory.join("state.new");
        fs::write(&new, serde_json::to_vec(left)?)?;
        fs::rename(new, self.directory.join("state"))
    }

    /// Completes the copy: creates empty files and links, sets permissions and times, and flushes
    /// everything to the disk.
    pub fn complete(&self, manifest: &Manifest, keep: bool) -> io::Result<()> {
        let root = self.content();
        let mut files = 0;
        for entry in &manifest.entries {
            let path = entry.path.below(&root);
            match &entry.kind {
                EntryKind::File { size } => {
                    let file = open(&path)?;
                    if size.is_some_and(|size| file.metadata().is_ok_and(|of| of.len() != size)) {
                        return Err(wrong(
                            "is longer than it was sent: somebody else writes to it",
                        ));
                    }
                    dress(&file, entry, keep)?;
                    files += 1;
                    if manifest.entries.len() <= SINGLE {
                        file.sync_all()?;
                    }
                }
                EntryKind::Directory => {}
                EntryKind::Link { to } => match symlink(&to.0, &path) {
                    Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
                    _ => {}
                },
            }
        }
        if files > 0 && manifest.entries.len() > SINGLE {
            nix::unistd::syncfs(File::open(&self.directory)?)?;
        }
        Ok(())
    }

    /// Moves the content to its final name and returns that.
    pub fn rename(&self, manifest: &Manifest, keep: bool) -> io::Result<PathBuf> {
        // Without the record another run starts from the beginning, because the content is about to
        // move.
        let _ = fs::remove_file(self.directory.join("state"));
        fs::rename(self.content(), &self.target).map_err(|e| self.named(&e))?;
        // Directories get their permissions only now: a read-only one could not be moved or
        // removed, and new entries would change its time.
        for entry in manifest.entries.iter().rev().filter(|it| it.kind == EntryKind::Directory) {
            dress(&File::open(entry.path.below(&self.target))?, entry, keep)?;
        }
        let _ = fs::remove_dir(&self.directory);
        Ok(self.target.clone())
    }

    /// Flushes the directory that holds the final name.
    pub fn settle(&self) {
        // An error is ignored: the name may be lost in a power failure, which is acceptable.
        let _ = self.target.parent().map(|parent| File::open(parent)?.sync_all()).transpose();
    }

    /// Removes the unfinished copy.
    pub fn remove(&self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    /// Removes the unfinished copy if it has nothing from which a later run could continue.
    pub fn remove_if_empty(&self) {
        let note = fs::read(self.directory.join("state")).ok();
        let left = note.and_then(|note| serde_json::from_slice::<SavedProgress>(&note).ok());
        if left.is_none_or(|left| left.bytes == 0) {
            self.remove();
        }
    }
}

/// Opens a file for writing and keeps its contents; creates it if it does not exist.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path).or_else(|error| match error.kind() {
        // A killed run had already set the final permissions.
        io::ErrorKind::PermissionDenied => {
            fs::set_permissions(path, Permissions::from_mode(0o600))?;
            options.open(path)
        }
        _ => Err(error),
    })
}

/// Sets permissions and time of the last change.
fn dress(file: &File, entry: &ManifestEntry, keep: bool) -> io::Result<()> {
    // Drops set-uid and set-gid, because the owner may be another user here.
    let mode = if keep { entry.mode & 0o1777 } else { entry.mode & 0o777 & !0o022 };
    file.set_permissions(Permissions::from_mode(mode))?;
    if keep {
        let (seconds, nanoseconds) = entry.changed;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let time =
            if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        let time = time.and_then(|it| it.checked_add(Duration::from_nanos(nanoseconds.into())));
        file.set_modified(time.ok_or_else(|| wrong("a time of change that cannot be"))?)?;
    }
    Ok(())
}

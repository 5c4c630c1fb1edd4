//! The manifest of a copy: names, sizes, permissions and times of all files.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{named, wrong};

/// The list of all files, directories and symbolic links of a copy. A directory precedes its
/// contents. The first entry is the copied file or directory itself and has no name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The entries, at least one.
    pub entries: Vec<ManifestEntry>,
    /// Offset in bytes of a piece in its file; 0 for a whole file.
    #[serde(default)]
    pub start: u64,
}

/// An entry of a manifest: the path, permissions, time of last change and kind of one file,
/// directory or symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestEntry {
    /// Path relative to the first entry.
    pub path: Name,
    /// Permission bits.
    pub mode: u32,
    /// Time of the last change: seconds since 1970, and nanoseconds.
    pub changed: (i64, u32),
    /// The kind of the entry.
    pub kind: EntryKind,
}

/// The kind of a manifest entry: file, directory or symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File {
        /// Size in bytes; `None` for standard input, which is then the only entry.
        size: Option<u64>,
    },
    /// A directory.
    Directory,
    /// A symbolic link.
    Link {
        /// Target of the link, as stored in it.
        to: Name,
    },
}

impl Manifest {
    /// Reads the manifest of a file, or of a directory and everything below it.
    ///
    /// # Errors
    /// What cannot be read, or is neither file, directory nor symbolic link, by its path.
    pub fn of(root: &Path) -> io::Result<Self> {
        let mut entries = Vec::new();
        let metadata = fs::metadata(root).map_err(|e| named(root, &e))?;
        walk(root, PathBuf::new(), &metadata, &mut entries)?;
        Ok(Self { entries, start: 0 })
    }

    /// Returns the manifest of standard input: one file of unknown size.
    #[must_use]
    pub fn of_input(now: (i64, u32)) -> Self {
        let kind = EntryKind::File { size: None };
        let entry = ManifestEntry { path: Name(OsString::new()), mode: 0o644, changed: now, kind };
        Self { entries: vec![entry], start: 0 }
    }

    /// Returns the bytes of all files together; `None` if the size of one is unknown.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let mut sizes = self.entries.iter().map(|entry| match entry.kind {
            EntryKind::File { size } => size,
            _ => Some(0),
        });
        sizes.try_fold(0_u64, |sum, size| sum.checked_add(size?))
    }

    /// Returns whether the copied object is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.entries.first().is_some_and(|first| first.kind == EntryKind::Directory)
    }

    /// Encodes the manifest for sending; [`parse`](Self::parse) decodes it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("names and numbers")
    }

    /// Decodes a manifest that another member sent.
    ///
    /// # Errors
    /// A path that leads out of the directory, that appears twice, or whose parent is no directory.
    pub fn parse(bytes: &[u8]) -> io::Result<Self> {
        let manifest: Self = serde_json::from_slice(bytes)?;
        let (first, below) =
            manifest.entries.split_first().ok_or_else(|| wrong("a manifest of nothing"))?;
        let alone = matches!(first.kind, EntryKind::File { .. }) && below.is_empty();
        if !first.path.0.is_empty() || !(alone || first.kind == EntryKind::Directory) {
            return Err(wrong("a manifest of neither a file nor a directory"));
        }
        let (mut all, mut directories) = (BTreeSet::new(), BTreeSet::from([Path::new("")]));
        for entry in below {
            let path = Path::new(&entry.path.0);
            let plain = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
            let said_once = all.insert(path);
            let parent = path.parent().is_some_and(|parent| directories.contains(parent));
            if !plain || !said_once || !parent || path.as_os_str().as_bytes().contains(&0) {
                return Err(wrong(format!("`{}` in a manifest", path.display())));
            }
            match &entry.kind {
                EntryKind::Directory => drop(directories.insert(path)),
                EntryKind::File { size: None } => return Err(wrong("a file of unknown size")),
                EntryKind::Link { to } if to.0.is_empty() || to.0.as_bytes().contains(&0) => {
                    return Err(wrong(format!("`{}` leads nowhere", path.display())));
                }
                EntryKind::File { .. } | EntryKind::Link { .. } => {}
            }
        }
        if !alone && manifest.bytes().is_none() {
            return Err(wrong("more bytes than 64 bits can count"));
        }
        Ok(manifest)
    }
}

fn walk(
    root: &Path,
    path: PathBuf,
    metadata: &fs::Metadata,
    entries: &mut Vec<ManifestEntry>,
) -> io::Result<()> {
    let at = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(&path) };
    let kind = if metadata.is_dir() {
        EntryKind::Directory
    } else if metadata.is_symlink() {
        let to = fs::read_link(&at).map_err(|e| named(&at, &e))?;
        EntryKind::Link { to: Name(to.into_os_string()) }
    } else if metadata.is_file() {
        // Opens the file now, so that a file that cannot be read is noticed before anything is
        // sent.
        let nonblocking = OFlag::O_NONBLOCK.bits();
        let file = File::options().read(true).custom_flags(nonblocking).open(&at);
        let mut file = file.map_err(|e| named(&at, &e))?;
        if metadata.len() == 0 && matches!(file.read(&mut [0]), Ok(1)) {
            let words = "said to be empty, and is not, as in /proc: copy it by standard input";
            return Err(named(&at, &io::Error::new(io::ErrorKind::InvalidInput, words)));
        }
        EntryKind::File { size: Some(metadata.len()) }
    } else {
        let words = format!("{}: neither file, directory nor symbolic link", at.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    };
    let below = kind == EntryKind::Directory;
    let mode = metadata.mode() & 0o7777;
    // The time of a symbolic link does not matter.
    let changed = match kind {
        EntryKind::Link { .. } => (0, 0),
        _ => (metadata.mtime(), metadata.mtime_nsec().unsigned_abs() as u32),
    };
    entries.push(ManifestEntry { path: Name(path.clone().into_os_string()), mode, changed, kind });
    if !below {
        return Ok(());
    }
    let inside = fs::read_dir(&at).map_err(|e| named(&at, &e))?;
    let mut names: Vec<OsString> =
        inside.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort();
    for name in names {
        let inner = at.join(&name);
        let metadata = fs::symlink_metadata(&inner).map_err(|e| named(&inner, &e))?;
        walk(root, path.join(name), &metadata, entries)?;
    }
    Ok(())
}

/// A file name as the kernel stores it: any bytes. In JSON, `%` and bytes that are not UTF-8 are
/// written as `%` and two hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(pub OsString);

impl Name {
    /// Returns this path below `root`; an empty name gives `root` itself.
    #[must_use]
    pub fn below(&self, root: &Path) -> PathBuf {
        if self.0.is_empty() { root.to_owned() } else { root.join(&self.0) }
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for chunk in self.0.as_bytes().utf8_chunks() {
            text += &chunk.valid().replace('%', "%25");
            chunk.invalid().iter().for_each(|byte| text += &format!("%{byte:02x}"));
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = Vec::with_capacity(text.len());
        let mut parts = text.as_bytes().split(|byte| *byte == b'%');
        bytes.extend_from_slice(parts.next().unwrap_or_default());
        for part in parts {
            let digits = part.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let wrong = || serde::de::Error::custom(format!("`{text}`: % without two digits"));
            bytes.push(byte.ok_or_else(wrong)?);
            bytes.extend_from_slice(&part[2..]);
        }
        Ok(Self(OsString::from_vec(bytes)))
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(OsStr::new(text).to_owned())
    }
}

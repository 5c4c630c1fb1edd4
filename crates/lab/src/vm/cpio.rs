//! Writes the initramfs of the virtual machine: a cpio archive (`newc`) with the guest's init and
//! its libraries.
//!
//! Format: kernel `Documentation/driver-api/early-userspace/buffer-format.rst`. The kernel accepts
//! several archives one after the other, so the archive with the cached modules and the one with
//! this run's program are concatenated.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::packages::{PackageError, io, run};

/// A cpio archive under construction.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Adds a directory, its parents first.
    pub fn directory(&mut self, path: &str) {
        if path.is_empty() || !self.directories.insert(path.to_owned()) {
            return;
        }
        self.parent(path);
        self.entry(path, S_IFDIR | 0o755, (0, 0), &[]);
    }

    /// Adds a file, its directories first.
    pub fn file(&mut self, path: &str, mode: u32, bytes: &[u8]) {
        self.parent(path);
        self.entry(path, S_IFREG | mode, (0, 0), bytes);
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, mode: u32, major: u32, minor: u32) {
        self.parent(path);
        self.entry(path, S_IFCHR | mode, (major, minor), &[]);
    }

    /// The archive, padded so that another may follow.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, (0, 0), &[]);
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self.bytes
    }

    fn parent(&mut self, path: &str) {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), bytes: &[u8]) {
        self.entries += 1;
        let size = bytes.len() as u32;
        let name_size = path.len() as u32 + 1;
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Returns a cpio archive with `program` as `/init`, and the shared libraries that it is linked
/// with at the paths that they have on the host.
pub fn init_archive(program: &Path) -> Result<Vec<u8>, PackageError> {
    let mut archive = Archive::default();
    archive.device("dev/console", 0o600, 5, 1);
    archive.file("init", 0o755, &fs::read(program).map_err(io(program))?);
    for library in libraries(program)? {
        let bytes = fs::read(&library).map_err(io(&library))?;
        archive.file(library.to_string_lossy().trim_start_matches('/'), 0o755, &bytes);
    }
    Ok(archive.finish())
}

/// The shared objects that the loader would map, the loader included; none for a static program.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, PackageError> {
    let listing = match run(Command::new("ldd").env("LC_ALL", "C").arg(program)) {
        Err(PackageError::Failed { stderr, .. }) if stderr.contains("not a dynamic") => {
            return Ok(Vec::new());
        }
        other => other?,
    };
    let words = listing.lines().filter_map(|line| {
        let place = line.split_once("=>").map_or(line, |(_, place)| place);
        place.split_whitespace().next()
    });
    Ok(words.filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFCHR: u32 = 0o020_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_aligned_and_parents_come_once_and_first() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"hello");
        archive.file("a/d", 0o755, b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 512, 0);
        let mut names = Vec::new();
        let mut at = 0;
        loop {
            let field = |n: usize| {
                let text = std::str::from_utf8(&bytes[at + 6 + n * 8..at + 14 + n * 8]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            assert_eq!(&bytes[at..at + 6], b"070701");
            let (size, name_size) = (field(6), field(11));
            let name = &bytes[at + 110..at + 110 + name_size - 1];
            names.push(String::from_utf8(name.to_vec()).unwrap());
            at = (at + 110 + name_size).next_multiple_of(4);
            at = (at + size).next_multiple_of(4);
            if names.last().unwrap() == "TRAILER!!!" {
                break;
            }
        }
        assert_eq!(names, ["a", "a/b", "a/b/c", "a/d", "TRAILER!!!"]);
    }
}

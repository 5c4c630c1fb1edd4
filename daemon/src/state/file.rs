//! Reads and writes the state file, which holds what the daemon remembers across restarts.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tresse_engine::{FORMAT, Stored};

use super::hold::{create, is_full, try_write};

/// The state file `state.json`, with its previous version `state.json.bak`.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

/// Why the state file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A file operation failed.
    #[error("{action} {}: {}", path.display(), advice(source))]
    Io {
        /// The operation.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The file is not one of ours, or is damaged.
    #[error(
        "{}: {reason}; `{}` holds the state before: copy it over, or remove both after `tresse \
         withdraw` on a working version",
        path.display(), backup.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The predecessor, which is intact.
        backup: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Another version of the daemon wrote it.
    #[error("{} has format {found}, this version reads format {FORMAT}: {advice}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format number.
        found: u64,
        /// The remedy.
        advice: &'static str,
    },
}

/// The remedy for an error.
fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        _ if is_full(source) => "free space there",
        io::ErrorKind::ReadOnlyFilesystem => "its file system is read-only: remount it",
        _ => "check state_dir and its owner",
    }
}

impl StateFile {
    /// The state file in `directory`, which need not exist yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self { path: directory.join("state.json") }
    }

    /// Reads the stored state; the default if there is no file.
    ///
    /// # Errors
    /// [`StateError`]; a damaged file is left as it is.
    pub fn load(&self) -> Result<Stored, StateError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            Err(source) => return Err(self.io("read", &self.path, source)),
        };
        self.parse(&bytes)
    }

    /// Decodes the content of the file.
    pub(crate) fn parse(&self, bytes: &[u8]) -> Result<Stored, StateError> {
        let damaged = |reason: String| StateError::Damaged {
            path: self.path.clone(),
            backup: self.backup(),
            reason,
        };
        #[derive(serde::Deserialize)]
        struct Head {
            format: u64,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
        if head.format != u64::from(FORMAT) {
            let advice = if head.format > u64::from(FORMAT) {
                "start the newer version again, or withdraw with it first"
            } else {
                "withdraw with the older version first"
            };
            return Err(StateError::Format { path: self.path.clone(), found: head.format, advice });
        }
        let stored: Stored = serde_json::from_slice(bytes).map_err(|e| damaged(e.to_string()))?;
        Ok(stored.upgraded())
    }

    /// Replaces the stored state. On return it is on the disk.
    ///
    /// # Errors
    /// [`StateError::Io`]; then the old file is untouched.
    pub fn save(&self, stored: &Stored) -> Result<(), StateError> {
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        let fresh = self.path.with_extension("json.new");
        fs::create_dir_all(directory).map_err(|e| self.io("create", directory, e))?;
        let write = || -> io::Result<()> {
            let mut file = create(&fresh)?;
            let mut buffer = io::BufWriter::new(&mut file);
            serde_json::to_writer(&mut buffer, stored)?;
            buffer.flush()?;
            drop(buffer);
            file.sync_all()
        };
        write().map_err(|e| self.io("write", &fresh, e))?;
        let backup = self.backup();
        let _ = fs::remove_file(&backup);
        match fs::hard_link(&self.path, &backup) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(self.io("keep the last state as", &backup, e));
            }
            _ => {}
        }
        fs::rename(&fresh, &self.path).map_err(|e| self.io("replace", &self.path, e))?;
        File::open(directory).and_then(|d| d.sync_all()).map_err(|e| self.io("sync", directory, e))
    }

    /// Can files be written in the directory? Tries with a small one, which is removed again.
    ///
    /// # Errors
    /// [`StateError::Io`]
    pub fn probe(&self) -> Result<(), StateError> {
        let directory = self.path.parent().unwrap_or_else(|| Path::new("."));
        let fresh = self.path.with_extension("json.new");
        fs::create_dir_all(directory).map_err(|e| self.io("create", directory, e))?;
        let tried = try_write(&fresh);
        let removed = fs::remove_file(&fresh);
        tried.and(removed).map_err(|e| self.io("write", &fresh, e))
    }

    fn backup(&self) -> PathBuf {
        self.path.with_extension("json.bak")
    }

    fn io(&self, action: &'static str, path: &Path, source: io::Error) -> StateError {
        StateError::Io { action, path: path.to_path_buf(), source }
    }
}

#[cfg(test)]
mod tests {
    use tresse_base::id::Vid;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("tressed-state-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn what_is_saved_is_loaded_and_the_one_before_is_kept() {
        let directory = scratch("roundtrip");
        let file = StateFile::new(&directory);
        assert_eq!(file.load().unwrap(), Stored::default());
        let mut stored = Stored::default();
        stored.proven.insert(Vid(100), "aa".into());
        file.save(&stored).unwrap();
        stored.fused.insert(Vid(101), "seen twice".into());
        file.save(&stored).unwrap();
        assert_eq!(file.load().unwrap(), stored);
        let backup = fs::read_to_string(directory.join("state.json.bak")).unwrap();
        assert!(backup.contains("\"fused\":{}"), "{backup}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_directory_that_takes_no_state_is_found_without_one() {
        let directory = scratch("probe");
        let file = StateFile::new(&directory);
        file.probe().unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "it leaves nothing");
        // Nobody can write below a file, not even root.
        fs::remove_dir_all(&directory).unwrap();
        fs::write(&directory, "").unwrap();
        let (probed, saved) =
            (file.probe().unwrap_err(), file.save(&Stored::default()).unwrap_err());
        assert_eq!(probed.to_string(), saved.to_string());
        fs::remove_file(directory).unwrap();
    }

    #[test]
    fn damaged_and_foreign_formats_are_refused_and_left_alone() {
        let directory = scratch("damaged");
        let file = StateFile::new(&directory);
        file.save(&Stored::default()).unwrap();
        let path = directory.join("state.json");
        for (content, word) in [
            ("", "state before"),
            ("{\"format\":1,\"current\":", "state before"),
            ("{\"format\":1}", "missing field"),
            ("{\"format\":2}", "newer version"),
            ("{\"format\":0}", "older version"),
        ] {
            fs::write(&path, content).unwrap();
            let error = file.load().unwrap_err().to_string();
            assert!(error.contains(word), "{content}: {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        fs::remove_dir_all(directory).unwrap();
    }
}

//! What the threads of a member know of the file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::TOKEN;
use crate::talk::{Join, Next};

/// What is told of a file before its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Octets.
    pub size: u64,
    /// Permissions.
    pub mode: u32,
    /// Of its last change: seconds since 1970.
    pub changed: i64,
}

impl Header {
    pub const OCTETS: usize = 20;

    pub fn to_octets(self) -> [u8; Self::OCTETS] {
        let mut octets = [0; Self::OCTETS];
        octets[..8].copy_from_slice(&self.size.to_be_bytes());
        octets[8..12].copy_from_slice(&self.mode.to_be_bytes());
        octets[12..].copy_from_slice(&self.changed.to_be_bytes());
        octets
    }

    pub fn from_octets(octets: [u8; Self::OCTETS]) -> Self {
        let (size, rest) = octets.split_at(8);
        let (mode, changed) = rest.split_at(4);
        Self {
            size: u64::from_be_bytes(size.try_into().unwrap_or_default()),
            mode: u32::from_be_bytes(mode.try_into().unwrap_or_default()) & 0o7777,
            changed: i64::from_be_bytes(changed.try_into().unwrap_or_default()),
        }
    }
}

/// What changes.
#[derive(Debug, Default)]
pub struct State {
    pub header: Option<Header>,
    /// Octets in the file.
    pub has: u64,
    /// Of the whole file, once it is known to be right.
    pub hash: Option<[u8; 32]>,
    /// Who is sent to: nothing was said yet, nobody, or that one.
    pub next: Option<Option<Next>>,
    pub failed: bool,
    pub ended: bool,
    whole: bool,
}

#[derive(Debug)]
pub struct Shared {
    pub token: [u8; TOKEN],
    pub keep: bool,
    /// The final name, and that under which it is until it is whole; the same for the source.
    pub file: PathBuf,
    pub temporary: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// Opens the source, or makes the file under another name.
    pub fn new(join: &Join, token: [u8; TOKEN]) -> io::Result<Self> {
        let file = join.file.clone();
        let named = |e: io::Error, path: &PathBuf| {
            io::Error::new(e.kind(), format!("{}: {e}", path.display()))
        };
        let mut state = State::default();
        let mut temporary = file.clone();
        if join.source {
            let of = fs::metadata(&file).map_err(|e| named(e, &file))?;
            if !of.is_file() {
                let words = format!("{}: no regular file", file.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
            }
            File::open(&file).map_err(|e| named(e, &file))?;
            use std::os::unix::fs::MetadataExt as _;
            let (mode, changed) = (of.mode() & 0o7777, of.mtime());
            state.header = Some(Header { size: of.len(), mode, changed });
            state.has = of.len();
            state.whole = true;
        } else {
            let name = file.file_name().ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("{}: no name of a file", file.display()),
                )
            })?;
            if file.is_dir() {
                let words = format!("{}: is a directory", file.display());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
            }
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}", &join.token[..8]));
            temporary = file.with_file_name(hidden);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).open(&temporary).map_err(|e| named(e, &file))?;
        }
        let (state, changed) = (Mutex::new(state), Condvar::new());
        Ok(Self { token, keep: join.keep, file, temporary, state, changed })
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }

    /// Changes it, and wakes who waits.
    pub fn change(&self, with: impl FnOnce(&mut State)) {
        with(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until something holds of it, and gives what `until` gives then.
    pub fn wait<T>(&self, mut until: impl FnMut(&State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(value) = until(&state) {
                return value;
            }
            state = self.changed.wait(state).expect("nobody panics with it");
        }
    }

    /// Is it to end? Waits for that at most so long.
    pub fn wait_to_end(&self, most: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), most, |state| !state.ended);
        waited.expect("nobody panics with it").0.ended
    }

    pub fn has(&self) -> Option<(u64, u64)> {
        let state = self.state();
        state.header.map(|header| (state.has, header.size))
    }

    pub fn set_next(&self, next: Option<Next>) {
        self.change(|state| state.next = Some(next));
    }

    pub fn fail(&self) {
        self.change(|state| state.failed = true);
        self.remove_what_is_not_whole();
    }

    pub fn end(&self) {
        self.change(|state| state.ended = true);
    }

    /// The file has its final name.
    pub fn is_whole(&self, hash: [u8; 32]) {
        self.change(|state| {
            state.whole = true;
            state.hash = Some(hash);
        });
    }

    pub fn remove_what_is_not_whole(&self) {
        if !self.state().whole {
            // It is gone already where it was never made.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

//! The state of a lab on disk: one directory per lab, with a state file that names everything the
//! lab has created or is about to create. It is written before anything is created, so that
//! [`down`](crate::down) knows what to remove even if the process that built the lab died.
//!
//! ```text
//!  /run/tresse-lab/<lab>/state.json      LabState
//!                        lock            held while the lab is being built, changed or removed
//!                        cluster.toml    the cluster file, for the daemons
//!                        tresse.lock     the lock file, for the daemons, if there is one
//!                        .hosts          /etc/hosts of the nodes
//!                        supervisor      held by the process that starts daemons again
//!                        supervisor.log  what it did
//!                        baseline.json   counters at the last `counters --reset`
//!                        <node>.again    `ip` commands that restore a node without a daemon
//!                        <node>/         of a daemon: tressed.toml control metrics state/ log
//! ```

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::blueprint::{Blueprint, LabNode};
use crate::netns::advice;

/// The content of a lab's state file: its blueprint (nodes, switches and cables), whether it is
/// complete, and the failures in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabState {
    /// The lab's name.
    pub name: String,
    /// Its phase.
    pub phase: Phase,
    /// Whether daemons run in the nodes.
    pub daemons: bool,
    /// The rate that all cables are shaped to, or each cable's own.
    pub shape: Shaping,
    /// Its parts.
    pub blueprint: Blueprint,
    /// Injected faults.
    pub faults: Vec<Fault>,
}

/// A failure that is in force in a lab: the link, switch or node that fails, and whether it fails
/// silently, that is, without carrier loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What was asked for: `s00-s01`, `s00:3`, a switch or a node.
    pub object: String,
    /// Without carrier loss.
    pub silent: bool,
}

/// Whether a lab is complete, or is still being built (or the process that built it died).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// `up` is working on it, or died doing so.
    Building,
    /// Complete.
    Up,
}

/// How a lab limits the rate of its cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Shaping {
    /// As fast as they go.
    #[default]
    None,
    /// All at this many bits per second.
    Rate(u64),
    /// Each at its rate in the cluster file.
    File,
}

/// Why a lab's state cannot be used: no such lab, or a problem with its directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// No lab of that name.
    #[error("there is no lab `{name}`: `tresse lab up FILE --name {name}` makes one")]
    NoLab {
        /// The name.
        name: String,
    },
    /// No lab at all.
    #[error("there is no lab: `tresse lab up FILE` makes one")]
    None,
    /// Several labs and no name.
    #[error("there are several labs, choose one with --name: {}", names.join(", "))]
    Several {
        /// All of them.
        names: Vec<String>,
    },
    /// Someone else is building it or taking it down.
    #[error("lab `{name}` is being changed by another process: wait for it or interrupt it")]
    Busy {
        /// The name.
        name: String,
    },
    /// The builder died.
    #[error("lab `{name}` was never finished: `tresse lab down --name {name}` removes it")]
    Unfinished {
        /// The name.
        name: String,
    },
    /// A name that cannot be part of a namespace's name.
    #[error("`{name}` is not a valid name of a lab: use up to 20 letters, digits, `-` and `_`")]
    BadName {
        /// The name.
        name: String,
    },
    /// The file system.
    #[error("{}: {source}{}", path.display(), advice(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Not written by this version.
    #[error("{}: {source}: written by another version of tresse?", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
}

/// The directory of one lab: its state file, lock, counters and the files of its nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// The lab's name.
    pub name: String,
    /// The directory.
    pub path: PathBuf,
}

impl Directory {
    /// The directory of a lab, which need not exist.
    pub fn of(name: &str) -> Result<Self, StateError> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 20 || !name.chars().all(good) {
            return Err(StateError::BadName { name: name.into() });
        }
        Ok(Self { name: name.into(), path: root().join(name) })
    }

    /// All labs, finished or not, by name.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir(root()) else { return Vec::new() };
        let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
        let mut all: Vec<_> = names.filter_map(|name| Self::of(&name).ok()).collect();
        all.retain(|d| d.state_file().exists());
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The lab of this name, or the only one there is.
    pub fn find(name: Option<&str>) -> Result<Self, StateError> {
        if let Some(name) = name {
            let directory = Self::of(name)?;
            let known = directory.state_file().exists();
            return known.then_some(directory).ok_or(StateError::NoLab { name: name.into() });
        }
        let mut all = Self::all();
        match all.len() {
            0 => Err(StateError::None),
            1 => Ok(all.remove(0)),
            _ => Err(StateError::Several { names: all.into_iter().map(|d| d.name).collect() }),
        }
    }

    /// Takes the lab's lock; released when dropped, and by the kernel when this process dies. Waits for
    /// a short time: a program that the process was just starting when it died holds the lock until
    /// that program runs.
    pub fn lock(&self) -> Result<Flock<File>, StateError> {
        let path = self.path.join("lock");
        let end = Instant::now() + PATIENCE;
        loop {
            fs::create_dir_all(&self.path).map_err(at(&self.path))?;
            let file = File::create(&path).map_err(at(&path))?;
            let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => lock,
                Err((_, Errno::EWOULDBLOCK)) if Instant::now() < end => {
                    thread::sleep(POLL);
                    continue;
                }
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(StateError::Busy { name: self.name.clone() });
                }
                Err((_, errno)) => return Err(at(&path)(errno.into())),
            };
            // The file may have been removed with its lab between opening and locking it.
            let held = lock.metadata().map_err(at(&path))?.ino();
            if fs::metadata(&path).is_ok_and(|m| m.ino() == held) {
                return Ok(lock);
            }
        }
    }

    /// Returns the file with the `ip` commands that restore an interface of a node without a
    /// daemon.
    #[must_use]
    pub fn again_file(&self, node: &str) -> PathBuf {
        self.path.join(format!("{node}.again"))
    }

    /// Writes the record, whole or not at all.
    pub fn store(&self, record: &LabState) -> Result<(), StateError> {
        self.write("state.json", record)
    }

    /// Gives these nodes names in `/etc/hosts` of all nodes, before those of this machine.
    pub(crate) fn name(&self, nodes: &[LabNode]) -> Result<(), StateError> {
        let mut hosts = String::new();
        for node in nodes {
            for address in &node.addresses {
                hosts.push_str(&format!("{address} {}\n", node.name));
            }
        }
        hosts += &fs::read_to_string("/etc/hosts").unwrap_or_default();
        fs::write(self.hosts(), hosts).map_err(at(&self.hosts()))
    }

    /// The cluster file of the lab's daemons.
    #[must_use]
    pub fn cluster(&self) -> PathBuf {
        self.path.join("cluster.toml")
    }

    /// `/etc/hosts` of the lab's nodes. No node has such a name.
    #[must_use]
    pub fn hosts(&self) -> PathBuf {
        self.path.join(".hosts")
    }

    /// Reads the record, in whatever phase.
    pub fn load(&self) -> Result<LabState, StateError> {
        let path = self.state_file();
        let bytes = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StateError::NoLab { name: self.name.clone() },
            _ => StateError::Io { path: path.clone(), source },
        })?;
        serde_json::from_slice(&bytes).map_err(|source| StateError::Format { path, source })
    }

    /// Reads the record of a finished lab.
    pub fn load_up(&self) -> Result<LabState, StateError> {
        let record = self.load()?;
        if record.phase == Phase::Up {
            return Ok(record);
        }
        // The lock shows whether its creator still works on it.
        self.lock()?;
        Err(StateError::Unfinished { name: self.name.clone() })
    }

    /// Writes some value beside the record.
    pub fn write(&self, file: &str, value: &impl Serialize) -> Result<(), StateError> {
        let path = self.path.join(file);
        let new = self.path.join(format!("{file}.new"));
        let bytes = serde_json::to_vec(value)
            .map_err(|source| StateError::Format { path: path.clone(), source })?;
        fs::create_dir_all(&self.path).map_err(at(&self.path))?;
        fs::write(&new, bytes).map_err(at(&new))?;
        fs::rename(&new, &path).map_err(at(&path))
    }

    /// Removes the directory.
    pub fn remove(&self) -> Result<(), StateError> {
        // The state file is removed first: without it the rest is not a lab.
        let _ = fs::remove_file(self.state_file());
        match fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(at(&self.path)(e)),
            _ => Ok(()),
        }
    }

    /// A node's own directory.
    #[must_use]
    pub fn node(&self, node: &str) -> PathBuf {
        self.path.join(node)
    }

    /// A node daemon's configuration.
    #[must_use]
    pub fn config(&self, node: &str) -> PathBuf {
        self.node(node).join("tressed.toml")
    }

    /// A node daemon's control socket.
    #[must_use]
    pub fn socket(&self, node: &str) -> PathBuf {
        self.node(node).join("control")
    }

    /// The name of a place's network namespace.
    #[must_use]
    pub fn netns(&self, place: &str) -> String {
        format!("tresse-{}-{place}", self.name)
    }

    fn state_file(&self) -> PathBuf {
        self.path.join("state.json")
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::Io { path, source }
}

/// `$TRESSE_LAB_DIR`, else `/run/tresse-lab`.
fn root() -> PathBuf {
    std::env::var_os("TRESSE_LAB_DIR").map_or_else(|| "/run/tresse-lab".into(), PathBuf::from)
}

/// How long a lock that another process holds is waited for, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Another process that holds the lock for so many seconds.
    fn holder(directory: &Directory, seconds: &str) -> Child {
        fs::create_dir_all(&directory.path).unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "exec 9>lock; flock 9; echo; exec sleep $0", seconds])
            .current_dir(&directory.path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn lock_waits_for_a_process_that_is_about_to_release_it() {
        let files = tempfile::tempdir().unwrap();
        let directory = Directory { name: "a".into(), path: files.path().join("a") };
        let mut child = holder(&directory, "0.3");
        assert!(directory.lock().is_ok());
        child.wait().unwrap();
        let mut child = holder(&directory, "60");
        assert!(matches!(directory.lock(), Err(StateError::Busy { .. })));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

//! Creates, enters and deletes named network namespaces, kept like those of `ip netns`: a bind
//! mount per name below `/run/netns`. No process is started to create or enter one: a thread
//! unshares or joins the namespace, does the work, and ends. Source: ip-netns(8), setns(2).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::sethostname;

/// Why a network namespace could not be created, entered or deleted.
#[derive(Debug, thiserror::Error)]
pub enum NetnsError {
    /// A system call failed.
    #[error("cannot {verb} network namespace {name}: {source}{}", advice(source))]
    Call {
        /// What was tried.
        verb: &'static str,
        /// The namespace.
        name: String,
        /// The reason.
        source: io::Error,
    },
}

/// What to do about an error of the file system or the kernel, to follow its message; empty if it speaks for itself.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ": labs need root: use sudo",
        _ => "",
    }
}

fn failed(verb: &'static str, name: &str, source: impl Into<io::Error>) -> NetnsError {
    NetnsError::Call { verb, name: name.into(), source: source.into() }
}

/// Makes `/run/netns` a shared mount, so that a deletion reaches every mount namespace. Call it
/// once before
/// [`create`].
pub fn prepare() -> Result<(), NetnsError> {
    let fault = |source: io::Error| failed("prepare", DIRECTORY, source);
    fs::create_dir_all(DIRECTORY).map_err(fault)?;
    let share = || {
        let flags = MsFlags::MS_SHARED | MsFlags::MS_REC;
        mount(Some(""), DIRECTORY, Some("none"), flags, None::<&str>)
    };
    match share() {
        Err(Errno::EINVAL) => {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(DIRECTORY), DIRECTORY, Some("none"), flags, None::<&str>)
                .and_then(|()| share())
                .map_err(|e| fault(e.into()))
        }
        other => other.map_err(|e| fault(e.into())),
    }
}

/// Creates a named network namespace, runs `setup` inside it, and returns its result. Fails if the
/// name is taken.
pub fn create<T: Send>(name: &str, setup: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
    let path = path(name);
    let fault = |source: io::Error| failed("create", name, source);
    OpenOptions::new().write(true).create_new(true).open(&path).map_err(fault)?;
    on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        let from = Some("/proc/thread-self/ns/net");
        mount(from, &path, Some("none"), MsFlags::MS_BIND, None::<&str>)?;
        Ok(setup())
    })
    .map_err(|e: io::Error| {
        let _ = fs::remove_file(&path);
        fault(e)
    })
}

/// Runs `work` in a named network namespace, on a thread of its own. Programs that it starts run
/// there too.
pub fn inside<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
    let fault = |source: io::Error| failed("enter", name, source);
    let file = File::open(path(name)).map_err(fault)?;
    on_thread(|| {
        setns(&file, CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    })
    .map_err(fault)
}

/// Runs `work` as on the host `host`: in the network namespace `name`, with its interfaces in /sys and `hosts` as
/// `/etc/hosts`. Programs that it starts see the same. So does ip-netns(8) with `ip netns exec`.
pub fn as_host<T: Send>(
    host: &str,
    name: &str,
    hosts: &Path,
    work: impl FnOnce() -> T + Send,
) -> Result<T, NetnsError> {
    let fault = |source: io::Error| failed("enter", name, source);
    let file = File::open(path(name)).map_err(fault)?;
    on_thread(|| {
        setns(&file, CloneFlags::CLONE_NEWNET)?;
        // Mounts of this thread alone: those made outside later still arrive.
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUTS)?;
        sethostname(host)?;
        let none = None::<&str>;
        mount(none, "/", none, MsFlags::MS_SLAVE | MsFlags::MS_REC, none)?;
        let old = statvfs("/sys").map(|of| of.flags()).unwrap_or(FsFlags::empty());
        let read_only = old.contains(FsFlags::ST_RDONLY);
        let flags = if read_only { MsFlags::MS_RDONLY } else { MsFlags::empty() };
        let _ = umount2("/sys", MntFlags::MNT_DETACH);
        mount(Some(name), "/sys", Some("sysfs"), flags, none)?;
        if hosts.exists() && Path::new(HOSTS).exists() {
            mount(Some(hosts), HOSTS, none, MsFlags::MS_BIND, none)?;
        }
        Ok(work())
    })
    .map_err(fault)
}

/// Runs `work` in a new network namespace without a name, which vanishes afterwards.
pub fn in_scratch<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NetnsError> {
    on_thread(|| {
        unshare(CloneFlags::CLONE_NEWNET)?;
        Ok(work())
    })
    .map_err(|e| failed("create", "for a probe", e))
}

/// Deletes the name of a network namespace; the namespace itself vanishes with its last process. A
/// missing name is not an error.
pub fn delete(name: &str) -> Result<(), NetnsError> {
    let path = path(name);
    // If it is not mounted, its creator died between the file and the mount.
    let _ = umount2(&path, MntFlags::MNT_DETACH);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("delete", name, e)),
        _ => Ok(()),
    }
}

/// Returns whether a network namespace of this name exists.
#[must_use]
pub fn exists(name: &str) -> bool {
    path(name).exists()
}

/// Returns the ids of the processes in a network namespace.
#[must_use]
pub fn processes(name: &str) -> Vec<i32> {
    processes_in(&[name]).into_iter().map(|(pid, _)| pid).collect()
}

/// Returns the ids of the processes in any of these network namespaces, each with the index of its
/// namespace in `names`. Zombies are left out.
#[must_use]
pub fn processes_in<S: AsRef<str>>(names: &[S]) -> Vec<(i32, usize)> {
    let identity = |m: fs::Metadata| (m.dev(), m.ino());
    let known: Vec<_> =
        names.iter().map(|n| fs::metadata(path(n.as_ref())).ok().map(identity)).collect();
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(|pid| {
            let of_process = fs::metadata(format!("/proc/{pid}/ns/net")).ok().map(identity)?;
            Some((pid, known.iter().position(|k| *k == Some(of_process))?))
        })
        .collect()
}

/// Returns the path of the file that names a network namespace, below `/run/netns`.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn on_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let handle = thread::Builder::new().name("lab-netns".into()).spawn_scoped(scope, work)?;
        handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

const DIRECTORY: &str = "/run/netns";
const HOSTS: &str = "/etc/hosts";

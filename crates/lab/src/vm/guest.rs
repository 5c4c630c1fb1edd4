//! The guest's side of the virtual machine: its PID 1, and the server that runs programs for the
//! host.
//!
//! The program that serves as `/init` calls [`main`]. As PID 1 it sets the machine up, starts
//! itself again as the server, and then only reaps orphans; when the server ends, it switches the
//! machine off. The server is a process of its own, so that it can wait for its own children, and
//! crash without a kernel panic.

mod exec;
mod files;
mod machine;
mod port;
mod serve;

pub(super) use serve::IDLE_PARAMETER;

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::wait::wait;

use machine::{ENV, power_off};

/// Does the guest's work, according to the calling process: PID 1 sets the machine up, starts the
/// server and at the end switches the machine off; any other process is the server. Never returns.
pub fn main() -> ! {
    if std::process::id() != 1 {
        let error = serve::serve();
        eprintln!("guest: server ended: {error}");
        std::process::exit(1);
    }
    if let Err(error) = bring_up().and_then(|()| run_server()) {
        eprintln!("guest: {error}");
    }
    power_off()
}

fn bring_up() -> io::Result<()> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_new(kind, at, None)?;
    }
    load_boot_modules()?;
    for (directory, kind) in [("/ro", None), ("/rw", Some("tmpfs")), ("/new", None)] {
        fs::create_dir_all(directory)?;
        if let Some(kind) = kind {
            mount_new(kind, directory, None)?;
        }
    }
    wait_for(Path::new(ROOT_DISK))?;
    mount(Some(ROOT_DISK), "/ro", Some("squashfs"), MsFlags::MS_RDONLY, None::<&str>)
        .map_err(|e| named("mount the userland", e))?;
    fs::create_dir_all("/rw/upper")?;
    fs::create_dir_all("/rw/work")?;
    mount_new("overlay", "/new", Some("lowerdir=/ro,upperdir=/rw/upper,workdir=/rw/work"))?;
    switch_root()?;
    for (kind, at) in MOUNTS {
        mount_new(kind, at, None)?;
    }
    fs::write("/proc/sys/kernel/hostname", "tresse-vm")?;
    // Frames between all machines of a lab wait in one queue for each processor of this one.
    fs::write("/proc/sys/net/core/netdev_max_backlog", "32768")?;
    for (directory, target) in [("/dev/fd", "/proc/self/fd"), ("/var/run", "/run")] {
        if !Path::new(directory).exists() {
            std::os::unix::fs::symlink(target, directory)?;
        }
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).env_clear().envs(ENV).status()?;
    if !up.success() {
        eprintln!("guest: lo stays down: {up}");
    }
    keep_code_as_it_is()?;
    Ok(())
}

/// The kernel rewrites its own code where the first packet filter comes and the last goes, and an emulated processor that runs
/// this code just then has been seen to spin there for good. One filter queue stays, so that none is ever the last.
fn keep_code_as_it_is() -> io::Result<()> {
    let tc = ["qdisc", "add", "dev", "lo", "clsact"];
    let kept = Command::new("tc").args(tc).env_clear().envs(ENV).status()?;
    if !kept.success() {
        eprintln!("guest: lo has no clsact: {kept}");
    }
    Ok(())
}

/// Moves the mounts and makes `/new` the root of this and all later processes.
fn switch_root() -> io::Result<()> {
    for at in ["/proc", "/sys", "/dev"] {
        move_mount(at, &format!("/new{at}"))?;
    }
    std::env::set_current_dir("/new")?;
    move_mount(".", "/")?;
    nix::unistd::chroot(".").map_err(|e| named("chroot", e))?;
    std::env::set_current_dir("/")
}

fn run_server() -> io::Result<()> {
    let server = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .arg0("tresse-guest")
        .env_clear()
        .envs(ENV)
        .spawn()?;
    loop {
        match wait() {
            Ok(status) if status.pid().is_some_and(|p| p.as_raw() as u32 == server.id()) => {
                return Err(io::Error::other(format!("server ended: {status:?}")));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(named("wait", errno)),
        }
    }
}

fn load_boot_modules() -> io::Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir("/modules")? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        match finit_module(fs::File::open(&path)?, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(named(&path.to_string_lossy(), errno)),
        }
    }
    Ok(())
}

fn wait_for(path: &Path) -> io::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !path.exists() {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("no {} after 10 s", path.display())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn mount_new(kind: &str, at: &str, options: Option<&str>) -> io::Result<()> {
    fs::create_dir_all(at)?;
    match mount(Some(kind), at, Some(kind), MsFlags::empty(), options) {
        // An error is ignored: the kernel has mounted it already, or lacks it.
        Ok(()) | Err(Errno::EBUSY | Errno::ENODEV) => Ok(()),
        Err(errno) => Err(named(&format!("mount {kind} on {at}"), errno)),
    }
}

fn move_mount(from: &str, to: &str) -> io::Result<()> {
    mount(Some(from), to, None::<&str>, MsFlags::MS_MOVE, None::<&str>)
        .map_err(|e| named(&format!("move {from} to {to}"), e))
}

fn named(what: &str, errno: Errno) -> io::Error {
    io::Error::other(format!("{what}: {errno}"))
}

const ROOT_DISK: &str = "/dev/vda";
const MOUNTS: &[(&str, &str)] = &[
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
    ("tracefs", "/sys/kernel/tracing"),
];

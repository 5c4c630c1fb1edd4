//! Hosts: threads in network namespaces of their own, and what is done there.

use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context as _, ensure};
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::unistd::{Pid, gettid};
use tresse_base::units::Mac;
use tresse_linux::kernel::nic;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own.
pub struct Host {
    /// Names the namespace to `ip`.
    pub thread: Pid,
    jobs: Sender<Job>,
}

impl Host {
    pub fn new() -> anyhow::Result<Self> {
        let (jobs, todo) = channel::<Job>();
        let (ready, started) = channel();
        std::thread::spawn(move || {
            let made = unshare(CloneFlags::CLONE_NEWNET).map(|()| gettid());
            if ready.send(made).is_ok() {
                todo.into_iter().for_each(|job| job());
            }
        });
        Ok(Self { thread: started.recv()??, jobs })
    }

    /// Runs `job` there; its result is to come.
    pub fn begin<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<Receiver<anyhow::Result<T>>> {
        let (done, result) = channel();
        let job = move || drop(done.send(job()));
        self.jobs.send(Box::new(job)).ok().context("a host is gone")?;
        Ok(result)
    }

    pub fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        self.begin(job)?.recv().context("a host is gone")?
    }
}

/// What arrives at an interface of this thread's namespace is processed by one core, as by a machine of
/// its own (RPS, Documentation/networking/scaling.rst), or, with none, by the core that sent it.
pub fn receive_on(interface: &str, core: Option<usize>) -> anyhow::Result<()> {
    let nothing = None::<&str>;
    // A /sys of this network namespace, in mounts of this thread's own.
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount(nothing, "/", nothing, MsFlags::MS_PRIVATE | MsFlags::MS_REC, nothing)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), nothing)?;
    let file = format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus");
    let written =
        std::fs::write(&file, format!("{:x}", core.map_or(0, |core| 1_u32 << core))).context(file);
    umount("/sys")?;
    written
}

/// The MAC of an interface in this thread's namespace.
pub fn mac(interface: &str) -> anyhow::Result<Mac> {
    nic(interface)?.mac.context("no MAC")
}

/// Keeps this thread, and those that it starts, on these cores.
pub fn pin(cores: impl IntoIterator<Item = usize>) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(core)?;
    }
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Runs a program in this thread's namespace; what it prints is not shown.
pub fn run(words: &str) -> anyhow::Result<()> {
    let mut words = words.split_whitespace();
    let mut program = Command::new(words.next().context("no program")?);
    let status = program.args(words.clone()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{:?}: {status}", words.collect::<Vec<_>>());
    Ok(())
}

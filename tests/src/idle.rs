//! A `tressed` in a network namespace of its own, whose memory, wake-ups and processor time are measured
//! while it has nothing to do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tresse_control::Client;

use crate::program;

/// The virtual machine is slow, and a plan may have hundreds of interfaces.
const LIMIT: Duration = Duration::from_secs(300);

/// What did not work, in words.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A daemon; killed when dropped.
#[derive(Debug)]
pub struct Daemon {
    process: Child,
    socket: PathBuf,
}

/// What a daemon ran so far.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Voluntary context switches: each ends in a wake-up (proc(5)).
    pub wakes: u64,
    /// Processor time.
    pub processor: Duration,
}

impl Daemon {
    /// Starts the daemon of a node in a namespace; its files are in `home`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(namespace: &str, home: &Path, node: &str, cluster: &str) -> Outcome<Self> {
        std::fs::create_dir_all(home)?;
        std::fs::write(home.join("cluster.toml"), cluster)?;
        let socket = home.join("control");
        let config = format!(
            "node = {node:?}\ncluster = {:?}\nsocket = {socket:?}\nstate_dir = {:?}\n",
            home.join("cluster.toml"),
            home.join("state"),
        );
        std::fs::write(home.join("tressed.toml"), config)?;
        let mut command = inside(namespace, &[]);
        command.arg(program::tressed()).arg("--config").arg(home.join("tressed.toml"));
        let process = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { process, socket })
    }

    /// A connection to it.
    ///
    /// # Errors
    /// It does not listen.
    pub fn client(&self) -> Outcome<Client> {
        Ok(Client::connect(&self.socket)?)
    }

    /// Waits until the kernel holds all of the plan, every VLAN proven.
    ///
    /// # Errors
    /// What was seen last.
    pub fn settled(&self) -> Outcome<()> {
        self.eventually(|client| {
            let status = client.status().map_err(|error| error.to_string())?;
            let idle = status.generation.is_some() && status.activity == "idle";
            if idle && status.in_sync && status.unproven.is_empty() {
                return Ok(());
            }
            let (activity, unproven) = (&status.activity, status.unproven.len());
            Err(format!("{activity}, {unproven} VLANs not proven, fault {:?}", status.fault))
        })
    }

    /// Asks until it is so.
    ///
    /// # Errors
    /// What was seen last.
    pub fn eventually(&self, look: impl Fn(&mut Client) -> Result<(), String>) -> Outcome<()> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let client = Client::connect(&self.socket).map_err(|error| error.to_string());
            match client.and_then(|mut client| look(&mut client)) {
                Ok(()) => return Ok(()),
                Err(seen) if Instant::now() > deadline => {
                    return Err(format!("tressed does not settle; last seen: {seen}").into());
                }
                Err(_) => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    /// One of its counters, all its objects together.
    ///
    /// # Errors
    /// It does not answer.
    pub fn counter(&self, name: &str) -> Outcome<u64> {
        let lines = self.client()?.counters()?.counters;
        Ok(lines.iter().filter(|line| line.name == name).map(|line| line.value).sum())
    }

    /// Its memory, in words.
    ///
    /// # Errors
    /// It is gone.
    pub fn memory(&self) -> Outcome<String> {
        let mib = |key| Ok::<_, Box<dyn std::error::Error>>(self.status(key)? as f64 / 1024.0);
        Ok(format!(
            "{:.1} MiB resident (its own {:.1}, of files {:.1}), {:.1} at most",
            mib("VmRSS")?,
            mib("RssAnon")?,
            mib("RssFile")?,
            mib("VmHWM")?
        ))
    }

    /// What all its threads ran so far.
    ///
    /// # Errors
    /// It is gone.
    pub fn run(&self) -> Outcome<Run> {
        let mut run = Run { wakes: 0, processor: Duration::ZERO };
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.process.id()))? {
            let thread = thread?.path();
            let schedstat = std::fs::read_to_string(thread.join("schedstat"))?;
            let spent = schedstat.split_whitespace().next().ok_or("schedstat is empty")?;
            run.processor += Duration::from_nanos(spent.parse()?);
            run.wakes += number(&thread.join("status"), "voluntary_ctxt_switches")?;
        }
        Ok(run)
    }

    fn status(&self, key: &str) -> Outcome<u64> {
        number(Path::new(&format!("/proc/{}/status", self.process.id())), key)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn number(file: &Path, key: &str) -> Outcome<u64> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'));
    let number = line.and_then(|l| l.split_whitespace().next());
    Ok(number.ok_or_else(|| format!("no {key} in {}", file.display()))?.parse()?)
}

/// A program in a namespace, not started yet.
#[must_use]
pub fn inside(namespace: &str, words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).args(words);
    command
}

/// `ip WORDS`.
///
/// # Errors
/// Its exit code.
pub fn ip(words: &[&str]) -> Outcome<()> {
    let status = Command::new("ip").args(words).status()?;
    if status.success() { Ok(()) } else { Err(format!("ip {}: {status}", words.join(" ")).into()) }
}

/// Makes a namespace without IPv6, which would chat on a cable with nobody else.
///
/// # Errors
/// It is there already.
pub fn namespace(name: &str) -> Outcome<()> {
    ip(&["netns", "add", name])?;
    let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
    inside(name, &["sh", "-c", quiet]).status()?;
    Ok(())
}

/// How many objects `ip` lists in a namespace.
///
/// # Errors
/// `ip` cannot be started.
pub fn count(namespace: &str, words: &[&str]) -> Outcome<usize> {
    let output = Command::new("ip").args(["-o", "-n", namespace]).args(words).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().count())
}

//! Runs the daemon (`tressed`) of every node of a lab: writes its configuration, starts it, and
//! waits until all are ready.
//!
//! A daemon's process is found by the network namespace that it runs in, because a process id on
//! disk may be stale.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tresse_control::Client;

use crate::busy;
use crate::netns::{self, NetnsError};
use crate::options::UpOptions;
use crate::run;
use crate::signals::{Interrupted, Signals};
use crate::state::{Directory, LabState};

/// Why the daemons of a lab could not be started, ended by themselves, or were not ready in time.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// A file of a daemon's.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Its namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// It cannot be started.
    #[error("cannot start {}: {source} (name the daemon with --tressed)", path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The process that starts them.
    #[error("the supervisor of the daemons ended ({status}): {log}")]
    Supervisor {
        /// How.
        status: String,
        /// What it said.
        log: String,
    },
    /// It ended by itself.
    #[error("the daemon of {node} ended ({status}); the end of its log:\n{log}")]
    Ended {
        /// Whose.
        node: String,
        /// How.
        status: String,
        /// Its last lines.
        log: String,
    },
    /// Time ran out.
    #[error("{} of {nodes} nodes are not in sync after {seconds} s; {first}\n{log}", late.len())]
    Late {
        /// Which nodes.
        late: Vec<String>,
        /// How many there are.
        nodes: usize,
        /// How long was waited.
        seconds: u64,
        /// The first one and its last state.
        first: String,
        /// The last lines of its log.
        log: String,
    },
    /// Ctrl-C.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Writes what the daemon (`tressed`) of every node of a lab reads: the cluster file, its lock, and the
/// node's configuration.
pub fn configure(
    directory: &Directory,
    record: &LabState,
    options: &UpOptions,
) -> Result<(), DaemonError> {
    if !options.bare {
        write(&directory.cluster(), &options.cluster)?;
        if let Some(lock) = &options.lock {
            write(&directory.path.join("tresse.lock"), lock)?;
        }
    }
    for (index, node) in record.blueprint.nodes.iter().enumerate() {
        configure_one(directory, &node.name, options.engine.of_node(index), options)?;
    }
    Ok(())
}

/// Starts the configured daemons of these nodes in their network namespaces, in their order. Does not
/// wait until they are ready; see [`wait`].
pub fn start(
    directory: &Directory,
    nodes: &[&str],
    tressed: &Path,
) -> Result<Vec<Child>, DaemonError> {
    let results = run::parallel(nodes, run::workers(), |node| spawn(directory, node, tressed));
    let mut children: Vec<Child> = results.into_iter().collect::<Result<_, DaemonError>>()?;
    for (node, child) in nodes.iter().zip(&mut children) {
        let fault = |source| DaemonError::Start { path: tressed.into(), source };
        if let Some(status) = child.try_wait().map_err(fault)? {
            let log = tail(&directory.node(node).join("log"));
            let node = (*node).to_owned();
            return Err(DaemonError::Ended { node, status: status.to_string(), log });
        }
    }
    Ok(children)
}

/// Writes a node's `tressed.toml` and makes its directories.
fn configure_one(
    directory: &Directory,
    node: &str,
    engine: &str,
    options: &UpOptions,
) -> Result<(), DaemonError> {
    let own = directory.node(node);
    let state = own.join("state");
    fs::create_dir_all(&state).map_err(at(&state))?;
    let mut text = format!(
        "engine = {engine:?}\nsource = {:?}\nsocket = {:?}\nstate_dir = {state:?}\n",
        options.source,
        directory.socket(node)
    );
    text += &format!("metrics = {:?}\n", own.join("metrics"));
    if !options.bare {
        text += &format!("cluster = {:?}\nnode = {node:?}\n", directory.cluster());
        if options.lock.is_some() {
            text += &format!("lock = {:?}\n", directory.path.join("tresse.lock"));
        }
    }
    if let Some(path) = &options.key_file {
        text += &format!("key_file = {path:?}\n");
    }
    if let Some(seconds) = options.announce_seconds {
        text += &format!("announce_seconds = {seconds}\n");
    }
    text += &match options.bfd_ms {
        Some(ms) => format!("bfd = {{ interval_ms = {ms} }}\n"),
        None => "bfd = { enabled = false }\n".into(),
    };
    write(&directory.config(node), &text)
}

/// Starts the configured daemon of a node.
pub(crate) fn spawn(
    directory: &Directory,
    node: &str,
    tressed: &Path,
) -> Result<Child, DaemonError> {
    let own = directory.node(node);
    let log_path = own.join("log");
    let log = File::options().create(true).append(true).open(&log_path).map_err(at(&log_path))?;
    let errors = log.try_clone().map_err(at(&log_path))?;
    let mut command = Command::new(tressed);
    command.arg("--config").arg(directory.config(node)).current_dir(&own);
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    // In a process group of its own: Ctrl-C goes to this process, which ends the daemons in order.
    command.process_group(0).env_remove("NOTIFY_SOCKET");
    netns::inside(&directory.netns(node), || command.spawn())?
        .map_err(|source| DaemonError::Start { path: tressed.into(), source })
}

/// The process that runs the daemon of a node, if it runs.
pub(crate) fn process(directory: &Directory, node: &str) -> Option<i32> {
    let config = directory.config(node).into_os_string().into_encoded_bytes();
    let is_daemon = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|argument| argument == config)
    };
    netns::processes(&directory.netns(node)).into_iter().find(is_daemon)
}

/// Waits until every daemon of a lab is ready: its kernel holds what the plan wants (in sync), each
/// of its VLANs is proven (seen to deliver exactly one copy of a frame), and it has announced
/// itself. The limit is 60 s plus 2 s per node; on a busy machine up to five minutes more.
/// `bare`: without a plan a daemon is ready when it answers.
pub fn wait(
    directory: &Directory,
    record: &LabState,
    bare: bool,
    signals: &Signals,
) -> Result<(), DaemonError> {
    let nodes = &record.blueprint.nodes;
    let limit = LIMIT + LIMIT_PER_NODE * u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let (began, mut looked, mut left) = (Instant::now(), Instant::now(), limit);
    let mut waiting: Vec<usize> = (0..nodes.len()).collect();
    loop {
        signals.check()?;
        let states = run::parallel(&waiting, run::workers(), |&k| {
            let node = &nodes[k];
            let planned = (!bare).then_some((&*record.blueprint.generation, node.announces));
            state(directory, &node.name, planned)
        });
        let late: Vec<(usize, String)> =
            waiting.iter().copied().zip(states).filter_map(|(k, s)| Some((k, s?))).collect();
        let Some((first, state)) = late.first() else { return Ok(()) };
        let log = || tail(&directory.node(&nodes[*first].name).join("log"));
        if let Some(node) = dead(directory, late.iter().map(|(k, _)| nodes[*k].name.as_str())) {
            let log = tail(&directory.node(&node).join("log"));
            return Err(DaemonError::Ended { node, status: "no process left".into(), log });
        }
        left = left.saturating_sub(looked.elapsed().div_f64(busy::tasks_per_processor()));
        looked = Instant::now();
        if left.is_zero() || began.elapsed() > limit + LIMIT_BUSY {
            return Err(DaemonError::Late {
                late: late.iter().map(|(k, _)| nodes[*k].name.clone()).collect(),
                nodes: nodes.len(),
                seconds: began.elapsed().as_secs(),
                first: format!("{}: {state}", nodes[*first].name),
                log: log(),
            });
        }
        waiting = late.into_iter().map(|(k, _)| k).collect();
        std::thread::sleep(POLL);
    }
}

/// The first of these nodes whose namespace has no process.
fn dead<'a>(directory: &Directory, mut nodes: impl Iterator<Item = &'a str>) -> Option<String> {
    nodes.find(|n| netns::processes(&directory.netns(n)).is_empty()).map(Into::into)
}

/// What a node still lacks; `None` when it is ready.
fn state(directory: &Directory, node: &str, planned: Option<(&str, usize)>) -> Option<String> {
    let mut client = match Client::connect(directory.socket(node)) {
        Ok(client) => client,
        Err(error) => return Some(error.to_string()),
    };
    let status = match client.status() {
        Ok(status) => status,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(fault) = status.fault {
        return Some(fault);
    }
    let (generation, announces) = planned?;
    if let Some(fused) = status.fused.first() {
        return Some(format!("{fused:?}"));
    }
    if status.generation.as_deref() != Some(generation) {
        return Some(format!("generation {:?}, expected {generation}", status.generation));
    }
    if !status.in_sync || !status.unproven.is_empty() || !status.pending.is_empty() {
        let (pending, drift, vids) = (&status.pending, &status.drift, &status.unproven);
        return Some(format!(
            "{} pending, {} different, {} VLANs unproven",
            pending.len(),
            drift.len(),
            vids.len()
        ));
    }
    let counters = client.counters().ok()?.counters;
    let mut sent = counters.iter().filter(|c| c.name.starts_with("announcements_sent"));
    let silent = announces > 0 && sent.clone().next().is_some() && sent.all(|c| c.value == 0);
    silent.then(|| "not announced yet".into())
}

/// The last lines of a log.
fn tail(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

fn write(path: &Path, text: &str) -> Result<(), DaemonError> {
    fs::write(path, text).map_err(at(path))
}

pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> DaemonError {
    let path = path.to_owned();
    move |source| DaemonError::Io { path, source }
}

const LIMIT: Duration = Duration::from_secs(60);
const LIMIT_PER_NODE: Duration = Duration::from_secs(2);
const LIMIT_BUSY: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(100);
const TAIL: usize = 12;

//! Starts the daemons of a lab again when they die, as systemd does on a node (`Restart=on-failure`,
//! `RestartSec` of `systemd/tressed.service`; the watchdog of the unit is not imitated), and those that have
//! ended when it is asked to.
//!
//! The supervisor of a lab is one process, the parent of all its daemons. While it lives it holds a
//! lock on a file with its process id, so an id that is read is never stale.
//!
//! ```text
//!  lab up ── starts ──▶ lab supervise ── starts, waits for ──▶ tressed of each node
//!     ◀── "started" or an error, on its standard output ──┘
//! ```

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::daemons::{self, DaemonError};
use crate::netns;
use crate::state::{Directory, LabState};

/// Starts the supervisor of a lab, the program `tresse`, which starts the daemon (`tressed`) of every
/// node. Returns when all daemons are started.
pub(crate) fn start(
    directory: &Directory,
    tresse: &Path,
    tressed: &Path,
) -> Result<(), DaemonError> {
    let fault = |source| DaemonError::Start { path: tresse.into(), source };
    let log_path = directory.path.join("supervisor.log");
    let log = File::create(&log_path).map_err(daemons::at(&log_path))?;
    let mut command = Command::new(tresse);
    command.args(["lab", "--name", &directory.name, "supervise"]).arg(tressed);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).process_group(0);
    let mut child = command.spawn().map_err(fault)?;
    let mut answer = String::new();
    child
        .stdout
        .take()
        .map(|mut out| out.read_to_string(&mut answer))
        .transpose()
        .map_err(fault)?;
    if answer == STARTED {
        return Ok(());
    }
    let status = child.wait().map_err(fault)?;
    let log = fs::read_to_string(&log_path).unwrap_or_default();
    Err(DaemonError::Supervisor { status: status.to_string(), log: answer + &log })
}

/// Is the supervisor of a lab: starts the daemon of every node, says so on standard output, and
/// starts those again that end with a failure, others when [`ask`]ed to. It runs until the lab is taken down, which ends it.
///
/// # Errors
/// Another supervisor runs, or a daemon could not be started the first time: who builds the lab ends the others.
pub fn run(directory: &Directory, record: &LabState, tressed: &Path) -> Result<(), DaemonError> {
    // `up` holds signals back, and a program inherits that.
    let _ = SigSet::all().thread_unblock();
    let path = directory.path.join(FILE);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(daemons::at(&path))?;
    let mut lock = Flock::lock(file, FlockArg::LockExclusiveNonblock)
        .map_err(|(_, errno)| daemons::at(&path)(errno.into()))?;
    lock.set_len(0).map_err(daemons::at(&path))?;
    write!(lock, "{}", std::process::id()).map_err(daemons::at(&path))?;
    let nodes = record.blueprint.node_names();
    for node in &nodes {
        let path = asked(directory, node);
        match mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(daemons::at(&path)(errno.into())),
        }
    }
    let children = daemons::start(directory, &nodes, tressed)?;
    say_started().map_err(|source| DaemonError::Start { path: tressed.into(), source })?;
    thread::scope(|scope| {
        for (node, child) in nodes.into_iter().zip(children) {
            scope.spawn(move || keep(directory, node, tressed, child));
        }
    });
    Ok(())
}

/// Says [`STARTED`] and closes standard output, for which [`start`] waits.
fn say_started() -> io::Result<()> {
    let mut out = io::stdout();
    out.write_all(STARTED.as_bytes())?;
    out.flush()?;
    let nothing = File::options().write(true).open("/dev/null")?;
    Ok(nix::unistd::dup2_stdout(nothing)?)
}

/// Waits for a daemon and starts it again, until its node is gone.
fn keep(directory: &Directory, node: &str, tressed: &Path, first: Child) {
    let mut child = first;
    loop {
        let why = match child.wait() {
            Ok(status) if is_failure(status) => {
                thread::sleep(RESTART);
                format!("ended ({status})")
            }
            // Reading begins when somebody asks.
            Ok(_) => match fs::read(asked(directory, node)) {
                Ok(_) => "had ended".into(),
                Err(error) => return eprintln!("{node}: {error}"),
            },
            Err(error) => return eprintln!("{node}: {error}"),
        };
        loop {
            if !netns::exists(&directory.netns(node)) {
                return;
            }
            match daemons::spawn(directory, node, tressed) {
                Ok(again) => {
                    eprintln!("{node}: its daemon {why} and is started again");
                    child = again;
                    break;
                }
                Err(error) => eprintln!("{node}: {error}"),
            }
            thread::sleep(RESTART);
        }
    }
}

/// Has the supervisor start the daemon of a node that has ended.
///
/// # Errors
/// Nobody waits for that: the daemon runs, or there is no supervisor.
pub(crate) fn ask(directory: &Directory, node: &str) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
    options.open(asked(directory, node)).map(drop)
}

/// The FIFO that the supervisor reads while the daemon of a node has ended.
fn asked(directory: &Directory, node: &str) -> PathBuf {
    directory.node(node).join("start")
}

/// What `Restart=on-failure` takes for a failure: systemd.service(5).
fn is_failure(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let clean = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGPIPE];
    !status.success() && !status.signal().is_some_and(|n| clean.iter().any(|s| *s as i32 == n))
}

/// Whether a lab has a supervisor, so that daemons that die are started again.
#[must_use]
pub fn is_there(directory: &Directory) -> bool {
    holder(directory).is_some()
}

/// Ends the supervisor of a lab, if it has one, and leaves its daemons alone. Killed by anybody, it
/// leaves nothing else behind.
pub(crate) fn end(directory: &Directory) {
    let began = Instant::now();
    while let Some(pid) = holder(directory)
        && began.elapsed() < PATIENCE
    {
        let _ = kill(pid, Signal::SIGKILL);
        thread::sleep(POLL);
    }
}

/// The process that holds the lock of a lab's supervisor.
fn holder(directory: &Directory) -> Option<Pid> {
    let path = directory.path.join(FILE);
    let file = File::options().read(true).open(&path).ok()?;
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(_) => None,
        Err(_) => fs::read_to_string(&path).ok()?.parse().ok().map(Pid::from_raw),
    }
}

/// The unit's `RestartSec`.
pub const RESTART: Duration = Duration::from_secs(5);
const STARTED: &str = "started\n";
const FILE: &str = "supervisor";
const PATIENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn daemons_are_started_again_when_the_unit_would_do_it() {
        let unit = include_str!("../../../systemd/tressed.service");
        let seconds = format!("RestartSec={}s", RESTART.as_secs());
        for line in ["Restart=on-failure", &seconds, "StartLimitIntervalSec=0"] {
            assert!(unit.lines().any(|l| l == line), "{line}");
        }
        assert!(!unit.contains("SuccessExitStatus"));
        for (raw, failure) in [(0, false), (256, true), (9, true), (15, false), (6, true)] {
            assert_eq!(is_failure(ExitStatus::from_raw(raw)), failure, "{raw}");
        }
    }

    #[test]
    fn who_waits_for_an_ended_daemon_is_asked() {
        let files = tempfile::tempdir().unwrap();
        let directory = Directory { name: "a".into(), path: files.path().into() };
        assert!(ask(&directory, "n0").is_err(), "no supervisor");
        fs::create_dir(directory.node("n0")).unwrap();
        mkfifo(&asked(&directory, "n0"), Mode::S_IRWXU).unwrap();
        assert!(ask(&directory, "n0").is_err(), "nobody waits");
        thread::scope(|scope| {
            let waits = scope.spawn(|| fs::read(asked(&directory, "n0")));
            while ask(&directory, "n0").is_err() {
                thread::sleep(POLL);
            }
            assert_eq!(waits.join().unwrap().unwrap(), b"");
        });
    }

    #[test]
    fn a_lab_has_a_supervisor_while_one_holds_its_file() {
        let files = tempfile::tempdir().unwrap();
        let directory = Directory { name: "a".into(), path: files.path().into() };
        assert!(!is_there(&directory));
        fs::write(directory.path.join(FILE), "4194304").unwrap();
        assert!(!is_there(&directory), "an id that nobody holds");
        let file = File::open(directory.path.join(FILE)).unwrap();
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).unwrap();
        assert_eq!(holder(&directory), Some(Pid::from_raw(4_194_304)));
        drop(lock);
        assert!(!is_there(&directory));
    }
}

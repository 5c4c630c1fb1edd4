//! Runs iproute2 inside network namespaces, and works on many namespaces in parallel.

use std::io::Write;
use std::num::NonZero;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::netns::{self, NetnsError};

/// Why a program could not be run in a network namespace, or failed there.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The namespace.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// The program cannot be started.
    #[error("cannot start `{program}`: {source} (is iproute2 installed?)")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// A file of the lab.
    #[error("{}: {source}{}", .path.display(), netns::advice(source))]
    Keep {
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It failed.
    #[error("in {place}: `{program}` failed: {message}")]
    Failed {
        /// The namespace, or `the host`.
        place: String,
        /// The program, and the line of its batch where one is known.
        program: String,
        /// Its standard error.
        message: String,
    },
}

/// Runs `PROGRAM -batch -` (`ip`, `bridge` or `tc`) inside a network namespace (`None`: that of the
/// calling thread) with `lines` as standard input. Does nothing if `lines` is empty.
pub fn batch(netns: Option<&str>, program: &str, lines: &str) -> Result<(), RunError> {
    if lines.is_empty() {
        return Ok(());
    }
    let output = run(netns, program, &["-batch", "-"], lines)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let line = message
        .split("Command failed -:")
        .nth(1)
        .and_then(|rest| rest.trim().parse::<usize>().ok())
        .and_then(|n| lines.lines().nth(n.saturating_sub(1)));
    Err(RunError::Failed {
        place: netns.unwrap_or("the host").into(),
        program: line.map_or_else(|| program.into(), |line| format!("{program} {line}")),
        message: message.split("Command failed").next().unwrap_or_default().trim().to_owned(),
    })
}

/// Runs a program inside a network namespace and returns its standard output. An exit code other
/// than 0 is an error.
pub fn read(netns: &str, program: &str, args: &[&str], stdin: &str) -> Result<Vec<u8>, RunError> {
    let output = run(Some(netns), program, args, stdin)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(RunError::Failed {
        place: netns.into(),
        program: format!("{program} {}", args.join(" ")),
        message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn run(netns: Option<&str>, program: &str, args: &[&str], stdin: &str) -> Result<Output, RunError> {
    let work = || spawn(program, args, stdin);
    let output = match netns {
        Some(name) => netns::inside(name, work)?,
        None => work(),
    };
    output.map_err(|source| RunError::Start { program: program.into(), source })
}

/// Runs a program in the network namespace of the calling thread with `stdin` as its standard
/// input, and returns its exit status and output.
pub fn spawn(program: &str, args: &[&str], stdin: &str) -> std::io::Result<Output> {
    let mut command = Command::new(program);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    let mut child = command.spawn()?;
    let input = child.stdin.take();
    thread::scope(|scope| {
        if let Some(mut input) = input {
            // If the program stops reading, its standard error says why.
            scope.spawn(move || input.write_all(stdin.as_bytes()));
        }
        child.wait_with_output()
    })
}

/// Runs `work` on every item in threads, at most `limit` at a time; returns the results in the
/// order of the items.
pub fn parallel<I: Sync, T: Send>(
    items: &[I],
    limit: usize,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..limit.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let value = work(item);
                    done.lock().expect("no worker panics while it holds this").push((at, value));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("all workers have been joined");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, value)| value).collect()
}

/// Returns the number of network namespaces to work on at a time: twice the number of processors.
#[must_use]
pub fn workers() -> usize {
    thread::available_parallelism().map_or(2, NonZero::get) * 2
}

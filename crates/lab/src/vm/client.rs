//! Runs programs in the virtual machine.
//!
//! Every call uses a port of its own, so calls from several threads and processes run in parallel.
//! If a call ends early or its process dies, the guest ends the program.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Vm;
use super::channel::{ChannelError, GuestChannel};
use super::feed::{Feed, Signals};
use super::request::{ProgramInput, RequestError, at};
use super::wire::{GuestReply, GuestRequest};

/// A program to run in the guest: arguments, environment, directory, and standard input.
#[derive(Debug, Clone, Default)]
pub struct ExecRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables added to the guest's default environment.
    pub env: Vec<(String, String)>,
    /// Working directory, `/root` when absent.
    pub cwd: Option<String>,
    /// Standard input.
    pub stdin: ProgramInput,
    /// Pass SIGINT, SIGTERM and SIGHUP on to the program instead of dying by them; works while the
    /// calling thread is the only one that does not block them. Without it such a signal kills
    /// this process, and the guest kills the program.
    pub forward_signals: bool,
    /// Kill the program after this long.
    pub timeout: Option<Duration>,
}

impl ExecRequest {
    /// A program with its arguments and defaults for the rest.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self { argv: argv.into_iter().map(Into::into).collect(), ..Self::default() }
    }
}

impl Vm {
    /// Runs a program, writing its streams as they come; its exit code, or 128 plus the number of
    /// the signal that ended it.
    pub fn exec(
        &self,
        request: &ExecRequest,
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
    ) -> Result<i32, RequestError> {
        let mut channel = self.channel()?;
        channel.send(
            &GuestRequest::Exec {
                argv: request.argv.clone(),
                env: request.env.clone(),
                cwd: request.cwd.clone(),
                stdin: !matches!(request.stdin, ProgramInput::Null),
            },
            &[],
        )?;
        let signals = request.forward_signals.then(Signals::hold).transpose()?;
        let mut feed = Feed::new(&request.stdin);
        let deadline = request.timeout.map(|limit| Instant::now() + limit);
        loop {
            while let Some((reply, payload)) = channel.buffered()? {
                match reply {
                    GuestReply::Stdout => pass("standard output", stdout, &payload)?,
                    GuestReply::Stderr => pass("standard error", stderr, &payload)?,
                    GuestReply::Taken { bytes } => feed.credit += bytes,
                    GuestReply::Exit { code } => return Ok(code),
                    GuestReply::Failed { message } => return Err(RequestError::Guest { message }),
                    reply => return Err(RequestError::Answer { reply }),
                }
            }
            feed.send_bytes(&mut channel)?;
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                let program = request.argv.first().cloned().unwrap_or_default();
                let seconds = request.timeout.unwrap_or_default().as_secs();
                return Err(RequestError::Timeout { program, seconds });
            }
            let ready = wait(&channel, feed.wants_descriptor(), signals.as_ref(), left)?;
            if ready.signal
                && let Some(signals) = &signals
            {
                signals.pass_on(&mut channel)?;
            }
            if ready.stdin {
                feed.send_descriptor(&mut channel)?;
            }
            if ready.channel {
                channel.fill()?;
            }
        }
    }

    /// Runs a program to its end; its exit code, standard output and standard error.
    pub fn output(&self, request: &ExecRequest) -> Result<(i32, Vec<u8>, Vec<u8>), RequestError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let code = self.exec(request, &mut stdout, &mut stderr)?;
        Ok((code, stdout, stderr))
    }

    pub(super) fn channel(&self) -> Result<GuestChannel, ChannelError> {
        GuestChannel::open(&self.dir, Instant::now() + PATIENCE)
    }
}

struct Ready {
    channel: bool,
    stdin: bool,
    signal: bool,
}

fn wait(
    channel: &GuestChannel,
    stdin: bool,
    signals: Option<&Signals>,
    left: Option<Duration>,
) -> Result<Ready, RequestError> {
    let input = io::stdin();
    let mut fds = vec![PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
    if stdin {
        fds.push(PollFd::new(input.as_fd(), PollFlags::POLLIN));
    }
    if let Some(signals) = signals {
        fds.push(PollFd::new(signals.descriptor.as_fd(), PollFlags::POLLIN));
    }
    let timeout = match left {
        Some(left) => PollTimeout::try_from(left + Duration::from_millis(1)),
        None => Ok(PollTimeout::NONE),
    };
    match poll(&mut fds, timeout.unwrap_or(PollTimeout::MAX)) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(errno) => return Err(at(Path::new("poll"))(errno.into())),
    }
    let any = |fd: Option<&PollFd>| fd.and_then(PollFd::any).unwrap_or(false);
    Ok(Ready {
        channel: any(fds.first()),
        stdin: stdin && any(fds[1..].first()),
        signal: signals.is_some() && any(fds.last()),
    })
}

fn pass(name: &str, to: &mut dyn Write, payload: &[u8]) -> Result<(), RequestError> {
    to.write_all(payload).and_then(|()| to.flush()).map_err(at(Path::new(name)))
}

const PATIENCE: Duration = Duration::from_secs(30);

//! What a host process asks of a running machine: run programs, put and get files.
//!
//! Every call takes a port of its own, so calls from several threads and several processes run at
//! the same time. A call that is dropped half-way, or whose process dies, ends its guest program.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use thiserror::Error;

use super::Vm;
use super::channel::{Channel, ChannelError};
use super::wire::{MAX_PAYLOAD_BYTES, Reply, Request, STDIN_WINDOW_BYTES};

/// Why a request to the guest had no success.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The guest could not be reached.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The guest could not do it.
    #[error("in the virtual machine: {message}")]
    Guest {
        /// Its words.
        message: String,
    },
    /// The guest answered something else than was asked.
    #[error("unexpected answer from the guest: {reply:?}")]
    Answer {
        /// The answer.
        reply: Reply,
    },
    /// The program ran longer than it was given; it has been killed.
    #[error("`{program}` did not end within {seconds} s")]
    Timeout {
        /// The program.
        program: String,
        /// Its time limit.
        seconds: u64,
    },
    /// A file or stream on the host failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file, or the name of the stream.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Where a program's standard input comes from.
#[derive(Debug, Clone, Default)]
pub enum Input {
    /// `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// The standard input of this process.
    Inherit,
}

/// A program to run in the guest.
#[derive(Debug, Clone, Default)]
pub struct ExecRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables added to the guest's default environment.
    pub env: Vec<(String, String)>,
    /// Working directory, `/root` when absent.
    pub cwd: Option<String>,
    /// Standard input.
    pub stdin: Input,
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
            &Request::Exec {
                argv: request.argv.clone(),
                env: request.env.clone(),
                cwd: request.cwd.clone(),
                stdin: !matches!(request.stdin, Input::Null),
            },
            &[],
        )?;
        let signals = request.forward_signals.then(Signals::hold).transpose()?;
        let mut feed = Feed::new(&request.stdin);
        let deadline = request.timeout.map(|limit| Instant::now() + limit);
        loop {
            while let Some((reply, payload)) = channel.buffered()? {
                match reply {
                    Reply::Stdout => pass("standard output", stdout, &payload)?,
                    Reply::Stderr => pass("standard error", stderr, &payload)?,
                    Reply::Taken { bytes } => feed.credit += bytes,
                    Reply::Exit { code } => return Ok(code),
                    Reply::Failed { message } => return Err(RequestError::Guest { message }),
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

    /// Creates or replaces a file in the guest, and its directories.
    pub fn put(&self, path: &str, mode: u32, bytes: &[u8]) -> Result<(), RequestError> {
        let mut channel = self.channel()?;
        let size_bytes = bytes.len() as u64;
        channel.send(&Request::Put { path: path.to_owned(), mode, size_bytes }, &[])?;
        for part in bytes.chunks(MAX_PAYLOAD_BYTES) {
            channel.send(&Request::Data, part)?;
        }
        done(&mut channel)
    }

    /// The bytes of a file in the guest.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, RequestError> {
        let mut channel = self.channel()?;
        channel.send(&Request::Get { path: path.to_owned() }, &[])?;
        let mut bytes = Vec::new();
        loop {
            match channel.receive()? {
                (Reply::Data, part) => bytes.extend(part),
                (Reply::Done, _) => return Ok(bytes),
                (Reply::Failed { message }, _) => return Err(RequestError::Guest { message }),
                (reply, _) => return Err(RequestError::Answer { reply }),
            }
        }
    }

    /// Whether the guest answers.
    pub fn ping(&self) -> Result<(), RequestError> {
        let mut channel = self.channel()?;
        channel.send(&Request::Ping, &[])?;
        done(&mut channel)
    }

    /// Copies a program of the host into the guest unless this very file is there already, and
    /// returns its path there. Debug information stays behind.
    pub fn install(&self, program: &Path) -> Result<String, RequestError> {
        let metadata = std::fs::metadata(program).map_err(at(program))?;
        let modified = metadata.modified().map_err(at(program))?;
        let age = modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("/opt/tresse/{:x}-{:x}/{name}", age.as_nanos(), metadata.len());
        let mut channel = self.channel()?;
        channel.send(&Request::Stat { path: path.clone() }, &[])?;
        match channel.receive()? {
            (Reply::Done, _) => return Ok(path),
            (Reply::Failed { .. }, _) => drop(channel),
            (reply, _) => return Err(RequestError::Answer { reply }),
        }
        let bytes = self.stripped(program)?;
        self.put(&path, metadata.permissions().mode() & 0o777, &bytes)?;
        Ok(path)
    }

    /// Runs a program of the host in the guest, streams joined to ours; its exit code. Files are
    /// put into `/tmp` under their own names first.
    pub fn run_here(
        &self,
        program: &Path,
        args: &[String],
        files: &[PathBuf],
    ) -> Result<i32, RequestError> {
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let mode = std::fs::metadata(file).map_err(at(file))?.permissions().mode() & 0o777;
            let bytes = std::fs::read(file).map_err(at(file))?;
            self.put(&format!("/tmp/{name}"), mode, &bytes)?;
        }
        let mut argv = vec![self.install(program)?];
        argv.extend_from_slice(args);
        let request = ExecRequest {
            argv,
            cwd: Some("/tmp".into()),
            forward_signals: true,
            ..ExecRequest::default()
        };
        self.exec(&request, &mut io::stdout(), &mut io::stderr())
    }

    fn channel(&self) -> Result<Channel, ChannelError> {
        Channel::open(&self.dir, Instant::now() + PATIENCE)
    }

    /// The program without debug information if `strip` is there, else as it is.
    fn stripped(&self, program: &Path) -> Result<Vec<u8>, RequestError> {
        let name = format!("strip.{}.{:?}", std::process::id(), std::thread::current().id());
        let stripped = self.dir.join(name);
        let status = Command::new("strip").arg("-g").arg("-o").args([&stripped, program]).output();
        let source = if status.is_ok_and(|s| s.status.success()) { &stripped } else { program };
        let bytes = std::fs::read(source).map_err(at(source));
        // A copy that is not there needs no removing.
        let _ = std::fs::remove_file(&stripped);
        bytes
    }
}

/// Standard input on its way to the guest, within the window the guest grants.
struct Feed<'a> {
    bytes: &'a [u8],
    descriptor: bool,
    ended: bool,
    credit: u64,
}

impl<'a> Feed<'a> {
    fn new(input: &'a Input) -> Self {
        let (bytes, descriptor, ended) = match input {
            Input::Null => (&[][..], false, true),
            Input::Bytes(bytes) => (&bytes[..], false, false),
            Input::Inherit => (&[][..], true, false),
        };
        Self { bytes, descriptor, ended, credit: STDIN_WINDOW_BYTES }
    }

    fn wants_descriptor(&self) -> bool {
        self.descriptor && !self.ended && self.credit > 0
    }

    fn send_bytes(&mut self, channel: &mut Channel) -> Result<(), ChannelError> {
        while !self.descriptor && !self.ended && self.credit > 0 {
            let (part, rest) =
                self.bytes.split_at(self.bytes.len().min(self.credit as usize).min(CHUNK_BYTES));
            self.bytes = rest;
            self.send(channel, part)?;
        }
        Ok(())
    }

    fn send_descriptor(&mut self, channel: &mut Channel) -> Result<(), RequestError> {
        let mut buffer = vec![0; (self.credit as usize).min(CHUNK_BYTES)];
        let got = match nix::unistd::read(io::stdin(), &mut buffer) {
            Err(Errno::EINTR | Errno::EAGAIN) => return Ok(()),
            other => other.map_err(|e| at(Path::new("standard input"))(e.into()))?,
        };
        Ok(self.send(channel, &buffer[..got])?)
    }

    fn send(&mut self, channel: &mut Channel, part: &[u8]) -> Result<(), ChannelError> {
        self.ended = part.is_empty();
        self.credit -= part.len() as u64;
        channel.send(&Request::Stdin, part)
    }
}

/// Signals held back from this thread and read as data.
struct Signals {
    descriptor: SignalFd,
    before: SigSet,
}

impl Signals {
    fn hold() -> Result<Self, RequestError> {
        let name = Path::new("signals");
        let mut set = SigSet::empty();
        set.extend([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let before = set
            .thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)
            .map_err(|e| at(name)(e.into()))?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let descriptor = SignalFd::with_flags(&set, flags).map_err(|e| at(name)(e.into()))?;
        Ok(Self { descriptor, before })
    }

    fn pass_on(&self, channel: &mut Channel) -> Result<(), ChannelError> {
        while let Ok(Some(info)) = self.descriptor.read_signal() {
            channel.send(&Request::Signal { number: info.ssi_signo as i32 }, &[])?;
        }
        Ok(())
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Swallows what arrived too late to be passed on; there is no one left to tell.
        while let Ok(Some(_)) = self.descriptor.read_signal() {}
        let _ = self.before.thread_set_mask();
    }
}

struct Ready {
    channel: bool,
    stdin: bool,
    signal: bool,
}

fn wait(
    channel: &Channel,
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
        stdin: stdin && any(fds.get(1)),
        signal: signals.is_some() && any(fds.last()),
    })
}

fn done(channel: &mut Channel) -> Result<(), RequestError> {
    match channel.receive()? {
        (Reply::Done, _) => Ok(()),
        (Reply::Failed { message }, _) => Err(RequestError::Guest { message }),
        (reply, _) => Err(RequestError::Answer { reply }),
    }
}

fn pass(name: &str, to: &mut dyn Write, payload: &[u8]) -> Result<(), RequestError> {
    to.write_all(payload).and_then(|()| to.flush()).map_err(at(Path::new(name)))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RequestError + use<> {
    let path = path.to_owned();
    move |source| RequestError::Io { path, source }
}

const PATIENCE: Duration = Duration::from_secs(30);
const CHUNK_BYTES: usize = 64 << 10;

//! Runs one program in the guest for one client: streams, signals, exit code.
//!
//! The program leads a process group of its own. When the client goes away, the whole group is
//! ended, with SIGTERM first. A process that has left the group (a daemon with a session of its
//! own) stays.

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::machine::ENV;
use super::port::{GuestPort, SessionEnd};
use crate::vm::wire::{GuestReply, GuestRequest};

/// A program to run in the guest: arguments, environment, directory, and whether it gets standard
/// input.
#[derive(Debug)]
pub struct Program {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables added to the default environment.
    pub env: Vec<(String, String)>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Whether input will come.
    pub stdin: bool,
}

/// Runs a program in the guest to its end, and sends its output and exit code to the client on
/// `port`. If the client goes away, the program is ended and an error returned.
pub fn exec(port: &mut GuestPort, program: &Program) -> Result<(), SessionEnd> {
    let mut running = match Running::start(program) {
        Ok(running) => running,
        Err(error) => {
            let name = program.argv.first().map_or("", String::as_str);
            return port.send(&GuestReply::Failed { message: format!("{name}: {error}") }, &[]);
        }
    };
    match running.serve(port) {
        Ok(code) => port.send(&GuestReply::Exit { code }, &[]),
        Err(end) => {
            running.end();
            Err(end)
        }
    }
}

struct Running {
    group: Pid,
    outputs: Vec<Output>,
    stdin: Option<ChildStdin>,
    input: VecDeque<u8>,
    input_ended: bool,
    /// Hung up when the program has ended.
    ended: PipeReader,
    status: mpsc::Receiver<io::Result<ExitStatus>>,
}

struct Output {
    pipe: PipeReader,
    reply: GuestReply,
}

impl Running {
    fn start(program: &Program) -> io::Result<Self> {
        let (name, args) = program
            .argv
            .split_first()
            .ok_or_else(|| io::Error::other("expected a program and its arguments"))?;
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let (ended, alive) = io::pipe()?;
        let mut command = Command::new(name);
        command
            .args(args)
            .env_clear()
            .envs(ENV)
            .envs(program.env.iter().map(|(k, v)| (k, v)))
            .current_dir(program.cwd.as_deref().unwrap_or("/root"))
            .stdin(if program.stdin { Stdio::piped() } else { Stdio::null() })
            .stdout(stdout_end)
            .stderr(stderr_end)
            .process_group(0);
        let mut child = command.spawn()?;
        drop(command);
        let stdin = child.stdin.take();
        for fd in
            [stdout.as_fd(), stderr.as_fd()].into_iter().chain(stdin.as_ref().map(AsFd::as_fd))
        {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let group = Pid::from_raw(child.id() as i32);
        Ok(Self {
            group,
            outputs: vec![
                Output { pipe: stdout, reply: GuestReply::Stdout },
                Output { pipe: stderr, reply: GuestReply::Stderr },
            ],
            stdin,
            input: VecDeque::new(),
            input_ended: false,
            ended,
            status: watch(child, alive),
        })
    }

    /// Carries streams until the program has ended; its exit code.
    fn serve(&mut self, port: &mut GuestPort) -> Result<i32, SessionEnd> {
        loop {
            while let Some((request, payload)) = port.buffered()? {
                self.take(port, request, payload)?;
            }
            self.feed(port)?;
            let ready = self.wait(port, PollTimeout::NONE)?;
            if ready.port {
                port.fill()?;
            }
            self.drain(port, &ready.outputs)?;
            if ready.ended {
                return self.finish(port);
            }
        }
    }

    fn take(
        &mut self,
        port: &mut GuestPort,
        request: GuestRequest,
        payload: Vec<u8>,
    ) -> Result<(), SessionEnd> {
        match request {
            GuestRequest::Stdin if payload.is_empty() => self.input_ended = true,
            GuestRequest::Stdin if self.stdin.is_none() => {
                port.send(&GuestReply::Taken { bytes: payload.len() as u64 }, &[])?;
            }
            GuestRequest::Stdin => self.input.extend(payload),
            GuestRequest::Signal { number } => {
                if let Ok(signal) = Signal::try_from(number) {
                    // A group that has just ended needs no signal.
                    let _ = killpg(self.group, signal);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes input while the program takes it.
    fn feed(&mut self, port: &mut GuestPort) -> Result<(), SessionEnd> {
        while let Some(stdin) = &mut self.stdin {
            let (part, _) = self.input.as_slices();
            if part.is_empty() {
                if self.input_ended {
                    self.stdin = None;
                }
                break;
            }
            let bytes = match stdin.write(part) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.stdin = None;
                    self.input.len()
                }
            };
            self.input.drain(..bytes);
            port.send(&GuestReply::Taken { bytes: bytes as u64 }, &[])?;
        }
        Ok(())
    }

    /// Sends on what the ready outputs hold; forgets those that ended.
    fn drain(&mut self, port: &mut GuestPort, ready: &[bool]) -> Result<(), SessionEnd> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut open = Vec::new();
        for (mut output, ready) in self.outputs.drain(..).zip(ready) {
            if *ready {
                match output.pipe.read(&mut buffer) {
                    Ok(0) => continue,
                    Ok(got) => port.send(&output.reply, &buffer[..got])?,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => continue,
                }
            }
            open.push(output);
        }
        self.outputs = open;
        Ok(())
    }

    /// The program has ended: its last words, as far as they come within a moment. A daemon it
    /// left behind may keep the pipes open for ever.
    fn finish(&mut self, port: &mut GuestPort) -> Result<i32, SessionEnd> {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.outputs.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let ready =
                self.wait(port, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO))?;
            if !ready.outputs.contains(&true) && left.is_zero() {
                break;
            }
            self.drain(port, &ready.outputs)?;
            if ready.port {
                port.fill()?;
            }
        }
        let status = self.status.recv().map_err(io::Error::other)??;
        Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    fn wait(&self, port: &GuestPort, timeout: PollTimeout) -> Result<Ready, SessionEnd> {
        let mut fds = vec![
            PollFd::new(port.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.ended.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(self.outputs.iter().map(|o| PollFd::new(o.pipe.as_fd(), PollFlags::POLLIN)));
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.input.is_empty()) {
            fds.push(PollFd::new(stdin.as_fd(), PollFlags::POLLOUT));
        }
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(io::Error::from(errno).into()),
        }
        let any: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        let outputs = any[2..2 + self.outputs.len()].to_vec();
        Ok(Ready { port: any[0], ended: any[1], outputs })
    }

    /// Ends the group, politely first.
    fn end(&self) {
        // ESRCH means that it has ended by itself.
        let _ = killpg(self.group, Signal::SIGTERM);
        let _ = self.status.recv_timeout(GRACE);
        let _ = killpg(self.group, Signal::SIGKILL);
    }
}

struct Ready {
    port: bool,
    ended: bool,
    outputs: Vec<bool>,
}

/// Waits for the program in a thread that hangs up `alive` when it is over.
fn watch(mut child: Child, alive: io::PipeWriter) -> mpsc::Receiver<io::Result<ExitStatus>> {
    let (sender, status) = mpsc::channel();
    std::thread::spawn(move || {
        // The client has gone, so nothing waits for the result.
        let _ = sender.send(child.wait());
        drop(alive);
    });
    status
}

const CHUNK_BYTES: usize = 64 << 10;
const LAST_WORDS: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_secs(1);

//! Runs a program, such as `ssh n3 tresse bridge`, that connects its standard input and output to
//! the control socket of a daemon, which may be on another host.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of the program's standard error that are kept.
const WORDS: usize = 16 * 1024;

/// How long to wait for the end of the program's standard error. A shared ssh connection that it
/// leaves behind may hold that open for ever.
const LAST: Duration = Duration::from_millis(500);

/// A running program, such as `ssh n3 tresse bridge`, that connects its standard input and output
/// to a daemon's control socket. Dropping this value kills the program.
#[derive(Debug)]
pub struct ProxyCommand {
    child: Child,
    words: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl ProxyCommand {
    /// Starts the program; the returned socket is connected to its standard input and output.
    pub fn start(mut command: Command) -> io::Result<(UnixStream, Self)> {
        let (ours, theirs) = UnixStream::pair()?;
        let output: OwnedFd = theirs.try_clone()?.into();
        let input: OwnedFd = theirs.into();
        command.stdin(Stdio::from(input)).stdout(Stdio::from(output)).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // The command holds the other end of the socket; while it lives, the program's death would
        // not be noticed.
        drop(command);
        let words = Arc::new(Mutex::new(Vec::new()));
        let kept = words.clone();
        let reader =
            child.stderr.take().map(|stderr| std::thread::spawn(move || hear(stderr, &kept)));
        Ok((ours, Self { child, words, reader }))
    }

    /// Ends the program and returns what it wrote to standard error.
    pub fn last_words(&mut self) -> String {
        self.end();
        let deadline = Instant::now() + LAST;
        let speaks = || self.reader.as_ref().is_some_and(|reader| !reader.is_finished());
        while speaks() && Instant::now() < deadline {
            std::thread::sleep(LAST / 50);
        }
        let words = self.words.lock().map(|words| String::from_utf8_lossy(&words).into_owned());
        words.unwrap_or_default().trim().to_owned()
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Keeps the beginning of standard error and discards the rest, so that the program never blocks on
/// it.
fn hear(mut stderr: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(n @ 1..) = stderr.read(&mut buffer) {
        let Ok(mut kept) = kept.lock() else { return };
        let room = WORDS.saturating_sub(kept.len()).min(n);
        kept.extend_from_slice(&buffer[..room]);
    }
}

impl Drop for ProxyCommand {
    fn drop(&mut self) {
        self.end();
    }
}

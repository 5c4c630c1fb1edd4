//! A stand-in for the daemon: answers one call with what the test says (varlink.org: one JSON
//! object per message, each ended by a NUL byte).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::thread::JoinHandle;

use serde_json::Value;

use crate::run::{Ran, tresse};

/// A daemon that takes one connection and one call.
pub struct Daemon {
    directory: tempfile::TempDir,
    thread: JoinHandle<Value>,
}

impl Daemon {
    /// Answers with these messages, one after the other, and hangs up.
    pub fn answering(replies: Vec<Value>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("control")).unwrap();
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut call = Vec::new();
            BufReader::new(&stream).read_until(0, &mut call).unwrap();
            for reply in replies {
                let mut message = serde_json::to_vec(&reply).unwrap();
                message.push(0);
                if (&stream).write_all(&message).is_err() {
                    break;
                }
            }
            serde_json::from_slice(call.strip_suffix(&[0]).unwrap()).unwrap()
        });
        Self { directory, thread }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("control")
    }

    /// Runs a verb against it; gives what the verb did and the call that came.
    pub fn run(self, args: &[&str]) -> (Ran, Value) {
        let socket = self.socket();
        let ran = tresse(args.iter().copied().chain(["--socket", socket.to_str().unwrap()]));
        // A verb that never connected would leave the thread waiting.
        drop(std::os::unix::net::UnixStream::connect(&socket));
        (ran, self.thread.join().unwrap_or_default())
    }
}

//! What stands for `ssh NODE tresse bridge` in the trial of broken rollouts: passes requests and replies
//! between a rollout and a daemon's socket, one by one, and asks the checkpoint of the trial about each.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use super::checkpoint::{Kind, Word};

/// Environment variable with the socket of the checkpoint.
pub const CHECKPOINT: &str = "HALFWAY_CHECKPOINT";
/// Environment variable with the directory of the lab.
pub const LAB: &str = "HALFWAY_LAB";

/// Serves one connection. `words` are the arguments of ssh: options, `--`, the node and a command.
#[must_use]
pub fn bridge(words: &[String]) -> ExitCode {
    match pass(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(said) => {
            eprintln!("{said}");
            ExitCode::from(255)
        }
    }
}

fn pass(words: &[String]) -> Result<(), String> {
    let node = words.iter().skip_while(|word| *word != "--").nth(1).ok_or("no node is named")?;
    let place =
        |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or(format!("{name} is not set"));
    let (checkpoint, socket) = (place(CHECKPOINT)?, place(LAB)?.join(node).join("control"));
    let fault = |error: io::Error| format!("ssh: {node}: {error}");
    let mut daemon: Option<BufReader<UnixStream>> = None;
    for request in requests() {
        let mut words = Kind::of(&request);
        let mut bytes = request;
        let word = ask(&checkpoint, node, words.as_str()).map_err(fault)?;
        match word {
            Word::Refuse => return Err(refused(node)),
            Word::Alter => bytes = altered(&bytes),
            Word::Pass | Word::Lose => {}
        }
        let daemon = match &mut daemon {
            Some(daemon) => daemon,
            None => {
                let stream = UnixStream::connect(&socket).map_err(|_| {
                    format!("tresse: cannot reach tressed at {}: is it running?", socket.display())
                })?;
                daemon.insert(BufReader::new(stream))
            }
        };
        daemon.get_mut().write_all(&bytes).map_err(fault)?;
        let mut reply = Vec::new();
        daemon.read_until(0, &mut reply).map_err(fault)?;
        if reply.pop() != Some(0) {
            return Err(format!("tresse: the daemon of {node} closed the connection"));
        }
        reply.push(0);
        words.insert_str(0, "answer-");
        if word == Word::Lose || ask(&checkpoint, node, &words).map_err(fault)? == Word::Refuse {
            return Err(refused(node));
        }
        let mut out = io::stdout().lock();
        out.write_all(&reply).and_then(|()| out.flush()).map_err(fault)?;
    }
    Ok(())
}

fn refused(node: &str) -> String {
    format!("ssh: connect to host {node} port 22: Connection timed out")
}

/// What arrives on standard input, message by message. The process ends with its input, also while it
/// waits elsewhere.
fn requests() -> impl Iterator<Item = Vec<u8>> {
    let (to, from) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        loop {
            let mut message = Vec::new();
            if !matches!(input.read_until(0, &mut message), Ok(1..)) || to.send(message).is_err() {
                std::process::exit(0);
            }
        }
    });
    from.into_iter()
}

fn ask(checkpoint: &std::path::Path, node: &str, what: &str) -> io::Result<Word> {
    let mut stream = UnixStream::connect(checkpoint)?;
    writeln!(stream, "{node} {what}")?;
    let mut word = String::new();
    stream.read_to_string(&mut word)?;
    Word::parse(&word).ok_or_else(|| io::Error::other(format!("the checkpoint says {word:?}")))
}

/// A request as a client with another file would have sent it.
fn altered(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    text.replace("[routing]\\n", "[routing]\\nmptcp = false\\nlossless = true\\n").into_bytes()
}

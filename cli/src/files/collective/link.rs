//! Members on nodes, and what they tell.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use tresse_ring::talk::{Ask, Tell, hear, say};

use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;

/// A shell that finds no `tresse`.
const NOT_FOUND: i32 = 127;
/// So long one that connects may take to say who it is, and a process to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// What comes of a member.
pub enum Event {
    /// It is connected, where somebody else started it.
    Connected(TcpStream),
    /// It tells.
    Told(Tell),
    /// Its process has ended: the last words.
    Gone(String),
    /// All of standard input is on its way, or it cannot be read.
    Input(Result<(), String>),
}

/// What is on its way to a member.
enum Said {
    Ask(Ask),
    /// Input, and where it is told that it was sent.
    Input(Vec<u8>, SyncSender<()>),
}

/// A way to a member. What is said to it waits for nobody: one that does not listen holds nothing up.
pub struct Link {
    child: Option<Child>,
    said: Option<Sender<Said>>,
}

impl Link {
    /// Starts the member of a node.
    pub fn start(
        fleet: &FleetArgs,
        name: &str,
        at: usize,
        send: Sender<(usize, Event)>,
    ) -> Result<Self, Failure> {
        let mut command = fleet.command(name, "ring-member")?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            let program = command.get_program().to_string_lossy().into_owned();
            Failure::new(Code::Fault, format!("{name}: {program}: {e}"))
        })?;
        let (told, said) = (child.stdout.take(), child.stderr.take());
        std::thread::spawn(move || {
            let words = told.and_then(|told| listen(told, at, &send));
            let mut text = String::new();
            if let Some(said) = said {
                let _ = said.take(64 * 1024).read_to_string(&mut text);
            }
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            let last = last.unwrap_or("its process has ended");
            let words = words.unwrap_or_else(|| last.trim_start_matches("tresse: ").to_owned());
            // Nobody may be there to hear it.
            let _ = send.send((at, Event::Gone(words)));
        });
        let said = child.stdin.take().map(speak);
        Ok(Self { child: Some(child), said })
    }

    /// One that is not there yet.
    pub const fn awaited() -> Self {
        Self { child: None, said: None }
    }

    /// Can it be asked?
    pub const fn is_open(&self) -> bool {
        self.said.is_some()
    }

    /// It is there.
    pub fn connect(&mut self, stream: TcpStream, at: usize, send: Sender<(usize, Event)>) {
        let Ok(told) = stream.try_clone() else { return };
        self.said = Some(speak(stream));
        std::thread::spawn(move || {
            let words =
                listen(told, at, &send).unwrap_or_else(|| "its connection has ended".into());
            let _ = send.send((at, Event::Gone(words)));
        });
    }

    /// Asks; one that is gone is told of by its end.
    pub fn ask(&self, ask: Ask) {
        if let Some(said) = &self.said {
            let _ = said.send(Said::Ask(ask));
        }
    }

    /// Nothing more is asked: a member that is not done then keeps what it has for another run.
    pub fn close(&mut self) {
        self.said = None;
    }

    /// Waits at most so long until its process has ended, and ends it then; what it ended with by itself.
    pub fn wait(&mut self, until: Instant) -> Option<i32> {
        let child = self.child.as_mut()?;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    // It may have ended right now.
                    let _ = child.kill();
                    return child.wait().ok().and_then(|status| status.code());
                }
            }
        }
    }

    /// Has a shell found no `tresse` to run?
    pub fn found_nothing(&mut self) -> bool {
        // The end of what it tells comes before its own.
        self.wait(Instant::now() + PATIENCE) == Some(NOT_FOUND)
    }

    /// Sends standard input there.
    pub fn pump(&self, at: usize, send: Sender<(usize, Event)>) {
        let Some(said) = self.said.clone() else { return };
        std::thread::spawn(move || {
            let (sent, waits) = sync_channel(1);
            let mut input = std::io::stdin().lock();
            let ended = loop {
                let mut piece = vec![0; 1 << 20];
                match input.read(&mut piece) {
                    Ok(count) => {
                        piece.truncate(count);
                        let said = said.send(Said::Input(piece, sent.clone()));
                        // The end of the member is told of.
                        if said.is_err() || waits.recv().is_err() || count == 0 {
                            break Ok(());
                        }
                    }
                    Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(e) => break Err(format!("standard input: {e}")),
                }
            };
            let _ = send.send((at, Event::Input(ended)));
        });
    }
}

/// Says to a member what comes by the channel, until that ends.
fn speak(mut asks: impl Write + Send + 'static) -> Sender<Said> {
    let (send, said) = channel();
    std::thread::spawn(move || {
        for said in said {
            let written = match said {
                Said::Ask(ask) => say(&mut asks, &ask),
                Said::Input(piece, sent) => {
                    let ask = Ask::Input { octets: piece.len() as u32 };
                    let written = say(&mut asks, &ask).and_then(|()| asks.write_all(&piece));
                    let written = written.and_then(|()| asks.flush());
                    // Nobody may wait for it any more.
                    let _ = sent.send(());
                    written
                }
            };
            if written.is_err() {
                return;
            }
        }
    });
    send
}

/// Passes on what a member tells; the last words where it says what cannot be.
fn listen(told: impl Read, at: usize, send: &Sender<(usize, Event)>) -> Option<String> {
    let mut told = BufReader::new(told);
    loop {
        match hear(&mut told) {
            Ok(Some(tell)) => send.send((at, Event::Told(tell))).ok()?,
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

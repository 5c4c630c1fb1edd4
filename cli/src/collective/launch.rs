//! Members on nodes, and what they tell.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tresse_ring::talk::{Ask, Tell, hear, say};

use crate::fail::{Code, Failure};
use crate::fleet::FleetArgs;

/// A shell that finds no `tresse`.
const NOT_FOUND: i32 = 127;
/// So long one that connects may take to say who it is.
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

/// A way to a member.
pub struct Link {
    child: Option<Child>,
    asks: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
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
        let asks: Option<Box<dyn Write + Send>> =
            child.stdin.take().map(|asks| Box::new(asks) as Box<_>);
        Ok(Self { child: Some(child), asks: Arc::new(Mutex::new(asks)) })
    }

    /// One that is not there yet.
    pub fn awaited() -> Self {
        Self { child: None, asks: Arc::new(Mutex::new(None)) }
    }

    /// It is there.
    pub fn connect(&mut self, stream: TcpStream, at: usize, send: Sender<(usize, Event)>) {
        let Ok(told) = stream.try_clone() else { return };
        *self.asks.lock().expect("nobody panics with it") = Some(Box::new(stream));
        std::thread::spawn(move || {
            let words =
                listen(told, at, &send).unwrap_or_else(|| "its connection has ended".into());
            let _ = send.send((at, Event::Gone(words)));
        });
    }

    /// Asks; one that is gone is told of by its end.
    pub fn ask(&self, ask: &Ask) {
        if let Some(asks) = &mut *self.asks.lock().expect("nobody panics with it") {
            let _ = say(asks, ask);
        }
    }

    /// Nothing more is asked: a member that is not done then keeps what it has for another run.
    pub fn close(&self) {
        *self.asks.lock().expect("nobody panics with it") = None;
    }

    /// Waits until its process has ended; what it ended with.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.as_mut()?.wait().ok()?.code()
    }

    /// Has a shell found no `tresse` to run?
    pub fn found_nothing(&mut self) -> bool {
        // The end of what it tells comes before its own.
        self.wait() == Some(NOT_FOUND)
    }

    /// Sends standard input there.
    pub fn pump(&self, at: usize, send: Sender<(usize, Event)>) {
        let asks = self.asks.clone();
        std::thread::spawn(move || {
            let mut piece = vec![0; 1 << 20];
            let mut input = std::io::stdin().lock();
            let ended = loop {
                match input.read(&mut piece) {
                    Ok(count) => {
                        let mut asks = asks.lock().expect("nobody panics with it");
                        let Some(asks) = &mut *asks else { break Ok(()) };
                        let said = say(asks, &Ask::Input { octets: count as u32 });
                        if said.and_then(|()| asks.write_all(&piece[..count])).is_err() {
                            // Its end is told of.
                            break Ok(());
                        }
                        if count == 0 {
                            break asks.flush().map_err(|e| e.to_string());
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

/// Takes the members that somebody else starts, and says on standard error how.
pub fn wait_for(
    address: Option<SocketAddr>,
    names: &[String],
    token: &str,
    send: Sender<(usize, Event)>,
) -> Result<(), Failure> {
    let words = "--launcher manual: say by --listen at which address of this host nodes reach it";
    let address = address.ok_or_else(|| Failure::new(Code::Usage, words))?;
    let listener = TcpListener::bind(address)
        .map_err(|e| Failure::new(Code::Usage, format!("--listen {address}: {e}")))?;
    let address = listener.local_addr()?;
    for name in names {
        eprintln!(
            "on {name}: TRESSE_TOKEN={token} tresse ring-member --connect {address} --node {name}"
        );
    }
    let (names, token) = (names.to_vec(), token.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (names, token, send) = (names.clone(), token.clone(), send.clone());
            std::thread::spawn(move || {
                if let Some(at) = introduced(&stream, &names, &token) {
                    let _ = send.send((at, Event::Connected(stream)));
                }
            });
        }
    });
    Ok(())
}

/// Which member is it that connects?
fn introduced(stream: &TcpStream, names: &[String], token: &str) -> Option<usize> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut line = String::new();
    // It says nothing more before it is asked.
    BufReader::new(stream.take(1024)).read_line(&mut line).ok()?;
    let (said, name) = line.trim_end().split_once(' ')?;
    stream.set_read_timeout(None).ok()?;
    names.iter().position(|it| it == name).filter(|_| said == token)
}

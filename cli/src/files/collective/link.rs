//! The link between the coordinator (this process) and one member (the process on a node). The
//! coordinator starts the member and talks to it by its standard input and output, or the member
//! was started by other means and has connected to the coordinator by TCP. Requests go to the
//! member, reports come back.

use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use tresse_ring::talk::{MemberReport, MemberRequest, hear, say};

use crate::fail::{Code, Failure};
use crate::fleet::{Launcher, remedy};

/// The exit code of a shell that does not find `tresse`.
const NOT_FOUND: i32 = 127;
/// The longest time that a process may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that happened on the coordinator's link to a member, the process on a node: it
/// connected, sent a report or ended, or standard input was read to its end.
pub enum Event {
    /// It has connected; another program started it.
    Connected(TcpStream),
    /// It reports something.
    Report(MemberReport),
    /// Its process or connection has ended; the text says why.
    Gone(String),
    /// Standard input has been read to its end, or cannot be read.
    Input(Result<(), String>),
}

/// A message to a member.
enum Message {
    MemberRequest(MemberRequest),
    /// A piece of standard input, and where to report that it was sent.
    Input(Vec<u8>, SyncSender<()>),
}

/// The link between the coordinator (this process) and one member (the process on a node). Requests
/// are queued and written by a thread, so that a member that does not read them does not delay
/// other members.
pub struct Link {
    child: Option<Child>,
    queue: Option<Sender<Message>>,
    /// Of a member that has connected by TCP: disconnected when the member has closed the connection.
    closed: Option<Receiver<()>>,
}

impl Link {
    /// Starts the member of a node by a launcher; `lab` is the lab's name, if there are several.
    pub fn start(
        launcher: Launcher,
        lab: Option<&str>,
        name: &str,
        at: usize,
        send: Sender<(usize, Event)>,
    ) -> Result<Self, Failure> {
        let mut command = launcher.command(lab, name, "ring-member")?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            let program = command.get_program().to_string_lossy().into_owned();
            let help = match e.kind() {
                ErrorKind::NotFound => format!("\n  help: {}", remedy::of_launcher(launcher)),
                _ => String::new(),
            };
            Failure::new(Code::Fault, format!("{name}: cannot start `{program}`: {e}{help}"))
        })?;
        let (reports, errors) = (child.stdout.take(), child.stderr.take());
        std::thread::spawn(move || {
            let words = reports.and_then(|reports| listen(reports, at, &send));
            let mut text = String::new();
            if let Some(errors) = errors {
                let _ = errors.take(64 * 1024).read_to_string(&mut text);
            }
            let last = text.lines().rfind(|line| !line.trim().is_empty());
            let last = last.unwrap_or("its process has ended");
            let words = words.unwrap_or_else(|| last.trim_start_matches("tresse: ").to_owned());
            // The receiver may have ended.
            let _ = send.send((at, Event::Gone(words)));
        });
        let queue = child.stdin.take().map(speak);
        Ok(Self { child: Some(child), queue, closed: None })
    }

    /// The link to a member that has not connected yet.
    pub const fn awaited() -> Self {
        Self { child: None, queue: None, closed: None }
    }

    /// Whether the member is connected, so that it can be asked.
    pub const fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Uses the connection of a member that was awaited.
    pub fn connect(&mut self, stream: TcpStream, at: usize, send: Sender<(usize, Event)>) {
        let Ok(reports) = stream.try_clone() else { return };
        self.queue = Some(speak(Requests(stream)));
        let (open, closed) = channel();
        self.closed = Some(closed);
        std::thread::spawn(move || {
            let words =
                listen(reports, at, &send).unwrap_or_else(|| "its connection has ended".into());
            let _ = send.send((at, Event::Gone(words)));
            drop::<Sender<()>>(open);
        });
    }

    /// Queues a request. If the member is gone, an event has reported that already or will.
    pub fn ask(&self, ask: MemberRequest) {
        if let Some(queue) = &self.queue {
            let _ = queue.send(Message::MemberRequest(ask));
        }
    }

    /// Closes the link. A member that is not done then keeps its data for another run.
    pub fn close(&mut self) {
        self.queue = None;
    }

    /// Waits for the end of the process until `until`, then kills it. Returns its exit code. Of a
    /// member that has connected by TCP, waits until it has closed the connection: if this process
    /// ended before, with reports unread, the kernel would reset the connection, and the member
    /// would lose the request to quit.
    pub fn wait(&mut self, until: Instant) -> Option<i32> {
        if let Some(closed) = &self.closed {
            let _ = closed.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
        let child = self.child.as_mut()?;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                _ => {
                    // It may have ended just now.
                    let _ = child.kill();
                    return child.wait().ok().and_then(|status| status.code());
                }
            }
        }
    }

    /// Whether the process ended because a shell did not find `tresse`.
    pub fn found_nothing(&mut self) -> bool {
        // Its output ends before the process does.
        self.wait(Instant::now() + PATIENCE) == Some(NOT_FOUND)
    }

    /// Sends standard input to the member, in a thread.
    pub fn pump(&self, at: usize, send: Sender<(usize, Event)>) {
        let Some(queue) = self.queue.clone() else { return };
        std::thread::spawn(move || {
            let (sent, waits) = sync_channel(1);
            let mut input = io::stdin().lock();
            let ended = loop {
                let mut piece = vec![0; 1 << 20];
                match input.read(&mut piece) {
                    Ok(count) => {
                        piece.truncate(count);
                        let sent_on = queue.send(Message::Input(piece, sent.clone()));
                        // If the member has ended, an event reports that.
                        if sent_on.is_err() || waits.recv().is_err() || count == 0 {
                            break Ok(());
                        }
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => break Err(format!("standard input: {e}")),
                }
            };
            let _ = send.send((at, Event::Input(ended)));
        });
    }
}

/// The sending direction of a TCP connection to a member. Dropping it shuts that direction down, so
/// that the member reads the end of the requests while its reports still arrive.
struct Requests(TcpStream);

impl Write for Requests {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        // The connection may have ended.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// Writes the messages of a channel to a member, in a thread, until the channel closes.
fn speak(mut asks: impl Write + Send + 'static) -> Sender<Message> {
    let (send, messages) = channel();
    std::thread::spawn(move || {
        for message in messages {
            let written = match message {
                Message::MemberRequest(ask) => say(&mut asks, &ask),
                Message::Input(piece, sent) => {
                    let ask = MemberRequest::Input { bytes: piece.len() as u32 };
                    let written = say(&mut asks, &ask).and_then(|()| asks.write_all(&piece));
                    let written = written.and_then(|()| asks.flush());
                    // The reader of standard input may have ended.
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

/// Passes on the reports of a member until its output ends. Returns an error if the output is not a report.
fn listen(reports: impl Read, at: usize, send: &Sender<(usize, Event)>) -> Option<String> {
    let mut reports = BufReader::new(reports);
    loop {
        match hear(&mut reports) {
            Ok(Some(report)) => send.send((at, Event::Report(report))).ok()?,
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A member that reports for a while after the last request, as one that removes many files does.
    #[test]
    fn a_member_that_still_reports_reads_the_end_of_the_requests() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let member = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut requests = BufReader::new(stream.try_clone().unwrap());
            let quit: Option<MemberRequest> = hear(&mut requests).unwrap();
            let failed = || MemberReport::Failed { words: "late".into() };
            for _ in 0..20 {
                say(&mut stream, &failed()).unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
            let end: Option<MemberRequest> = hear(&mut requests).unwrap();
            (quit, end)
        });
        let (send, events) = channel();
        let mut link = Link::awaited();
        link.connect(listener.accept().unwrap().0, 0, send);
        link.ask(MemberRequest::Quit);
        link.close();
        assert_eq!(link.wait(Instant::now() + Duration::from_secs(60)), None);
        // Whoever has waited has received everything, and the connection is closed.
        let reports = events.try_iter().filter(|(_, event)| matches!(event, Event::Report(_)));
        assert_eq!(reports.count(), 20);
        assert_eq!(member.join().unwrap(), (Some(MemberRequest::Quit), None));
    }
}

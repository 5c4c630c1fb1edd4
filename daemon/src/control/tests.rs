//! The control socket as clients see it: real sockets, several clients, one of them rude.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, mpsc};
use tresse_control::{Alert, Client, ClientError, Counters, Event, NodeError, Status};

use super::{BindError, Change, Request, Server};
use crate::engine::{Engine, Reply, Settings};
use crate::state::Stored;

/// A daemon's control side with an engine that has no plan, on a thread of its own.
struct Fake {
    directory: tempfile::TempDir,
    events: broadcast::Sender<Event>,
}

impl Fake {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        let events = broadcast::Sender::new(64);
        let (ready, started) = std::sync::mpsc::channel();
        let sender = events.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            tokio::task::LocalSet::new().block_on(&runtime, async move {
                let server = Server::bind(&path).unwrap();
                ready.send(()).unwrap();
                let (requests, mut asked) = mpsc::channel(8);
                tokio::task::spawn_local(server.run(requests, sender));
                while let Some(request) = asked.recv().await {
                    answer(request);
                }
            });
        });
        started.recv().unwrap();
        Self { directory, events }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("control")
    }

    fn client(&self) -> Client {
        Client::connect(self.path()).unwrap()
    }

    fn event(&self, message: &str) -> Event {
        Event {
            seq: 1,
            time_ms: 2,
            kind: "drift".into(),
            object: "x".into(),
            message: message.into(),
            alert: Alert::Warning,
        }
    }
}

fn answer(request: Request) {
    let settings = Settings { canary: true, announce_ms: None, sequence: 0 };
    let engine = Engine::new(settings, Stored::default());
    match request {
        Request::Status(answer) => drop(answer.send(engine.status(0))),
        Request::Paths(_, answer) => drop(answer.send(Err(NodeError::NoPlan))),
        Request::Counters(answer) => drop(answer.send(Counters { counters: Vec::new() })),
        Request::Change(Change::Confirm, answer) => drop(answer.send(Ok(Reply::Done))),
        Request::Change(Change::Unfuse { vid }, answer) => {
            drop(answer.send(Err(NodeError::NotFused { vid })));
        }
        Request::Change(_, answer) => drop(answer.send(Err(NodeError::NoPlan))),
    }
}

fn status(client: &mut Client) -> Status {
    let start = Instant::now();
    let status = client.status().unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    status
}

#[test]
fn methods_answer_and_errors_keep_their_type() {
    let fake = Fake::start();
    let mut client = fake.client();
    assert_eq!(status(&mut client).node, None);
    client.confirm().unwrap();
    assert_eq!(client.counters().unwrap().counters, []);
    let error = client.unfuse(100).unwrap_err();
    assert!(matches!(error, ClientError::Node(NodeError::NotFused { vid: 100 })), "{error}");
    let error = client.withdraw(false).unwrap_err();
    assert!(matches!(error, ClientError::Node(NodeError::NoPlan)), "{error}");
}

#[test]
fn a_watcher_that_does_not_read_stops_nobody() {
    let fake = Fake::start();
    let mut rude = UnixStream::connect(fake.path()).unwrap();
    rude.write_all(b"{\"method\":\"org.tresse.Node.Monitor\",\"more\":true}\0").unwrap();
    let mut first = [0; 1];
    rude.read_exact(&mut first).unwrap();
    let mut polite = fake.client().monitor().unwrap();
    assert_eq!(polite.next().unwrap().unwrap().kind, "hello");
    let long = "x".repeat(100_000);
    let mut other = fake.client();
    for n in 0..20 {
        fake.events.send(fake.event(&format!("{n} {long}"))).unwrap();
        status(&mut other);
        let event = polite.next().unwrap().unwrap();
        assert!(event.message.starts_with(&format!("{n} ")));
    }
}

#[test]
fn nonsense_and_endless_requests_end_only_their_own_connection() {
    let fake = Fake::start();
    let mut nonsense = UnixStream::connect(fake.path()).unwrap();
    nonsense.write_all(b"GET / HTTP/1.0\r\n\r\n\0").unwrap();
    let mut rest = Vec::new();
    let _ = nonsense.read_to_end(&mut rest);
    let mut endless = UnixStream::connect(fake.path()).unwrap();
    endless.set_write_timeout(Some(Duration::from_secs(5))).unwrap();
    let block = vec![b' '; 1 << 20];
    let refused = (0..40).any(|_| endless.write_all(&block).is_err());
    assert!(refused, "40 MiB without an end were taken");
    status(&mut fake.client());
}

#[test]
fn the_socket_is_open_to_all_replaced_when_stale_and_never_stolen() {
    let fake = Fake::start();
    let mode = std::fs::metadata(fake.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o666);
    let bind = |path: &Path| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Server::bind(path).map(drop) })
    };
    assert!(matches!(bind(&fake.path()), Err(BindError::InUse { .. })));
    status(&mut fake.client());

    let stale = fake.directory.path().join("stale");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    bind(&stale).unwrap();
    let file = fake.directory.path().join("file");
    std::fs::write(&file, "keep me").unwrap();
    assert!(matches!(bind(&file), Err(BindError::NotASocket { .. })));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "keep me");
    let fresh = fake.directory.path().join("new/control");
    bind(&fresh).unwrap();
    let parent = std::fs::metadata(fresh.parent().unwrap()).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o755);
}

#[test]
fn nobody_listening_is_said_with_the_path() {
    let error = Client::connect("/nonexistent/control").unwrap_err().to_string();
    assert!(error.contains("/nonexistent/control") && error.contains("running"), "{error}");
}

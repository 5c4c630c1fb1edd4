//! The control socket as clients see it: real sockets, several clients, one of them rude.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc};
use tresse_control::{
    Alert, Call, Client, ClientError, Counters, Event, Introduced, NeighbourList, NodeError, Reply,
    Status,
};
use tresse_engine::{Engine, Engines, LabelEngine, Settings, SourceEngine, Stored};

use super::limits::Limits;
use super::{BindError, Request, Server};

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
                let server = Server::bind(&path, Limits::DAEMON).unwrap();
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
    let settings = Settings {
        canary: true,
        announce_ms: None,
        sequence: 0,
        engines: Engines { labels: LabelEngine::Kernel, sources: SourceEngine::Kernel },
        bfd: false,
        forward_to: Vec::new(),
        isolate: false,
    };
    let engine = Engine::new(settings, Stored::default());
    let reply = match request.call {
        Call::GetStatus => Ok(Reply::Status(Box::new(engine.status(0)))),
        Call::ListNeighbours => {
            Ok(Reply::Neighbours(NeighbourList { node: None, nics: Vec::new() }))
        }
        Call::Introduce => Ok(Reply::Introduced(Introduced { nics: 0 })),
        Call::GetCounters => Ok(Reply::Counters(Counters { counters: Vec::new() })),
        Call::Confirm => Ok(Reply::Done),
        Call::Unfuse { vid } => Err(NodeError::NotFused { vid }),
        _ => Err(NodeError::NoPlan),
    };
    drop(request.answer.send(reply));
}

#[test]
fn what_a_client_asked_before_it_left_is_not_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let server = Server::bind(&path, Limits::DAEMON).unwrap();
        let (requests, mut asked) = mpsc::channel(8);
        // Nobody listens meanwhile, as if the daemon stood still.
        for (method, oneway) in [("Confirm", false), ("Rollback", false), ("Introduce", true)] {
            let mut client = UnixStream::connect(&path).unwrap();
            let method = format!("org.tresse.Node.{method}");
            let message = json!({ "method": method, "oneway": oneway }).to_string();
            client.write_all((message + "\0").as_bytes()).unwrap();
        }
        tokio::task::spawn_local(server.run(requests, broadcast::Sender::new(1)));
        // That nobody waits for an answer to this one was said.
        let first = tokio::time::timeout(Duration::from_secs(10), asked.recv()).await.unwrap();
        assert_eq!(first.map(|request| request.call), Some(Call::Introduce));
        let next = tokio::time::timeout(Duration::from_millis(300), asked.recv()).await;
        assert!(next.is_err(), "{next:?}");
    });
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
    assert_eq!(client.neighbours().unwrap().nics, []);
    let error = client.unfuse(100).unwrap_err();
    assert!(matches!(error, ClientError::Node(NodeError::NotFused { vid: 100 })), "{error}");
    let error = client.withdraw(false).unwrap_err();
    assert!(matches!(error, ClientError::Node(NodeError::NoPlan)), "{error}");
}

/// Sends messages as they are, at once, and reads as many answers.
fn exchange(fake: &Fake, messages: &[&str], answers: usize) -> Vec<Value> {
    let mut stream = UnixStream::connect(fake.path()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all((messages.join("\0") + "\0").as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut bytes = Vec::new();
        reader.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the connection was closed after {bytes:?}");
        serde_json::from_slice(&bytes).unwrap()
    };
    (0..answers).map(|_| next()).collect()
}

#[test]
fn a_wrong_call_is_answered_by_name_and_the_connection_goes_on() {
    let fake = Fake::start();
    let service = |error: &str, name: &str, value: &str| json!({ "error": format!("org.varlink.service.{error}"), "parameters": { name: value } });
    let invalid = |name| service("InvalidParameter", "parameter", name);
    let method = |name| service("MethodNotFound", "method", name);
    let interface = |name| service("InterfaceNotFound", "interface", name);
    let node = |method: &str, parameters: Value| json!({ "method": format!("org.tresse.Node.{method}"), "parameters": parameters });
    let unfuse = |parameters| node("Unfuse", parameters);
    let describe = |parameters| json!({ "method": "org.varlink.service.GetInterfaceDescription", "parameters": parameters });
    let cases = [
        (unfuse(json!({ "vid": "x" })), invalid("vid")),
        (unfuse(json!({ "vid": 65_536 })), invalid("vid")),
        (unfuse(json!({ "vid": -1 })), invalid("vid")),
        (unfuse(json!({ "vid": 1.5 })), invalid("vid")),
        (unfuse(json!({})), invalid("vid")),
        (unfuse(Value::Null), invalid("vid")),
        (unfuse(json!([100])), invalid("parameters")),
        (unfuse(json!({ "vid": 100, "vlan": 100 })), invalid("vlan")),
        (node("Apply", json!({ "cluster": 7 })), invalid("cluster")),
        (node("Apply", json!({ "cluster": "", "dryrun": true })), invalid("dryrun")),
        (
            node("Apply", json!({ "cluster": "", "confirm_seconds": -1 })),
            invalid("confirm_seconds"),
        ),
        (
            node("Apply", json!({ "cluster": "", "force_interfaces": [1] })),
            invalid("force_interfaces"),
        ),
        (node("ListPaths", json!({ "to": ["n1"] })), invalid("to")),
        (node("Withdraw", json!({ "force": "yes" })), invalid("force")),
        (node("GetStatus", json!({ "verbose": true })), invalid("verbose")),
        (node("Nonsense", json!({})), method("org.tresse.Node.Nonsense")),
        (
            json!({ "method": "org.varlink.service.Nonsense" }),
            method("org.varlink.service.Nonsense"),
        ),
        (json!({ "method": "org.example.Other.GetStatus" }), interface("org.example.Other")),
        (json!({ "method": "nonsense" }), interface("nonsense")),
        (describe(json!({})), invalid("interface")),
        (describe(json!({ "interface": 1 })), invalid("interface")),
        (describe(json!({ "interface": "org.example.Other" })), interface("org.example.Other")),
        (describe(json!({ "interface": "nonsense" })), interface("nonsense")),
    ];
    let unwanted = json!({ "method": "org.tresse.Node.Nonsense", "oneway": true }).to_string();
    for (call, expected) in cases {
        // The one after it is answered too, and one that wants no answer has none.
        let messages =
            [unwanted.clone(), call.to_string(), unfuse(json!({ "vid": 9 })).to_string()];
        let answers = exchange(&fake, &messages.each_ref().map(String::as_str), 2);
        assert_eq!(answers[0], expected, "{call}");
        assert_eq!(answers[1]["error"], "org.tresse.Node.NotFused", "{call}: {}", answers[1]);
    }
}

#[test]
fn calls_are_read_however_they_are_written() {
    let fake = Fake::start();
    for call in [
        r#"{"m\u0065thod":"org.tresse.Node.Conf\u0069rm"}"#,
        r#"{"parameters":null,"more":null,"method":"org.tresse.Node.Confirm","other":{}}"#,
        r#"{"parameters":{},"method":"org.tresse.Node.Confirm"}"#,
    ] {
        let answers = exchange(&fake, &[call], 1);
        assert!(answers[0].get("error").is_none(), "{call}: {}", answers[0]);
    }
}

#[test]
fn every_method_of_the_interface_is_known_with_its_parameters() {
    let fake = Fake::start();
    let described = ["org.tresse.Node", "org.varlink.service"].map(|interface| {
        let call = json!({ "method": "org.varlink.service.GetInterfaceDescription", "parameters": { "interface": interface } });
        let answer = exchange(&fake, &[&call.to_string()], 1).remove(0);
        let text = answer["parameters"]["description"].as_str().unwrap().to_owned();
        let parsed = zlink::idl::Interface::try_from(text.as_str()).unwrap();
        let method = |method: &zlink::idl::Method<'_>| {
            let parameters = method.inputs().map(|p| p.name().to_string()).collect::<Vec<_>>();
            (format!("{interface}.{}", method.name()), parameters)
        };
        parsed.methods().map(method).collect::<Vec<_>>()
    });
    let described: Vec<_> = described.into_iter().flatten().collect();
    assert_eq!(described.len(), 26);
    for (method, parameters) in described {
        // A parameter too many, or the first that is missing, is named; the method is known.
        let call = json!({ "method": method, "parameters": { "~": 0 } }).to_string();
        let answer = exchange(&fake, &[&call], 1).remove(0);
        assert_eq!(answer["error"], "org.varlink.service.InvalidParameter", "{method}: {answer}");
        let named = answer["parameters"]["parameter"].as_str().unwrap();
        assert!(named == "~" || parameters.iter().any(|p| p == named), "{method}: {answer}");
    }
}

#[test]
fn a_daemon_that_cannot_compare_plans_is_asked_to_confirm() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("control");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let older = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        for (method, answer) in [
            ("ConfirmPlan", r#"{"error":"org.varlink.service.MethodNotFound","parameters":{}}"#),
            ("Confirm", "{}"),
        ] {
            let mut bytes = Vec::new();
            reader.read_until(0, &mut bytes).unwrap();
            let asked = String::from_utf8(bytes).unwrap();
            assert!(asked.contains(&format!("org.tresse.Node.{method}\"")), "{asked}");
            stream.write_all(format!("{answer}\0").as_bytes()).unwrap();
        }
    });
    Client::connect(&path).unwrap().confirm_plan("282d6267ad625099").unwrap();
    older.join().unwrap();
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
        runtime.block_on(async { Server::bind(path, Limits::DAEMON).map(drop) })
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

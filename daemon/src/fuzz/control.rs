//! Fuzz test of the control socket: several clients of several users send arbitrary bytes to a listening socket at
//! once. The decision engine behind the socket works on a fake kernel that is empty and accepts every operation.

use std::io;
use std::os::unix::net::UnixStream as Connected;
use std::path::Path;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, mpsc};
use tokio::task::LocalSet;
use tresse_control::{Access, Call, Counters, EventList, Introduced, NeighbourList, Reply};
use tresse_engine::{Engine, Stored};

use super::{drive, new_engine};
use crate::control::call::Message;
use crate::control::{Limits, Request, Server};
use crate::runtime::{Identity, order, prepare};

/// Limit of switches: plans of larger fabrics take longer and test nothing more.
const MOST_SWITCHES: usize = 16;
/// A client that gets nothing for so many iterations gets nothing more.
const IDLE: u32 = 64;
/// A client that waits for a reply for this long has lost it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Those of the daemon, made so small that inputs reach them.
const LIMITS: Limits = Limits {
    connections: 2,
    all_connections: 2,
    calls: (4, 1),
    costly_calls: (2, 1),
    call_bytes: 4096,
    reader_bytes: 256,
    read_bytes: 64,
};

/// Begins the bytes of another client.
const NEXT: u8 = 1;
/// In front of a client's bytes: it is another user's.
const OTHER: u8 = 2;
/// In front of a client's bytes: it is another user's, and leaves without waiting for replies.
const HASTY: u8 = 3;
/// More clients than have a place.
const CLIENTS: usize = 6;

/// Connects to a socket as a user who may change nothing.
pub type Connect<'a> = &'a dyn Fn(&Path) -> io::Result<Connected>;

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_io().enable_time().build().expect("a runtime");
}

/// Fuzz test of the control socket, which is bound at `socket`: sends `bytes` as clients, and checks that every call of
/// a client that has a place got a Varlink reply, and that other users than root change nothing. `connect` is how
/// these come.
///
/// Byte 1 begins the bytes of another client; byte 2 in front of them makes it another user's; byte 3 too, of one that
/// leaves at once.
///
/// # Panics
/// If a call got no reply or a wrong one, or if the daemon's code has a fault.
pub fn control(bytes: &[u8], socket: &Path, connect: Connect<'_>) {
    let talk = LocalSet::new();
    RUNTIME.with(|runtime| talk.block_on(runtime, converse(bytes, socket, connect)));
}

/// What one client sends, and how it comes.
struct Client<'a> {
    sends: &'a [u8],
    stream: UnixStream,
    /// So many replies it gets at least.
    asks: usize,
    is_root: bool,
    is_hasty: bool,
}

async fn converse(bytes: &[u8], socket: &Path, connect: Connect<'_>) {
    let server = Server::bind(socket, LIMITS).expect("the socket is free");
    let (requests, asked) = mpsc::channel(8);
    let mut places = LIMITS.connections;
    let clients = bytes.split(|byte| *byte == NEXT).take(CLIENTS).map(|bytes| {
        let (is_root, is_hasty, sends) = match bytes {
            [OTHER, rest @ ..] => (false, false, rest),
            [HASTY, rest @ ..] => (false, true, rest),
            all => (true, false, all),
        };
        let stream = if is_root { Connected::connect(socket) } else { connect(socket) };
        let stream = stream.expect("the socket listens");
        // Who runs this is not always root.
        let is_free = nix::unistd::geteuid().is_root() && is_root;
        let has_place = is_free || places > 0;
        if !is_free {
            places = places.saturating_sub(1);
        }
        let asks = if has_place && !is_hasty { calls(sends) } else { 0 };
        stream.set_nonblocking(true).expect("a socket");
        let stream = UnixStream::from_std(stream).expect("a runtime");
        Client { sends, stream, asks, is_root, is_hasty }
    });
    // All come before the first one is accepted, and so in this order.
    let clients: Vec<Client<'_>> = clients.collect();
    let may_change = clients.iter().any(|client| client.is_root);
    let serves = tokio::task::spawn_local(server.run(requests, broadcast::Sender::new(4)));
    let talks = join_all(clients.into_iter().map(talk));
    tokio::select! {
        () = serve(asked, may_change) => {}
        _ = talks => {}
    }
    serves.abort();
}

/// Counts the calls that want a reply, up to the first message that is no call, that may be too long, or that has
/// endless replies.
fn calls(bytes: &[u8]) -> usize {
    let mut messages: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    // The bytes after the last NUL are an incomplete message.
    messages.pop();
    let short = messages.into_iter().take_while(|message| message.len() <= LIMITS.call_bytes);
    let calls = short.map_while(|message| Message::parse(message).ok());
    calls.take_while(|call| !call.streams()).filter(|call| !call.oneway()).count()
}

/// Sends all that a client sends, and checks what it hears.
async fn talk(Client { sends, stream, asks, is_hasty, .. }: Client<'_>) {
    let (mut read, mut write) = stream.into_split();
    let send = async {
        // The daemon may have closed the connection.
        let _ = write.write_all(sends).await;
        let _ = write.shutdown().await;
    };
    if is_hasty {
        return send.await;
    }
    let hear = async {
        let (mut answers, mut idle) = (Vec::new(), 0);
        loop {
            let got = answers.iter().filter(|byte| **byte == 0).count();
            tokio::select! {
                biased;
                read = read.read_buf(&mut answers) => match read {
                    Ok(1..) => idle = 0,
                    _ => break,
                },
                () = tokio::task::yield_now(), if got >= asks => idle += 1,
                () = tokio::time::sleep(PATIENCE) => break,
            }
            if idle == IDLE {
                break;
            }
        }
        answers
    };
    check(&tokio::join!(send, hear).1, asks);
}

fn check(answers: &[u8], asks: usize) {
    let mut answers: Vec<&[u8]> = answers.split(|byte| *byte == 0).collect();
    assert_eq!(answers.pop(), Some([].as_slice()), "the last answer is not ended");
    assert!(answers.len() >= asks, "{asks} calls, {} answers", answers.len());
    for answer in answers {
        let value: Value = serde_json::from_slice(answer).expect("an answer is JSON");
        let object = value.as_object().expect("an answer is an object");
        let known = |key: &String| ["parameters", "continues", "error"].contains(&key.as_str());
        assert!(object.keys().all(known), "{value}");
    }
}

async fn serve(mut asked: mpsc::Receiver<Request>, may_change: bool) {
    let mut engine = new_engine(Stored::default());
    while let Some(request) = asked.recv().await {
        let Request { call, .. } = &request;
        assert!(may_change || call.access() == Access::Anyone, "{call:?} by who may not");
        answer(&mut engine, request);
    }
    // The daemon's side goes on without it.
    std::future::pending().await
}

fn answer(engine: &mut Engine, Request { call, answer }: Request) {
    const CALL: u64 = 1;
    let call = if call == Call::Reload { Call::Diff } else { call };
    let reply = match call {
        Call::GetStatus => Ok(Reply::Status(Box::new(engine.status(0)))),
        Call::GetPlan => Ok(Reply::Plan(engine.files())),
        Call::ListPaths { to } => engine.paths(to.as_deref()).map(Reply::Paths),
        Call::ListFailures => engine.failures(0, 0).map(Reply::Failures),
        Call::ListNeighbours => {
            Ok(Reply::Neighbours(NeighbourList { node: None, nics: Vec::new() }))
        }
        Call::Introduce => Ok(Reply::Introduced(Introduced { nics: 0 })),
        Call::GetCounters => Ok(Reply::Counters(Counters { counters: engine.counters() })),
        Call::GetEvents { .. } => Ok(Reply::Events(EventList { events: Vec::new() })),
        Call::Apply { ref cluster, .. }
            if tresse_cluster::parse(cluster, "cluster file")
                .is_ok_and(|c| c.switches.len() > MOST_SWITCHES) =>
        {
            Ok(Reply::Done)
        }
        other => match order(other, CALL, |(cluster, lock)| {
            prepare(cluster, lock, &Identity::Named("n0".into()))
        }) {
            Ok(input) => match drive(engine, input).pop() {
                Some(reply) => reply,
                None => return,
            },
            Err(error) => Err(error),
        },
    };
    let _ = answer.send(reply);
}

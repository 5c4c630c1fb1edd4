//! Fuzz test of the control socket: one client sends arbitrary bytes over a socket pair. The
//! decision engine behind the socket works on a fake kernel that is empty and accepts every
//! operation.

use std::cell::Cell;
use std::pin::pin;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, mpsc};
use tresse_control::{Call, Counters, Introduced, NeighbourList, Reply};
use tresse_engine::{Engine, Stored};

use super::{drive, new_engine};
use crate::control::Request;
use crate::control::call::Message;
use crate::control::exchange::{self, Node};
use crate::control::users::Users;
use crate::runtime::{Identity, order, prepare};

/// Limit of switches: plans of larger fabrics take longer and test nothing more.
const MOST_SWITCHES: usize = 16;
/// A client that gets nothing for so many iterations has got all replies.
const PATIENCE: u32 = 64;

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_io().enable_time().build().expect("a runtime");
}

/// Fuzz test of the control socket: sends `bytes` as a client, closes the connection, and checks
/// that every call in `bytes` got a Varlink reply.
///
/// # Panics
/// If a call got no reply or a wrong one, or if the daemon's code has a fault.
pub fn control(bytes: &[u8]) {
    let answers = RUNTIME.with(|runtime| runtime.block_on(converse(bytes)));
    let mut answers: Vec<&[u8]> = answers.split(|byte| *byte == 0).collect();
    assert_eq!(answers.pop(), Some([].as_slice()), "the last answer is not ended");
    let asked = calls(bytes);
    assert!(answers.len() >= asked, "{asked} calls, {} answers", answers.len());
    for answer in answers {
        let value: Value = serde_json::from_slice(answer).expect("an answer is JSON");
        let object = value.as_object().expect("an answer is an object");
        let known = |key: &String| ["parameters", "continues", "error"].contains(&key.as_str());
        assert!(object.keys().all(known), "{value}");
    }
}

/// Counts the calls that want a reply, up to the first message that is no call or that has endless
/// replies.
fn calls(bytes: &[u8]) -> usize {
    let mut messages: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    // The bytes after the last NUL are an incomplete message.
    messages.pop();
    let calls = messages.into_iter().map_while(|message| Message::parse(message).ok());
    calls.take_while(|call| !call.streams()).filter(|call| !call.oneway()).count()
}

async fn converse(bytes: &[u8]) -> Vec<u8> {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let (requests, asked) = mpsc::channel(8);
    let events = broadcast::Sender::new(4);
    let mut client = pin!(client(theirs, bytes));
    let gone = Cell::new(false);
    let place = Users::new().enter(0).expect("of root there is no limit");
    tokio::select! {
        _ = exchange::converse(ours, Node { requests, events }, &place, &gone) => {}
        () = serve(asked) => {}
        answers = &mut client => return answers,
    }
    client.await
}

async fn client(stream: UnixStream, bytes: &[u8]) -> Vec<u8> {
    let (mut read, mut write) = stream.into_split();
    let send = async {
        // The daemon may have closed the connection.
        let _ = write.write_all(bytes).await;
        let _ = write.shutdown().await;
    };
    let hear = async {
        let (mut answers, mut idle) = (Vec::new(), 0);
        while idle < PATIENCE {
            tokio::select! {
                biased;
                got = read.read_buf(&mut answers) => match got {
                    Ok(1..) => idle = 0,
                    _ => break,
                },
                () = tokio::task::yield_now() => idle += 1,
            }
        }
        answers
    };
    tokio::join!(send, hear).1
}

async fn serve(mut asked: mpsc::Receiver<Request>) {
    let mut engine = new_engine(Stored::default());
    while let Some(request) = asked.recv().await {
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
        Call::ListPaths { to } => engine.paths(to.as_deref()).map(Reply::Paths),
        Call::ListFailures => engine.failures(0, 0).map(Reply::Failures),
        Call::ListNeighbours => {
            Ok(Reply::Neighbours(NeighbourList { node: None, nics: Vec::new() }))
        }
        Call::Introduce => Ok(Reply::Introduced(Introduced { nics: 0 })),
        Call::GetCounters => Ok(Reply::Counters(Counters { counters: engine.counters() })),
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

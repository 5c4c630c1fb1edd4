//! What a client may send, for `fuzz/` and for what it found: one conversation over a socket pair,
//! with an engine whose kernel is empty and takes everything.

use std::pin::pin;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, mpsc};
use tresse_control::{Counters, Introduced, NeighbourList};
use tresse_fabric::cluster;

use super::call::Message;
use super::exchange;
use super::request::{Change, Request};
use super::service::Node;
use crate::engine::{ApplyOptions, Engine, Input, Reply, Stored};
use crate::fuzz::{drive, engine};
use crate::runtime::{Identity, prepare};

/// Plans of larger fabrics take their time and teach nothing new.
const MOST_SWITCHES: usize = 16;
/// A client that hears nothing for so many turns of the loop has heard all.
const PATIENCE: u32 = 64;

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_io().enable_time().build().expect("a runtime");
}

/// Sends `bytes` and closes; every call is answered, and every answer must be a Varlink reply.
///
/// # Panics
/// Where the service has a fault.
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

/// Calls that want an answer, up to what is no call, or to one whose answers never end.
fn calls(bytes: &[u8]) -> usize {
    let mut messages: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    // What follows the last NUL is not complete.
    messages.pop();
    let calls = messages.into_iter().map_while(|message| Message::parse(message).ok());
    calls.take_while(|call| !call.streams()).filter(|call| !call.oneway()).count()
}

async fn converse(bytes: &[u8]) -> Vec<u8> {
    let (ours, theirs) = UnixStream::pair().expect("a socket pair");
    let (requests, asked) = mpsc::channel(8);
    let events = broadcast::Sender::new(4);
    let mut client = pin!(client(theirs, bytes));
    tokio::select! {
        _ = exchange::converse(ours, Node { requests, events }) => {}
        () = serve(asked) => {}
        answers = &mut client => return answers,
    }
    client.await
}

async fn client(stream: UnixStream, bytes: &[u8]) -> Vec<u8> {
    let (mut read, mut write) = stream.into_split();
    let send = async {
        // The daemon may have hung up half-way.
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
    let mut engine = engine(Stored::default());
    while let Some(request) = asked.recv().await {
        answer(&mut engine, request);
    }
    // The conversation goes on without it.
    std::future::pending().await
}

fn answer(engine: &mut Engine, request: Request) {
    const CALL: u64 = 1;
    match request {
        Request::Status(answer) => drop(answer.send(engine.status(0))),
        Request::Paths(to, answer) => drop(answer.send(engine.paths(to.as_deref()))),
        Request::Neighbours(answer) => {
            drop(answer.send(NeighbourList { node: None, nics: Vec::new() }));
        }
        Request::Introduce(answer) => drop(answer.send(Introduced { nics: 0 })),
        Request::Counters(answer) => {
            drop(answer.send(Counters { counters: engine.counters() }));
        }
        Request::Change(change, answer) => {
            let input = match change {
                Change::Apply(request) => {
                    let large = cluster::parse(&request.cluster, "cluster file")
                        .is_ok_and(|c| c.switches.len() > MOST_SWITCHES);
                    if large {
                        return drop(answer.send(Ok(Reply::Done)));
                    }
                    let identity = Identity::Named("n0".into());
                    match prepare(&request.cluster, request.lock.as_deref(), &identity) {
                        Ok(prepared) => Input::Apply {
                            call: Some(CALL),
                            prepared: Box::new(prepared),
                            options: ApplyOptions {
                                dry_run: request.dry_run == Some(true),
                                confirm_seconds: request.confirm_seconds,
                                ..ApplyOptions::default()
                            },
                        },
                        Err(error) => return drop(answer.send(Err(error))),
                    }
                }
                Change::Confirm => Input::Confirm { call: CALL },
                Change::Rollback => Input::Rollback { call: CALL },
                Change::Withdraw { force } => Input::Withdraw { call: CALL, force },
                Change::Unfuse { vid } => Input::Unfuse { call: CALL, vid },
                Change::Steer { steer, force, dry_run } => {
                    Input::Steer { call: CALL, steer, force, dry_run }
                }
                Change::Diff | Change::Reload => Input::Diff { call: CALL },
            };
            if let Some(reply) = drive(engine, input).pop() {
                let _ = answer.send(reply);
            }
        }
    }
}

//! Sends parts of a copy to one other member, as the coordinator has requested.

mod data;
mod problem;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::described::Described;
use super::state::{MemberState, Shared};
use super::times::STALL;
use crate::frame::{HASH, Hash, Hello, RecordHeader, What};
use crate::proof;
use crate::talk::{MemberReport, Send};
use crate::wrong;
use data::Reader;
use problem::Problem;

/// Most bytes of one data record.
const PIECE: u64 = 1 << 20;

/// Small records are gathered up to this many bytes before they are sent.
const LITTLE: usize = 1 << 20;
/// Time that the other end may take to store the last bytes.
const TAKING: Duration = Duration::from_secs(60);
/// If the run ends within this time after the last byte was sent, the other end's acknowledgement
/// is not awaited: a member that misses bytes does not report the part as done.
const SOON: Duration = Duration::from_millis(200);
/// Delay before a failure to connect is reported: the next attempt may succeed.
const AGAIN: Duration = Duration::from_secs(1);

/// The next thing to send.
enum Work {
    Manifest(u32, Arc<Described>),
    /// Stream, position and length.
    Data(u32, u64, u64),
    End(u32, u64, Hash),
    /// Everything is sent.
    All,
    /// The run ends, or a newer request replaces this one.
    Off,
}

/// Progress of one stream.
#[derive(Clone, Copy, Default)]
struct Progress {
    described: bool,
    at: u64,
    ended: bool,
}

/// Sends the streams of a request to one other member; a stream is one stripe of one part of the
/// files that are copied. Ends when all are sent, when a newer request replaces this one, or when
/// the run ends.
pub fn send(
    shared: &Shared,
    stage: &Send,
    report: &dyn Fn(MemberReport),
    failed: impl Fn(io::Error),
) {
    let number = stage.number;
    match stage_of(shared, stage, report) {
        Ok(()) => {}
        Err(Problem::Connection(error)) => {
            report(MemberReport::Lost { number, words: error.to_string() })
        }
        // Files that this node has removed cannot be read.
        Err(Problem::Own(_)) if shared.state().failed => {}
        Err(Problem::Own(error)) => failed(error),
    }
    // Waits, because ending a thread now would take longer than sending an empty file.
    shared.wait_to_end(Duration::MAX);
}

fn stage_of(shared: &Shared, stage: &Send, report: &dyn Fn(MemberReport)) -> Result<(), Problem> {
    let connected = TcpStream::connect_timeout(&stage.address, STALL);
    let mut stream = connected.inspect_err(|_| {
        shared.wait_to_end(AGAIN);
    })?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STALL))?;
    stream.set_write_timeout(Some(STALL))?;
    proof::greet(&mut stream, &shared.token)?;
    let hello = Hello::read(&mut stream, shared.places.len(), shared.stripes as usize)?;
    report(MemberReport::Linked { number: stage.number });
    let mut sent: HashMap<u32, Progress> = HashMap::new();
    let mut reader = Reader::default();
    // Small records are sent together with those that follow.
    let mut little = Vec::new();
    loop {
        let at_once = next(shared, &shared.state(), stage, &sent);
        let work = match at_once {
            Some(work @ (Work::Manifest(..) | Work::End(..))) if little.len() < LITTLE => work,
            _ => {
                stream.write_all(&little)?;
                little.clear();
                shared.wait(|state| next(shared, state, stage, &sent))
            }
        };
        match work {
            Work::Off => return Ok(()),
            Work::All => {
                // Small files have arrived everywhere before, so no member needs to be woken for
                // the end.
                if shared.wait_to_end(SOON) {
                    return Ok(());
                }
                stream.shutdown(Shutdown::Write)?;
                stream.set_read_timeout(Some(TAKING))?;
                // The peer sends nothing more and closes the connection when it has received
                // everything.
                return match stream.read(&mut [0]) {
                    Ok(0) => Ok(()),
                    Ok(_) => Err(wrong("the receiver sent more than the protocol allows").into()),
                    Err(error) => Err(error.into()),
                };
            }
            Work::Manifest(of, described) => {
                let bytes = described.bytes.len() as u32;
                let record = RecordHeader { stream: of, what: What::Manifest, bytes };
                little.extend(record.to_bytes());
                little.extend(&described.bytes);
                // Data that the receiver has of another manifest is useless.
                let same = hello.manifests[shared.stream(of).0] == described.hash;
                let at = if same { hello.has[of as usize] } else { 0 };
                sent.insert(of, Progress { described: true, at, ended: false });
            }
            Work::Data(of, at, bytes) => {
                let what = What::Data { at };
                let record = RecordHeader { stream: of, what, bytes: bytes as u32 };
                little.extend(record.to_bytes());
                stream.write_all(&little)?;
                little.clear();
                reader.send(shared, &stream, of, at..at + bytes)?;
                sent.entry(of).or_default().at = at + bytes;
            }
            Work::End(of, total, hash) => {
                let what = What::End { total };
                let record = RecordHeader { stream: of, what, bytes: HASH as u32 };
                little.extend(record.to_bytes());
                little.extend(hash);
                sent.entry(of).or_default().ended = true;
            }
        }
    }
}

/// Returns the next thing to send: of the streams in their order, the first that has something.
fn next(
    shared: &Shared,
    state: &MemberState,
    stage: &Send,
    sent: &HashMap<u32, Progress>,
) -> Option<Work> {
    if state.ended || state.failed || state.stages.get(&stage.to) != Some(&stage.number) {
        return Some(Work::Off);
    }
    let mut all = true;
    for of in &stage.streams {
        let progress = sent.get(of).copied().unwrap_or_default();
        all &= progress.ended;
        let (part, stripe) = shared.stream(*of);
        let known = &state.parts[part];
        let Some(described) = &known.described else { continue };
        // The manifest of an empty part is sent together with its end.
        let open = known.total == Some(0) && known.hash.is_none();
        if !progress.described && !open {
            return Some(Work::Manifest(*of, described.clone()));
        }
        let has = known.sendable(stripe);
        if progress.described && has > progress.at {
            return Some(Work::Data(*of, progress.at, (has - progress.at).min(PIECE)));
        }
        if let (Some(total), Some(hash), false) = (known.total, known.hash, progress.ended)
            && progress.described
            && progress.at >= stripe.bytes(total)
        {
            return Some(Work::End(*of, total, hash));
        }
    }
    all.then_some(Work::All)
}

//! The side of a next one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::sendfile::sendfile;

use super::STALL;
use super::place::Described;
use super::state::{Shared, State};
use crate::content::Stripe;
use crate::frame::{HASH, Hash, Hello, Record, What};
use crate::proof;
use crate::talk::{Send, Tell};
use crate::wrong;

/// Sent at once.
const PIECE: u64 = 1 << 20;

/// So long the other end may take to write the last of it.
const TAKING: Duration = Duration::from_secs(60);
/// So long nothing is said of a connection that does not come about: it may the next time.
const AGAIN: Duration = Duration::from_secs(1);

/// What there is to send.
enum Work {
    Manifest(u32, Arc<Described>),
    /// From where, and how much.
    Data(u32, u64, u64),
    End(u32, u64, Hash),
    /// All is sent.
    All,
    /// That is the end, or something else is to be sent.
    Off,
}

/// What was sent of a stream.
#[derive(Clone, Copy, Default)]
struct Progress {
    described: bool,
    at: u64,
    ended: bool,
}

/// Sends what it is told, until it has sent all or is told something else.
pub fn send(shared: &Shared, stage: &Send, tell: &dyn Fn(Tell)) {
    let number = stage.number;
    if let Err(error) = stage_of(shared, stage, tell) {
        tell(Tell::Lost { number, words: error.to_string() });
    }
    // The end of a thread takes longer than what is empty takes to be sent.
    shared.wait_to_end(Duration::MAX);
}

fn stage_of(shared: &Shared, stage: &Send, tell: &dyn Fn(Tell)) -> io::Result<()> {
    let connected = TcpStream::connect_timeout(&stage.address, STALL);
    let mut stream = connected.inspect_err(|_| {
        shared.wait_to_end(AGAIN);
    })?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STALL))?;
    stream.set_write_timeout(Some(STALL))?;
    proof::greet(&mut stream, &shared.token)?;
    let hello = Hello::read(&mut stream, shared.places.len(), shared.stripes as usize)?;
    tell(Tell::Linked { number: stage.number });
    let mut sent: HashMap<u32, Progress> = HashMap::new();
    let mut open = None;
    // What is little goes with what comes right behind it.
    let mut little = Vec::new();
    loop {
        let at_once = next(shared, &shared.state(), stage, &sent);
        let work = match at_once {
            Some(work @ (Work::Manifest(..) | Work::End(..))) => work,
            _ => {
                stream.write_all(&little)?;
                little.clear();
                shared.wait(|state| next(shared, state, stage, &sent))
            }
        };
        match work {
            Work::Off => return Ok(()),
            Work::All => {
                stream.shutdown(Shutdown::Write)?;
                stream.set_read_timeout(Some(TAKING))?;
                // It says nothing: this is its end, when it has taken all.
                return match stream.read(&mut [0]) {
                    Ok(0) => Ok(()),
                    Ok(_) => Err(wrong("it says more than it should")),
                    Err(error) => Err(error),
                };
            }
            Work::Manifest(of, described) => {
                let octets = described.octets.len() as u32;
                let record = Record { stream: of, what: What::Manifest, octets };
                little.extend(record.to_octets());
                little.extend(&described.octets);
                // What it has of another one is of no use.
                let same = hello.manifests[shared.stream(of).0] == described.hash;
                let at = if same { hello.has[of as usize] } else { 0 };
                sent.insert(of, Progress { described: true, at, ended: false });
            }
            Work::Data(of, at, octets) => {
                let what = What::Data { at };
                let record = Record { stream: of, what, octets: octets as u32 };
                little.extend(record.to_octets());
                stream.write_all(&little)?;
                little.clear();
                data(shared, &stream, of, at, octets, &mut open)?;
                sent.entry(of).or_default().at = at + octets;
            }
            Work::End(of, total, hash) => {
                let what = What::End { total };
                let record = Record { stream: of, what, octets: HASH as u32 };
                little.extend(record.to_octets());
                little.extend(hash);
                sent.entry(of).or_default().ended = true;
            }
        }
    }
}

/// Of the streams in their order the first that has something.
fn next(
    shared: &Shared,
    state: &State,
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
        // What is empty comes with its end, as nothing is gained by being told of it before.
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
            && progress.at >= stripe.octets(total)
        {
            return Some(Work::End(*of, total, hash));
        }
    }
    all.then_some(Work::All)
}

/// Octets of a stream, from the files to the connection.
fn data(
    shared: &Shared,
    stream: &TcpStream,
    of: u32,
    at: u64,
    octets: u64,
    open: &mut Option<(PathBuf, File)>,
) -> io::Result<()> {
    let (part, stripe) = shared.stream(of);
    let (mut at, end) = (at, at + octets);
    while at < end {
        let described = described(shared, part)?;
        match spans(&described, stripe, at, end - at, stream, open) {
            Ok(count) => at += count,
            // It has its final name meanwhile.
            Err((count, error))
                if error.kind() == io::ErrorKind::NotFound
                    && !Arc::ptr_eq(&described, &self::described(shared, part)?) =>
            {
                at += count;
            }
            Err((_, error)) => return Err(error),
        }
    }
    Ok(())
}

fn described(shared: &Shared, part: usize) -> io::Result<Arc<Described>> {
    let described = shared.state().parts[part].described.clone();
    described.ok_or_else(|| io::Error::other("what is sent is not known"))
}

/// How much was sent, in both cases.
fn spans(
    described: &Described,
    stripe: Stripe,
    at: u64,
    octets: u64,
    stream: &TcpStream,
    open: &mut Option<(PathBuf, File)>,
) -> Result<u64, (u64, io::Error)> {
    let mut sent = 0;
    for span in described.content.spans(stripe, at, octets) {
        let mut end = 0;
        while end < span.octets {
            let file = match open {
                Some((path, file)) if path == span.path => &*file,
                _ => {
                    let file = File::open(span.path).map_err(|e| (sent, e))?;
                    &open.insert((span.path.to_owned(), file)).1
                }
            };
            let mut offset = (span.offset + end) as i64;
            let count = (span.octets - end) as usize;
            let count = sendfile(stream, file, Some(&mut offset), count)
                .map_err(|errno| (sent, timed_out(errno)))?;
            if count == 0 {
                let words = format!("{}: has become shorter", span.path.display());
                return Err((sent, io::Error::new(io::ErrorKind::UnexpectedEof, words)));
            }
            end += count as u64;
            sent += count as u64;
        }
    }
    Ok(sent)
}

/// A timeout of the connection comes as "try again".
fn timed_out(errno: nix::errno::Errno) -> io::Error {
    if errno == nix::errno::Errno::EAGAIN {
        let words = format!("nothing could be sent for {} seconds", STALL.as_secs());
        return io::Error::new(io::ErrorKind::TimedOut, words);
    }
    errno.into()
}

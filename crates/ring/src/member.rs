//! Runs one member of a copy (one node): receives parts of the copy from other members, and
//! forwards at once what it has received.
//!
//! Receiving and sending are independent, because data is sent from the stored files. If the next
//! member dies, this one sends the rest to the member after it, from the position which that member
//! has reached.

mod check;
mod described;
mod known;
mod partial;
mod place;
mod receive;
mod send;
mod state;
mod times;

use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Scope;
use std::time::Duration;

use place::OpenPart;
use state::Shared;
use times::LOOK;

use crate::content::Stripe;
use crate::proof;
use crate::strangers::Strangers;
use crate::talk::{Join, MemberReport, MemberRequest, STREAMS, hear, say};
use crate::wrong;

/// Interval between two checks whether progress must be reported.
const TICK: Duration = Duration::from_millis(250);
/// Number of intervals after which progress is reported even if unchanged, as a sign of life.
const ALIVE: u32 = 4;
/// Most bytes of input in one request.
const INPUT: u32 = 1 << 20;

/// Runs a member of a copy: carries out the requests that the coordinator writes to `input`, and
/// writes reports to `output`, until a request says to quit or `input` ends. If `knows` is set, it
/// is the token of the run instead of the one in the first request.
///
/// # Errors
/// Errors of reading `input` and writing `output`. Errors of the copy are reported on `output`
/// instead.
pub fn run(
    mut input: impl BufRead,
    output: impl Write + Send,
    knows: Option<proof::Token>,
) -> io::Result<()> {
    let output = Mutex::new(output);
    let report = |what: MemberReport| {
        let mut output = output.lock().expect("nobody panics with it");
        say(&mut *output, &what)
    };
    let join: Join = match hear(&mut input)? {
        Some(MemberRequest::Join(join)) => join,
        Some(_) => return Err(wrong("expected to join")),
        None => return Ok(()),
    };
    let token = knows.map_or_else(|| proof::parse(&join.token), Ok);
    let begun = while_reporting_alive(&report, || {
        let token = token?;
        let listener = TcpListener::bind(SocketAddr::from((join.address, 0)))?;
        let address = listener.local_addr()?;
        Ok((Shared::new(join, token)?, listener, address))
    });
    let ((shared, bytes), listener, address) = match begun {
        Ok(begun) => begun,
        Err(error) => return report(MemberReport::Failed { words: error.to_string() }),
    };
    report(MemberReport::Listens { port: address.port(), bytes })?;
    let strangers = Strangers::default();
    let report = &|what| drop(report(what));
    let failed = &|error: io::Error| {
        // Reported first, because removing many files takes long.
        report(MemberReport::Failed { words: error.to_string() });
        shared.fail();
    };
    let heard = std::thread::scope(|scope| {
        scope.spawn(|| receive::accept_all(scope, &shared, &listener, &strangers, failed));
        scope.spawn(|| {
            check::check_all(&shared, report).unwrap_or_else(failed);
            shared.wait_to_end(Duration::MAX);
        });
        scope.spawn(|| report_progress(&shared, report));
        let heard = loop {
            match hear(&mut input) {
                Ok(Some(MemberRequest::Quit) | None) => break Ok(()),
                Ok(Some(ask)) => {
                    if let Err(error) = asked(scope, &shared, ask, &mut input, report, failed) {
                        break Err(error);
                    }
                }
                Err(error) => break Err(error),
            }
        };
        shared.end();
        strangers.end();
        // Wakes the thread that waits for a connection, so that it sees the end.
        drop(TcpStream::connect_timeout(&address, LOOK));
        heard
    });
    shared.tidy();
    heard
}

/// Reports signs of life while `begin` lists the files of a source, which may take long.
fn while_reporting_alive<T>(
    report: &(impl Fn(MemberReport) -> io::Result<()> + Sync),
    begin: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            loop {
                let (streams, complete) = (Vec::new(), Vec::new());
                // An error means that the coordinator is gone, which is noticed elsewhere.
                drop(report(MemberReport::Has { bytes: 0, of: 0, streams, complete, read: 0 }));
                if end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        let begun = begin();
        drop(ended);
        begun
    })
}

/// Carries out one request.
fn asked<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared,
    ask: MemberRequest,
    input: &mut impl BufRead,
    report: &'scope (dyn Fn(MemberReport) + Sync),
    failed: impl Fn(io::Error) + Send + Copy + 'scope,
) -> io::Result<()> {
    match ask {
        MemberRequest::Send(stage) => {
            let all = shared.streams();
            if stage.streams.iter().any(|stream| *stream as usize >= all) {
                return Err(wrong("a stream that there is not"));
            }
            shared.change(|state| state.stages.insert(stage.to, stage.number));
            if !stage.streams.is_empty() {
                scope.spawn(move || send::send(shared, &stage, report, failed));
            }
        }
        MemberRequest::Start => shared.start().unwrap_or_else(failed),
        MemberRequest::Input { bytes } if bytes <= INPUT => {
            let mut piece = vec![0; bytes as usize];
            input.read_exact(&mut piece)?;
            take(shared, &piece).unwrap_or_else(failed);
        }
        MemberRequest::Input { .. } => return Err(wrong("too much input at once")),
        MemberRequest::Join(_) => return Err(wrong("joined already")),
        MemberRequest::Quit => {}
    }
    Ok(())
}

/// Stores the next bytes of standard input; an empty piece is its end.
fn take(shared: &Shared, piece: &[u8]) -> io::Result<()> {
    let of_input = |place: &OpenPart| matches!(place, OpenPart::Target { input: true, .. });
    let part =
        shared.places.iter().position(of_input).ok_or_else(|| wrong("no input is wanted"))?;
    let OpenPart::Target { partial, .. } = &shared.places[part] else { return Ok(()) };
    let (at, described) = {
        let state = shared.state();
        let known = &state.parts[part];
        (known.has.iter().sum::<u64>(), known.described.clone())
    };
    let described = described.ok_or_else(|| wrong("input before the start"))?;
    let written = receive::Writer::default().write(&described.content, Stripe::WHOLE, at, piece);
    written.map_err(|e| partial.named(&e))?;
    let at = at + piece.len() as u64;
    shared.change(|state| {
        let known = &mut state.parts[part];
        known.has = shared.all(at);
        if piece.is_empty() {
            known.total = Some(at);
        }
    });
    Ok(())
}

/// Reports progress whenever it has changed, and at regular intervals.
fn report_progress(shared: &Shared, report: &dyn Fn(MemberReport)) {
    let (mut reported, mut ticks) = (((Vec::new(), 0), Vec::new(), 0), 0);
    while !shared.wait_to_end(TICK) {
        let has = (shared.has(), shared.complete(), shared.read.load(Ordering::Relaxed));
        ticks += 1;
        if reported != has || ticks == ALIVE {
            (reported, ticks) = (has.clone(), 0);
            let ((streams, of), complete, read) = has;
            let bytes = streams.iter().sum();
            // A member that cannot send yet must not be judged slow, so its streams are not
            // reported.
            let reported = streams.len() <= STREAMS && !shared.verifies();
            let streams = if reported { streams } else { Vec::new() };
            report(MemberReport::Has { bytes, of, streams, complete, read });
        }
    }
}

/// For fuzzing: runs a member with the task `join`, processes `records` as if another member had
/// sent them, and deletes what it has stored.
#[doc(hidden)]
pub fn records_of(join: Join, mut records: &[u8]) {
    if let Ok((shared, _)) = Shared::new(join, proof::Token::default()) {
        drop(receive::records(&shared, &mut records));
        shared.fail();
    }
}

#[cfg(test)]
mod tests;

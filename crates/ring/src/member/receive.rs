//! Receives parts of a copy from the other members that send to this one, and stores them.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::thread::Scope;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::partial;
use super::place::OpenPart;
use super::state::Shared;
use super::times::LOOK;
use crate::content::{Content, Manifest, Stripe};
use crate::frame::{RecordHeader, What, array};
use crate::proof;
use crate::strangers::Strangers;
use crate::wrong;

/// Most bytes of one read.
const PIECE: usize = 256 * 1024;
/// Time within which a new peer must prove that it knows the token.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why receiving from a connection ended: the sender is at fault, or this node.
pub enum ReceiveFailure {
    /// The sender is gone, is no member, or sent invalid data. Another sender will connect.
    Sender,
    /// This node failed, such as its disk.
    Own(io::Error),
}

/// Accepts connections of other members until the run ends, and stores the records that arrive.
/// Each connection has a thread of its own.
pub fn accept_all<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared,
    listener: &TcpListener,
    strangers: &'scope Strangers,
    failed: impl Fn(io::Error) + Send + Copy + 'scope,
) {
    loop {
        let mut waits = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let some = poll(&mut waits, PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::NONE));
        if shared.state().ended {
            return;
        }
        if some != Ok(1) {
            continue;
        }
        let accepted = listener.accept();
        let accepted = accepted.and_then(|(stream, _)| Ok((strangers.enter(&stream)?, stream)));
        let Ok((number, stream)) = accepted else {
            // No descriptors are left, or the peer is gone.
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        scope.spawn(move || {
            let known = introduce(shared, &stream);
            strangers.leave(number);
            if !known.is_ok_and(|known| known) {
                return;
            }
            // The buffer is for headers; data bypasses it.
            let mut input = BufReader::with_capacity(16 * 1024, &stream);
            if let Err(ReceiveFailure::Own(error)) = records(shared, &mut input) {
                failed(error);
            }
            // Tells the other end that everything was received, or that nothing more will be.
            drop(stream.shutdown(Shutdown::Both));
            // Waits, because ending a thread now would take longer than receiving an empty file.
            shared.wait_to_end(Duration::MAX);
        });
    }
}

/// Verifies the peer's token and sends it what this member has. Returns whether the connection may
/// go on.
fn introduce(shared: &Shared, mut stream: &TcpStream) -> io::Result<bool> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    proof::welcome(&mut stream, &shared.token)?;
    stream.write_all(&shared.hello().to_bytes())?;
    // No timeout: the member before may itself wait for data.
    stream.set_read_timeout(None)?;
    Ok(shared.connected(stream.try_clone()?))
}

/// Receives and stores the records of one connection until it ends.
///
/// # Errors
/// Always ends with an error: the end of the connection is [`ReceiveFailure::Sender`].
pub fn records(shared: &Shared, input: &mut impl Read) -> Result<(), ReceiveFailure> {
    let sender = |_: io::Error| ReceiveFailure::Sender;
    let mut piece = vec![0; PIECE];
    let mut file = Writer::default();
    loop {
        let record = RecordHeader::parse(array(input).map_err(sender)?, shared.streams());
        let record = record.map_err(sender)?;
        let (part, stripe) = shared.stream(record.stream);
        let OpenPart::Target { partial, input: false } = &shared.places[part] else {
            return Err(ReceiveFailure::Sender);
        };
        match record.what {
            What::Manifest => {
                let mut bytes = Vec::new();
                let follow = u64::from(record.bytes);
                input.by_ref().take(follow).read_to_end(&mut bytes).map_err(sender)?;
                let manifest = Manifest::parse(&bytes).map_err(sender)?;
                shared.describe(part, manifest).map_err(|e| match e.kind() {
                    io::ErrorKind::InvalidData => ReceiveFailure::Sender,
                    _ => ReceiveFailure::Own(e),
                })?;
            }
            What::End { total } => {
                let hash = array(input).map_err(sender)?;
                shared
                    .change(|state| {
                        let known = &mut state.parts[part];
                        let fits = known.described.is_some()
                            && known.total.is_none_or(|before| before == total)
                            && known.hash.is_none_or(|before| before == hash);
                        (known.total, known.hash) = match fits {
                            true => (Some(total), Some(hash)),
                            false => (known.total, known.hash),
                        };
                        fits
                    })
                    .then_some(())
                    .ok_or(ReceiveFailure::Sender)?;
            }
            What::Data { at } => {
                let mut left = record.bytes as usize;
                let mut at = at;
                fits(shared, part, stripe, at, record.bytes).map_err(sender)?;
                while left > 0 {
                    let count = input.read(&mut piece[..left.min(PIECE)]).map_err(sender)?;
                    if count == 0 {
                        return Err(ReceiveFailure::Sender);
                    }
                    store(shared, &mut file, part, stripe, at, &piece[..count])
                        .map_err(|e| ReceiveFailure::Own(partial.named(&e)))?;
                    at += count as u64;
                    left -= count;
                }
            }
        }
    }
}

/// Fails unless a data record follows stored bytes without a gap and ends within the stream.
fn fits(shared: &Shared, part: usize, stripe: Stripe, at: u64, bytes: u32) -> io::Result<()> {
    let state = shared.state();
    let known = &state.parts[part];
    let most = known.total.map_or(u64::MAX >> 1, |total| stripe.bytes(total));
    let right = known.described.is_some()
        && at <= known.has[stripe.number as usize]
        && at.saturating_add(bytes.into()) <= most;
    if right { Ok(()) } else { Err(wrong("data that leaves a gap or exceeds the length")) }
}

/// Stores those bytes of a data record that this member does not have yet, and updates the number
/// of bytes that it has of the stream.
pub fn store(
    shared: &Shared,
    file: &mut Writer,
    part: usize,
    stripe: Stripe,
    at: u64,
    bytes: &[u8],
) -> io::Result<()> {
    let number = stripe.number as usize;
    let end = at + bytes.len() as u64;
    let (has, described) = {
        let state = shared.state();
        let known = &state.parts[part];
        let over = known.done || state.ended || state.failed;
        (if over { end } else { known.has[number] }, known.described.clone())
    };
    let (Some(described), true) = (described, has < end) else { return Ok(()) };
    // Two senders of the same bytes write the same content.
    let new = has.max(at);
    file.write(&described.content, stripe, new, &bytes[(new - at) as usize..])?;
    shared.change(|state| {
        let has = &mut state.parts[part].has[number];
        *has = (*has).max(end);
    });
    Ok(())
}

/// Writes the received bytes of a stripe to the files that they belong to. One file stays
/// open: the one that was written last.
#[derive(Debug, Default)]
pub struct Writer(Option<(PathBuf, File)>);

impl Writer {
    pub fn write(
        &mut self,
        content: &Content,
        stripe: Stripe,
        at: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        let mut rest = bytes;
        for span in content.spans(stripe, at, bytes.len() as u64) {
            let (now, behind) = rest.split_at(span.bytes as usize);
            let file = match &self.0 {
                Some((path, file)) if path == span.path => file,
                _ => &self.0.insert((span.path.to_owned(), partial::open(span.path)?)).1,
            };
            file.write_all_at(now, span.offset)?;
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(wrong("bytes that belong to no file")) }
    }
}

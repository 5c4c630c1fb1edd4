//! Moves the bytes of the flows of one collective over the connections of the rings.
//!
//! Ahead of the bytes of each collective goes a header, which has to be what this member would send:
//!
//! | offset | bytes | field, little-endian |
//! |---|---|---|
//! | 0 | 4 | number of the collective, among those of its communicator |
//! | 4 | 1 | kind of collective |
//! | 5 | 3 | zero |
//! | 8 | 4 | rank of the root, 0 where there is none |
//! | 12 | 4 | bytes of an element of a reduction, else 0 |
//! | 16 | 8 | bytes of the whole result |

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::flow::Flow;

/// Most bytes that one call sends or receives, so that no ring waits for another.
const MOST: usize = 256 << 10;

/// How long to wait for bytes before MPI has its turn: this at first, then twice as long each time.
const SHORTEST: Duration = Duration::from_micros(20);
/// The longest such wait.
const LONGEST: Duration = Duration::from_millis(1);

/// The connections of one member in one ring, which do not block.
#[derive(Debug)]
pub struct Lane<S> {
    /// From the member before.
    pub before: S,
    /// To the member after.
    pub after: S,
}

/// What all members have to agree on in one collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of the collective, among those of its communicator.
    pub number: u32,
    /// The kind of collective.
    pub kind: u8,
    /// Rank of the root, or 0.
    pub root: u32,
    /// Bytes of an element of a reduction, or 0.
    pub unit: u32,
    /// Bytes of the whole result.
    pub bytes: u64,
}

/// Why a collective failed. Nothing can be done any more with the connections of its communicator.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// A connection broke.
    #[error("ring {ring}: the connection to the member {side} broke")]
    Broken {
        /// Number of the ring.
        ring: usize,
        /// `before` or `after`.
        side: &'static str,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The member before is in another collective, or gives other sizes.
    #[error("ring {ring}: this rank is in {own:?}, the member before in {other:?}")]
    Differs {
        /// Number of the ring.
        ring: usize,
        /// What this member is in.
        own: Header,
        /// What the member before is in.
        other: Header,
    },
    /// The kernel does not wait.
    #[error("poll")]
    Poll(#[source] io::Error),
}

/// Bytes of a header.
pub const HEADER: usize = 24;

impl Header {
    /// The bytes of the table above.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.number.to_le_bytes());
        bytes[4] = self.kind;
        bytes[8..12].copy_from_slice(&self.root.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.unit.to_le_bytes());
        bytes[16..].copy_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER]) -> Self {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[at + k]));
        let long = u64::from(word(16)) | u64::from(word(20)) << 32;
        Self { number: word(0), kind: bytes[4], root: word(8), unit: word(12), bytes: long }
    }
}

/// Runs a collective: one flow for each ring, over its connections. Returns when all is received, and all that is to be
/// sent is with the kernel. `idle` is called again and again meanwhile, if there is
/// one: others wait for what only this process moves.
///
/// # Errors
/// See [`WireError`].
pub fn run<S>(
    lanes: &[Lane<S>],
    flows: &mut [Box<dyn Flow + Send>],
    header: Header,
    mut idle: Option<&mut dyn FnMut()>,
) -> Result<(), WireError>
where
    S: AsFd,
    for<'a> &'a S: Read + Write,
{
    let bytes = header.encode();
    let rings = lanes.iter().zip(flows.iter_mut()).enumerate();
    let mut works: Vec<Work<'_, S>> = rings
        .map(|(ring, (lane, flow))| Work {
            ring,
            lane,
            to_receive: with_header(flow.to_receive()),
            to_send: with_header(flow.to_send()),
            flow: &mut **flow,
            header,
            heard: [0; HEADER],
            say: bytes,
            sent: 0,
            received: 0,
        })
        .collect();
    let (mut last, mut pause) = (Instant::now(), SHORTEST);
    loop {
        let mut moved = false;
        for work in &mut works {
            moved |= work.receive()?;
            moved |= work.send()?;
        }
        if works.iter().all(Work::is_done) {
            return Ok(());
        }
        pause = if moved { SHORTEST } else { (2 * pause).min(LONGEST) };
        if let Some(idle) = &mut idle
            && (!moved || last.elapsed() > LONGEST)
        {
            idle();
            last = Instant::now();
        }
        if !moved {
            wait(&mut works, idle.is_some().then_some(pause))?;
        }
    }
}

/// Nothing is sent where there is nothing to send, not even a header.
const fn with_header(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { bytes + HEADER as u64 }
}

/// Waits until a connection can receive or send what its flow has room for, or has ready, but no longer than
/// `pause`.
fn wait<S: AsFd>(works: &mut [Work<'_, S>], pause: Option<Duration>) -> Result<(), WireError> {
    let mut all = Vec::with_capacity(2 * works.len());
    for work in works {
        if work.wants() {
            all.push(PollFd::new(work.lane.before.as_fd(), PollFlags::POLLIN));
        }
        if work.has() {
            all.push(PollFd::new(work.lane.after.as_fd(), PollFlags::POLLOUT));
        }
    }
    match ppoll(&mut all, pause.map(TimeSpec::from_duration), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(WireError::Poll(errno.into())),
    }
}

/// One ring of a collective at work. Bytes are counted with the header.
struct Work<'a, S> {
    ring: usize,
    lane: &'a Lane<S>,
    flow: &'a mut (dyn Flow + Send),
    header: Header,
    heard: [u8; HEADER],
    say: [u8; HEADER],
    sent: u64,
    to_send: u64,
    received: u64,
    to_receive: u64,
}

impl<S> Work<'_, S> {
    const fn is_done(&self) -> bool {
        self.sent == self.to_send && self.received == self.to_receive
    }

    fn wants(&mut self) -> bool {
        self.received < self.to_receive && !self.space().is_empty()
    }

    fn has(&self) -> bool {
        self.sent < self.to_send && !self.ready().is_empty()
    }

    fn space(&mut self) -> &mut [u8] {
        match self.received as usize {
            got @ 0..HEADER => &mut self.heard[got..],
            _ => self.flow.space(),
        }
    }

    fn ready(&self) -> &[u8] {
        match self.sent as usize {
            gone @ 0..HEADER => &self.say[gone..],
            _ => self.flow.ready(),
        }
    }
}

impl<S> Work<'_, S>
where
    for<'a> &'a S: Read + Write,
{
    /// Receives once. Returns whether anything came.
    fn receive(&mut self) -> Result<bool, WireError> {
        if !self.wants() {
            return Ok(false);
        }
        let (lane, ring) = (self.lane, self.ring);
        let space = self.space();
        let most = space.len().min(MOST);
        let read = (&lane.before).read(&mut space[..most]);
        let Some(count) = count(read, ring, "before")? else { return Ok(false) };
        let had = self.received;
        self.received += count as u64;
        if had >= HEADER as u64 {
            self.flow.received(count);
        } else if self.received == HEADER as u64 {
            let other = Header::decode(&self.heard);
            if other != self.header {
                return Err(WireError::Differs { ring, own: self.header, other });
            }
        }
        Ok(true)
    }

    /// Sends once. Returns whether anything went.
    fn send(&mut self) -> Result<bool, WireError> {
        if !self.has() {
            return Ok(false);
        }
        let (lane, ring) = (self.lane, self.ring);
        let ready = self.ready();
        let written = (&lane.after).write(&ready[..ready.len().min(MOST)]);
        let Some(count) = count(written, ring, "after")? else { return Ok(false) };
        let had = self.sent;
        self.sent += count as u64;
        if had >= HEADER as u64 {
            self.flow.sent(count);
        }
        Ok(true)
    }
}

/// Bytes that were moved; `None` if the kernel has none or no room. No bytes at all are the end of a connection.
fn count(
    result: io::Result<usize>,
    ring: usize,
    side: &'static str,
) -> Result<Option<usize>, WireError> {
    match result {
        Ok(0) => Err(WireError::Broken { ring, side, source: ErrorKind::UnexpectedEof.into() }),
        Ok(count) => Ok(Some(count)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(source) => Err(WireError::Broken { ring, side, source }),
    }
}

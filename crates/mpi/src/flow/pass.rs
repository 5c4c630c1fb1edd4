//! Flows that pass on bytes which no buffer of the program has room for: those of other members.

use super::Flow;
use crate::area::{Aligned, Area};

/// Bytes that may wait to be sent on.
const ROOM: usize = 128 << 10;

/// A flow that passes bytes on through a buffer of bounded size, and has bytes of its own: to be sent before them
/// ([`gather`](Self::gather)), or received after them ([`scatter`](Self::scatter)).
#[derive(Debug)]
pub struct PassFlow {
    own: Area,
    /// Bytes of `own` that were sent or received.
    own_done: usize,
    receives_own: bool,
    /// Bytes to be passed on that are still to come.
    to_come: u64,
    /// Bytes to be passed on in all.
    passed: u64,
    waiting: Ring,
    /// Where in `waiting` the next bytes go.
    room: Area,
}

impl PassFlow {
    /// Sends `own`, then passes on `forward` bytes.
    #[must_use]
    pub fn gather(own: Area, forward: u64) -> Self {
        Self::new(own, forward, false)
    }

    /// Passes on `forward` bytes, then receives `own`.
    #[must_use]
    pub fn scatter(own: Area, forward: u64) -> Self {
        Self::new(own, forward, true)
    }

    fn new(own: Area, forward: u64, receives_own: bool) -> Self {
        let waiting = Ring::new(ROOM.min(forward as usize));
        Self {
            own,
            own_done: 0,
            receives_own,
            to_come: forward,
            passed: forward,
            waiting,
            room: Area::EMPTY,
        }
    }
}

impl Flow for PassFlow {
    fn to_receive(&self) -> u64 {
        self.passed + if self.receives_own { self.own.len() as u64 } else { 0 }
    }

    fn to_send(&self) -> u64 {
        self.passed + if self.receives_own { 0 } else { self.own.len() as u64 }
    }

    fn space(&mut self) -> &mut [u8] {
        if self.to_come > 0 {
            self.room = self.waiting.space(self.to_come as usize);
            return self.room.bytes_mut();
        }
        if self.receives_own { &mut self.own.bytes_mut()[self.own_done..] } else { &mut [] }
    }

    fn received(&mut self, bytes: usize) {
        if self.to_come > 0 {
            self.to_come -= bytes as u64;
            self.waiting.filled(bytes);
        } else {
            self.own_done += bytes;
        }
    }

    fn ready(&self) -> &[u8] {
        if !self.receives_own && self.own_done < self.own.len() {
            return &self.own.bytes()[self.own_done..];
        }
        self.waiting.ready()
    }

    fn sent(&mut self, bytes: usize) {
        if !self.receives_own && self.own_done < self.own.len() {
            self.own_done += bytes;
        } else {
            self.waiting.taken(bytes);
        }
    }
}

/// A buffer whose end is followed by its start.
#[derive(Debug)]
pub(super) struct Ring {
    bytes: Aligned,
    start: usize,
    len: usize,
}

impl Ring {
    pub(super) fn new(room: usize) -> Self {
        Self { bytes: Aligned::new(room), start: 0, len: 0 }
    }

    /// Room for at most `most` bytes, in one piece.
    pub(super) fn space(&mut self, most: usize) -> Area {
        let room = self.bytes.len();
        let at = (self.start + self.len) % room.max(1);
        let free = (room - self.len).min(room - at).min(most);
        self.bytes.area().part(at..at + free)
    }

    pub(super) const fn filled(&mut self, bytes: usize) {
        self.len += bytes;
    }

    /// The oldest bytes, in one piece.
    pub(super) fn ready(&self) -> &[u8] {
        let end = (self.start + self.len).min(self.bytes.len());
        &self.bytes.bytes()[self.start..end]
    }

    pub(super) fn taken(&mut self, bytes: usize) {
        self.start = (self.start + bytes) % self.bytes.len().max(1);
        self.len -= bytes;
    }
}

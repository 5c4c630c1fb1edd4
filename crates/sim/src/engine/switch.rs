//! Simulated switches: input buffers, a crossbar, and outputs that choose among waiting frames.

use super::frames::NONE;
use super::kind::EventKind;
use super::port::Far;
use super::state::Engine;
use crate::model::Buffers;

impl Engine<'_> {
    /// Requests the output of a buffer's first frame.
    pub(super) fn ready(&mut self, buffer: u32) {
        let port = &self.ports[buffer as usize];
        let out = self.frames.next_channel(port.buffer[0]);
        let input = port.input;
        let word = self.ports[out as usize].requests.words + input / 64;
        self.request_bits[word as usize] |= 1 << (input % 64);
        self.wants(out);
    }

    /// Lets a free output take one of the frames that request it.
    pub(super) fn choose(&mut self, out: u32, now: u64) {
        if self.ports[out as usize].frame != NONE {
            return;
        }
        let port = &mut self.ports[out as usize];
        if let Some(input) = port.requests.take(&mut self.request_bits) {
            let buffer = self.inputs[(port.requests.first + input) as usize];
            let behind = &mut self.ports[buffer as usize];
            let frame = self.frames.take(&mut behind.buffer);
            behind.leaving = true;
            self.grant(out, frame, buffer, now);
        } else if let Some(frame) = self.next_in_memory(out, now) {
            self.grant(out, frame, NONE, now);
        }
    }

    fn grant(&mut self, out: u32, frame: u32, feed: u32, now: u64) {
        let flits = self.frames.of(frame).flits;
        let port = &mut self.ports[out as usize];
        port.frame = frame;
        port.feed = feed;
        port.flits = flits;
        if self.flows {
            self.reserve(out, frame, feed, now);
            return;
        }
        let time = u64::from(flits) * u64::from(port.period);
        if feed != NONE {
            self.peak(feed, now);
        }
        self.busy[out as usize] += self.measured(now, now + time);
        self.outcome.flit_hops += u64::from(flits);
        self.at(now + time, EventKind::Free, out);
        self.send_head(out, frame, now);
        if self.frames.has_arrived(frame) {
            let arrives = now + self.link;
            let period = u64::from(self.ports[out as usize].period);
            self.receive(arrives, arrives + time, period);
            self.deliver(frame, arrives + time);
        }
    }

    /// Sends a frame's first flit, and schedules its arrival at the far end.
    pub(super) fn send_head(&mut self, out: u32, frame: u32, now: u64) {
        let arrives = now + self.link;
        let of = self.frames.at(frame);
        of.hop += 1;
        of.via = out;
        of.arrives = arrives;
        let flits = u64::from(of.flits);
        let port = &self.ports[out as usize];
        let (far, period) = (port.far, u64::from(port.period));
        match (far, self.run.model.buffers) {
            _ if self.frames.has_arrived(frame) => {}
            (Far::Buffer, Buffers::Drop { .. }) => self.at(arrives, EventKind::Arrive, frame),
            (Far::Buffer, _) => self.line_up(out, frame, now),
            (Far::Sorter, _) => {
                let from = arrives + self.routing;
                let when = self.not_dry(frame, from);
                self.at(when, EventKind::FrameReady, frame);
            }
            (Far::Node, _) => {
                self.enters_memory(out, flits);
                let wait = u64::from(self.run.model.transit) * self.ticks;
                let stores = self.run.model.transit_stores;
                if self.flows && stores {
                    return;
                }
                let whole = if stores { flits * period } else { 0 };
                let when = self.not_dry(frame, arrives + wait + whole);
                self.at(when, EventKind::FrameReady, frame);
            }
        }
    }

    /// Handles the arrival of a frame's head at a buffer that drops frames for which it has no
    /// room.
    pub(super) fn arrive(&mut self, frame: u32, now: u64) {
        let Buffers::Drop { flits: room } = self.run.model.buffers else { return };
        let (via, flits) = (self.frames.of(frame).via, self.frames.of(frame).flits);
        if self.ports[via as usize].held + flits > room {
            self.outcome.dropped += 1;
            self.frames.remove(frame);
        } else {
            self.line_up(via, frame, now);
        }
    }

    /// Adds a frame to the buffer behind a channel.
    fn line_up(&mut self, channel: u32, frame: u32, now: u64) {
        let flits = self.frames.of(frame).flits;
        let port = &mut self.ports[channel as usize];
        port.held += flits;
        let first = port.buffer[0] == NONE && !port.leaving;
        self.frames.append(&mut port.buffer, frame);
        if first {
            self.route(channel, now);
        }
    }

    /// Routes a buffer's first frame.
    pub(super) fn route(&mut self, buffer: u32, now: u64) {
        let frame = self.ports[buffer as usize].buffer[0];
        let arrives = self.frames.of(frame).arrives;
        let when = match self.run.model.pipelined {
            true => now.max(arrives + self.routing),
            false => now.max(arrives) + self.routing,
        };
        let when = self.not_dry(frame, when);
        if when <= now {
            self.ready(buffer);
        } else {
            self.at(when, EventKind::Ready, buffer);
        }
    }

    /// Returns the first tick from `when` on at which a frame can leave by its next channel without
    /// running dry, even if that channel is faster than the one by which it came.
    #[inline]
    fn not_dry(&self, frame: u32, when: u64) -> u64 {
        let of = self.frames.of(frame);
        let came = u64::from(self.ports[of.via as usize].period);
        let goes = u64::from(self.ports[self.frames.next_channel(frame) as usize].period);
        when.max(of.arrives + u64::from(of.flits - 1) * came.saturating_sub(goes))
    }

    /// Frees a channel that has sent a whole frame, and routes the next frame of the buffer that it
    /// came from.
    pub(super) fn free(&mut self, out: u32, now: u64) {
        if self.flows && !self.ends(out, now) {
            return;
        }
        let port = &mut self.ports[out as usize];
        port.frame = NONE;
        let (feed, from, flits) = (port.feed, port.from, port.flits);
        if feed != NONE {
            let behind = &mut self.ports[feed as usize];
            behind.leaving = false;
            behind.held = behind.held.saturating_sub(flits);
            if behind.buffer[0] != NONE {
                self.route(feed, now);
            }
        } else {
            self.left_memory(from, flits);
        }
        self.wants(out);
    }

    /// Records the fill of a buffer when a frame begins to leave it: only then can it be at its
    /// peak.
    fn peak(&mut self, buffer: u32, now: u64) {
        let port = &self.ports[buffer as usize];
        let mut missing = 0;
        if port.buffer[1] != NONE {
            let last = self.frames.of(port.buffer[1]);
            let whole = last.arrives + u64::from(last.flits) * u64::from(port.period);
            let still = whole.saturating_sub(now) / u64::from(port.period);
            missing = still.min(u64::from(last.flits)) as u32;
        }
        let port = &mut self.ports[buffer as usize];
        port.peak = port.peak.max(port.held - missing.min(port.held));
    }
}

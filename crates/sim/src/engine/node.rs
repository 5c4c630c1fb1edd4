//! Simulated nodes: the messages that they generate, and the frames that they forward as transit
//! nodes. The output queues of switches hold frames in the same way.

use tresse_base::id::NodeId;

use super::frames::{Frame, NONE};
use super::kind::EventKind;
use super::source::Source;
use super::state::Engine;
use crate::model::TransitMemory;
use crate::network::ChannelEnd;
use crate::traffic::{Message, Sequence};

impl Engine<'_> {
    /// Generates the first message of every node.
    pub(super) fn begin(&mut self) {
        let run = self.run;
        self.sources = (0..self.ports.len()).map(|_| None).collect();
        for node in 0..run.network.nodes as u32 {
            let sequence = Sequence::new(run.traffic, node, run.network.nodes, self.mean, run.seed);
            for out in run.network.out_of(NodeId(node)) {
                let message = Message { born: 0, dst: node, bytes: 0, draw: 0 };
                let sequence = sequence.clone();
                let (path, frames) = (Vec::new(), Vec::new());
                let mut source = Source { node, sequence, message, path, frames, waits: false };
                if self.generate(out, &mut source) {
                    self.at(source.message.born, EventKind::Wake, out);
                    self.sources[out as usize] = Some(source);
                }
            }
        }
    }

    /// Generates the next message for this channel; returns false if there is none. Messages
    /// without a path are counted by the node's first channel.
    fn generate(&mut self, out: u32, source: &mut Source) -> bool {
        let run = self.run;
        loop {
            let Some(message) = source.sequence.next(run.traffic, self.mean, self.ticks) else {
                return false;
            };
            if message.born >= self.end {
                return false;
            }
            source.path.clear();
            if !run.routes.route(source.node, message.dst, message.draw, &mut source.path) {
                let first = run.network.out_of(NodeId(source.node)).next();
                self.outcome.without_path += u64::from(first == Some(out));
                continue;
            }
            if source.path[0] != out {
                continue;
            }
            source.message = message;
            source.frames.clear();
            source.frames.extend(run.model.frames(message.bytes));
            source.frames.reverse();
            let flits: u32 = source.frames.iter().sum();
            if message.born >= self.warm_up {
                self.outcome.generated += u64::from(flits);
                let places = source.path.iter().map(|c| run.network.channels[*c as usize].to);
                let nodes = places.filter(|place| matches!(place, ChannelEnd::Node(_))).count();
                self.outcome.in_transit[0] += nodes as u64 - 1;
                self.outcome.in_transit[1] += 1;
            } else {
                self.outcome.backlog[0] += i64::from(flits);
            }
            return true;
        }
    }

    /// Handles the generation of a message.
    pub(super) fn wake(&mut self, out: u32) {
        if let Some(source) = &mut self.sources[out as usize] {
            source.waits = true;
            self.wants(out);
        }
    }

    /// Queues a frame in memory for its channel. Measured: the event loop is faster without it inline.
    #[inline(never)]
    pub(super) fn frame_ready(&mut self, frame: u32, now: u64) {
        let out = self.frames.next_channel(frame);
        let of = self.frames.at(frame);
        of.arrives = now;
        let port = &mut self.ports[out as usize];
        port.queued += u64::from(of.flits);
        let grows = port.queued > self.bound.share;
        self.frames.append(&mut port.queue, frame);
        self.wants(out);
        if grows || now < self.bound.timed_until {
            self.begins_to_wait(out);
        }
    }

    /// Takes the next frame for a channel out of memory: own frames and forwarded frames
    /// alternate.
    pub(super) fn next_in_memory(&mut self, out: u32, now: u64) -> Option<u32> {
        let own = self.sources[out as usize].as_ref().is_some_and(|source| source.waits);
        let port = &mut self.ports[out as usize];
        let queued = port.queue[0] != NONE;
        if !own && !queued {
            return None;
        }
        let own = own && !(queued && port.own_last);
        port.own_last = own;
        if !own {
            let frame = self.take_queued(out);
            self.ports[out as usize].from = self.frames.of(frame).via;
            return Some(frame);
        }
        port.from = NONE;
        let mut source = self.sources[out as usize].take().expect("it waits");
        let flits = source.frames.pop().expect("a message has a frame that is left");
        let frame = Frame {
            next: NONE,
            flits,
            born: source.message.born,
            arrives: now,
            via: NONE,
            hop: 0,
            hops: source.path.len() as u16,
            last: source.frames.is_empty(),
            src: source.node,
            dst: source.message.dst,
        };
        let frame = self.frames.add(frame, &source.path);
        if source.frames.is_empty() {
            source.waits = false;
            if !self.generate(out, &mut source) {
                return Some(frame);
            }
            if source.message.born > now {
                self.at(source.message.born, EventKind::Wake, out);
            } else {
                source.waits = true;
            }
        }
        self.sources[out as usize] = Some(source);
        Some(frame)
    }

    /// Removes the first frame of a channel's queue.
    #[inline]
    pub(super) fn take_queued(&mut self, out: u32) -> u32 {
        let port = &mut self.ports[out as usize];
        let frame = self.frames.take(&mut port.queue);
        port.queued -= u64::from(self.frames.of(frame).flits);
        frame
    }

    /// Accounts for the memory of a frame in transit at a node.
    pub(super) fn enters_memory(&mut self, channel: u32, flits: u64) {
        let memory = &mut self.ports[channel as usize].transit;
        *memory += flits;
        if let TransitMemory::Spill { flits: room } = self.run.model.transit_memory {
            self.outcome.spilled += u64::from(*memory > room);
        }
        self.outcome.transit_peak = self.outcome.transit_peak.max(*memory);
    }

    /// Returns the waiting flits of each channel: in the buffer behind it, in its own queue, and
    /// generated for it.
    pub(super) fn waiting(&self, now: u64) -> Vec<[u64; 3]> {
        let of = |out: usize| {
            let port = &self.ports[out];
            [port.held.into(), port.queued, self.generated(out, now)]
        };
        (0..self.ports.len()).map(of).collect()
    }

    /// Returns the flits that a node has generated for a channel and not begun to send.
    fn generated(&self, out: usize, now: u64) -> u64 {
        let Some(source) = self.sources[out].as_ref().filter(|source| source.waits) else {
            return 0;
        };
        let (run, mut sequence, mut path) = (self.run, source.sequence.clone(), Vec::new());
        let mut flits: u64 = source.frames.iter().map(|flits| u64::from(*flits)).sum();
        while let Some(message) = sequence.next(run.traffic, self.mean, self.ticks) {
            if message.born > now {
                break;
            }
            path.clear();
            let found = run.routes.route(source.node, message.dst, message.draw, &mut path);
            if found && path[0] as usize == out {
                flits += run.model.frames(message.bytes).map(u64::from).sum::<u64>();
            }
        }
        flits
    }

    /// Releases the memory of a frame in transit that came by channel `from`.
    pub(super) fn left_memory(&mut self, from: u32, flits: u32) {
        if from != NONE {
            let memory = &mut self.ports[from as usize].transit;
            *memory = memory.saturating_sub(flits.into());
        }
    }

    /// Generates all remaining messages up to the end, to count them as waiting.
    pub(super) fn count_rest(&mut self) {
        for out in 0..self.sources.len() {
            let Some(mut source) = self.sources[out].take() else { continue };
            while self.generate(out as u32, &mut source) {}
        }
    }
}

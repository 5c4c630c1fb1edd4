//! Simulates stop-and-go flow control: when runs of consecutive flits begin and end.
//!
//! A channel with a frame to send sends one flit per cycle, unless it is stopped, or the next flit
//! has not arrived yet (then it is dry). When a run of flits begins or ends, the buffer that the
//! flits leave changes at once, and the buffer that they enter changes one link delay later. From
//! both changes follows when a buffer next reaches its stop or go mark.

use super::flow::NEVER;
use super::frames::NONE;
use super::kind::EventKind;
use super::port::Far;
use super::state::Engine;
use crate::model::Buffers;

impl Engine<'_> {
    /// Reserves an output for a frame.
    pub(super) fn reserve(&mut self, out: u32, frame: u32, feed: u32, now: u64) {
        let flits = self.frames.of(frame).flits;
        let flow = &mut self.flow[out as usize];
        (flow.left, flow.since) = (flits, now);
        if feed != NONE {
            self.flow[feed as usize].goes_by = out;
        }
        let from = if feed == NONE { self.ports[out as usize].from } else { feed };
        if from != NONE && self.flow[from as usize].arriving == frame {
            self.flow[from as usize].on_by = out;
        }
        self.change(out);
    }

    /// Marks a channel for re-evaluation when all events of this cycle are known.
    pub(super) fn change(&mut self, out: u32) {
        let flow = &mut self.flow[out as usize];
        if !flow.changes {
            flow.changes = true;
            self.changed.push(out);
        }
    }

    /// Marks a buffer for comparison with its marks at the end of this cycle.
    pub(super) fn touch(&mut self, buffer: u32) {
        let flow = &mut self.flow[buffer as usize];
        if !flow.touched && self.ports[buffer as usize].far == Far::Buffer {
            flow.touched = true;
            self.touched.push(buffer);
        }
    }

    /// Handles a stop or go signal at a sender.
    pub(super) fn stop_signalled(&mut self, channel: u32, stop: bool) {
        self.flow[channel as usize].stopped = stop;
        self.change(channel);
    }

    /// Handles the arrival of a frame's first flit.
    pub(super) fn head(&mut self, frame: u32, now: u64) {
        let via = self.frames.of(frame).via;
        self.count(via, now);
        let flow = &mut self.flow[via as usize];
        (flow.arriving, flow.arrived, flow.on_by) = (frame, 0, NONE);
        self.arriving(via, true, now);
    }

    /// Handles the beginning or end of a run at the receiving end.
    pub(super) fn arriving(&mut self, channel: u32, arrives: bool, now: u64) {
        self.count(channel, now);
        let flow = &mut self.flow[channel as usize];
        flow.arrives = arrives;
        let on_by = flow.on_by;
        if on_by != NONE {
            self.change(on_by);
        }
        self.touch(channel);
    }

    /// Handles the end of a frame, one cycle after its last flit arrived.
    pub(super) fn tail(&mut self, channel: u32, now: u64) {
        self.arriving(channel, false, now);
        let flow = &mut self.flow[channel as usize];
        let frame = std::mem::replace(&mut flow.arriving, NONE);
        flow.on_by = NONE;
        if self.ports[channel as usize].far != Far::Node {
            return;
        }
        // Its head may be further on.
        if self.frames.of(frame).via != channel {
            return;
        }
        if self.frames.has_arrived(frame) {
            self.deliver(frame, now);
        } else if self.run.model.transit_stores {
            match u64::from(self.run.model.transit) * self.ticks {
                0 => self.leaving_memory.push(frame),
                wait => self.at(now + wait, EventKind::FrameReady, frame),
            }
        }
    }

    /// Returns whether a channel has sent its whole frame, and ends its run if so.
    pub(super) fn ends(&mut self, out: u32, now: u64) -> bool {
        if self.flow[out as usize].done != now {
            return false;
        }
        self.ran(out, now);
        let feed = self.ports[out as usize].feed;
        if feed != NONE {
            self.count(feed, now);
            let behind = &mut self.flow[feed as usize];
            (behind.leaves, behind.goes_by) = (false, NONE);
            self.touch(feed);
        }
        let flow = &mut self.flow[out as usize];
        (flow.sends, flow.done) = (false, NEVER);
        self.at(now + self.link, EventKind::Tail, out);
        true
    }

    /// Begins and ends runs, then compares buffers with their marks.
    pub(super) fn settle(&mut self, now: u64) {
        let mut changed = std::mem::take(&mut self.changed);
        for out in changed.drain(..) {
            self.flow[out as usize].changes = false;
            self.run_or_rest(out, now);
        }
        self.changed = changed;
        let mut touched = std::mem::take(&mut self.touched);
        for buffer in touched.drain(..) {
            self.flow[buffer as usize].touched = false;
            self.marks(buffer, now);
        }
        self.touched = touched;
    }

    fn run_or_rest(&mut self, out: u32, now: u64) {
        let port = &self.ports[out as usize];
        let frame = port.frame;
        if frame == NONE {
            return;
        }
        let from = if port.feed == NONE { port.from } else { port.feed };
        self.ran(out, now);
        let here = self.here(out, from, frame, now);
        let flow = &self.flow[out as usize];
        let sends = !flow.stopped && here > 0;
        if sends != flow.sends {
            self.set_sending(out, sends, now);
        }
        // Flits that came before are sent while no more arrive.
        if sends && from != NONE {
            let behind = &self.flow[from as usize];
            if behind.arriving == frame && !behind.arrives {
                self.at(now + u64::from(here) * self.ticks, EventKind::Dry, out);
            }
        }
    }

    /// Returns the flits of the frame that have arrived and could be sent by now.
    fn here(&mut self, out: u32, from: u32, frame: u32, now: u64) -> u32 {
        let left = self.flow[out as usize].left;
        if from == NONE || self.flow[from as usize].arriving != frame {
            return left;
        }
        self.count(from, now);
        let behind = &self.flow[from as usize];
        let sent = self.ports[out as usize].flits - left;
        behind.arrived + u32::from(behind.arrives) - sent
    }

    /// Begins or ends a run.
    fn set_sending(&mut self, out: u32, sends: bool, now: u64) {
        let port = &self.ports[out as usize];
        let (feed, frame, flits) = (port.feed, port.frame, port.flits);
        if feed != NONE {
            self.count(feed, now);
            self.flow[feed as usize].leaves = sends;
            self.touch(feed);
        }
        let flow = &mut self.flow[out as usize];
        flow.sends = sends;
        let left = flow.left;
        if !sends {
            flow.done = NEVER;
            self.at(now + self.link, EventKind::Off, out);
            return;
        }
        flow.done = now + u64::from(left) * self.ticks;
        self.at(self.flow[out as usize].done, EventKind::Free, out);
        if left == flits {
            self.send_head(out, frame, now);
            self.at(now + self.link, EventKind::Head, frame);
        } else {
            self.at(now + self.link, EventKind::On, out);
        }
    }

    /// Counts the flits that a channel has sent before this cycle.
    fn ran(&mut self, out: u32, now: u64) {
        let flow = &mut self.flow[out as usize];
        let since = std::mem::replace(&mut flow.since, now);
        if !flow.sends {
            return;
        }
        let flits = (now - since) / self.ticks;
        flow.left -= flits as u32;
        self.outcome.flit_hops += flits;
        self.busy[out as usize] += self.measured(since, now);
        let port = &self.ports[out as usize];
        let arrived = self.frames.of(port.frame).via == out && self.frames.has_arrived(port.frame);
        if port.far == Far::Node && arrived {
            self.receive(since + self.link, now + self.link, self.ticks);
        }
    }

    /// Counts the flits that have entered and left a buffer before this cycle.
    fn count(&mut self, channel: u32, now: u64) {
        let flow = &mut self.flow[channel as usize];
        let flits = ((now - flow.at) / self.ticks) as u32;
        flow.at = now;
        if flow.arrives {
            flow.arrived += flits;
            flow.held += flits;
        }
        if flow.leaves {
            flow.held -= flits;
        }
        let port = &mut self.ports[channel as usize];
        if port.far == Far::Buffer {
            port.peak = port.peak.max(flow.held);
        }
    }

    /// Signals stop or go to the sender if a mark is passed, and schedules the next comparison.
    fn marks(&mut self, buffer: u32, now: u64) {
        let Buffers::StopAndGo { stop, go } = self.run.model.buffers else { return };
        self.count(buffer, now + self.ticks);
        let flow = &mut self.flow[buffer as usize];
        let held = flow.held;
        let signal = match flow.stops {
            false if held > stop => Some(EventKind::Stop),
            true if held < go => Some(EventKind::Go),
            _ => None,
        };
        if let Some(kind) = signal {
            flow.stops = kind == EventKind::Stop;
        }
        let (stops, arrives, leaves) = (flow.stops, flow.arrives, flow.leaves);
        if let Some(kind) = signal {
            self.at(now + self.link, kind, buffer);
        }
        let ahead = match (stops, arrives, leaves) {
            (false, true, false) => stop + 1 - held,
            (true, false, true) => held + 1 - go,
            _ => return,
        };
        self.at(now + u64::from(ahead) * self.ticks, EventKind::Check, buffer);
    }

    /// Ends all runs, to count their flits.
    pub(super) fn stop_all(&mut self) {
        for out in 0..self.ports.len() as u32 {
            self.count(out, self.end.max(self.flow[out as usize].at));
            if self.ports[out as usize].frame != NONE {
                let end = self.end.max(self.flow[out as usize].since);
                self.ran(out, end.min(self.flow[out as usize].done));
            }
        }
    }

    /// Returns a circle of channels that wait for each other, if there is one: each is stopped, and
    /// the first frame behind it wants or has the next one.
    pub(super) fn circle(&self) -> Option<Vec<u32>> {
        let next = |channel: u32| -> Option<u32> {
            let flow = &self.flow[channel as usize];
            let port = &self.ports[channel as usize];
            // A channel that is about to get a go no longer waits.
            if !(flow.stopped && flow.stops) || port.frame == NONE || port.far != Far::Buffer {
                return None;
            }
            if port.leaving {
                let out = flow.goes_by;
                return (out != NONE).then_some(out);
            }
            let first = port.buffer[0];
            (first != NONE).then(|| self.frames.next_channel(first))
        };
        let mut seen = vec![0u32; self.ports.len()];
        for (start, mark) in (0..self.ports.len() as u32).zip(1..) {
            let mut at = start;
            while seen[at as usize] == 0 {
                seen[at as usize] = mark;
                let Some(on) = next(at) else { break };
                at = on;
                if seen[at as usize] == mark {
                    let circle = std::iter::successors(Some(at), |c| next(*c).filter(|n| *n != at));
                    return Some(circle.collect());
                }
            }
        }
        None
    }
}

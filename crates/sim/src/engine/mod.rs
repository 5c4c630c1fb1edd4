//! The simulation of one run.
//!
//! Every flit counts, but none is moved alone: a frame's flits follow each other at the rate of the channel
//! until something stops them, so only the beginnings and ends of such runs are events. What comes out is, to
//! the cycle, what moving each flit in each cycle gives (`reference` in the tests does that).
//!
//! Within a cycle: first what happens in it ([`Kind`]), then outputs that are free choose among what waits for
//! them, then runs begin and end, then buffers look at their marks. No step depends on the order within it.

mod flow;
mod frames;
mod node;
mod setup;
mod switch;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::model::Model;
use crate::network::{Network, Place};
use crate::outcome::Outcome;
use crate::route::Routes;
use crate::traffic::Traffic;
use crate::wheel::{Event, Wheel};
use flow::Flow;
use frames::Frames;
use node::Source;
use switch::Requests;

/// No frame, no channel.
pub(crate) const NONE: u32 = u32::MAX;

/// Cycles between two looks for channels that wait in a circle, and for queues that never end.
const LOOK: u64 = 2048;

/// Frames on their way or in queues, for each channel of the network, at which a run ends: what it takes in memory
/// is bounded.
const MOST_FRAMES: usize = 4096;

/// Messages by which a queue may grow and count as not growing.
const FEW: u64 = 8;

/// A run: what is simulated, for how long.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Switches, links and nodes.
    pub model: &'a Model,
    /// Places and channels.
    pub network: &'a Network,
    /// Paths.
    pub routes: &'a Routes<'a>,
    /// What is sent.
    pub traffic: &'a Traffic,
    /// Flits, headers included, that each node generates per cycle.
    pub load: f64,
    /// All cycles.
    pub cycles: u64,
    /// Of those the first, which are not measured.
    pub warm_up: u64,
    /// Of all that is random.
    pub seed: u64,
}

/// Why a run is not possible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Stop and go between channels of different rates.
    #[error(
        "channels are of different rates: buffers that stop the sender are simulated for one rate alone; take \
         unlimited buffers, or buffers that drop"
    )]
    Rates,
    /// Stop and go with queues at the outputs.
    #[error("queues at the outputs hold everything: they go with unlimited buffers alone")]
    OutputQueues,
    /// Rates whose quotients are no small numbers.
    #[error("the rates of the links have no common measure below a thousandth of a node's rate")]
    Measure,
    /// A load that nothing sends.
    #[error("a load of {load} is not above 0 and at most 1000")]
    Load {
        /// The load.
        load: f64,
    },
    /// Longer than a run can be.
    #[error("{cycles} cycles are too many: 1099511627776 at most")]
    Cycles {
        /// All.
        cycles: u64,
    },
    /// Nothing to send over.
    #[error("a node has no NIC with a cable")]
    NoChannel,
    /// More than is measured.
    #[error("of {cycles} cycles the first {warm_up} are not measured: none is left")]
    WarmUp {
        /// All.
        cycles: u64,
        /// Not measured.
        warm_up: u64,
    },
}

/// What happens; the index of an [`Event`] is a frame's for `FrameReady`, `Arrive` and `Head`, else a channel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// The first frame of a buffer knows its way, and may leave.
    Ready,
    /// A frame in a node's memory, or of an output's queue, may leave.
    FrameReady,
    /// A channel has sent a whole frame.
    Free,
    /// A message is generated.
    Wake,
    /// A frame's head arrives at a buffer that may be full.
    Arrive,
    /// A frame's first flit arrives.
    Head,
    /// The flits of a frame go on arriving.
    On,
    /// They stop arriving.
    Off,
    /// After a frame's last flit.
    Tail,
    /// A buffer may have reached a mark.
    Check,
    /// A sender is told to stop.
    Stop,
    /// A sender is told to go on.
    Go,
    /// A sender may have nothing left to send.
    Dry,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Ready,
        Self::FrameReady,
        Self::Free,
        Self::Wake,
        Self::Arrive,
        Self::Head,
        Self::On,
        Self::Off,
        Self::Tail,
        Self::Check,
        Self::Stop,
        Self::Go,
        Self::Dry,
    ];
}

/// What a channel ends at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Far {
    /// A switch's buffer, in front of the crossbar.
    Buffer,
    /// A switch that sorts frames into the queues of its outputs at once.
    Sorter,
    /// A node.
    Node,
}

/// A channel: its sending end, the frames that wait for it, and the buffer at its far end.
#[derive(Debug)]
struct Port {
    /// Ticks of a flit.
    period: u32,
    far: Far,
    /// The frame that is sent; [`NONE`].
    frame: u32,
    /// The buffer that it comes from; [`NONE`] where it comes from a node's memory.
    feed: u32,
    /// Is it on the list of outputs that choose?
    chooses: bool,
    /// Which buffers' first frames want it: at switches with queues at their inputs.
    requests: Requests,
    /// Frames in memory that want it, in the order in which they may leave.
    queue: [u32; 2],
    /// Which of the two was served last: a node's own messages, or its queue?
    own_last: bool,
    /// Its number among the inputs of the switch at its far end.
    input: u32,
    /// The frames in the buffer at its far end, without the one that leaves it.
    buffer: [u32; 2],
    /// Is a frame leaving that buffer?
    leaving: bool,
    /// The channel by which the frame came to a node in transit that is sent from its memory; [`NONE`].
    from: u32,
    /// Flits of the frame that is sent.
    flits: u32,
    /// Flits of the frames in its queue.
    queued: u64,
    /// Flits that this buffer is reserved for.
    held: u32,
    peak: u32,
    /// Frames that nodes in transit have in memory from this channel, in flits.
    transit: u64,
}

pub(crate) struct Engine<'a> {
    run: Run<'a>,
    ticks: u64,
    link: u64,
    routing: u64,
    end: u64,
    warm_up: u64,
    mean: f64,
    /// Buffers stop their senders.
    flows: bool,
    ports: Vec<Port>,
    flow: Vec<Flow>,
    /// The channels into each switch, by switch: those of one stand together.
    inputs: Vec<u32>,
    request_bits: Vec<u64>,
    sources: Vec<Option<Source>>,
    frames: Frames,
    wheel: Wheel,
    /// Frames that may leave memory, and that arrive at buffers which may be full, in this cycle.
    leaving_memory: Vec<u32>,
    arriving_heads: Vec<u32>,
    choosing: Vec<u32>,
    changed: Vec<u32>,
    touched: Vec<u32>,
    busy: Vec<u64>,
    outcome: Outcome,
    #[cfg(test)]
    pub delivered: Vec<(u32, u32, u64, u64)>,
}

impl Run<'_> {
    /// Simulates it.
    ///
    /// # Errors
    /// As [`RunError`] lists.
    pub fn simulate(&self) -> Result<Outcome, RunError> {
        let mut engine = Engine::new(self)?;
        engine.simulate();
        Ok(engine.finish())
    }
}

impl Engine<'_> {
    pub fn simulate(&mut self) {
        let mut look = LOOK * self.ticks;
        let mut before = None;
        while let Some((now, events)) = self.wheel.next(self.end) {
            if now >= self.warm_up && before.is_none() {
                before = Some(self.waiting(now));
            }
            if now >= look {
                look = now + LOOK * self.ticks;
                if let Some(circle) = self.flows.then(|| self.circle()).flatten() {
                    self.outcome.deadlock = Some((now / self.ticks, circle));
                    return self.end_early(now);
                }
                if self.frames.room() > MOST_FRAMES * self.ports.len() {
                    self.outcome.overfull = true;
                    return self.end_early(now);
                }
            }
            for event in &events {
                self.happens(*event, now);
            }
            self.wheel.recycle(now, events);
            self.line_up_all(now);
            let mut choosing = std::mem::take(&mut self.choosing);
            for out in choosing.drain(..) {
                self.ports[out as usize].chooses = false;
                self.choose(out, now);
            }
            self.choosing = choosing;
            if self.flows {
                self.settle(now);
            }
        }
        self.outcome.growth = self.growth(&before.unwrap_or_default());
        if let Some(circle) = self.flows.then(|| self.circle()).flatten() {
            self.outcome.deadlock = Some((self.run.cycles, circle));
        }
    }

    /// There is nothing more to see: what was measured is measured of the cycles until now.
    fn end_early(&mut self, now: u64) {
        self.end = now;
        self.outcome.cycles = now.saturating_sub(self.warm_up) / self.ticks;
    }

    /// Of the measured time the part for which a channel would have to send what the queue before it grew by, at
    /// most: the queue's own, or the slowest of the switch whose buffer it is.
    fn growth(&self, before: &[[u64; 3]]) -> f64 {
        let run = self.run;
        let few = FEW * run.model.frames(run.traffic.largest()).map(u64::from).sum::<u64>();
        let mut slowest: HashMap<Place, u64> = HashMap::new();
        for (channel, port) in run.network.channels.iter().zip(&self.ports) {
            let period = slowest.entry(channel.from).or_default();
            *period = (*period).max(port.period.into());
        }
        let mut most = 0;
        for (at, (after, before)) in self.waiting(self.end).iter().zip(before).enumerate() {
            let own = self.ports[at].period.into();
            let behind = slowest.get(&run.network.channels[at].to).copied().unwrap_or(own);
            for ((after, before), period) in after.iter().zip(before).zip([behind, own, own]) {
                let grown = after.saturating_sub(*before);
                most = most.max(if grown > few { grown * period } else { 0 });
            }
        }
        most as f64 / (self.end - self.warm_up) as f64
    }

    #[inline]
    fn happens(&mut self, event: Event, now: u64) {
        let at = event.index() as u32;
        match Kind::ALL[event.kind() as usize] {
            Kind::Ready => self.ready(at),
            Kind::FrameReady => self.leaving_memory.push(at),
            Kind::Free => self.free(at, now),
            Kind::Wake => self.wake(at),
            Kind::Arrive => self.arriving_heads.push(at),
            Kind::Head => self.head(at, now),
            Kind::On => self.arriving(at, true, now),
            Kind::Off => self.arriving(at, false, now),
            Kind::Tail => self.tail(at, now),
            Kind::Check => self.touch(at),
            Kind::Stop => self.told(at, true),
            Kind::Go => self.told(at, false),
            Kind::Dry => self.change(at),
        }
    }

    /// Once it is known what leaves in this cycle: frames that come, in the order of their channels.
    fn line_up_all(&mut self, now: u64) {
        let mut frames = std::mem::take(&mut self.arriving_heads);
        frames.drain(..).for_each(|frame| self.arrive(frame, now));
        self.arriving_heads = frames;
        let mut frames = std::mem::take(&mut self.leaving_memory);
        frames.sort_unstable_by_key(|frame| self.frames.of(*frame).via);
        frames.drain(..).for_each(|frame| self.frame_ready(frame));
        self.leaving_memory = frames;
    }

    #[inline]
    fn at(&mut self, when: u64, kind: Kind, index: u32) {
        self.wheel.push(when, Event::new(kind as u8, index));
    }

    /// Puts an output on the list of those that choose.
    #[inline]
    fn wants(&mut self, out: u32) {
        let port = &mut self.ports[out as usize];
        if !port.chooses && port.frame == NONE {
            port.chooses = true;
            self.choosing.push(out);
        }
    }

    /// Of the ticks from `from` to `to`, those that are measured.
    #[inline]
    fn measured(&self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from.max(self.warm_up))
    }

    /// Counts flits that arrive at their destination from `from` to `to`.
    fn receive(&mut self, from: u64, to: u64, period: u64) {
        let all = to.min(self.end).saturating_sub(from) / period;
        let measured = self.measured(from, to) / period;
        self.outcome.received += measured;
        self.outcome.backlog[0] -= (all - measured.min(all)) as i64;
    }

    /// A frame's last flit has arrived where it was sent, at `when`.
    fn deliver(&mut self, frame: u32, when: u64) {
        let of = self.frames.of(frame);
        if of.last && when >= self.warm_up && when < self.end {
            self.outcome.latencies.add(when - of.born);
        }
        #[cfg(test)]
        if when < self.end {
            self.delivered.push((of.src, of.dst, of.born, when));
        }
        self.frames.remove(frame);
    }

    pub fn finish(mut self) -> Outcome {
        if self.flows {
            self.stop_all();
        }
        self.count_rest();
        let [before, after] = &mut self.outcome.backlog;
        *after = *before + self.outcome.generated as i64 - self.outcome.received as i64;
        let per_flit = |(ticks, port): (&u64, &Port)| ticks / u64::from(port.period);
        self.outcome.sent = self.busy.iter().zip(&self.ports).map(per_flit).collect();
        self.outcome.peaks = self.ports.iter().map(|port| port.peak).collect();
        self.outcome
    }
}

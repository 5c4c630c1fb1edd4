//! The same, one flit and one tick at a time: slow, and plain enough to be believed.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::Run;
use crate::engine::setup::{inputs, periods};
use crate::model::{Buffers, Queues, TransitMemory};
use crate::network::ChannelEnd;
use crate::traffic::{Message, Sequence};

/// Source, destination, generated, delivered, in ticks.
pub type Delivered = (u32, u32, u64, u64);

struct Frame {
    path: Vec<usize>,
    flits: u32,
    message: Message,
    src: u32,
    /// Per channel of its way: flits sent, flits arrived behind it, and when the first one did.
    sent: Vec<u32>,
    arrived: Vec<u32>,
    head: Vec<u64>,
}

#[derive(Default, Clone)]
struct SimulatedChannel {
    period: u64,
    /// The frame it sends, which channel of its way this is, and when the next flit may go.
    sending: Option<(usize, usize, u64)>,
    stopped: bool,
    signals: VecDeque<(u64, bool)>,
    stops: bool,
    on_wire: VecDeque<(u64, usize, usize)>,
    /// The frames behind it, the one that leaves included.
    buffer: VecDeque<usize>,
    leaving: bool,
    /// When the first of them became the first.
    first_since: u64,
    reserved: u32,
    /// Flits in it, and the frame whose head came in this tick.
    held: u32,
    head: Option<usize>,
    /// Frames in memory that want it, and since when.
    queue: VecDeque<(usize, u64)>,
    own: VecDeque<usize>,
    own_last: bool,
    last_input: usize,
}

pub struct Reference<'a> {
    run: Run<'a>,
    ticks: u64,
    link: u64,
    routing: u64,
    frames: Vec<Frame>,
    channels: Vec<SimulatedChannel>,
    inputs: Vec<u32>,
    first_input: Vec<u32>,
    /// Frames that may leave memory, by when.
    ready: BTreeMap<u64, Vec<(usize, usize)>>,
    freed: BTreeMap<u64, Vec<(usize, usize)>>,
    pub delivered: Vec<Delivered>,
    pub dropped: u64,
    /// Frames that transit nodes dropped: for want of room, and after too long a wait.
    pub transit_dropped: [u64; 2],
    pub peaks: Vec<u32>,
}

impl<'a> Reference<'a> {
    pub fn new(run: &Run<'a>) -> Self {
        let (ticks, periods) = periods(run.network).unwrap();
        let (inputs, first_input, _) = inputs(run.network);
        let of = |period: &u32| SimulatedChannel {
            period: u64::from(*period),
            ..SimulatedChannel::default()
        };
        let mut own = Self {
            run: *run,
            ticks,
            link: u64::from(run.model.link) * ticks,
            routing: u64::from(run.model.routing) * ticks,
            frames: Vec::new(),
            channels: periods.iter().map(of).collect(),
            inputs,
            first_input,
            ready: BTreeMap::new(),
            freed: BTreeMap::new(),
            delivered: Vec::new(),
            dropped: 0,
            transit_dropped: [0; 2],
            peaks: vec![0; periods.len()],
        };
        own.generate();
        own
    }

    fn generate(&mut self) {
        let run = self.run;
        let flits: u32 = run.model.frames(run.traffic.bytes).sum();
        let mean = f64::from(flits) / run.load * self.ticks as f64;
        for node in 0..run.network.nodes as u32 {
            let mut sequence = Sequence::new(run.traffic, node, run.network.nodes, mean, run.seed);
            while let Some(message) = sequence.next(run.traffic, mean, self.ticks) {
                if message.born >= run.cycles * self.ticks {
                    break;
                }
                let mut path = Vec::new();
                if !run.routes.route(node, message.dst, message.draw, &mut path) {
                    continue;
                }
                let path: Vec<usize> = path.into_iter().map(|c| c as usize).collect();
                for flits in run.model.frames(message.bytes) {
                    self.channels[path[0]].own.push_back(self.frames.len());
                    let (n, path) = (path.len(), path.clone());
                    let (sent, arrived, head) = (vec![0; n], vec![0; n], vec![0; n]);
                    self.frames.push(Frame {
                        path,
                        flits,
                        message,
                        src: node,
                        sent,
                        arrived,
                        head,
                    });
                }
            }
        }
    }

    pub fn simulate(&mut self) {
        for now in 0..self.run.cycles * self.ticks {
            self.arrivals(now);
            self.frees(now);
            self.heads(now);
            self.memory(now);
            self.grants(now);
            self.bounds(now);
            self.sends(now);
            self.marks(now);
        }
        self.delivered.sort_unstable();
    }

    fn place(&self, channel: usize) -> ChannelEnd {
        self.run.network.channels[channel].to
    }

    fn arrivals(&mut self, now: u64) {
        for at in 0..self.channels.len() {
            if self.channels[at].signals.front().is_some_and(|(when, _)| *when == now) {
                self.channels[at].stopped = self.channels[at].signals.pop_front().unwrap().1;
            }
            let Some((_, id, hop)) =
                self.channels[at].on_wire.pop_front_if(|(when, ..)| *when == now)
            else {
                continue;
            };
            let period = self.channels[at].period;
            let frame = &mut self.frames[id];
            frame.arrived[hop] += 1;
            let (first, whole) = (frame.arrived[hop] == 1, frame.arrived[hop] == frame.flits);
            if first {
                frame.head[hop] = now;
                self.channels[at].head = Some(id);
            }
            self.channels[at].held += 1;
            let node = matches!(self.run.network.channels[at].to, ChannelEnd::Node(_));
            if hop + 1 == frame.path.len() {
                if whole && now + period < self.run.cycles * self.ticks {
                    let (src, message) = (frame.src, frame.message);
                    self.delivered.push((src, message.dst, message.born, now + period));
                }
                continue;
            }
            if node || self.run.model.queues == Queues::Output {
                let wait = u64::from(self.run.model.transit) * self.ticks;
                let when = match (node, self.run.model.transit_stores) {
                    (true, true) => whole.then_some(now + period + wait),
                    (true, false) => first.then_some(now + wait),
                    (false, _) => first.then_some(now + self.routing),
                };
                if let Some(when) = when {
                    let when = when.max(self.not_dry(id, hop));
                    self.ready.entry(when).or_default().push((at, id));
                }
            }
        }
    }

    fn not_dry(&self, id: usize, hop: usize) -> u64 {
        let frame = &self.frames[id];
        let [came, goes] = [hop, hop + 1].map(|hop| self.channels[frame.path[hop]].period);
        frame.head[hop] + u64::from(frame.flits - 1) * came.saturating_sub(goes)
    }

    /// Channels that have sent their frame.
    fn frees(&mut self, now: u64) {
        for (at, id) in self.freed.remove(&now).unwrap_or_default() {
            let (_, hop, _) = self.channels[at].sending.take().unwrap();
            let frame = &self.frames[id];
            if hop > 0 && self.waits_in_buffer(frame.path[hop - 1]) {
                let feed = &mut self.channels[frame.path[hop - 1]];
                assert_eq!(feed.buffer.pop_front(), Some(id));
                feed.leaving = false;
                feed.first_since = now;
                feed.reserved -= frame.flits;
            }
        }
    }

    fn buffers(&self) -> Vec<usize> {
        (0..self.channels.len()).filter(|at| self.waits_in_buffer(*at)).collect()
    }

    fn waits_in_buffer(&self, channel: usize) -> bool {
        matches!(self.place(channel), ChannelEnd::Switch(_))
            && self.run.model.queues == Queues::Input
    }

    /// Heads that arrived in this tick stand in their buffers.
    fn heads(&mut self, now: u64) {
        for at in self.buffers() {
            let Some(id) = self.channels[at].head.take() else { continue };
            let frame = &self.frames[id];
            let channel = &mut self.channels[at];
            if let Buffers::Drop { flits } = self.run.model.buffers
                && channel.reserved + frame.flits > flits
            {
                self.dropped += 1;
                continue;
            }
            channel.reserved += frame.flits;
            if channel.buffer.is_empty() {
                channel.first_since = now;
            }
            channel.buffer.push_back(id);
        }
    }

    fn memory(&mut self, now: u64) {
        let mut frames = self.ready.remove(&now).unwrap_or_default();
        frames.sort_unstable();
        for (via, id) in frames {
            let path = &self.frames[id].path;
            let hop = path.iter().position(|c| *c == via).unwrap();
            let out = path[hop + 1];
            self.channels[out].queue.push_back((id, now));
        }
    }

    /// Does the first frame of this buffer want that output now?
    fn wants(&self, buffer: usize, out: usize, now: u64) -> bool {
        let of = &self.channels[buffer];
        let Some(&id) = of.buffer.front().filter(|_| !of.leaving) else { return false };
        let frame = &self.frames[id];
        let hop = frame.path.iter().position(|c| *c == buffer).unwrap();
        let ready = match self.run.model.pipelined {
            true => of.first_since.max(frame.head[hop] + self.routing),
            false => of.first_since.max(frame.head[hop]) + self.routing,
        };
        frame.path[hop + 1] == out && now >= ready.max(self.not_dry(id, hop))
    }

    fn grants(&mut self, now: u64) {
        for out in 0..self.channels.len() {
            if self.channels[out].sending.is_some() {
                continue;
            }
            let mut granted = None;
            if let (ChannelEnd::Switch(s), Queues::Input) =
                (self.run.network.channels[out].from, self.run.model.queues)
            {
                let inputs = &self.inputs[self.first_input[s as usize] as usize
                    ..self.first_input[s as usize + 1] as usize];
                let last_input = self.channels[out].last_input;
                let order = (1..=inputs.len()).map(|step| (last_input + step) % inputs.len());
                let input = order.into_iter().find(|i| self.wants(inputs[*i] as usize, out, now));
                if let Some(input) = input {
                    let buffer = inputs[input] as usize;
                    self.channels[out].last_input = input;
                    self.channels[buffer].leaving = true;
                    granted = Some(self.channels[buffer].buffer[0]);
                }
            } else {
                let frames = &self.frames;
                let channel = &mut self.channels[out];
                let own = channel.own.front().is_some_and(|id| frames[*id].message.born <= now);
                let own = own && (!channel.own_last || channel.queue.is_empty());
                granted = match own {
                    true => channel.own.pop_front(),
                    false => channel.queue.pop_front().map(|(id, _)| id),
                };
                if granted.is_some() {
                    channel.own_last = own;
                }
            }
            if let Some(id) = granted {
                let hop = self.frames[id].path.iter().position(|c| *c == out).unwrap();
                self.channels[out].sending = Some((id, hop, now));
            }
        }
    }

    /// Transit nodes drop what still waits and must not.
    fn bounds(&mut self, now: u64) {
        let TransitMemory::Drop { flits: room, cycles } = self.run.model.transit_memory else {
            return;
        };
        let longest = cycles.max(1).saturating_mul(self.ticks);
        for node in 0..self.run.network.nodes as u32 {
            let from = |at: &usize| self.run.network.channels[*at].from == ChannelEnd::Node(node);
            let exits: Vec<usize> = (0..self.channels.len()).filter(from).collect();
            for exit in &exits {
                let queue = &mut self.channels[*exit].queue;
                let before = queue.len();
                queue.retain(|(_, since)| now - since < longest);
                self.transit_dropped[1] += (before - queue.len()) as u64;
            }
            loop {
                let waits = |exit: &usize| -> u64 {
                    let ids = self.channels[*exit].queue.iter().map(|(id, _)| *id);
                    ids.map(|id| u64::from(self.frames[id].flits)).sum()
                };
                let flits: Vec<u64> = exits.iter().map(waits).collect();
                if flits.iter().sum::<u64>() <= room {
                    break;
                }
                let most = flits.iter().max().unwrap();
                let fullest = flits.iter().position(|flits| flits == most).unwrap();
                self.channels[exits[fullest]].queue.pop_front().unwrap();
                self.transit_dropped[0] += 1;
            }
        }
    }

    fn sends(&mut self, now: u64) {
        for at in 0..self.channels.len() {
            let channel = &mut self.channels[at];
            let Some((id, hop, due)) = channel.sending else { continue };
            let frame = &mut self.frames[id];
            if channel.stopped || due > now || frame.sent[hop] == frame.flits {
                continue;
            }
            if hop > 0 && frame.arrived[hop - 1] == frame.sent[hop] {
                let stops = matches!(self.run.model.buffers, Buffers::StopAndGo { .. });
                assert!(stops, "a frame ran dry");
                continue;
            }
            frame.sent[hop] += 1;
            let behind = hop.checked_sub(1).map(|before| frame.path[before]);
            channel.sending = Some((id, hop, now + channel.period));
            channel.on_wire.push_back((now + self.link, id, hop));
            if frame.sent[hop] == frame.flits {
                self.freed.entry(now + channel.period).or_default().push((at, id));
            }
            if let Some(behind) = behind {
                self.channels[behind].held -= 1;
            }
        }
    }

    fn marks(&mut self, now: u64) {
        for at in self.buffers() {
            let held = self.channels[at].held;
            let Buffers::StopAndGo { stop, go } = self.run.model.buffers else { continue };
            self.peaks[at] = self.peaks[at].max(held);
            let channel = &mut self.channels[at];
            let signalled = if channel.stops { held < go } else { held > stop };
            if signalled {
                channel.stops = !channel.stops;
                channel.signals.push_back((now + self.link, channel.stops));
            }
        }
    }
}

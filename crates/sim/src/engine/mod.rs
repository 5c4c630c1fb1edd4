//! Simulates one run of a network, event by event.
//!
//! Single flits (the units of flow control) are not events. The flits of a frame follow each other
//! at the rate of the channel until something stops them; only the beginning and the end of such a
//! run of flits are events. The results are exact to the cycle: equal to those of moving each flit
//! in each cycle (`reference` in the tests does that).
//!
//! Order within a cycle: first the events ([`EventKind`]) are processed, then free outputs choose
//! among waiting frames, then transit nodes drop frames that still wait, then runs of flits begin
//! and end, then the fill of each buffer is compared with its stop and go marks. No step depends on
//! the order of events within it.

mod flow;
mod frames;
mod kind;
mod node;
mod port;
mod requests;
mod run;
mod setup;
mod source;
mod state;
mod stop_and_go;
mod switch;
#[cfg(test)]
mod tests;
mod transit_bound;
mod transit_buffer;

use std::collections::HashMap;

use crate::network::ChannelEnd;
use crate::outcome::SimulationOutcome;
use crate::wheel::Event;
use frames::NONE;
use kind::EventKind;
use port::Port;
pub use run::{Run, SimulationError};
use state::Engine;

/// Cycles between two searches for deadlocks and for queues that grow without end.
const LOOK: u64 = 2048;

/// Frames in flight per channel of the network at which a run is ended, to bound its memory.
const MOST_FRAMES: usize = 4096;

/// A queue that grows by up to this many messages counts as not growing.
const FEW: u64 = 8;

impl Run<'_> {
    /// Runs the simulation.
    ///
    /// # Errors
    /// As [`SimulationError`] lists.
    pub fn simulate(&self) -> Result<SimulationOutcome, SimulationError> {
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
            if !self.to_bound.is_empty() {
                self.drop_waiting(now);
            }
            if self.flows {
                self.settle(now);
            }
        }
        self.outcome.growth = self.growth(&before.unwrap_or_default());
        if let Some(circle) = self.flows.then(|| self.circle()).flatten() {
            self.outcome.deadlock = Some((self.run.cycles, circle));
        }
    }

    /// Ends the run now: the measured time ends with this cycle.
    fn end_early(&mut self, now: u64) {
        self.end = now;
        self.outcome.cycles = now.saturating_sub(self.warm_up) / self.ticks;
    }

    /// Returns the growth of the fastest-growing queue as a part of the measured time: the time
    /// that the channel would need to send it. For the buffer of a switch that channel is the
    /// slowest of the switch.
    fn growth(&self, before: &[[u64; 3]]) -> f64 {
        let run = self.run;
        let few = FEW * run.model.frames(run.traffic.largest()).map(u64::from).sum::<u64>();
        let mut slowest: HashMap<ChannelEnd, u64> = HashMap::new();
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
        match EventKind::ALL[event.kind() as usize] {
            EventKind::Ready => self.ready(at),
            EventKind::FrameReady => self.leaving_memory.push(at),
            EventKind::Free => self.free(at, now),
            EventKind::Wake => self.wake(at),
            EventKind::Arrive => self.arriving_heads.push(at),
            EventKind::Head => self.head(at, now),
            EventKind::On => self.arriving(at, true, now),
            EventKind::Off => self.arriving(at, false, now),
            EventKind::Tail => self.tail(at, now),
            EventKind::Check => self.touch(at),
            EventKind::Stop => self.stop_signalled(at, true),
            EventKind::Go => self.stop_signalled(at, false),
            EventKind::Dry => self.change(at),
            EventKind::Late => self.late(at),
        }
    }

    /// Queues the arriving frames, in the order of their channels, after all departures of this
    /// cycle are known.
    fn line_up_all(&mut self, now: u64) {
        let mut frames = std::mem::take(&mut self.arriving_heads);
        frames.drain(..).for_each(|frame| self.arrive(frame, now));
        self.arriving_heads = frames;
        let mut frames = std::mem::take(&mut self.leaving_memory);
        frames.sort_unstable_by_key(|frame| self.frames.of(*frame).via);
        frames.drain(..).for_each(|frame| self.frame_ready(frame, now));
        self.leaving_memory = frames;
    }

    #[inline]
    fn at(&mut self, when: u64, kind: EventKind, index: u32) {
        self.wheel.push(when, Event::new(kind as u8, index));
    }

    /// Adds an output to the list of those that choose a frame.
    #[inline]
    fn wants(&mut self, out: u32) {
        let port = &mut self.ports[out as usize];
        if !port.chooses && port.frame == NONE {
            port.chooses = true;
            self.choosing.push(out);
        }
    }

    /// Returns how many of the ticks from `from` to `to` are measured.
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

    /// Removes a frame whose last flit arrives at its destination at `when`.
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

    pub fn finish(mut self) -> SimulationOutcome {
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

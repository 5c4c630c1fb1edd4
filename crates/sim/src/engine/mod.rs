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

use std::collections::HashMap;

use crate::network::Place;
use crate::outcome::Outcome;
use crate::wheel::Event;
use frames::NONE;
use kind::Kind;
use port::Port;
pub use run::{Run, RunError};
use state::Engine;

/// Cycles between two looks for channels that wait in a circle, and for queues that never end.
const LOOK: u64 = 2048;

/// Frames on their way or in queues, for each channel of the network, at which a run ends: what it takes in memory
/// is bounded.
const MOST_FRAMES: usize = 4096;

/// Messages by which a queue may grow and count as not growing.
const FEW: u64 = 8;

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

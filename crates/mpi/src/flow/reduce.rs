//! Flows that combine what they receive with bytes of their own: reduce-scatter, and behind it allgather, which make an
//! allreduce (Patarasuk and Yuan 2009).

use std::cmp::Ordering;
use std::sync::Arc;

use super::Flow;
use super::pass::Ring;
use crate::area::{Aligned, Area};

/// An operation of a reduction, on whole elements of one type.
pub trait Combine: Send + Sync {
    /// Bytes of an element.
    fn unit(&self) -> usize;

    /// Sets `into` to `incoming` op `into`. Both have the same number of elements.
    fn combine(&self, incoming: Area, into: Area);
}

/// A flow of rounds. In each it receives chunk after chunk and combines each with the own contribution to it, then
/// receives chunks that are results already. It sends one chunk of its own first, and then every chunk that it has
/// received but the last.
pub struct ReduceFlow {
    combine: Arc<dyn Combine>,
    steps: Vec<Step>,
    sends: Vec<Sent>,
    /// Received bytes that are still to be combined.
    inbox: Aligned,
    waiting: usize,
    /// The step under work, and how much of it is done.
    step: usize,
    done: usize,
    /// What is being sent, and how much of it has gone.
    from: usize,
    gone: usize,
    /// Results that are only sent on.
    passing: Ring,
}

/// A chunk of a reduction: where it starts, and what becomes of those that are received.
#[derive(Debug)]
pub struct Round {
    /// The chunk that is sent first.
    pub first: Area,
    /// The chunks in the order in which they are received.
    pub steps: Vec<Step>,
}

/// What becomes of a chunk that is received.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// The own contribution; `None` if the chunk is a result.
    pub own: Option<Area>,
    /// Where the result goes; `None` if it is only sent on. Then the chunk has at most [`PASSING`] bytes, or one element.
    pub result: Option<Area>,
    /// Bytes of the chunk.
    pub len: usize,
}

/// What is sent: a chunk of the own buffer, or the result of a step.
#[derive(Debug, Clone, Copy)]
enum Sent {
    Own(Area),
    Result(usize),
}

/// Most bytes of a chunk that is only sent on. All members send one before they have room for the next one.
pub const PASSING: usize = 64 << 10;

impl ReduceFlow {
    /// Does these rounds one after the other.
    #[must_use]
    pub fn new(combine: Arc<dyn Combine>, rounds: Vec<Round>) -> Self {
        let unit = combine.unit();
        let room = (PASSING / unit).max(1) * unit;
        let (mut steps, mut sends) = (Vec::new(), Vec::new());
        for round in rounds {
            sends.push(Sent::Own(round.first));
            let last = round.steps.len().saturating_sub(1);
            sends.extend((0..last).map(|step| Sent::Result(steps.len() + step)));
            steps.extend(round.steps);
        }
        let passes = steps.iter().any(|step: &Step| step.result.is_none());
        let passing = Ring::new(if passes { 2 * room } else { 0 });
        let inbox = Aligned::new(room);
        let (waiting, step, done, from, gone) = (0, 0, 0, 0, 0);
        let mut flow =
            Self { combine, steps, sends, inbox, waiting, step, done, from, gone, passing };
        flow.skip();
        flow
    }

    fn len(&self, sent: Sent) -> usize {
        match sent {
            Sent::Own(area) => area.len(),
            Sent::Result(step) => self.steps[step].len,
        }
    }

    /// Goes past what is done.
    fn skip(&mut self) {
        while self.steps.get(self.step).is_some_and(|step| step.len == self.done) {
            (self.step, self.done) = (self.step + 1, 0);
        }
        while self.sends.get(self.from).is_some_and(|sent| self.len(*sent) == self.gone) {
            (self.from, self.gone) = (self.from + 1, 0);
        }
    }

    /// Combines what waits, as far as there is room for the results.
    fn work(&mut self) {
        let unit = self.combine.unit();
        while let Some(Step { own: Some(own), result, len }) = self.steps.get(self.step).copied() {
            let whole = (self.waiting / unit * unit).min(len - self.done);
            let into = match result {
                Some(result) => result.part(self.done..self.done + whole),
                None => {
                    let space = self.passing.space(whole);
                    space.part(0..space.len() / unit * unit)
                }
            };
            let bytes = into.len();
            if bytes == 0 {
                return;
            }
            let own = own.part(self.done..self.done + bytes);
            if own.start() != into.start() {
                into.copy_from(own);
            }
            let inbox = self.inbox.area();
            self.combine.combine(inbox.part(0..bytes), into);
            inbox.part(0..self.waiting - bytes).copy_from(inbox.part(bytes..self.waiting));
            self.waiting -= bytes;
            if result.is_none() {
                self.passing.filled(bytes);
            }
            self.done += bytes;
            self.skip();
        }
    }
}

impl Flow for ReduceFlow {
    fn to_receive(&self) -> u64 {
        self.steps.iter().map(|step| step.len as u64).sum()
    }

    fn to_send(&self) -> u64 {
        self.sends.iter().map(|sent| self.len(*sent) as u64).sum()
    }

    fn space(&mut self) -> &mut [u8] {
        let Some(step) = self.steps.get_mut(self.step) else { return &mut [] };
        if let (None, Some(result)) = (step.own, &mut step.result) {
            return &mut result.bytes_mut()[self.done..];
        }
        let end = self.inbox.len().min(step.len - self.done);
        let start = self.waiting;
        &mut self.inbox.bytes_mut()[start..end]
    }

    fn received(&mut self, bytes: usize) {
        if self.steps[self.step].own.is_none() {
            self.done += bytes;
            self.skip();
        } else {
            self.waiting += bytes;
            self.work();
        }
    }

    fn ready(&self) -> &[u8] {
        let step = match self.sends.get(self.from) {
            None => return &[],
            Some(Sent::Own(area)) => return &area.bytes()[self.gone..],
            Some(Sent::Result(step)) => *step,
        };
        let Step { result, len, .. } = &self.steps[step];
        let Some(result) = result else {
            let passing = self.passing.ready();
            return &passing[..passing.len().min(len - self.gone)];
        };
        let there = match step.cmp(&self.step) {
            Ordering::Less => *len,
            Ordering::Equal => self.done,
            Ordering::Greater => 0,
        };
        &result.bytes()[self.gone..there.max(self.gone)]
    }

    fn sent(&mut self, bytes: usize) {
        let passed = match self.sends[self.from] {
            Sent::Own(_) => false,
            Sent::Result(step) => self.steps[step].result.is_none(),
        };
        self.gone += bytes;
        self.skip();
        if passed {
            self.passing.taken(bytes);
            self.work();
        }
    }
}

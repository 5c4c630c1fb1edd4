//! The simulator's queue of future events, ordered by time: a wheel of time slots for near events,
//! a heap for later ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cycles that the wheel spans; a power of two.
const SPAN: u64 = 4096;

/// An event: its kind in the upper bits, an index below. See [`Event::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event(u32);

impl Event {
    const INDEX_BITS: u32 = 28;
    /// Indices are below this.
    pub const MOST: usize = 1 << Self::INDEX_BITS;

    pub fn new(kind: u8, index: u32) -> Self {
        debug_assert!((index as usize) < Self::MOST && kind < 16);
        Self(u32::from(kind) << Self::INDEX_BITS | index)
    }

    pub fn kind(self) -> u8 {
        (self.0 >> Self::INDEX_BITS) as u8
    }

    pub fn index(self) -> usize {
        self.0 as usize & (Self::MOST - 1)
    }
}

/// All future events.
#[derive(Debug)]
pub(crate) struct Wheel {
    now: u64,
    slots: Vec<Vec<Event>>,
    /// Bit set of the slots that hold events.
    full: Vec<u64>,
    far: BinaryHeap<Reverse<(u64, Event)>>,
}

impl Wheel {
    pub fn new() -> Self {
        Self {
            now: 0,
            slots: vec![Vec::new(); SPAN as usize],
            full: vec![0; SPAN as usize / 64],
            far: BinaryHeap::new(),
        }
    }

    /// Adds an event; those of one cycle that are less than [`SPAN`] ahead keep their order.
    #[inline]
    pub fn push(&mut self, at: u64, event: Event) {
        debug_assert!(at >= self.now);
        if at - self.now < SPAN {
            let slot = (at % SPAN) as usize;
            self.slots[slot].push(event);
            self.full[slot / 64] |= 1 << (slot % 64);
        } else {
            self.far.push(Reverse((at, event)));
        }
    }

    /// Advances to the next time before `end` that has events; returns both. Return the vector by
    /// [`Self::recycle`].
    pub fn next(&mut self, end: u64) -> Option<(u64, Vec<Event>)> {
        let near = self.nearest();
        let far = self.far.peek().map(|Reverse((at, _))| *at);
        let at = near.into_iter().chain(far).min().filter(|at| *at < end)?;
        self.now = at;
        while let Some(Reverse((when, event))) = self.far.peek().copied() {
            if when - at >= SPAN {
                break;
            }
            self.far.pop();
            self.push(when, event);
        }
        let slot = (at % SPAN) as usize;
        self.full[slot / 64] &= !(1 << (slot % 64));
        Some((at, std::mem::take(&mut self.slots[slot])))
    }

    /// Takes back the vector that [`Self::next`] returned, to reuse its memory.
    pub fn recycle(&mut self, at: u64, mut events: Vec<Event>) {
        let slot = (at % SPAN) as usize;
        if self.slots[slot].is_empty() {
            events.clear();
            self.slots[slot] = events;
        }
    }

    /// Returns the next time in the wheel that has events, from the present one on.
    fn nearest(&self) -> Option<u64> {
        let start = (self.now % SPAN) as usize;
        let words = self.full.len();
        for step in 0..=words {
            let word = (start / 64 + step) % words;
            let mut bits = self.full[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                return Some(self.now + (slot + SPAN - start as u64) % SPAN);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_their_cycles(
            gaps in prop::collection::vec((0u64..20_000, 0u64..300), 1..200),
        ) {
            let mut wheel = Wheel::new();
            let mut wanted = Vec::new();
            let mut came = Vec::new();
            let mut now = 0;
            for (index, (ahead, step)) in (0u32..).zip(gaps) {
                wheel.push(now + ahead, Event::new((index % 16) as u8, index));
                wanted.push((now + ahead, index as usize));
                if let Some((at, events)) = wheel.next(now + step) {
                    now = at;
                    came.extend(events.iter().map(|event| (at, event.index())));
                    wheel.recycle(at, events);
                }
            }
            while let Some((at, events)) = wheel.next(u64::MAX) {
                came.extend(events.iter().map(|event| (at, event.index())));
                wheel.recycle(at, events);
            }
            prop_assert!(came.is_sorted_by_key(|(at, _)| *at));
            came.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(came, wanted);
        }
    }
}

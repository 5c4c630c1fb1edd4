//! What a pair knows of those whose own paths its detours cross. TCP on a detour fills whatever wire it is given, so a
//! full wire alone does not say that others want more of it. That is seen while the wire is not full, or is tried: a
//! detour gives way, and either others take more or they do not.

use std::cmp::Ordering;

/// A wire that carries so much of what it can is full.
const FULL: f64 = 0.93;
/// Less than this part of a wire is not worth a detour, and no reason to give way.
pub(crate) const LITTLE: f64 = 0.05;
/// Others who have this part of a wire have much of it: most flows there are theirs.
pub(crate) const MUCH: f64 = 0.25;
/// For so long a detour from which others have taken back what they want gets no more of that wire.
const HELD_MS: u64 = 30_000;
/// So many looks until others have taken what they want: what they say is as old as a look, and TCP needs a while.
const LOOKS: u32 = 3;
/// Others have less than they want, or more, if it differs by this part of it,
const DIFFERS: f64 = 0.1;
/// and by this part of the wire: rates are those of samples.
const NOISE: f64 = 0.03;

/// What a wire carries, in bytes a second, without the pair that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// What it can carry.
    pub capacity: f64,
    /// What comes first: own paths of other pairs, and what is no traffic of the plan.
    pub first: f64,
    /// Detours of other pairs.
    pub detours: f64,
}

/// What is known, by place of a wire among those of the pair.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Others(Vec<Wire>);

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Wire {
    /// What others take of the wire where they could have more, in bytes a second.
    want: Option<f64>,
    /// Did they have less than that in the last look, or more? Once it may be a difference in time, or a part of a second.
    had: Option<Ordering>,
    /// Do they have what they want?
    content: bool,
    /// What they had when a detour gave way, and the looks since then.
    trial: Option<(f64, u32)>,
    held_until: u64,
}

impl Others {
    /// Looks at each wire. `own`: what the pair itself sends over it.
    pub fn look(&mut self, loads: &[Load], own: &[f64], now_ms: u64) {
        self.0.resize(loads.len(), Wire::default());
        for ((wire, load), own) in self.0.iter_mut().zip(loads).zip(own) {
            wire.look(load, load.is_full_with(*own), now_ms);
        }
    }

    /// Do others have what they want of a wire, or is that being tried?
    pub fn are_content(&self, wire: usize) -> bool {
        self.0[wire].content
    }

    /// Have others taken a wire back a short while ago, or may they be doing so?
    pub fn hold(&self, wire: usize, now_ms: u64) -> bool {
        self.0[wire].trial.is_some() || now_ms < self.0[wire].held_until
    }

    /// Until when, in milliseconds, some wire is left to others; 0: none is.
    pub fn held_until(&self) -> u64 {
        self.0.iter().map(|wire| wire.held_until).max().unwrap_or_default()
    }

    /// A detour that crosses a wire gives way.
    pub fn try_wire(&mut self, wire: usize, load: &Load) {
        self.0[wire].trial = Some((load.first, 0));
    }
}

impl Wire {
    fn look(&mut self, load: &Load, is_full: bool, now_ms: u64) {
        if let Some((first, looks)) = &mut self.trial {
            *looks += 1;
            let took_more = load.compared(*first) == Ordering::Greater;
            let over = took_more || *looks >= LOOKS;
            if took_more {
                self.held_until = now_ms + HELD_MS;
            }
            if over {
                self.want = (!took_more).then_some(load.first);
                self.trial = None;
            }
        }
        if !is_full {
            self.want = Some(load.first);
        }
        let has = self.want.map_or(Ordering::Greater, |want| load.compared(want));
        let at_once = has == Ordering::Greater && load.first >= MUCH * load.capacity;
        let asks = has != Ordering::Equal && (at_once || self.had == Some(has));
        self.content = self.trial.is_some() || !asks;
        self.had = Some(has);
    }
}

impl Load {
    /// Is the wire full with what the pair itself sends over it?
    pub(crate) fn is_full_with(&self, own: f64) -> bool {
        self.first + self.detours + own >= FULL * self.capacity
    }

    /// What others have, beside what they had.
    fn compared(&self, had: f64) -> Ordering {
        let differs = (DIFFERS * had).max(NOISE * self.capacity);
        match self.first - had {
            more if more > differs => Ordering::Greater,
            less if less < -differs => Ordering::Less,
            _ => Ordering::Equal,
        }
    }
}

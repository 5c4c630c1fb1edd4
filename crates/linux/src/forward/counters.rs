//! What the engine counts: written by its threads, read by anybody at any time. Numbers of one
//! reading may be some frames apart; none is ever lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_frame::forward::{Reason, Table};
use tresse_frame::mpls::FIRST_LABEL;

/// All counters of an engine since its start. Octets are those of whole frames without FCS, and
/// without a tag that the kernel took off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// One for each port, in the engine's order.
    pub ports: Vec<PortCounters>,
    /// One for each label that was ever used, ascending.
    pub labels: Vec<LabelCounters>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    /// The interface.
    pub interface: String,
    /// Does it receive and send? False since it went down or away, until it was taken again.
    pub running: bool,
    /// Labelled frames that came in by it.
    pub received: Count,
    /// Frames that left by it.
    pub sent: Count,
    /// Frames that had to wait in its in-transit buffer.
    pub spilled: Count,
    /// Octets in its in-transit buffer now.
    pub waiting_octets: u64,
    /// The most octets that were in it.
    pub waiting_octets_most: u64,
    /// Frames that were not forwarded: those that came in by it, and, for full buffers and refused
    /// sending, those that should have left by it. Reasons without any are left out.
    pub dropped: Vec<(Reason, u64)>,
}

/// One label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelCounters {
    /// The label.
    pub label: Label,
    /// Frames of which it was popped; not all of them found room to leave.
    pub popped: Count,
}

/// Frames and their octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Frames.
    pub frames: u64,
    /// Octets.
    pub octets: u64,
}

impl PortCounters {
    /// How many frames were not forwarded for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.dropped.iter().find(|(r, _)| *r == reason).map_or(0, |(_, count)| *count)
    }
}

/// Frames and octets that threads count up.
#[derive(Debug, Default)]
pub(super) struct Counting {
    frames: AtomicU64,
    octets: AtomicU64,
}

impl Counting {
    pub fn add(&self, frames: u64, octets: u64) {
        self.frames.fetch_add(frames, Relaxed);
        self.octets.fetch_add(octets, Relaxed);
    }

    fn now(&self) -> Count {
        Count { frames: self.frames.load(Relaxed), octets: self.octets.load(Relaxed) }
    }
}

/// A port's counters and its shared state.
#[derive(Debug, Default)]
pub(super) struct PortCounting {
    pub running: AtomicBool,
    pub received: Counting,
    pub sent: Counting,
    pub spilled: Counting,
    pub waiting: AtomicU64,
    pub waiting_most: AtomicU64,
    dropped: [AtomicU64; Reason::ALL.len()],
}

impl PortCounting {
    pub fn drop(&self, reason: Reason, frames: u64) {
        self.dropped[reason.index()].fetch_add(frames, Relaxed);
    }

    pub fn now(&self, interface: &str) -> PortCounters {
        let counts = Reason::ALL.iter().zip(&self.dropped).map(|(r, c)| (*r, c.load(Relaxed)));
        PortCounters {
            interface: interface.to_owned(),
            running: self.running.load(Relaxed),
            received: self.received.now(),
            sent: self.sent.now(),
            spilled: self.spilled.now(),
            waiting_octets: self.waiting.load(Relaxed),
            waiting_octets_most: self.waiting_most.load(Relaxed),
            dropped: counts.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

const BLOCK: usize = 256;

/// Counters of labels, in blocks that all tables share: a greater table has more of them, and what a
/// thread still counts by the table before is not lost.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels(Vec<Arc<[Counting; BLOCK]>>);

impl Labels {
    /// These counters and as many more as `table` needs.
    pub fn grown_for(&self, table: &Table) -> Self {
        let mut blocks = self.0.clone();
        let labels = (table.label_end().0 - FIRST_LABEL.0) as usize;
        while blocks.len() * BLOCK < labels {
            blocks.push(Arc::new(std::array::from_fn(|_| Counting::default())));
        }
        Self(blocks)
    }

    pub fn add(&self, label: Label, octets: u64) {
        let place = label.0.saturating_sub(FIRST_LABEL.0) as usize;
        if let Some(block) = self.0.get(place / BLOCK) {
            block[place % BLOCK].add(1, octets);
        }
    }

    pub fn now(&self) -> Vec<LabelCounters> {
        (FIRST_LABEL.0..)
            .map(Label)
            .zip(self.0.iter().flat_map(|block| block.iter()))
            .map(|(label, counting)| LabelCounters { label, popped: counting.now() })
            .filter(|counters| counters.popped.frames > 0)
            .collect()
    }
}

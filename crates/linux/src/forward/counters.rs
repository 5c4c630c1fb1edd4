//! Counters of the forwarding engine: its threads write them, anybody may read them at any time.
//! The counters of one reading may differ by the few frames that were under way; no frame is ever
//! missed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use tresse_base::id::Label;
use tresse_frame::forward::{DropReason, ForwardingTable};
use tresse_frame::mpls::FIRST_LABEL;

/// All counters of a forwarding engine since its start. Bytes are those of whole frames, without
/// FCS and without a VLAN tag that the kernel removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForwardingCounters {
    /// One entry per port, in the engine's order.
    pub ports: Vec<PortCounters>,
    /// One entry per label that was ever used, ascending.
    pub labels: Vec<LabelCounters>,
}

/// Counters of one port (a NIC) of a forwarding engine since its start: frames received, sent,
/// buffered and dropped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    /// The interface.
    pub interface: String,
    /// Does the port receive and send? False after its interface went down or away, until the port
    /// is opened again.
    pub running: bool,
    /// Labelled frames received.
    pub received: Count,
    /// Frames sent.
    pub sent: Count,
    /// Frames that had to wait in the port's transit buffer.
    pub spilled: Count,
    /// Bytes in the transit buffer now.
    pub waiting_bytes: u64,
    /// The most bytes that were ever in the transit buffer.
    pub waiting_bytes_most: u64,
    /// Frames dropped, by reason; reasons without drops are left out. A frame counts for the port
    /// where it arrived; with a full buffer or a failed send, for the port that it should have left
    /// by.
    pub dropped: Vec<(DropReason, u64)>,
}

/// Counters of the frames that arrived with one MPLS label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelCounters {
    /// The label.
    pub label: Label,
    /// Frames from which the label was popped. Some of them may have been dropped afterwards.
    pub popped: Count,
}

/// A number of frames, and the sum of their lengths in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Count {
    /// Frames.
    pub frames: u64,
    /// Bytes.
    pub bytes: u64,
}

impl PortCounters {
    /// The number of frames dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped.iter().find(|(r, _)| *r == reason).map_or(0, |(_, count)| *count)
    }
}

/// Frames and bytes, counted by several threads.
#[derive(Debug, Default)]
pub(super) struct Counting {
    frames: AtomicU64,
    bytes: AtomicU64,
}

impl Counting {
    pub fn add(&self, frames: u64, bytes: u64) {
        self.frames.fetch_add(frames, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    fn now(&self) -> Count {
        Count { frames: self.frames.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }
}

/// The counters of one port as threads share them.
#[derive(Debug, Default)]
pub(super) struct PortCounting {
    pub running: AtomicBool,
    /// Must the kernel cut long frames before the NIC takes them? It does so only where queueing disciplines are not
    /// bypassed.
    pub cuts: AtomicBool,
    pub received: Counting,
    pub sent: Counting,
    pub spilled: Counting,
    pub waiting: AtomicU64,
    pub waiting_most: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
}

impl PortCounting {
    pub fn drop(&self, reason: DropReason, frames: u64) {
        self.dropped[reason.index()].fetch_add(frames, Relaxed);
    }

    pub fn now(&self, interface: &str) -> PortCounters {
        let counts = DropReason::ALL.iter().zip(&self.dropped).map(|(r, c)| (*r, c.load(Relaxed)));
        PortCounters {
            interface: interface.to_owned(),
            running: self.running.load(Relaxed),
            received: self.received.now(),
            sent: self.sent.now(),
            spilled: self.spilled.now(),
            waiting_bytes: self.waiting.load(Relaxed),
            waiting_bytes_most: self.waiting_most.load(Relaxed),
            dropped: counts.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

const BLOCK: usize = 256;

/// Counters of labels, in blocks that successive tables share: a larger table adds blocks, so that
/// counts which a thread still makes for the old table are kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels(Vec<Arc<[Counting; BLOCK]>>);

impl Labels {
    /// Returns these counters with as many more as `table` needs.
    pub fn grown_for(&self, table: &ForwardingTable) -> Self {
        let mut blocks = self.0.clone();
        let labels = (table.label_end().0 - FIRST_LABEL.0) as usize;
        while blocks.len() * BLOCK < labels {
            blocks.push(Arc::new(std::array::from_fn(|_| Counting::default())));
        }
        Self(blocks)
    }

    pub fn add(&self, label: Label, bytes: u64) {
        let place = label.0.saturating_sub(FIRST_LABEL.0) as usize;
        if let Some(block) = self.0.get(place / BLOCK) {
            block[place % BLOCK].add(1, bytes);
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

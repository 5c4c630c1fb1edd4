//! Simulates the transit buffers of nodes that drop frames: the rule of Tresse's daemon
//! ([`TransitMemory::Drop`](crate::model::TransitMemory::Drop)).
//!
//! The rule applies to the frames that still wait when the outputs have chosen: first those that
//! have waited for too long are dropped, then the oldest frames of the channel for which most waits,
//! until the rest of the node fits.

use std::cmp::Reverse;

use tresse_base::id::NodeId;

use super::frames::NONE;
use super::kind::EventKind;
use super::state::Engine;
use crate::network::ChannelEnd;

impl Engine<'_> {
    /// Handles a frame that has come into the queue of a channel, if that may be too long or the
    /// frame may wait for too long. The queues of switches have no bound.
    #[cold]
    pub(super) fn begins_to_wait(&mut self, out: u32) {
        let Some(node) = self.node_before(out) else { return };
        self.time_first(out);
        if self.ports[out as usize].queued > self.bound.share {
            // From now on the node of every frame that comes is looked at.
            self.bound.share = 0;
            if self.flits_waiting(node) > self.bound.flits {
                self.to_bound.push(out);
            }
        }
    }

    /// Handles the time at which a queue's first frame may have waited for too long.
    #[cold]
    pub(super) fn late(&mut self, out: u32) {
        self.ports[out as usize].timed = false;
        self.to_bound.push(out);
    }

    /// Drops what has waited for too long, and what does not fit.
    #[cold]
    pub(super) fn drop_waiting(&mut self, now: u64) {
        let mut channels = std::mem::take(&mut self.to_bound);
        for out in &channels {
            while self.limit_of_first(*out).is_some_and(|limit| limit <= now) {
                self.drop_first(*out);
                self.outcome.transit_waited_too_long += 1;
            }
            self.time_first(*out);
        }
        for out in channels.drain(..) {
            let Some(node) = self.node_before(out) else { continue };
            while self.flits_waiting(node) > self.bound.flits {
                // Of several that hold as much, the first.
                let held = |out: &u32| (self.ports[*out as usize].queued, Reverse(*out));
                let fullest = self.run.network.out_of(node).max_by_key(held);
                self.drop_first(fullest.expect("frames wait for a channel of the node"));
                self.outcome.transit_buffer_full += 1;
            }
        }
        self.to_bound = channels;
    }

    /// Schedules the time at which a queue's first frame has waited for too long, if no such event
    /// is due already.
    fn time_first(&mut self, out: u32) {
        if self.ports[out as usize].timed {
            return;
        }
        if let Some(limit) = self.limit_of_first(out).filter(|limit| *limit < self.end) {
            self.ports[out as usize].timed = true;
            self.at(limit, EventKind::Late, out);
        }
    }

    /// Returns the last tick at which a queue's first frame may leave.
    fn limit_of_first(&self, out: u32) -> Option<u64> {
        let first = self.ports[out as usize].queue[0];
        (first != NONE).then(|| self.frames.of(first).arrives.saturating_add(self.bound.wait))
    }

    fn drop_first(&mut self, out: u32) {
        let frame = self.take_queued(out);
        let of = self.frames.of(frame);
        self.left_memory(of.via, of.flits);
        self.frames.remove(frame);
    }

    /// Returns the flits of forwarded frames that wait at a node.
    fn flits_waiting(&self, node: NodeId) -> u64 {
        self.run.network.out_of(node).map(|out| self.ports[out as usize].queued).sum()
    }

    /// Returns the node that sends by a channel, unless a switch does.
    fn node_before(&self, out: u32) -> Option<NodeId> {
        match self.run.network.channels[out as usize].from {
            ChannelEnd::Node(node) => Some(NodeId(node)),
            ChannelEnd::Switch(_) => None,
        }
    }
}

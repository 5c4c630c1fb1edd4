//! The bound of the memory of simulated transit nodes that drop frames, and when it need not be
//! looked at.
//!
//! A node holds too much only if one of its channels holds more than an equal share of the bound, so
//! nothing is counted until a queue has reached that share.

use tresse_base::id::NodeId;

use crate::model::{SimulationModel, TransitMemory};
use crate::network::SimulatedNetwork;

/// The bound of the memory of each node for forwarded frames, and when it need not be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct TransitBound {
    /// Flits that may wait at a node.
    pub flits: u64,
    /// Ticks that a frame may wait.
    pub wait: u64,
    /// While no channel has had a longer queue than this, no node holds too much. In flits.
    pub share: u64,
    /// A frame that comes at this tick or later cannot wait for too long before the end.
    pub timed_until: u64,
}

impl TransitBound {
    pub fn new(model: &SimulationModel, network: &SimulatedNetwork, ticks: u64, end: u64) -> Self {
        let TransitMemory::Drop { flits, cycles } = model.transit_memory else {
            return Self { flits: u64::MAX, wait: u64::MAX, share: u64::MAX, timed_until: 0 };
        };
        let exits = |node| network.out_of(NodeId(node)).count() as u64;
        let most = (0..network.nodes as u32).map(exits).max().unwrap_or(0);
        let wait = cycles.max(1).saturating_mul(ticks);
        Self { flits, wait, share: flits / most.max(1), timed_until: end.saturating_sub(wait) }
    }
}

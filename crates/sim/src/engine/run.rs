//! The request for a simulation, and why it may be refused.

use crate::model::Model;
use crate::network::Network;
use crate::route::Routes;
use crate::traffic::Traffic;

/// A run: what is simulated, for how long.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Switches, links and nodes.
    pub model: &'a Model,
    /// Places and channels.
    pub network: &'a Network,
    /// Paths.
    pub routes: &'a Routes<'a>,
    /// What is sent.
    pub traffic: &'a Traffic,
    /// Flits, headers included, that each node generates per cycle.
    pub load: f64,
    /// All cycles.
    pub cycles: u64,
    /// Of those the first, which are not measured.
    pub warm_up: u64,
    /// Of all that is random.
    pub seed: u64,
}

/// Why a run is not possible.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Stop and go between channels of different rates.
    #[error(
        "channels are of different rates: buffers that stop the sender are simulated for one rate alone; take \
         unlimited buffers, or buffers that drop"
    )]
    Rates,
    /// Stop and go with queues at the outputs.
    #[error("queues at the outputs hold everything: they go with unlimited buffers alone")]
    OutputQueues,
    /// Rates whose quotients are no small numbers.
    #[error("the rates of the links have no common measure below a thousandth of a node's rate")]
    Measure,
    /// A load that nothing sends.
    #[error("a load of {load} is not above 0 and at most 1000")]
    Load {
        /// The load.
        load: f64,
    },
    /// Longer than a run can be.
    #[error("{cycles} cycles are too many: 1099511627776 at most")]
    Cycles {
        /// All.
        cycles: u64,
    },
    /// Nothing to send over.
    #[error("a node has no NIC with a cable")]
    NoChannel,
    /// More than is measured.
    #[error("of {cycles} cycles the first {warm_up} are not measured: none is left")]
    WarmUp {
        /// All.
        cycles: u64,
        /// Not measured.
        warm_up: u64,
    },
}

//! The input of a simulation, and the reasons why it may be refused.

use crate::model::SimulationModel;
use crate::network::SimulatedNetwork;
use crate::route::SimulatedPaths;
use crate::traffic::OfferedTraffic;

/// The input of one simulation: the network, its routes and traffic, the model of switches and
/// links, the load, the number of cycles and the seed.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Properties of switches, links and nodes.
    pub model: &'a SimulationModel,
    /// The network's places and channels.
    pub network: &'a SimulatedNetwork,
    /// Paths of all pairs.
    pub routes: &'a SimulatedPaths<'a>,
    /// The traffic.
    pub traffic: &'a OfferedTraffic,
    /// Flits, headers included, that each node generates per cycle.
    pub load: f64,
    /// Cycles to simulate.
    pub cycles: u64,
    /// Cycles at the beginning that are not measured.
    pub warm_up: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Why a simulation cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimulationError {
    /// Stop and go is not simulated between channels of different rates.
    #[error(
        "links have different rates, and buffers that stop the sender are simulated for one rate \
         only: use unlimited buffers, or buffers that drop"
    )]
    Rates,
    /// Queues at the outputs need unlimited buffers.
    #[error("output queues need unlimited buffers: use input queues, or unlimited buffers")]
    OutputQueues,
    /// A transit node that drops frames must have them whole.
    #[error("transit nodes that drop frames must store whole frames")]
    TransitMemory,
    /// The rates have no small common measure.
    #[error(
        "the rates of the links have no common divisor above a thousandth of a node's rate: use \
         rates that are multiples of one another"
    )]
    Measure,
    /// The load is out of range.
    #[error("load {load}: expected more than 0 and at most 1000")]
    Load {
        /// The load.
        load: f64,
    },
    /// Too many cycles.
    #[error("{cycles} cycles: expected at most 1099511627776")]
    Cycles {
        /// Cycles of the run.
        cycles: u64,
    },
    /// A node has no channel.
    #[error("a node has no NIC with a cable")]
    NoChannel,
    /// The warm-up leaves no cycle to measure.
    #[error(
        "a warm-up of {warm_up} cycles leaves none of the {cycles} cycles to measure: simulate more"
    )]
    WarmUp {
        /// Cycles of the run.
        cycles: u64,
        /// Cycles of the warm-up.
        warm_up: u64,
    },
}

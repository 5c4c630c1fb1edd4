//! The complete state of a simulation between two cycles.

use super::flow::Flow;
use super::frames::Frames;
use super::port::Port;
use super::run::Run;
use super::source::Source;
use super::transit_bound::TransitBound;
use crate::outcome::SimulationOutcome;
use crate::wheel::Wheel;

/// All state of a simulation between two cycles.
pub(crate) struct Engine<'a> {
    pub run: Run<'a>,
    pub ticks: u64,
    pub link: u64,
    pub routing: u64,
    pub end: u64,
    pub warm_up: u64,
    pub mean: f64,
    /// Buffers stop their senders.
    pub flows: bool,
    pub ports: Vec<Port>,
    pub flow: Vec<Flow>,
    /// The channels into each switch, by switch: those of one stand together.
    pub inputs: Vec<u32>,
    pub request_bits: Vec<u64>,
    pub sources: Vec<Option<Source>>,
    pub frames: Frames,
    pub wheel: Wheel,
    /// Frames that may leave memory, and that arrive at buffers which may be full, in this cycle.
    pub leaving_memory: Vec<u32>,
    pub arriving_heads: Vec<u32>,
    pub choosing: Vec<u32>,
    pub bound: TransitBound,
    /// Channels out of nodes for which frames may have waited for too long, or too many.
    pub to_bound: Vec<u32>,
    pub changed: Vec<u32>,
    pub touched: Vec<u32>,
    pub busy: Vec<u64>,
    pub outcome: SimulationOutcome,
    #[cfg(test)]
    pub delivered: Vec<(u32, u32, u64, u64)>,
}

//! Builds the simulator's model of switches, links and buffers from the arguments of `tresse
//! simulate`.

use tresse_sim::model::{Buffers, SimulationModel};
use tresse_sim::network::SimulatedNetwork;

use super::arguments::{Paper, Queues, Simulate, Switching};
use crate::fail::{Code, Failure};

/// Each buffer holds one frame, and a full buffer drops frames. The paper does not tell; of all possibilities this one
/// comes nearest to its figures.
const PAPER_BUFFERS: &str = "drop:134";

impl Simulate {
    /// The model for a network.
    pub fn model_of(&self, network: &SimulatedNetwork) -> Result<SimulationModel, Failure> {
        let mut model = match self.model {
            // One cycle sends 4 bytes at the rate of a node's link.
            Switching::Ethernet => SimulationModel::ethernet(32e9 / network.base_rate().0 as f64),
            Switching::Wormhole => SimulationModel::wormhole(),
        };
        if self.queues == Some(Queues::Output) {
            model.queues = tresse_sim::model::Queues::Output;
        }
        if let Some(buffer) = self.transit_buffer {
            model.transit_memory = buffer.memory(&model);
        }
        let Some(text) = self.buffers_text() else { return Ok(model) };
        let wrong = || {
            let words = "unlimited, lossless:FLITS or drop:FLITS (of at most 16777216)";
            Failure::new(Code::Usage, format!("--buffers: `{text}` is none of {words}"))
        };
        let (kind, flits) = match text.split_once(':') {
            Some((kind, flits)) => {
                let flits = flits.parse::<u32>().ok().filter(|flits| *flits <= 1 << 24);
                (kind, flits.ok_or_else(wrong)?)
            }
            None => (text, 0),
        };
        model.buffers = match (kind, text.contains(':')) {
            ("unlimited", false) => Buffers::Unlimited,
            ("lossless", true) => Buffers::lossless(flits, model.link).ok_or_else(|| {
                let least = 2 * model.link + 1;
                let words = "are needed for what is on its way when the sender is stopped";
                Failure::new(Code::Usage, format!("--buffers: at least {least} flits {words}"))
            })?,
            ("drop", true) => Buffers::Drop { flits },
            _ => return Err(wrong()),
        };
        Ok(model)
    }

    /// The text of `--buffers`, or what the paper needs; `None` leaves it to the model.
    pub fn buffers_text(&self) -> Option<&str> {
        let paper = (self.paper == Some(Paper::Vlan)).then_some(PAPER_BUFFERS);
        self.buffers.as_deref().or(paper)
    }
}

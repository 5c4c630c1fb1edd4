//! Switches, links and nodes, as the arguments say.

use tresse_sim::model::{Buffers, Model};
use tresse_sim::network::Network;

use super::arguments::{Paper, Queues, Simulate, Switching};
use crate::fail::{Code, Failure};

/// A frame in each buffer, and what finds it full is lost: of all that the paper may have meant this comes nearest to
/// what it publishes.
const PAPER_BUFFERS: &str = "drop:134";

impl Simulate {
    /// Switches, links and nodes.
    pub fn model_of(&self, network: &Network) -> Result<Model, Failure> {
        let mut model = match self.model {
            // 4 octets at the rate of a node's link.
            Switching::Ethernet => Model::ethernet(32e9 / network.base_rate().0 as f64),
            Switching::Wormhole => Model::wormhole(),
        };
        if self.queues == Some(Queues::Output) {
            model.queues = tresse_sim::model::Queues::Output;
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
                let words = "hold what is on its way when the sender is stopped";
                Failure::new(Code::Usage, format!("--buffers: {least} flits at least {words}"))
            })?,
            ("drop", true) => Buffers::Drop { flits },
            _ => return Err(wrong()),
        };
        Ok(model)
    }

    /// What buffers hold, where it is not left to the model.
    pub fn buffers_text(&self) -> Option<&str> {
        let paper = (self.paper == Some(Paper::Vlan)).then_some(PAPER_BUFFERS);
        self.buffers.as_deref().or(paper)
    }
}

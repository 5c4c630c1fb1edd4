//! Creates the simulator's state before the first cycle.

use super::flow::Flow;
use super::frames::{Frames, NONE};
use super::port::{Far, Port};
use super::requests::Requests;
use super::run::{Run, SimulationError};
use super::state::Engine;
use super::transit_bound::TransitBound;
use crate::model::{Buffers, Queues, TransitMemory};
use crate::network::{ChannelEnd, SimulatedNetwork};
use crate::outcome::{Latencies, SimulationOutcome};
use crate::wheel::Wheel;

impl<'a> Engine<'a> {
    pub fn new(run: &Run<'a>) -> Result<Self, SimulationError> {
        let (model, network) = (run.model, run.network);
        if run.warm_up >= run.cycles {
            return Err(SimulationError::WarmUp { cycles: run.cycles, warm_up: run.warm_up });
        }
        if !(run.load > 0.0 && run.load <= 1000.0) {
            return Err(SimulationError::Load { load: run.load });
        }
        if run.cycles > 1 << 40 {
            return Err(SimulationError::Cycles { cycles: run.cycles });
        }
        let (ticks, periods) = periods(network)?;
        let flows = matches!(model.buffers, Buffers::StopAndGo { .. });
        if flows && periods.iter().any(|period| *period != periods[0]) {
            return Err(SimulationError::Rates);
        }
        if model.queues == Queues::Output && model.buffers != Buffers::Unlimited {
            return Err(SimulationError::OutputQueues);
        }
        if matches!(model.transit_memory, TransitMemory::Drop { .. }) && !model.transit_stores {
            return Err(SimulationError::TransitMemory);
        }
        let channels = network.channels.len();
        let (inputs, first_input, input) = inputs(network);
        let mut words = 0;
        let ports: Vec<Port> = (0..channels)
            .map(|at| {
                let channel = &network.channels[at];
                let requests = match channel.from {
                    ChannelEnd::Switch(s) if model.queues == Queues::Input => {
                        let s = s as usize;
                        Requests::new(&mut words, first_input[s], first_input[s + 1])
                    }
                    _ => Requests::none(),
                };
                Port {
                    period: periods[at],
                    far: match (channel.to, model.queues) {
                        (ChannelEnd::Node(_), _) => Far::Node,
                        (ChannelEnd::Switch(_), Queues::Input) => Far::Buffer,
                        (ChannelEnd::Switch(_), Queues::Output) => Far::Sorter,
                    },
                    frame: NONE,
                    feed: NONE,
                    chooses: false,
                    requests,
                    queue: [NONE; 2],
                    own_last: false,
                    timed: false,
                    input: input[at],
                    buffer: [NONE; 2],
                    leaving: false,
                    from: NONE,
                    flits: 0,
                    queued: 0,
                    held: 0,
                    peak: 0,
                    transit: 0,
                }
            })
            .collect();
        let flits: u32 = model.frames(run.traffic.bytes).sum();
        let mut engine = Self {
            run: *run,
            ticks,
            link: u64::from(model.link.max(1)) * ticks,
            routing: u64::from(model.routing) * ticks,
            end: run.cycles * ticks,
            warm_up: run.warm_up * ticks,
            mean: f64::from(flits) / run.load * ticks as f64,
            flows,
            flow: if flows { vec![Flow::default(); channels] } else { Vec::new() },
            ports,
            inputs,
            request_bits: vec![0; words as usize],
            sources: Vec::new(),
            frames: Frames::default(),
            wheel: Wheel::new(),
            leaving_memory: Vec::new(),
            arriving_heads: Vec::new(),
            bound: TransitBound::new(model, network, ticks, run.cycles * ticks),
            to_bound: Vec::new(),
            choosing: Vec::new(),
            changed: Vec::new(),
            touched: Vec::new(),
            busy: vec![0; channels],
            outcome: SimulationOutcome {
                cycles: run.cycles - run.warm_up,
                generated: 0,
                received: 0,
                backlog: [0; 2],
                growth: 0.0,
                overfull: false,
                latencies: Latencies::default(),
                ticks,
                sent: Vec::new(),
                peaks: Vec::new(),
                dropped: 0,
                without_path: 0,
                in_transit: [0; 2],
                transit_peak: 0,
                spilled: 0,
                transit_buffer_full: 0,
                transit_waited_too_long: 0,
                deadlock: None,
                flit_hops: 0,
            },
            #[cfg(test)]
            delivered: Vec::new(),
        };
        engine.begin();
        Ok(engine)
    }
}

/// Returns the ticks of a cycle, and the ticks of a flit on each channel. A cycle is the time of a
/// flit at the network's base rate.
pub(super) fn periods(network: &SimulatedNetwork) -> Result<(u64, Vec<u32>), SimulationError> {
    if !network.channels.iter().any(|c| matches!(c.from, ChannelEnd::Node(_))) {
        return Err(SimulationError::NoChannel);
    }
    let base = network.base_rate().0;
    let measure = (1..=1000u64).find(|ticks| {
        network
            .channels
            .iter()
            .all(|c| (base * ticks).is_multiple_of(c.rate.0) && base * ticks >= c.rate.0)
    });
    let ticks = measure.ok_or(SimulationError::Measure)?;
    let periods = network.channels.iter().map(|c| (base * ticks / c.rate.0) as u32).collect();
    Ok((ticks, periods))
}

/// Returns the channels into each switch, the position where each switch's begin, and each
/// channel's number at its switch.
pub(super) fn inputs(network: &SimulatedNetwork) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; network.switches + 1];
    for channel in &network.channels {
        if let ChannelEnd::Switch(s) = channel.to {
            first[s as usize + 1] += 1;
        }
    }
    for s in 0..network.switches {
        first[s + 1] += first[s];
    }
    let mut next = first.clone();
    let mut inputs = vec![NONE; first[network.switches] as usize];
    let mut number = vec![NONE; network.channels.len()];
    for (at, channel) in (0u32..).zip(&network.channels) {
        if let ChannelEnd::Switch(s) = channel.to {
            let place = &mut next[s as usize];
            inputs[*place as usize] = at;
            number[at as usize] = *place - first[s as usize];
            *place += 1;
        }
    }
    (inputs, first, number)
}

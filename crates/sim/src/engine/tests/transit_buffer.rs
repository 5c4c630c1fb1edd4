//! Which frames a transit node drops, in a ring of nodes: n1 forwards between n0 and n2.

use std::collections::BTreeSet;

use super::plan;
use crate::engine::{Engine, Run, SimulationError};
use crate::model::{SimulationModel, TransitMemory};
use crate::network::SimulatedNetwork;
use crate::outcome::SimulationOutcome;
use crate::route::SimulatedPaths;
use crate::sweep::Point;
use crate::traffic::{Arrivals, OfferedTraffic, Traced, TrafficPattern};

/// Flits of a frame, header included.
const FRAME: u64 = 134;
/// Cycles between two frames of a stream that fills a link.
const FULL: u64 = FRAME;

/// A stream of frames: from and to which node, how many, the cycle of the first, and the cycles
/// between two.
type Stream = (u32, u32, u64, u64, u64);

/// The frames of a stream that arrived.
#[derive(Debug, Default)]
struct Arrived {
    /// The cycles in which they were generated.
    born: Vec<u64>,
    /// The most cycles from there to their arrival.
    slowest: u64,
}

/// Returns what arrived of each stream, and the outcome.
fn run(memory: TransitMemory, streams: &[Stream]) -> (Vec<Arrived>, SimulationOutcome) {
    with_run(&model(memory), streams, |run| {
        let mut engine = Engine::new(run).unwrap();
        engine.simulate();
        let mut delivered = std::mem::take(&mut engine.delivered);
        delivered.sort_unstable();
        let of = |(from, to, ..): &Stream| {
            let mut arrived = Arrived::default();
            for (_, _, born, when) in delivered.iter().filter(|of| (of.0, of.1) == (*from, *to)) {
                arrived.born.push(*born);
                arrived.slowest = arrived.slowest.max(when - born);
            }
            arrived
        };
        (streams.iter().map(of).collect(), engine.finish())
    })
}

fn model(transit_memory: TransitMemory) -> SimulationModel {
    SimulationModel { transit_memory, link: 1, ..SimulationModel::ethernet(32.0) }
}

fn with_run<T>(model: &SimulationModel, streams: &[Stream], act: impl FnOnce(&Run<'_>) -> T) -> T {
    let plan = plan("[fabric]\ntopology = { kind = \"ring\", nodes = 5 }\n");
    let network = SimulatedNetwork::new(&plan);
    let routes = SimulatedPaths::new(&plan, &network, BTreeSet::new());
    let mut messages = vec![Vec::new(); 5];
    for (from, dst, count, first, step) in streams.iter().copied() {
        let of = |n| Traced { at: first + n * step, dst, bytes: 512 };
        messages[from as usize].extend((0..count).map(of));
    }
    messages.iter_mut().for_each(|messages| messages.sort_unstable());
    let traffic = OfferedTraffic {
        pattern: TrafficPattern::Trace(messages.into()),
        arrivals: Arrivals::Even,
        bytes: 512,
    };
    act(&Run {
        model,
        network: &network,
        routes: &routes,
        traffic: &traffic,
        load: 1.0,
        cycles: 100_000,
        warm_up: 1,
        seed: 1,
    })
}

fn sent((_, _, count, first, step): Stream) -> Vec<u64> {
    (0..count).map(|n| first + n * step).collect()
}

/// Room for this many frames, and no limit of time.
fn room(frames: u64) -> TransitMemory {
    TransitMemory::Drop { flits: frames * FRAME, cycles: u64::MAX }
}

/// n1 sends as much to n2 as n0 does through it: every second frame of n0's has to wait.
const BUSY: [Stream; 2] = [(0, 2, 40, 100, FULL), (1, 2, 80, 100, FULL)];
/// At the same time n1 forwards to n0, and sends a little there itself, so that some frames wait.
const OTHER: [Stream; 2] = [(2, 0, 20, 100, 2 * FULL), (1, 0, 10, 100, 4 * FULL)];

#[test]
fn the_fullest_exit_loses_its_oldest_frames_and_no_other_exit_loses_any() {
    let streams = [BUSY, OTHER].concat();
    let (arrived, outcome) = run(room(6), &streams);
    for at in 1..4 {
        assert_eq!(arrived[at].born, sent(streams[at]), "{:?}", streams[at]);
    }
    let dropped = outcome.transit_buffer_full;
    assert!((10..20).contains(&dropped), "{dropped}");
    assert_eq!((arrived[0].born.len() as u64, outcome.lost()), (40 - dropped, dropped));
    // The first did not wait, and the last ones pushed out older frames.
    let (born, all) = (&arrived[0].born, sent(BUSY[0]));
    assert_eq!((born[0], &born[born.len() - 5..]), (all[0], &all[35..]));
    assert_eq!((outcome.transit_waited_too_long, outcome.spilled, outcome.dropped), (0, 0, 0));
}

#[test]
fn a_burst_that_fits_is_only_late() {
    // While 40 frames of n0's come, 20 leave; the last one to come finds the others there.
    let (arrived, outcome) = run(room(20), &BUSY);
    assert_eq!((&arrived[0].born, outcome.lost()), (&sent(BUSY[0]), 0));
    let (_, outcome) = run(room(19), &BUSY);
    assert_eq!((outcome.transit_buffer_full, outcome.lost()), (1, 1));
}

#[test]
fn a_frame_that_leaves_at_once_needs_no_memory() {
    let (arrived, outcome) = run(TransitMemory::Drop { flits: 0, cycles: 1 }, &BUSY[..1]);
    assert_eq!((&arrived[0].born, outcome.lost()), (&sent(BUSY[0]), 0));
}

#[test]
fn a_frame_waits_no_longer_than_it_may() {
    let wait = 5 * FULL;
    let memory = TransitMemory::Drop { flits: u64::MAX, cycles: wait };
    let (arrived, outcome) = run(memory, &[BUSY, OTHER].concat());
    let dropped = outcome.transit_waited_too_long;
    assert!((10..20).contains(&dropped), "{dropped}");
    assert_eq!((arrived[0].born.len() as u64, outcome.lost()), (40 - dropped, dropped));
    // Two links, the whole frame twice, and the wait.
    let most = 2 * (1 + FRAME) + wait;
    assert!((most - FULL..=most).contains(&arrived[0].slowest), "{}", arrived[0].slowest);
}

#[test]
fn a_load_of_which_transit_nodes_drop_frames_is_not_carried() {
    for (frames, carried) in [(20, true), (19, false)] {
        let point = with_run(&model(room(frames)), &BUSY, |run| Point::run(run).unwrap());
        assert_eq!(point.carried, carried, "{:?}", point.outcome);
    }
}

#[test]
fn nodes_that_drop_store_whole_frames() {
    let model = SimulationModel { transit_stores: false, ..SimulationModel::ethernet(32.0) };
    let refused = with_run(&model, &BUSY, |run| run.simulate());
    assert_eq!(refused, Err(SimulationError::TransitMemory));
}

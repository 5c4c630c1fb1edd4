//! Closed forms, and the same results as one flit at a time.

mod reference;
mod transit_buffer;

use std::collections::BTreeSet;

use proptest::prelude::*;
use reference::Reference;
use tresse_plan::Plan;

use super::{Engine, Run};
use crate::model::{Buffers, Queues, SimulationModel, TransitMemory};
use crate::network::SimulatedNetwork;
use crate::route::SimulatedPaths;
use crate::traffic::{Arrivals, OfferedTraffic, Traced, TrafficPattern};

fn plan(text: &str) -> Plan {
    Plan::build(tresse_cluster::parse(text, "x").unwrap()).unwrap()
}

/// From the first node of a line of switches to the last: one frame, over that many switches.
fn alone(model: &SimulationModel, switches: u32, bytes: u32) -> u64 {
    let text = format!("[fabric]\ntopology = {{ kind = \"mesh\", dims = [{switches}] }}\n");
    let plan = plan(&text);
    let network = SimulatedNetwork::new(&plan);
    let routes = SimulatedPaths::new(&plan, &network, BTreeSet::new());
    let mut messages = vec![Vec::new(); switches as usize];
    messages[0].push(Traced { at: 100, dst: switches - 1, bytes });
    let traffic = OfferedTraffic {
        pattern: TrafficPattern::Trace(messages.into()),
        arrivals: Arrivals::Even,
        bytes,
    };
    let run = Run {
        model,
        network: &network,
        routes: &routes,
        traffic: &traffic,
        load: 1.0,
        cycles: 100_000,
        warm_up: 1,
        seed: 1,
    };
    let outcome = run.simulate().unwrap();
    assert_eq!(outcome.latencies.count(), 1);
    outcome.latencies.mean().unwrap() as u64
}

#[test]
fn one_frame_alone_takes_what_the_closed_form_says() {
    for switches in 2..9 {
        let k = u64::from(switches);
        // A link more than switches; each switch's routing; then the flits.
        assert_eq!(
            alone(&SimulationModel::ethernet(32.0), switches, 512),
            (k + 1) * 5 + k * 10 + 134
        );
        for bytes in [32, 512, 1024] {
            let flits = u64::from(bytes);
            assert_eq!(
                alone(&SimulationModel::wormhole(), switches, bytes),
                (k + 1) * 8 + k * 24 + flits
            );
        }
        // Two frames, one behind the other.
        assert_eq!(
            alone(&SimulationModel::ethernet(32.0), switches, 1024),
            (k + 1) * 5 + k * 10 + 268
        );
    }
}

fn fabric() -> impl Strategy<Value = String> {
    let kinds = prop_oneof![
        Just("kind = \"mesh\", dims = [3, 2]".to_owned()),
        Just("kind = \"torus\", dims = [4]".to_owned()),
        Just("kind = \"torus\", dims = [3, 3]".to_owned()),
        Just("kind = \"mesh\", dims = [2, 2], nodes_per_switch = 2".to_owned()),
        Just("kind = \"torus\", dims = [3, 2], nics_per_node = 2".to_owned()),
        Just("kind = \"ring\", nodes = 5".to_owned()),
        Just("kind = \"pmesh\", dims = [3, 2]".to_owned()),
        (1u32..9).prop_map(|seed| format!(
            "kind = \"irregular\", switches = 6, nodes_per_switch = 1, ports = 4, seed = {seed}"
        )),
    ];
    (kinds, prop_oneof![Just(""), Just("transit"), Just("minimal")], prop::bool::ANY).prop_map(
        |(kind, strategy, fast)| {
            let routed = kind.contains("ring") || kind.contains("pmesh");
            let strategy = match strategy {
                _ if routed => String::new(),
                "" => String::new(),
                _ if kind.contains("nics_per_node") => String::new(),
                name => format!("[routing]\nstrategy = \"{name}\"\n"),
            };
            let nic = |node, rate| {
                format!("[[node]]\nname = \"n{node}\"\nnics = [{{ rate = \"{rate}\" }}]\n")
            };
            let rates =
                if fast && !routed { nic(0, "2.5G") + &nic(2, "10G") } else { String::new() };
            format!("[fabric]\ntopology = {{ {kind} }}\n{strategy}{rates}")
        },
    )
}

prop_compose! {
    fn models()(
        flits in 1u32..40,
        bytes in 1u32..40,
        routing in 0u32..12,
        link in 1u32..6,
        transit in 0u32..9,
        (pipelined, transit_stores, output) in (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        buffers in prop_oneof![
            Just(Buffers::Unlimited),
            (40u32..120).prop_map(|flits| Buffers::Drop { flits }),
            (1u32..60, 1u32..60).prop_map(|(stop, go)| Buffers::StopAndGo { stop, go: go.min(stop) }),
        ],
        transit_memory in prop_oneof![
            1 => Just(TransitMemory::Spill { flits: 1000 }),
            2 => (0u64..100, 0u64..100)
                .prop_map(|(flits, cycles)| TransitMemory::Drop { flits, cycles }),
            1 => (0u64..100).prop_map(|flits| TransitMemory::Drop { flits, cycles: u64::MAX }),
        ],
    ) -> (SimulationModel, u32) {
        let queues = match (output, buffers) {
            (true, Buffers::Unlimited) => Queues::Output,
            _ => Queues::Input,
        };
        let transit_stores = transit_stores || transit_memory != TransitMemory::Spill { flits: 1000 };
        let model = SimulationModel {
            flit_bytes: 1,
            cycle_ns: 1.0,
            header_flits: 2,
            most_payload_flits: flits,
            routing,
            pipelined,
            link,
            transit,
            transit_memory,
            transit_stores,
            queues,
            buffers,
        };
        (model, bytes)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_frame_arrives_when_single_flits_do(
        text in fabric(),
        (model, bytes) in models(),
        load in 0.05f64..1.2,
        seed: u64,
    ) {
        let plan = plan(&text);
        let network = SimulatedNetwork::new(&plan);
        let routes = SimulatedPaths::new(&plan, &network, BTreeSet::new());
        let traffic = OfferedTraffic { pattern: TrafficPattern::Uniform, arrivals: Arrivals::Poisson, bytes };
        let run = Run {
            model: &model,
            network: &network,
            routes: &routes,
            traffic: &traffic,
            load,
            cycles: 1500,
            warm_up: 100,
            seed,
        };
        let Ok(mut engine) = Engine::new(&run) else { return Ok(()) };
        engine.simulate();
        let mut delivered = std::mem::take(&mut engine.delivered);
        delivered.sort_unstable();
        let outcome = engine.finish();
        let transit_dropped = [outcome.transit_buffer_full, outcome.transit_waited_too_long];
        let mut reference = Reference::new(&run);
        reference.simulate();
        let differs = delivered.iter().zip(&reference.delivered).position(|(a, b)| a != b);
        prop_assert_eq!(
            (differs, delivered.len(), outcome.dropped, transit_dropped),
            (None, reference.delivered.len(), reference.dropped, reference.transit_dropped),
            "{:?} {:?}",
            delivered.iter().zip(&reference.delivered).find(|(a, b)| a != b),
            model
        );
        if matches!(model.buffers, Buffers::StopAndGo { .. }) {
            prop_assert_eq!(outcome.peaks, reference.peaks);
        }
    }
}

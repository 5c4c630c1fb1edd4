//! Pairs on a network of fluids. Each has flows, which weights divide among its paths as kernels do, by a hash; wires are
//! divided fairly among flows, as by TCP.

use proptest::prelude::*;
use tresse_base::random::Random;

use super::others::{Load, Others};
use super::patience::Memory;
use super::shares::{Decision, Pair, PathUse, Reason, own, planned};

const WIRE: f64 = 100.0;
/// More than any wire carries, by a single flow.
const ALL: f64 = 1e6;

/// A pair: its paths, own ones first; what it wants to send; its weights.
#[derive(Debug, Clone)]
struct Sender {
    paths: Vec<(bool, Vec<usize>)>,
    demand: f64,
    /// Where each flow stands among all weights, from 0 to 1.
    flows: Vec<f64>,
    weights: Vec<u8>,
    sent: Vec<f64>,
    memory: Memory,
}

impl Sender {
    fn new(demand: f64, own: &[usize], detours: &[&[usize]]) -> Self {
        Self::hashed(demand, own, detours, 64, 1)
    }

    /// With so many flows.
    fn hashed(demand: f64, own: &[usize], detours: &[&[usize]], flows: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let flows = (0..flows).map(|_| random.fraction()).collect();
        let detours = detours.iter().map(|wires| (false, wires.to_vec()));
        let paths: Vec<_> = [(true, own.to_vec())].into_iter().chain(detours).collect();
        let mut weights = vec![0; paths.len()];
        weights[0] = 255;
        Self {
            memory: Memory::default(),
            sent: vec![0.0; paths.len()],
            paths,
            demand,
            flows,
            weights,
        }
    }

    fn total(&self) -> f64 {
        self.sent.iter().sum()
    }
}

struct Network {
    now: usize,
    wires: usize,
    senders: Vec<Sender>,
}

impl Network {
    /// Max-min fair rates of flows in proportion to weights; a pair sends no more than it wants by each path.
    fn flow(&mut self) {
        let mut left = vec![WIRE; self.wires];
        let mut open: Vec<(usize, usize, f64, f64)> = Vec::new();
        for (at, sender) in self.senders.iter_mut().enumerate() {
            let sum: f64 = sender.weights.iter().map(|weight| f64::from(*weight)).sum();
            sender.sent.fill(0.0);
            let mut from = 0.0;
            for (path, weight) in sender.weights.iter().enumerate() {
                let to = from + f64::from(*weight) / sum;
                let flows = sender.flows.iter().filter(|flow| (from..to).contains(*flow)).count();
                let flows = flows as f64;
                if flows > 0.0 {
                    open.push((at, path, flows, sender.demand * flows / sender.flows.len() as f64));
                }
                from = to;
            }
        }
        while !open.is_empty() {
            let on = |wire: usize, open: &[(usize, usize, f64, f64)], senders: &[Sender]| -> f64 {
                let crosses = |(at, path, ..): &&(usize, usize, f64, f64)| {
                    senders[*at].paths[*path].1.contains(&wire)
                };
                open.iter().filter(crosses).map(|flow| flow.2).sum()
            };
            let wires = (0..self.wires).filter_map(|wire| {
                let sum = on(wire, &open, &self.senders);
                (sum > 0.0).then(|| left[wire] / sum)
            });
            let by_demand =
                open.iter().map(|flow| (flow.3 - self.senders[flow.0].sent[flow.1]) / flow.2);
            let step = wires.chain(by_demand).fold(f64::INFINITY, f64::min).max(0.0);
            for (at, path, share, _) in &open {
                self.senders[*at].sent[*path] += step * share;
                for wire in &self.senders[*at].paths[*path].1 {
                    left[*wire] -= step * share;
                }
            }
            let senders = &self.senders;
            open.retain(|(at, path, _, most)| {
                let done = senders[*at].sent[*path] >= most - 1e-6;
                !done && senders[*at].paths[*path].1.iter().all(|wire| left[*wire] > 1e-6)
            });
        }
    }

    fn loads(&self, without: usize) -> Vec<Load> {
        let mut loads = vec![Load { capacity: WIRE, ..Load::default() }; self.wires];
        let others = self.senders.iter().enumerate().filter(|(at, _)| *at != without);
        for (_, sender) in others {
            for ((own, wires), sent) in sender.paths.iter().zip(&sender.sent) {
                for wire in wires {
                    if *own {
                        loads[*wire].first += sent;
                    } else {
                        loads[*wire].detours += sent;
                    }
                }
            }
        }
        loads
    }

    /// A second: all see the same, and those decide that have rested for two, some in this second, some in the next.
    fn second(&mut self) -> u32 {
        self.flow();
        let mut changes = 0;
        let seen: Vec<Vec<Load>> = (0..self.senders.len()).map(|at| self.loads(at)).collect();
        for (at, sender) in self.senders.iter_mut().enumerate() {
            if (at + self.now) % 2 == 1 {
                continue;
            }
            let paths = sender.paths.iter().zip(&sender.sent);
            let paths: Vec<PathUse> = paths
                .map(|((own, wires), sent)| PathUse {
                    planned: u32::from(*own),
                    usable: true,
                    sent: *sent,
                    wires: wires.clone(),
                })
                .collect();
            let now = self.now as u64 * 1000;
            let weights = sender.memory.reconsider(&paths, &seen[at], &sender.weights, now);
            if let Some(weights) = weights {
                sender.weights = weights;
                changes += 1;
            }
        }
        self.now += 1;
        changes
    }

    fn run(&mut self, seconds: usize) -> u32 {
        (0..seconds).map(|_| self.second()).last().unwrap_or_default()
    }
}

#[test]
fn one_pair_takes_what_idles_in_five_seconds_and_then_rests() {
    for detours in [1, 2, 3] {
        let wires: Vec<[usize; 2]> = (0..detours).map(|at| [1 + 2 * at, 2 + 2 * at]).collect();
        let wires: Vec<&[usize]> = wires.iter().map(|wires| &wires[..]).collect();
        let sender = Sender::new(ALL, &[0], &wires);
        let mut network = Network { now: 0, wires: 1 + 2 * detours, senders: vec![sender] };
        network.run(5);
        let got = network.senders[0].total();
        assert!(got >= 0.95 * WIRE * (1 + detours) as f64, "{got} by {detours}");
        assert_eq!(network.run(10), 0, "no more changes");
    }
}

#[test]
fn what_fits_stays_on_its_own_path() {
    let mut network =
        Network { now: 0, wires: 3, senders: vec![Sender::new(85.0, &[0], &[&[1, 2]])] };
    network.run(10);
    assert_eq!(network.senders[0].weights, [255, 0]);
    network.senders[0].demand = 150.0;
    network.run(10);
    assert!(network.senders[0].total() > 149.0, "{:?}", network.senders[0]);
    network.senders[0].demand = 60.0;
    network.run(6);
    assert_eq!(network.senders[0].weights, [255, 0], "given back");
}

#[test]
fn a_detour_gives_way_in_five_seconds() {
    let mut left = Vec::new();
    for (seed, flows) in (0..30).flat_map(|seed| [8, 16, 64].map(|flows| (seed, flows))) {
        let sender = Sender::hashed(ALL, &[0], &[&[1, 2]], flows, seed);
        let guest = Sender::hashed(0.0, &[1], &[], 16, seed);
        let mut network = Network { now: 0, wires: 3, senders: vec![sender, guest] };
        let got = |network: &Network, at: usize| network.senders[at].total();
        network.run(8);
        assert!(got(&network, 0) > 190.0);
        network.senders[1].demand = ALL;
        network.run(5);
        network.flow();
        assert!(got(&network, 1) >= 0.95 * WIRE, "{seed}: {:?}", network.senders);
        network.run(20);
        assert!(got(&network, 1) >= 0.95 * WIRE, "{seed}, later: {:?}", network.senders);
        network.senders[1].demand = 40.0;
        network.run(45);
        assert!(got(&network, 1) >= 36.0, "{seed}: {:?}", network.senders);
        left.push(got(&network, 0));
        network.senders[1].demand = 0.0;
        network.run(8);
        assert!(got(&network, 0) >= 190.0, "{seed}: {:?}", network.senders);
    }
    // What others leave is used, as far as there are flows to divide.
    let mean = left.iter().sum::<f64>() / left.len() as f64;
    assert!(mean >= 125.0, "{mean}: {left:?}");
}

#[test]
fn who_has_what_he_wants_is_in_nobodys_way() {
    for (seed, little) in (0..10).flat_map(|seed| [6.0, 13.0, 20.0].map(|little| (seed, little))) {
        let sender = Sender::hashed(ALL, &[0], &[&[1, 2], &[3, 4]], 16, seed);
        let guests = [2, 4].map(|wire| Sender::hashed(0.0, &[wire], &[], 4, seed));
        let senders = [vec![sender], guests.to_vec()].concat();
        let mut network = Network { now: 0, wires: 5, senders };
        network.run(10);
        assert!(network.senders[0].total() > 290.0);
        network.senders[1..].iter_mut().for_each(|guest| guest.demand = little);
        network.run(10);
        let mut changes = 0;
        for _ in 0..60 {
            changes += network.second();
            let got: Vec<f64> = network.senders.iter().map(Sender::total).collect();
            assert!(got[0] >= 0.9 * (300.0 - 2.0 * little), "{seed}, {little}: {got:?}");
            assert!(got[1..].iter().all(|got| *got >= 0.9 * little), "{seed}, {little}: {got:?}");
        }
        assert!(changes <= 3, "{seed}, {little}: {changes}");
    }
}

/// Whatever weights a pair has come to, it keeps a detour that nobody else wants when it loses another.
#[test]
fn a_detour_that_stays_keeps_flows() {
    for seed in 0..200 {
        let sender = Sender::hashed(ALL, &[0], &[&[1, 2], &[3, 4]], 16, seed);
        let guests = [2, 4, 3].map(|wire| Sender::hashed(0.0, &[wire], &[], 16, seed));
        let senders = [vec![sender], guests.to_vec()].concat();
        let mut network = Network { now: 0, wires: 5, senders };
        network.run(10);
        let demand = |network: &mut Network, demands: [f64; 3]| {
            let guests = network.senders[1..].iter_mut().zip(demands);
            guests.for_each(|(guest, demand)| guest.demand = demand);
        };
        demand(&mut network, [13.0, 13.0, 0.0]);
        network.run(12);
        demand(&mut network, [0.0, 0.0, ALL]);
        network.run(4);
        for second in 4..12 {
            network.second();
            network.flow();
            let got = network.senders[0].total();
            assert!(got >= 1.9 * WIRE, "{seed}, {second} s: {:?}", network.senders[0]);
        }
    }
}

#[test]
fn many_pairs_share_a_detour() {
    let pairs = (0..16).map(|_| Sender::new(ALL, &[0], &[&[1, 2]])).collect();
    let mut network = Network { now: 0, wires: 3, senders: pairs };
    network.run(10);
    let got: f64 = network.senders.iter().map(Sender::total).sum();
    assert!(got >= 1.9 * WIRE, "{got}");
    let least = network.senders.iter().map(Sender::total).fold(f64::INFINITY, f64::min);
    assert!(least >= 0.6 * got / 16.0, "{least} of {got}");
    assert_eq!(network.run(10), 0, "no more changes");
}

#[test]
fn few_flows_are_left_in_peace() {
    let mut by_four = 0.0;
    for (seed, flows) in (0..20).flat_map(|seed| (1..=4).map(move |flows| (seed, flows))) {
        let sender = Sender::hashed(ALL, &[0], &[&[1, 2], &[3, 4]], flows, seed);
        let mut network = Network { now: 0, wires: 5, senders: vec![sender] };
        let mut changes = 0;
        let mut sent = 0.0;
        for now in 0..300 {
            changes += network.second();
            sent += if now < 100 { 0.0 } else { network.senders[0].total() / 200.0 };
        }
        assert!(changes <= 24, "{seed}, {flows}: {changes} changes in five minutes");
        assert!(sent >= 0.98 * WIRE, "{seed}, {flows}: {sent}");
        if flows == 4 {
            by_four += sent / 20.0;
        }
    }
    // Most hashes part four flows.
    assert!(by_four >= 1.7 * WIRE, "{by_four}");
}

#[test]
fn after_a_single_flow_many_have_detours_at_once() {
    let sender = Sender::hashed(ALL, &[0], &[&[1, 2]], 1, 7);
    let mut network = Network { now: 0, wires: 3, senders: vec![sender] };
    network.run(100);
    network.senders[0].demand = 0.0;
    network.run(4);
    network.senders[0].flows = Sender::new(ALL, &[0], &[]).flows;
    network.senders[0].demand = ALL;
    network.run(6);
    assert!(network.senders[0].total() >= 1.7 * WIRE, "{:?}", network.senders[0]);
}

#[test]
fn a_full_nic_is_no_reason_for_a_detour() {
    // Wire 3 is the sender's only NIC.
    let mut network =
        Network { now: 0, wires: 4, senders: vec![Sender::new(ALL, &[3, 0], &[&[3, 1, 2]])] };
    network.run(10);
    assert_eq!(network.senders[0].weights, [255, 0]);
}

/// What a pair decides that has seen nothing before.
fn decide(paths: &[PathUse], loads: &[Load], now: &[u8]) -> Option<Decision> {
    let (own, mut others) = (own(paths, loads.len()), Others::default());
    others.look(loads, &own, 0);
    Pair::of(paths, loads, &own, now, &others, 0).decide()
}

#[test]
fn a_broken_detour_is_not_used() {
    let path = |planned, usable, sent, wires: &[usize]| PathUse {
        planned,
        usable,
        sent,
        wires: wires.into(),
    };
    let loads = vec![Load { capacity: WIRE, ..Load::default() }; 3];
    let paths = [path(1, true, 100.0, &[0]), path(0, false, 0.0, &[1, 2])];
    assert_eq!(decide(&paths, &loads, &[255, 0]), None);
    let paths = [path(1, true, 100.0, &[0]), path(0, false, 50.0, &[1, 2])];
    let decided = decide(&paths, &loads, &[128, 127]).unwrap();
    assert_eq!(decided.weights, planned(&paths));
}

#[test]
fn weights_change_at_most_once_in_two_seconds() {
    let path = |planned, sent, wires: &[usize]| PathUse {
        planned,
        usable: true,
        sent,
        wires: wires.into(),
    };
    let loads = vec![Load { capacity: WIRE, ..Load::default() }; 3];
    let full = [path(1, 100.0, &[0]), path(0, 0.0, &[1, 2])];
    let used = [path(1, 100.0, &[0]), path(0, 100.0, &[1, 2])];
    let idle = [path(1, 10.0, &[0]), path(0, 10.0, &[1, 2])];
    let mut memory = Memory::default();
    let both = memory.reconsider(&full, &loads, &[255, 0], 5000).unwrap();
    assert!(both[1] > 0, "{both:?}");
    for soon in [5000, 6000, 6999] {
        assert_eq!(memory.reconsider(&idle, &loads, &both, soon), None);
    }
    // Where flows have moved, TCP sends less for a while.
    assert_eq!(memory.reconsider(&idle, &loads, &both, 7000), None);
    assert_eq!(memory.reconsider(&used, &loads, &both, 8000), None);
    assert_eq!(memory.reconsider(&idle, &loads, &both, 9000), None);
    assert_eq!(memory.reconsider(&idle, &loads, &both, 10_999), None);
    let alone = memory.reconsider(&idle, &loads, &both, 11_000);
    assert_eq!(alone, Some(vec![255, 0]));
    assert_eq!(memory.reason(), Reason::Alone);
    assert_eq!(memory.rests_ms(12_000), 1000);
    assert_eq!(memory.reconsider(&full, &loads, &[255, 0], 12_999), None);
    assert!(memory.reconsider(&full, &loads, &[255, 0], 13_000).is_some());
}

/// All pairs of four switches that are cabled each to each, with detours by the two others.
fn clique(demand: impl Fn(usize) -> f64) -> Network {
    let wire = |a: usize, b: usize| a * 4 + b;
    let pairs = (0..4).flat_map(|a| (0..4).filter(move |b| *b != a).map(move |b| (a, b)));
    let sender = |(at, (a, b)): (usize, (usize, usize))| {
        let thirds = (0..4).filter(|c| *c != a && *c != b);
        let thirds: Vec<[usize; 2]> = thirds.map(|c| [wire(a, c), wire(c, b)]).collect();
        let thirds: Vec<&[usize]> = thirds.iter().map(|wires| &wires[..]).collect();
        Sender::new(demand(at), &[wire(a, b)], &thirds)
    };
    Network { now: 0, wires: 16, senders: pairs.enumerate().map(sender).collect() }
}

#[test]
fn traffic_that_changes_every_second_is_no_worse_off() {
    for seed in 0..10 {
        let sum = |adapts: bool| {
            let mut network = clique(|_| 0.0);
            let mut random = Random::new(seed);
            let mut sum = 0.0;
            for _ in 0..300 {
                for sender in &mut network.senders {
                    sender.demand = [0.0, 0.0, 40.0, ALL][random.below(4)];
                }
                if adapts {
                    network.second();
                } else {
                    network.flow();
                }
                sum += network.senders.iter().map(Sender::total).sum::<f64>();
            }
            sum
        };
        let (adaptive, planned) = (sum(true), sum(false));
        assert!(adaptive >= planned, "{seed}: {adaptive} of {planned}");
    }
}

proptest! {
    /// Whatever pairs send over a clique of four switches: in the end detours change little, own traffic has at least what
    /// it would have without them but a tenth, and all together more.
    #[test]
    fn nobody_is_worse_off(demands in proptest::collection::vec(0..4_u8, 12)) {
        let mut network = clique(|at| [0.0, 40.0, 90.0, ALL][usize::from(demands[at])]);
        network.flow();
        let alone: Vec<f64> = network.senders.iter().map(Sender::total).collect();
        network.run(40);
        let mut sums = vec![0.0; alone.len()];
        for _ in 0..10 {
            network.second();
            for (sum, sender) in sums.iter_mut().zip(&network.senders) {
                *sum += sender.total() / 10.0;
            }
        }
        for (got, alone) in sums.iter().zip(&alone) {
            prop_assert!(*got >= 0.9 * alone - 1.0, "{got} of {alone}: {:?}", network.senders);
        }
    }
}

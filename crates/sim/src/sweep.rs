//! Simulates a fabric at increasing offered loads to find its saturation, the largest load that it
//! carries.
//!
//! The first round tries tenths of the channel-load bound ([`bound`]), and loads beyond it. Then
//! the gap between the largest load that the fabric carried and the smallest that it did not is
//! divided by four, until it is one per cent wide. A load counts as carried if nothing is lost and
//! no queue grows by more than a fiftieth of what its channel could have sent in that time, or by a
//! few messages: a smaller growth cannot be distinguished from chance.

use crate::engine::{Run, SimulationError};
use crate::network::{ChannelEnd, SimulatedNetwork};
use crate::outcome::SimulationOutcome;
use crate::route::SimulatedPaths;
use crate::traffic::OfferedTraffic;

/// Loads of the first round, as parts of the bound.
const FIRST: [f64; 13] = [0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.6];
/// Final ratio of the smallest load that is not carried to the largest that is.
const WIDTH: f64 = 1.01;
/// A queue that grows by more than this part of what its channel could send counts as growing.
const GROWTH: f64 = 0.02;
/// Number of parts into which a gap is divided.
const PARTS: i32 = 4;

/// The result of simulating one offered load: the accepted load, whether the load was carried, and
/// all measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Offered load in flits per cycle and node.
    pub offered: f64,
    /// Accepted load, in the same unit.
    pub accepted: f64,
    /// Whether the load was carried: no loss, no growing queue.
    pub carried: bool,
    /// All measurements.
    pub outcome: SimulationOutcome,
}

impl Point {
    /// Simulates one load.
    ///
    /// # Errors
    /// As [`SimulationError`] lists.
    pub fn run(run: &Run<'_>) -> Result<Self, SimulationError> {
        let outcome = run.simulate()?;
        let grows = outcome.growth > GROWTH || outcome.overfull;
        Ok(Self {
            offered: run.load,
            accepted: accepted(&outcome, run.network),
            carried: !grows && outcome.lost() == 0 && outcome.deadlock.is_none(),
            outcome,
        })
    }

    /// Adds a run of the same load with another seed. A load is carried if all runs carried it.
    pub fn add(&mut self, other: &Self, network: &SimulatedNetwork) {
        self.outcome.add(&other.outcome);
        self.accepted = accepted(&self.outcome, network);
        self.carried &= other.carried;
    }
}

fn accepted(outcome: &SimulationOutcome, network: &SimulatedNetwork) -> f64 {
    outcome.received as f64 / (outcome.cycles.max(1) as f64 * network.nodes as f64)
}

/// A sweep over offered loads, to find saturation: the results of the loads already simulated, and
/// the next loads to simulate.
#[derive(Debug, Clone)]
pub struct Sweep {
    bound: f64,
    most: f64,
    points: Vec<Point>,
}

impl Sweep {
    /// Starts a sweep of a fabric with channel-load bound `bound`; no load exceeds `most`.
    #[must_use]
    pub const fn new(bound: f64, most: f64) -> Self {
        Self { bound, most, points: Vec::new() }
    }

    /// Returns the loads to try next, ascending; empty at the end.
    #[must_use]
    pub fn loads(&self) -> Vec<f64> {
        if self.points.is_empty() {
            let of_bound = |part: &f64| (part * self.bound).min(self.most);
            let mut loads: Vec<f64> = FIRST.iter().map(of_bound).collect();
            loads.dedup();
            return loads;
        }
        let refused = self.points.iter().find(|point| !point.carried).map(|p| p.offered);
        let Some(high) = refused else { return Vec::new() };
        let low = self.carried().unwrap_or(high / 64.0);
        if high <= low * WIDTH {
            return Vec::new();
        }
        let step = (high / low).powf(1.0 / f64::from(PARTS));
        (1..PARTS).map(|part| low * step.powi(part)).collect()
    }

    /// Adds results.
    pub fn add(&mut self, points: impl IntoIterator<Item = Point>) {
        self.points.extend(points);
        self.points.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    }

    /// Returns the channel-load bound.
    #[must_use]
    pub const fn bound(&self) -> f64 {
        self.bound
    }

    /// Returns all results, by load.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Returns the largest load below the first that was not carried.
    fn carried(&self) -> Option<f64> {
        let carried = self.points.iter().take_while(|point| point.carried);
        carried.last().map(|point| point.offered)
    }

    /// Returns the saturation load: the largest load that is carried, at most the bound, since a
    /// finite run cannot tell a load above it from chance. `None` if not even the smallest was
    /// carried.
    #[must_use]
    pub fn saturation(&self) -> Option<f64> {
        self.carried().map(|load| load.min(self.bound))
    }

    /// Returns the largest accepted load of runs without deadlock.
    #[must_use]
    pub fn peak_accepted(&self) -> f64 {
        let free = self.points.iter().filter(|point| point.outcome.deadlock.is_none());
        free.map(|point| point.accepted).fold(0.0, f64::max)
    }
}

/// Returns the channel-load bound: the offered load, in flits per cycle and node, at which the most
/// loaded channel reaches its rate. No larger load can be carried. O(pairs times hops).
#[must_use]
pub fn bound(
    network: &SimulatedNetwork,
    routes: &SimulatedPaths<'_>,
    traffic: &OfferedTraffic,
) -> f64 {
    let mut shares = vec![0.0; network.channels.len()];
    for src in 0..network.nodes as u32 {
        for (dst, share) in traffic.pattern.shares(src, network.nodes) {
            routes.each(src, dst, |path, weight| {
                for channel in path {
                    shares[*channel as usize] += share * weight;
                }
            });
        }
    }
    let base = network.base_rate().0 as f64;
    let of = |(share, channel): (&f64, &crate::network::SimulatedChannel)| {
        channel.rate.0 as f64 / base / share
    };
    shares.iter().zip(&network.channels).map(of).fold(f64::INFINITY, f64::min)
}

/// Returns the largest load, in flits per cycle, that every node can send: the sum of the rates of
/// its NICs, for the node with the smallest sum.
#[must_use]
pub fn most(network: &SimulatedNetwork) -> f64 {
    let mut rates = vec![0u64; network.nodes];
    for channel in &network.channels {
        if let ChannelEnd::Node(node) = channel.from {
            rates[node as usize] += channel.rate.0;
        }
    }
    rates.iter().min().map_or(0.0, |rate| *rate as f64 / network.base_rate().0 as f64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tresse_base::random::Random;
    use tresse_plan::Plan;

    use super::*;
    use crate::model::{Queues, SimulationModel};
    use crate::traffic::{Arrivals, TrafficPattern};

    /// Frames wait for nothing but the channel that they cross next, and come evenly: what no channel forbids is
    /// carried, and no more.
    #[test]
    fn permutations_saturate_at_the_bound_where_outputs_have_queues() {
        for (topology, strategy) in [
            ("kind = \"torus\", dims = [4, 4]", "dor"),
            ("kind = \"mesh\", dims = [3, 3, 2]", "stp"),
            (
                "kind = \"irregular\", switches = 12, ports = 5, nodes_per_switch = 2, seed = 3",
                "updown",
            ),
            ("kind = \"pmesh\", dims = [4, 3]", "xy"),
        ] {
            let text = format!(
                "[fabric]\ntopology = {{ {topology} }}\n[routing]\nstrategy = \"{strategy}\"\n"
            );
            let plan = Plan::build(tresse_cluster::parse(&text, "x").unwrap()).unwrap();
            let network = SimulatedNetwork::new(&plan);
            let routes = SimulatedPaths::new(&plan, &network, BTreeSet::new());
            let model =
                SimulationModel { queues: Queues::Output, ..SimulationModel::ethernet(32.0) };
            for seed in 1..4 {
                let mut to: Vec<u32> = (0..network.nodes as u32).collect();
                Random::new(seed).shuffle(&mut to);
                let pattern = TrafficPattern::Permutation(to.into());
                let traffic = OfferedTraffic { pattern, arrivals: Arrivals::Even, bytes: 512 };
                let bound = bound(&network, &routes, &traffic);
                let mut sweep = Sweep::new(bound, most(&network));
                let mut loads = sweep.loads();
                while !loads.is_empty() {
                    sweep.add(loads.iter().map(|load| {
                        let run = Run {
                            model: &model,
                            network: &network,
                            routes: &routes,
                            traffic: &traffic,
                            load: *load,
                            cycles: 100_000,
                            warm_up: 10_000,
                            seed,
                        };
                        Point::run(&run).unwrap()
                    }));
                    loads = sweep.loads();
                }
                let (carried, most) = (sweep.carried().unwrap(), most(&network));
                let limit = bound.min(most);
                assert!(carried > limit * 0.99, "{topology}, seed {seed}: {carried} of {limit}");
                // A queue that grows by less than a fiftieth is not told from one that does not.
                assert!(carried < limit * 1.05, "{topology}, seed {seed}: {carried} of {limit}");
            }
        }
    }
}

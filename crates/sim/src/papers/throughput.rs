//! The search for a routing's throughput: the highest accepted traffic in a steady state, where
//! "the flit generation rate is equal to the flit reception rate" (in-transit-buffers, section
//! 4.2). Loads grow by a fifth until the network has no steady state; then the gap between the last
//! two is halved four times.

use crate::sweep::Point;

/// The search begins at this share of the channel-load bound.
const FIRST: f64 = 0.2;
/// Ratio of a load to the load before it, until the network has no steady state.
const STEP: f64 = 1.2;
/// How often the last step is then halved.
const HALVED: u32 = 4;

/// A search for the highest accepted traffic in a steady state. The caller simulates one load after
/// the other.
#[derive(Debug, Clone)]
pub struct ThroughputSearch {
    steady: f64,
    most: f64,
    next: Option<f64>,
    /// The highest load with a steady state, and the lowest without one.
    low: f64,
    high: Option<f64>,
    halved: u32,
    peak: f64,
}

impl ThroughputSearch {
    /// Starts the search for a routing with channel-load bound `bound`; no load exceeds `most`, in
    /// the same unit. A state is steady if at least the part `steady` of the generated flits
    /// arrives.
    #[must_use]
    pub const fn new(bound: f64, most: f64, steady: f64) -> Self {
        let next = Some(FIRST * bound);
        Self { steady, most, next, low: 0.0, high: None, halved: 0, peak: 0.0 }
    }

    /// Returns the load to simulate next; `None` at the end.
    #[must_use]
    pub const fn load(&self) -> Option<f64> {
        self.next
    }

    /// Adds the result of that load.
    pub fn add(&mut self, point: &Point) {
        let outcome = &point.outcome;
        let arrived = outcome.received as f64 / outcome.generated.max(1) as f64;
        self.add_share(point.offered, point.accepted, arrived);
    }

    /// Adds a load, of which the part `arrived` reached its destinations.
    fn add_share(&mut self, load: f64, accepted: f64, arrived: f64) {
        if arrived >= self.steady {
            self.low = load;
            self.peak = self.peak.max(accepted);
        } else {
            self.high = Some(load);
        }
        self.next = match self.high {
            None => (load < self.most).then_some((load * STEP).min(self.most)),
            Some(high) => {
                self.halved += 1;
                (self.halved <= HALVED).then_some(f64::midpoint(self.low, high))
            }
        };
    }

    /// Returns the highest accepted traffic in a steady state so far, in flits per cycle and node.
    #[must_use]
    pub const fn peak(&self) -> f64 {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that accepts up to `capacity`.
    fn peak(capacity: f64) -> f64 {
        let mut search = ThroughputSearch::new(1.0, 0.9, 0.95);
        while let Some(load) = search.load() {
            assert!(load <= 0.9, "{load}");
            search.add_share(load, load.min(capacity), capacity / load);
        }
        search.peak()
    }

    #[test]
    fn the_peak_is_what_the_network_carries() {
        for capacity in [0.1_f64, 0.3, 0.37, 0.8] {
            assert!((peak(capacity) - capacity).abs() < 0.02 * capacity, "{}", peak(capacity));
        }
    }

    #[test]
    fn no_load_exceeds_the_most() {
        assert!((peak(2.0) - 0.9).abs() < 1e-9);
    }
}

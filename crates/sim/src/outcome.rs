//! The results of one simulation.

/// A histogram of message latencies in ticks, accurate to one part in 128, and their exact sum. A
/// tick is the simulator's unit of time. Latencies below 256 ticks have a bin each; above, each power
/// of two is divided into 128 bins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latencies {
    bins: Vec<u64>,
    count: u64,
    sum: u128,
}

const FINE: u32 = 7;

impl Latencies {
    pub(crate) fn add(&mut self, ticks: u64) {
        let bin = bin(ticks);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum += u128::from(ticks);
    }

    fn add_all(&mut self, other: &Self) {
        self.bins.resize(self.bins.len().max(other.bins.len()), 0);
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, other)| *bin += other);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Returns the number of latencies.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean in ticks; `None` if there are none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns a percentile in ticks, rounded up to its bin.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let wanted = (self.count as f64 * percent / 100.0).ceil().max(1.0) as u64;
        let mut seen = 0;
        let at = self.bins.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(greatest(at))
    }
}

fn bin(ticks: u64) -> usize {
    let shift = (u64::BITS - ticks.leading_zeros()).saturating_sub(FINE + 1);
    ((u64::from(shift) << FINE) + (ticks >> shift)) as usize
}

fn greatest(bin: usize) -> u64 {
    let shift = (bin >> FINE).saturating_sub(1);
    let within = (bin - (shift << FINE)) as u64;
    ((within + 1) << shift) - 1
}

/// The results of one simulation. Accepted traffic and latencies are measured after the warm-up;
/// peaks of buffers, dropped and spilled frames, and messages without a path are counted over the
/// whole run, the warm-up included.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulationOutcome {
    /// Cycles measured.
    pub cycles: u64,
    /// Flits generated in the measured time.
    pub generated: u64,
    /// Flits that reached their destinations in the measured time.
    pub received: u64,
    /// Flits that were queued or in flight at the end of the warm-up and at the end of the run.
    pub backlog: [i64; 2],
    /// Growth of the fastest-growing queue, as the part of the measured time that its channel would
    /// need to send the growth. Queues are buffers, queues of a node or an output, and generated
    /// messages not sent. Growth by a few messages counts as 0.
    pub growth: f64,
    /// Whether the run ended because the queues had become too long.
    pub overfull: bool,
    /// Latencies in ticks, from a message's generation to the arrival of its last flit.
    pub latencies: Latencies,
    /// Ticks per cycle.
    pub ticks: u64,
    /// Flits sent, by channel.
    pub sent: Vec<u64>,
    /// Most flits at once in the buffer behind each channel.
    pub peaks: Vec<u32>,
    /// Frames that a full channel buffer dropped.
    pub dropped: u64,
    /// Messages for which no path was left.
    pub without_path: u64,
    /// Transit nodes passed by all messages, and number of messages.
    pub in_transit: [u64; 2],
    /// The most flits that a node had in transit at once, per NIC.
    pub transit_peak: u64,
    /// Frames that found a node's memory for forwarded frames full, and waited nevertheless
    /// ([`TransitMemory::Spill`](crate::model::TransitMemory::Spill)).
    pub spilled: u64,
    /// Waiting frames that transit nodes dropped because their memory was full.
    pub transit_buffer_full: u64,
    /// Waiting frames that transit nodes dropped because they had waited for too long.
    pub transit_waited_too_long: u64,
    /// A circle of channels that wait for each other, and the cycle in which it was found.
    pub deadlock: Option<(u64, Vec<u32>)>,
    /// Channel crossings of all flits, the warm-up included.
    pub flit_hops: u64,
}

impl SimulationOutcome {
    /// Returns the number of frames that were dropped, by channel buffers and transit nodes.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.dropped + self.transit_buffer_full + self.transit_waited_too_long
    }

    /// Adds another run of the same network, as if both were one longer run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.generated += other.generated;
        self.received += other.received;
        for (sum, of) in self.backlog.iter_mut().zip(other.backlog) {
            *sum += of;
        }
        self.growth = self.growth.max(other.growth);
        self.latencies.add_all(&other.latencies);
        self.sent.iter_mut().zip(&other.sent).for_each(|(sum, of)| *sum += of);
        self.peaks.iter_mut().zip(&other.peaks).for_each(|(peak, of)| *peak = (*peak).max(*of));
        self.dropped += other.dropped;
        self.without_path += other.without_path;
        for (sum, of) in self.in_transit.iter_mut().zip(other.in_transit) {
            *sum += of;
        }
        self.transit_peak = self.transit_peak.max(other.transit_peak);
        self.spilled += other.spilled;
        self.transit_buffer_full += other.transit_buffer_full;
        self.transit_waited_too_long += other.transit_waited_too_long;
        self.overfull |= other.overfull;
        if self.deadlock.is_none() {
            self.deadlock.clone_from(&other.deadlock);
        }
        self.flit_hops += other.flit_hops;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_in_order_and_narrow() {
        let mut last = None;
        for ticks in (0..5000).chain((5000..5_000_000).step_by(977)) {
            let at = bin(ticks);
            assert!(last.is_none_or(|last| at == last || at == last + 1 || ticks > 5000));
            assert!(greatest(at) >= ticks && greatest(at) - ticks <= ticks / 128);
            last = Some(at);
        }
    }

    #[test]
    fn percentiles_are_those_of_what_was_added() {
        let mut all = Latencies::default();
        (1..=100).for_each(|ticks| all.add(ticks));
        assert_eq!((all.percentile(50.0), all.percentile(99.0)), (Some(50), Some(99)));
        assert_eq!(all.mean(), Some(50.5));
        assert_eq!(Latencies::default().percentile(99.0), None);
    }
}

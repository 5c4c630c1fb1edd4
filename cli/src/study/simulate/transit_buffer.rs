//! The value of `--transit-buffer`: what may wait in a simulated transit node, and for how long.

use std::str::FromStr;
use std::time::Duration;

use tresse_sim::model::{SimulationModel, TransitMemory};

/// The memory of a transit node for frames that wait, and how long each may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitBuffer {
    bytes: u64,
    wait: Duration,
}

/// Waiting time if none is given: that of the daemon.
const WAIT: Duration = Duration::from_secs(1);
const MOST_WAIT: Duration = Duration::from_secs(60);
const MOST_BYTES: u64 = 2 << 30;

impl TransitBuffer {
    /// The same in flits and cycles of a model.
    pub fn memory(self, model: &SimulationModel) -> TransitMemory {
        TransitMemory::Drop {
            flits: self.bytes / u64::from(model.flit_bytes),
            cycles: (self.wait.as_nanos() as f64 / model.cycle_ns) as u64,
        }
    }
}

impl FromStr for TransitBuffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is not a memory of at most 2G and a time from 1us to 60s, such as 64M,1000ms"
            )
        };
        let (memory, wait) = match text.split_once(',') {
            Some((memory, wait)) => (memory, Some(wait)),
            None => (text, None),
        };
        let bytes = number(memory, &[("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("", 1)]);
        let units = [("us", 1), ("ms", 1000), ("s", 1_000_000)];
        let wait = match wait {
            Some(wait) => number(wait, &units).map(Duration::from_micros),
            None => Some(WAIT),
        };
        let bytes = bytes.filter(|bytes| *bytes <= MOST_BYTES).ok_or_else(expected)?;
        let wait =
            wait.filter(|wait| !wait.is_zero() && *wait <= MOST_WAIT).ok_or_else(expected)?;
        Ok(Self { bytes, wait })
    }
}

/// Parses a number with the first of these units that it ends with.
fn number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let split = |(name, unit): &(&str, u64)| Some((text.strip_suffix(name)?, *unit));
    let (number, unit) = units.iter().find_map(split)?;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_wait_have_units() {
        let of = |bytes, micros| Ok(TransitBuffer { bytes, wait: Duration::from_micros(micros) });
        for (text, expected) in [
            ("64M,1000ms", of(64 << 20, 1_000_000)),
            ("1G", of(1 << 30, 1_000_000)),
            ("16K,50us", of(16 << 10, 50)),
            ("4096,2s", of(4096, 2_000_000)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
        for text in [
            "",
            "M",
            "3G",
            "64M,",
            "64M,0ms",
            "64M,61s",
            "64M,50",
            "64 M",
            "-1M",
            "1M,1ms,",
            "99999999999G",
        ] {
            assert!(text.parse::<TransitBuffer>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_default_is_that_of_the_model() {
        let model = SimulationModel::ethernet(32.0);
        let buffer: TransitBuffer = "64M,1000ms".parse().unwrap();
        assert_eq!(buffer.memory(&model), model.transit_memory);
    }
}

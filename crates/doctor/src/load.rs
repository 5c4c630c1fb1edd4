//! The loads of this node's NICs between two updates, from their counters in `/sys`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use tresse_control::{Client, ClientError, NicLine};

/// Counters of an interface, from `/sys/class/net/*/statistics`.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    rx_bytes: u64,
    tx_bytes: u64,
    rx_packets: u64,
    tx_packets: u64,
    lost: u64,
}

/// The load of one NIC since the last update.
#[derive(Debug, Serialize)]
pub struct Load {
    /// Its name.
    pub nic: String,
    /// Is it set up?
    pub up: bool,
    /// Does it have carrier?
    pub carrier: bool,
    /// Received bits per second.
    pub rx: u64,
    /// Sent bits per second.
    pub tx: u64,
    /// Received frames per second.
    pub rx_frames: u64,
    /// Sent frames per second.
    pub tx_frames: u64,
    /// Frames dropped or damaged since the last update.
    pub lost: u64,
}

impl Load {
    /// `up`, `down` or `no carrier`.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match (self.up, self.carrier) {
            (false, _) => "down",
            (true, false) => "no carrier",
            (true, true) => "up",
        }
    }
}

/// The counters at the last update.
#[derive(Debug)]
pub struct Meter {
    before: BTreeMap<String, Carried>,
    at: Instant,
}

impl Meter {
    /// Reads the counters for the first time.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub fn new(client: &mut Client) -> Result<Self, ClientError> {
        let names: Vec<NicLine> = client.neighbours()?.nics;
        let before = names.iter().map(|nic| (nic.name.clone(), carried(&nic.name))).collect();
        Ok(Self { before, at: Instant::now() })
    }

    /// The loads since the last time.
    ///
    /// # Errors
    /// The daemon does not answer.
    pub fn loads(&mut self, client: &mut Client) -> Result<Vec<Load>, ClientError> {
        let loads = loads(client, &mut self.before, self.at.elapsed())?;
        self.at = Instant::now();
        Ok(loads)
    }
}

fn loads(
    client: &mut Client,
    before: &mut BTreeMap<String, Carried>,
    time: Duration,
) -> Result<Vec<Load>, ClientError> {
    let mut loads = Vec::new();
    for nic in client.neighbours()?.nics {
        let now = carried(&nic.name);
        let was = before.insert(nic.name.clone(), now).unwrap_or(now);
        // The counters of a NIC that was removed and came back start at 0.
        let rate = |now: u64, was: u64| {
            (now.saturating_sub(was) as f64 / time.as_secs_f64().max(0.001)) as u64
        };
        loads.push(Load {
            up: nic.up,
            carrier: nic.carrier,
            rx: rate(now.rx_bytes, was.rx_bytes) * 8,
            tx: rate(now.tx_bytes, was.tx_bytes) * 8,
            rx_frames: rate(now.rx_packets, was.rx_packets),
            tx_frames: rate(now.tx_packets, was.tx_packets),
            lost: now.lost.saturating_sub(was.lost),
            nic: nic.name,
        });
    }
    Ok(loads)
}

fn carried(nic: &str) -> Carried {
    let directory = Path::new("/sys/class/net").join(nic).join("statistics");
    let read = |name: &str| -> u64 {
        let text = fs::read_to_string(directory.join(name)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    Carried {
        rx_bytes: read("rx_bytes"),
        tx_bytes: read("tx_bytes"),
        rx_packets: read("rx_packets"),
        tx_packets: read("tx_packets"),
        lost: ["rx_dropped", "tx_dropped", "rx_errors", "tx_errors"].map(read).iter().sum(),
    }
}

/// A rate in bit/s as text, such as `941M`.
#[must_use]
pub fn bits(rate: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    let unit = units.into_iter().find(|(unit, _)| rate >= *unit);
    match unit {
        Some((unit, name)) if rate < 10 * unit => {
            format!("{}.{}{name}", rate / unit, rate % unit * 10 / unit)
        }
        Some((unit, name)) => format!("{}{name}", rate / unit),
        None => rate.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_two_digits_at_least() {
        for (rate, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.0k"),
            (9_990, "9.9k"),
            (10_000, "10k"),
            (941_000_000, "941M"),
            (9_410_000_000, "9.4G"),
        ] {
            assert_eq!(bits(rate), text);
        }
    }
}

//! Samples what this node sends, once a second, where detours are used as they are needed.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;
use tresse_engine::{Sampled, Sent, Traffic};
use tresse_linux::kernel::{self, Carried};
use tresse_linux::sampling::Sampler;

const PERIOD: Duration = Duration::from_secs(1);

/// What is sampled, and how.
#[derive(Default)]
pub struct Sampling {
    sampled: Sampled,
    /// By NIC.
    samplers: BTreeMap<String, Option<Sampler>>,
    /// By NIC: what it had carried when it was last looked at.
    carried: BTreeMap<String, Carried>,
    last: Option<Instant>,
}

impl Sampling {
    /// Samples this from now on.
    pub fn set(&mut self, sampled: Sampled) {
        self.samplers.retain(|name, _| sampled.nics.contains(name));
        for name in &sampled.nics {
            self.samplers.entry(name.clone()).or_default();
        }
        // What was carried meanwhile is not of one second.
        self.carried.clear();
        self.sampled = sampled;
        self.last = (!self.samplers.is_empty()).then(Instant::now);
    }

    /// To be called when links have changed: an interface may be another one now.
    pub fn refresh(&mut self) {
        for (name, place) in &mut self.samplers {
            place.take_if(|sampler| !sampler.is_of(name));
        }
    }

    /// When [`take`](Self::take) is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.last.map(|last| last + PERIOD)
    }

    /// What was sent since the last time, if it is due.
    pub fn take(&mut self) -> Option<Sent> {
        let last = self.last.filter(|last| last.elapsed() >= PERIOD)?;
        let mut sent = Sent { elapsed_ms: last.elapsed().as_millis() as u64, ..Sent::default() };
        self.last = Some(Instant::now());
        let mut traffic = BTreeMap::new();
        for (name, place) in &mut self.samplers {
            if let Err(error) = sample(name, place, &self.sampled, &mut traffic) {
                tracing::debug!(interface = name, %error, "cannot be sampled");
                *place = None;
            }
        }
        sent.traffic = traffic
            .into_iter()
            .map(|((destination, nic, vid, labels), bytes)| Traffic {
                destination,
                nic,
                vid,
                labels,
                bytes,
            })
            .collect();
        for name in self.samplers.keys() {
            let Ok(now) = kernel::carried(name) else {
                self.carried.remove(name);
                continue;
            };
            if let Some(before) = self.carried.insert(name.clone(), now) {
                let sent_bytes = now.sent_bytes.saturating_sub(before.sent_bytes);
                let received_bytes = now.received_bytes.saturating_sub(before.received_bytes);
                sent.carried.insert(name.clone(), (sent_bytes, received_bytes));
            }
        }
        Some(sent)
    }
}

/// Destination, NIC, VLAN and labels.
type Key = (IpAddr, String, Option<u16>, Vec<tresse_base::id::Label>);

fn sample(
    name: &str,
    place: &mut Option<Sampler>,
    sampled: &Sampled,
    traffic: &mut BTreeMap<Key, u64>,
) -> std::io::Result<()> {
    let sampler = match place {
        Some(sampler) => sampler,
        None => place.insert(Sampler::open(name)?),
    };
    sampler.take(|headers, bytes| {
        let pushed = !headers.labels.is_empty() && !sampled.labelled;
        if pushed || !sampled.sources.contains(&headers.source) {
            return;
        }
        let vid = headers.vid.map(|vid| vid.0);
        let key = (headers.destination, name.to_owned(), vid, headers.labels);
        *traffic.entry(key).or_default() += bytes;
    })
}

//! Frames per directed link and VLAN, from the bridges' per-port per-VLAN statistics.
//!
//! A direction is counted where it leaves a switch, and for a node's own frames where they enter
//! one. Announcements (EtherType 0x88B5) are counted apart by flower filters on the same ports, and
//! taken out of `frames` and `bytes`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{self, RunError};
use crate::state::{Directory, Record, StateError};

/// One direction of one cable on one VLAN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// The place that sent.
    pub from: String,
    /// The place at the other end of the cable.
    pub to: String,
    /// The VID.
    pub vlan: u16,
    /// Frames other than announcements.
    pub frames: u64,
    /// Their octets as the bridge counts them: without Ethernet header, tag and FCS.
    pub bytes: u64,
    /// Announcements.
    pub control_frames: u64,
    /// Port of the sending switch, or NIC of the sending node: tells parallel cables apart.
    pub interface: String,
}

/// Why there are no counters.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// iproute2.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// Not what we know how to read.
    #[error("cannot read what `{program}` printed in {place}: {source}")]
    Output {
        /// The program.
        program: &'static str,
        /// Where.
        place: String,
        /// The reason.
        source: serde_json::Error,
    },
}

/// Counters since the last [`reset`], by sender, receiver and VLAN.
pub fn counters(directory: &Directory, record: &Record) -> Result<Vec<Counter>, CounterError> {
    let mut now = raw(directory, record)?;
    let path = directory.path.join("baseline.json");
    let Ok(bytes) = std::fs::read(&path) else { return Ok(now) };
    let before: Vec<Counter> =
        serde_json::from_slice(&bytes).map_err(|source| StateError::Format { path, source })?;
    let key = |c: &Counter| (c.from.clone(), c.interface.clone(), c.vlan);
    let before: BTreeMap<_, _> = before.iter().map(|c| (key(c), c)).collect();
    for counter in &mut now {
        if let Some(old) = before.get(&key(counter)) {
            counter.frames = counter.frames.saturating_sub(old.frames);
            counter.bytes = counter.bytes.saturating_sub(old.bytes);
            counter.control_frames = counter.control_frames.saturating_sub(old.control_frames);
        }
    }
    Ok(now)
}

/// Counts from zero again.
pub fn reset(directory: &Directory, record: &Record) -> Result<(), CounterError> {
    Ok(directory.write("baseline.json", &raw(directory, record)?)?)
}

fn raw(directory: &Directory, record: &Record) -> Result<Vec<Counter>, CounterError> {
    let blueprint = &record.blueprint;
    type Read = Result<(Vec<PortVlans>, Announced), CounterError>;
    let read = run::parallel(&blueprint.switches, run::workers(), |switch| -> Read {
        let netns = directory.netns(&switch.name);
        let read = || {
            let output = run::read(&netns, "bridge", &["-j", "-s", "vlan", "show"], "")?;
            parse::<Vec<PortVlans>>("bridge", &netns, &output)
        };
        if !record.daemons {
            return Ok((read()?, Announced::new()));
        }
        // The two statistics of a port and VLAN belong together if no announcement passed there
        // between them: the first such reading counts.
        let mut found: BTreeMap<(String, u16), PortVlan> = BTreeMap::new();
        let mut announced = Announced::new();
        let mut before = announcements(record, &netns, &switch.name)?;
        for attempt in 1..=ATTEMPTS {
            let ports = read()?;
            let after = announcements(record, &netns, &switch.name)?;
            let mut waits = false;
            for (port, vlan) in ports.into_iter().flat_map(PortVlans::each) {
                let keys = [true, false].map(|ingress| (port.clone(), ingress, vlan.vlan));
                let still = keys.iter().all(|key| before.get(key) == after.get(key));
                let key = (port, vlan.vlan);
                if found.contains_key(&key) {
                    continue;
                }
                if !still && attempt < ATTEMPTS {
                    waits = true;
                    continue;
                }
                announced
                    .extend(keys.into_iter().filter_map(|k| Some((k.clone(), *after.get(&k)?))));
                found.insert(key, vlan);
            }
            if !waits {
                break;
            }
            before = after;
        }
        let ports =
            found.into_iter().map(|((ifname, _), vlan)| PortVlans { ifname, vlans: vec![vlan] });
        Ok((ports.collect(), announced))
    });
    let mut all = Vec::new();
    for (switch, result) in blueprint.switches.iter().zip(read) {
        let (ports, announced) = result?;
        for (port, far) in blueprint.ends(&switch.name) {
            let here = ports.iter().filter(|p| p.ifname == port.interface);
            for vlan in here.flat_map(|p| &p.vlans) {
                let control = |ingress: bool| {
                    announced.get(&(port.interface.clone(), ingress, vlan.vlan)).copied()
                };
                let mut push = |from: &str, to: &str, interface: &str, ingress, frames, bytes| {
                    let (control_frames, octets) = control(ingress).unwrap_or_default();
                    all.push(Counter {
                        from: from.into(),
                        to: to.into(),
                        vlan: vlan.vlan,
                        frames: u64::saturating_sub(frames, control_frames),
                        bytes: u64::saturating_sub(bytes, octets),
                        control_frames,
                        interface: interface.into(),
                    });
                };
                let (sent, received) =
                    ((vlan.tx_packets, vlan.tx_bytes), (vlan.rx_packets, vlan.rx_bytes));
                push(&port.place, &far.place, &port.interface, false, sent.0, sent.1);
                if !far.switch {
                    push(&far.place, &port.place, &far.interface, true, received.0, received.1);
                }
            }
        }
    }
    let key = |c: &Counter| (c.from.clone(), c.to.clone(), c.interface.clone(), c.vlan);
    all.sort_by_key(key);
    Ok(all)
}

/// Readings of a switch's counters before announcements are taken to pass all the time.
const ATTEMPTS: u32 = 20;

/// (port, ingress, VID) to (frames, octets without Ethernet header) of announcements.
type Announced = BTreeMap<(String, bool, u16), (u64, u64)>;

fn announcements(record: &Record, netns: &str, switch: &str) -> Result<Announced, CounterError> {
    let mut lines = String::new();
    let mut asked = Vec::new();
    for (port, far) in record.blueprint.ends(switch) {
        let directions = if far.switch { &["egress"][..] } else { &["egress", "ingress"] };
        for direction in directions {
            lines += &format!("filter show dev {} {direction}\n", port.interface);
            asked.push((port.interface.clone(), *direction == "ingress"));
        }
    }
    let output = match run::read(netns, "tc", &["-s", "-j", "-batch", "-"], &lines) {
        Ok(output) => output,
        // A kernel without clsact: nothing was installed to count with.
        Err(RunError::Failed { .. }) => return Ok(Announced::new()),
        Err(other) => return Err(other.into()),
    };
    let mut announced = Announced::new();
    let answers = serde_json::Deserializer::from_slice(&output).into_iter::<Vec<Filter>>();
    for ((port, ingress), filters) in asked.into_iter().zip(answers) {
        let place = || netns.to_owned();
        let filters = filters.map_err(|source| CounterError::Output {
            program: "tc",
            place: place(),
            source,
        })?;
        for options in filters.into_iter().filter_map(|f| f.options) {
            let Some(vid) = options.keys.and_then(|k| k.vlan_id) else { continue };
            let Some(action) = options.actions.into_iter().next() else { continue };
            let Stats { packets, bytes } = action.stats;
            // The bridge counts without the Ethernet header, tc with it.
            let octets = bytes.saturating_sub(14 * packets);
            announced.insert((port.clone(), ingress, vid), (packets, octets));
        }
    }
    Ok(announced)
}

fn parse<T: for<'de> Deserialize<'de>>(
    program: &'static str,
    place: &str,
    bytes: &[u8],
) -> Result<T, CounterError> {
    serde_json::from_slice(bytes).map_err(|source| CounterError::Output {
        program,
        place: place.into(),
        source,
    })
}

/// One port in `bridge -j -s vlan show`.
#[derive(Debug, Deserialize)]
struct PortVlans {
    ifname: String,
    #[serde(default)]
    vlans: Vec<PortVlan>,
}

impl PortVlans {
    /// Every VLAN with the port's name.
    fn each(self) -> impl Iterator<Item = (String, PortVlan)> {
        let Self { ifname, vlans } = self;
        vlans.into_iter().map(move |vlan| (ifname.clone(), vlan))
    }
}

#[derive(Debug, Deserialize)]
struct PortVlan {
    #[serde(alias = "vid")]
    vlan: u16,
    #[serde(default)]
    rx_bytes: u64,
    #[serde(default)]
    rx_packets: u64,
    #[serde(default)]
    tx_bytes: u64,
    #[serde(default)]
    tx_packets: u64,
}

/// One filter in `tc -j -s filter show`.
#[derive(Debug, Deserialize)]
struct Filter {
    options: Option<FilterOptions>,
}

#[derive(Debug, Deserialize)]
struct FilterOptions {
    keys: Option<FilterKeys>,
    #[serde(default)]
    actions: Vec<Action>,
}

#[derive(Debug, Deserialize)]
struct FilterKeys {
    vlan_id: Option<u16>,
}

#[derive(Debug, Deserialize)]
struct Action {
    #[serde(default)]
    stats: Stats,
}

#[derive(Debug, Deserialize, Default)]
struct Stats {
    #[serde(default)]
    packets: u64,
    #[serde(default)]
    bytes: u64,
}

//! Counts the frames of a lab per direction of each cable, and per VLAN where it ends at a switch with VLANs.
//!
//! A frame that leaves a switch is counted there; a frame that a node sends is counted where it
//! enters a switch. If the lab has daemons and the kernel has flower filters, such filters on the
//! switch ports count announcements (EtherType 0x88B5) and other frames separately; otherwise the
//! bridges' statistics per port and VLAN are used.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::counter::parse;
use crate::run::{self, RunError};
use crate::script::COUNT_PREFERENCES;
use crate::state::{Directory, LabState, StateError};
use crate::untagged;

pub use crate::counter::{Counter, CounterError};

/// Returns the frame counters of a lab since the last [`reset`], sorted by sender, receiver,
/// interface and VLAN.
pub fn counters(directory: &Directory, record: &LabState) -> Result<Vec<Counter>, CounterError> {
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

/// Sets the frame counters of a lab to zero: stores their present values, which [`counters`]
/// subtracts from then on.
pub fn reset(directory: &Directory, record: &LabState) -> Result<(), CounterError> {
    Ok(directory.write("baseline.json", &raw(directory, record)?)?)
}

fn raw(directory: &Directory, record: &LabState) -> Result<Vec<Counter>, CounterError> {
    let blueprint = &record.blueprint;
    type Read = Result<(Vec<PortVlans>, Filtered), CounterError>;
    let read = run::parallel(&blueprint.switches, run::workers(), |switch| -> Read {
        let netns = directory.netns(&switch.name);
        let output = run::read(&netns, "bridge", &["-j", "-s", "vlan", "show"], "")?;
        let ports: Vec<PortVlans> = parse("bridge", &netns, &output)?;
        let filtered =
            if record.daemons { filtered(record, &netns, &switch.name)? } else { Filtered::new() };
        Ok((ports, filtered))
    });
    let mut all = Vec::new();
    for (switch, result) in blueprint.switches.iter().zip(read) {
        let (ports, filtered) = result?;
        let mut seen = BTreeSet::new();
        for (port, far) in blueprint.ends(&switch.name) {
            let here = ports.iter().filter(|p| p.ifname == port.bridge_port());
            // Without filters all that a link aggregation group carries is counted at its first cable.
            let first = seen.insert(port.bridge_port());
            for vlan in here.flat_map(|p| &p.vlans) {
                let mut push = |from: &str, to: &str, interface: &str, ingress, bridged| {
                    let of = |kind| {
                        let key = (port.interface.clone(), ingress, vlan.vlan, kind);
                        filtered.get(&key).copied()
                    };
                    let (control_frames, _) = of(FrameKind::Announcement).unwrap_or_default();
                    let bridged = if first { bridged } else { (0, 0) };
                    let (frames, bytes) = of(FrameKind::Other).unwrap_or(bridged);
                    all.push(Counter {
                        from: from.into(),
                        to: to.into(),
                        vlan: vlan.vlan,
                        frames,
                        bytes,
                        control_frames,
                        interface: interface.into(),
                    });
                };
                let (sent, received) =
                    ((vlan.tx_packets, vlan.tx_bytes), (vlan.rx_packets, vlan.rx_bytes));
                push(&port.place, &far.place, &port.interface, false, sent);
                if !far.switch {
                    push(&far.place, &port.place, &far.interface, true, received);
                }
            }
        }
    }
    all.extend(untagged::counters(directory, blueprint)?);
    let key = |c: &Counter| (c.from.clone(), c.to.clone(), c.interface.clone(), c.vlan);
    all.sort_by_key(key);
    Ok(all)
}

/// What a filter counts, by its preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FrameKind {
    Announcement,
    Other,
}

/// (port, ingress, VID, kind) to (frames, bytes without Ethernet header).
type Filtered = BTreeMap<(String, bool, u16, FrameKind), (u64, u64)>;

fn filtered(record: &LabState, netns: &str, switch: &str) -> Result<Filtered, CounterError> {
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
        Err(RunError::Failed { .. }) => return Ok(Filtered::new()),
        Err(other) => return Err(other.into()),
    };
    let mut filtered = Filtered::new();
    let answers = serde_json::Deserializer::from_slice(&output).into_iter::<Vec<Filter>>();
    for ((port, ingress), filters) in asked.into_iter().zip(answers) {
        let place = || netns.to_owned();
        let filters = filters.map_err(|source| CounterError::Output {
            program: "tc",
            place: place(),
            source,
        })?;
        for filter in filters {
            let (Some(options), Some(pref)) = (filter.options, filter.pref) else { continue };
            let kind = match COUNT_PREFERENCES.map(|of_kind| of_kind == pref) {
                [true, _] => FrameKind::Announcement,
                [_, true] => FrameKind::Other,
                _ => continue,
            };
            let Some(vid) = options.keys.and_then(|k| k.vlan_id) else { continue };
            let Some(action) = options.actions.into_iter().next() else { continue };
            let Stats { packets, bytes } = action.stats;
            // The bridge counts without the Ethernet header, tc with it.
            let bytes = bytes.saturating_sub(14 * packets);
            filtered.insert((port.clone(), ingress, vid, kind), (packets, bytes));
        }
    }
    Ok(filtered)
}

/// One port in `bridge -j -s vlan show`.
#[derive(Debug, Deserialize)]
struct PortVlans {
    ifname: String,
    #[serde(default)]
    vlans: Vec<PortVlan>,
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
    pref: Option<u32>,
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

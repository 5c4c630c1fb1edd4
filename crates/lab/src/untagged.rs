//! Counts the frames of the cables at which no switch with VLANs is: those between nodes, and those of switches that
//! are plain. Each end counts what it sends.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::blueprint::{Blueprint, End};
use crate::counter::{Counter, CounterError, parse};
use crate::run;
use crate::state::Directory;

/// Length of an Ethernet header: the kernel counts it, bridges do not.
const HEADER: u64 = 14;

/// The counters of all such cables, in both directions, with VLAN 0. Announcements are among the other frames.
pub(crate) fn counters(
    directory: &Directory,
    blueprint: &Blueprint,
) -> Result<Vec<Counter>, CounterError> {
    let vlans: BTreeSet<&str> = blueprint
        .switches
        .iter()
        .filter(|switch| !switch.plain)
        .map(|switch| switch.name.as_str())
        .collect();
    let without = |end: &End| !vlans.contains(end.place.as_str());
    let cables = blueprint.cables.iter().filter(|cable| without(&cable.a) && without(&cable.b));
    let mut sent: BTreeMap<&str, Vec<(&End, &End)>> = BTreeMap::new();
    for cable in cables {
        for (here, far) in [(&cable.a, &cable.b), (&cable.b, &cable.a)] {
            sent.entry(&here.place).or_default().push((here, far));
        }
    }
    let places: Vec<_> = sent.into_iter().collect();
    let read = run::parallel(&places, run::workers(), |(place, ends)| {
        let netns = directory.netns(place);
        let output = run::read(&netns, "ip", &["-j", "-s", "link", "show"], "")?;
        let links: Vec<Link> = parse("ip", &netns, &output)?;
        let of = |(here, far): &(&End, &End)| {
            let link = links.iter().find(|link| link.ifname == here.interface)?;
            let Traffic { packets, bytes } = link.stats64.tx;
            Some(Counter {
                from: here.place.clone(),
                to: far.place.clone(),
                vlan: 0,
                frames: packets,
                bytes: bytes.saturating_sub(HEADER * packets),
                control_frames: 0,
                interface: here.interface.clone(),
            })
        };
        Ok::<Vec<_>, CounterError>(ends.iter().filter_map(of).collect())
    });
    let all: Result<Vec<Vec<Counter>>, _> = read.into_iter().collect();
    Ok(all?.into_iter().flatten().collect())
}

/// One interface in `ip -j -s link show`.
#[derive(Debug, Deserialize)]
struct Link {
    ifname: String,
    #[serde(default)]
    stats64: Stats,
}

#[derive(Debug, Default, Deserialize)]
struct Stats {
    tx: Traffic,
}

#[derive(Debug, Default, Deserialize)]
struct Traffic {
    packets: u64,
    bytes: u64,
}

//! Writes the input of `ip -batch`, `bridge -batch` and `tc -batch` that builds a lab: cables,
//! bridges, VLAN memberships, shaping, counters.
//!
//! These functions only return text. Rules: K3 (bridge options, ports enslaved before they are up),
//! K13 (both ends of a cable shaped by `tbf`), K23 (ifindexes).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tresse_base::id::Vid;
use tresse_base::units::Rate;
use tresse_export::vid_runs;
use tresse_frame::announce::ETHERTYPE;

use crate::blueprint::{Blueprint, Cable, End};
use crate::state::{Directory, Shaping};

/// Returns the `ip -batch` input for the host: creates these cables of a lab, with both ends
/// directly in their namespaces.
#[must_use]
pub fn cables(cables: &[Cable], directory: &Directory) -> String {
    let mut text = String::new();
    for cable in cables {
        text.push_str("link add ");
        end(&mut text, &cable.a, directory);
        text.push_str(" type veth peer ");
        end(&mut text, &cable.b, directory);
        text.push('\n');
    }
    text
}

fn end(text: &mut String, end: &End, directory: &Directory) {
    let End { interface, ifindex, mtu, place, .. } = end;
    let netns = directory.netns(place);
    let _ = write!(text, "name {interface} index {ifindex} mtu {mtu} ");
    if let Some(mac) = end.mac {
        let _ = write!(text, "address {mac} ");
    }
    let _ = write!(text, "numtxqueues 1 numrxqueues 1 netns {netns}");
}

/// Returns the `ip -batch` input for a switch: creates its bridge and puts its ports into it. A
/// VLAN-filtering bridge forwards no frame until [`vlans`] has added VLANs, because it has no
/// default VLAN (K3). A switch without VLAN filtering has one bridge per untagged VLAN.
#[must_use]
pub fn bridge(blueprint: &Blueprint, switch: &str, fdb_age_seconds: u32) -> String {
    let age = fdb_age_seconds.saturating_mul(100);
    let plain = blueprint.switches.iter().any(|s| s.name == switch && s.plain);
    let vlans = "vlan_filtering 1 vlan_default_pvid 0 vlan_stats_enabled 1 vlan_stats_per_port 1 ";
    let vlans = if plain { "" } else { vlans };
    let mut bridges: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    if !plain {
        bridges.insert(BRIDGE.into(), BTreeSet::new());
    }
    let mut bonds: BTreeMap<&str, Vec<&End>> = BTreeMap::new();
    for (port, _) in blueprint.ends(switch) {
        bridges.entry(bridge_of(port, plain)).or_default().insert(port.bridge_port());
        if let Some(bond) = &port.bond {
            bonds.entry(bond).or_default().push(port);
        }
    }
    let mut text = String::new();
    for (bond, ports) in &bonds {
        let _ = writeln!(text, "link add name {bond} mtu {} type bond {BOND}", ports[0].mtu);
        for port in ports {
            let _ = writeln!(text, "link set dev {} master {bond}", port.interface);
        }
    }
    for (bridge, ports) in bridges {
        let _ = writeln!(
            text,
            "link add name {bridge} type bridge {vlans}mcast_snooping 0 stp_state 0 ageing_time {age}"
        );
        for port in ports {
            let _ = writeln!(text, "link set dev {port} master {bridge}");
        }
        let _ = writeln!(text, "link set dev {bridge} up");
    }
    let ports = blueprint.ends(switch).map(|(port, _)| &*port.interface);
    for interface in ports.chain(bonds.into_keys()) {
        let _ = writeln!(text, "link set dev {interface} up");
    }
    text
}

/// How a link aggregation group of a lab is: LACP, which finds a cable dead in three seconds, and flows spread by addresses.
const BOND: &str = "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4";

/// Returns the name of the bridge that a switch port belongs to; `plain`: the switch has no VLAN
/// filtering.
#[must_use]
pub fn bridge_of(port: &End, plain: bool) -> String {
    let line = port.untagged.filter(|_| plain);
    line.map_or_else(|| BRIDGE.to_owned(), |vid| format!("br{vid}"))
}

/// Returns the `bridge -batch` input for a switch: the VLAN memberships of its ports, and its
/// static forwarding entries. Empty for a switch without VLAN filtering.
#[must_use]
pub fn vlans(blueprint: &Blueprint, switch: &str) -> String {
    let mut text = String::new();
    if blueprint.switches.iter().any(|s| s.name == switch && s.plain) {
        return text;
    }
    let mut done = BTreeSet::new();
    for (end, _) in blueprint.ends(switch) {
        let port = end.bridge_port();
        if !done.insert(port) {
            continue;
        }
        let tagged: Vec<Vid> = end.tagged.iter().copied().map(Vid).collect();
        for vids in vid_runs(&tagged) {
            let _ = writeln!(text, "vlan add dev {port} vid {vids}");
        }
        if let Some(vid) = end.untagged {
            let _ = writeln!(text, "vlan add dev {port} vid {vid} pvid untagged");
        }
    }
    for switch in blueprint.switches.iter().filter(|s| s.name == switch) {
        for (mac, vid, port) in &switch.fdb {
            let _ = writeln!(text, "fdb add {mac} dev {port} vlan {vid} master static");
        }
    }
    text
}

/// Returns the `ip -batch` input for a node: sets its NICs up without any address (IPv6 link-local
/// included), so that they send nothing yet (K5).
#[must_use]
pub fn nics(blueprint: &Blueprint, node: &str, ipv6: bool) -> String {
    let mut text = String::from("link set dev lo up\n");
    for (nic, _) in blueprint.ends(node) {
        if ipv6 {
            let _ = writeln!(text, "link set dev {} addrgenmode none", nic.interface);
        }
        let _ = writeln!(text, "link set dev {} up", nic.interface);
    }
    text
}

/// Returns the `tc -batch` input for a node or switch: limits the rate of each of its cables, and
/// with `announcements` adds filters to a switch that count announcements and other frames.
#[must_use]
pub fn shaping(blueprint: &Blueprint, place: &str, shape: Shaping, announcements: bool) -> String {
    let mut text = String::new();
    for cable in &blueprint.cables {
        let rate = match shape {
            Shaping::None => None,
            Shaping::Rate(bps) => Some(bps),
            Shaping::File => Some(cable.rate.0),
        };
        for end in [&cable.a, &cable.b].into_iter().filter(|e| e.place == place) {
            if let Some(bps) = rate {
                let (burst, limit) = bucket(Rate(bps), end.mtu);
                let _ = writeln!(
                    text,
                    "qdisc add dev {} root tbf rate {bps}bit burst {burst} limit {limit}",
                    end.interface
                );
            }
        }
        if announcements && (cable.a.place == place || cable.b.place == place) {
            count_announcements(&mut text, cable, place);
        }
    }
    text
}

/// Returns the burst and the limit of a token bucket filter (`tbf`) for a link of this rate, both
/// in bytes. The burst holds 40 ms of traffic, at least two frames and at most 256 KiB: a machine
/// that wakes the shaper late must not make the link slower than configured. The limit adds a queue
/// of 20 ms, at least 24 frames and at most 4 MiB.
#[must_use]
pub fn bucket(rate: Rate, mtu: u32) -> (u64, u64) {
    let frame = u64::from(mtu) + 22;
    let per_second = rate.0 / 8;
    let burst = (per_second / 25).clamp(2 * frame, (2 * frame).max(256 << 10));
    (burst, burst + (per_second / 50).clamp(24 * frame, (24 * frame).max(4 << 20)))
}

/// Preferences of the filters that count announcements, and all other frames. Below them is room for
/// filters that disturb the lab: the first that decides ends the search.
pub const COUNT_PREFERENCES: [u32; 2] = [101, 102];

/// Two flower filters per VID on the way out of every port, and on the way in where a node is the
/// other end: announcements, then all the rest. They only count: `action ok` ends the search and
/// passes the frame on.
fn count_announcements(text: &mut String, cable: &Cable, place: &str) {
    let ends = [(&cable.a, &cable.b), (&cable.b, &cable.a)];
    let [announcements, others] = COUNT_PREFERENCES;
    for (port, far) in ends.into_iter().filter(|(e, _)| e.place == place && e.switch) {
        let dev = &port.interface;
        let _ = writeln!(text, "qdisc add dev {dev} clsact");
        for vid in &port.tagged {
            let mut filter = |direction: &str| {
                let _ = writeln!(
                    text,
                    "filter add dev {dev} {direction} protocol 802.1q pref {announcements} handle {vid} flower \
                     vlan_id {vid} vlan_ethtype {ETHERTYPE:#06x} action ok\n\
                     filter add dev {dev} {direction} protocol 802.1q pref {others} handle {vid} flower \
                     vlan_id {vid} action ok"
                );
            };
            filter("egress");
            if !far.switch {
                filter("ingress");
            }
        }
    }
}

/// Name of the bridge in a VLAN-filtering switch's namespace. A switch without VLAN filtering has a
/// bridge `br<vid>` for each untagged VLAN instead.
pub const BRIDGE: &str = "br0";

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches, each with a bridge for every line of four nodes.
    #[test]
    fn a_switch_that_holds_several_lines_has_a_bridge_for_each() {
        use tresse_plan::Plan;
        use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

        let dims = vec![4, 4];
        let kind = TopologyShape::Pmesh { dims: dims.clone(), grow_to: dims, lines_per_switch: 4 };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        let blueprint = Blueprint::of(&plan, true).unwrap();
        let text = bridge(&blueprint, "s1", 300);
        assert_eq!(text.matches("type bridge mcast_snooping 0").count(), 4, "{text}");
        for line in 0..4 {
            let ports =
                (1..=4).map(|x| format!("link set dev p{} master br{}\n", 4 * line + x, 6 + line));
            assert!(ports.into_iter().all(|port| text.contains(&port)), "{text}");
        }
        assert_eq!(vlans(&blueprint, "s1"), "");
    }

    #[test]
    fn a_bucket_holds_whole_frames_and_stays_small() {
        let (burst, limit) = bucket(Rate(500_000), 1500);
        assert_eq!(burst, 3044);
        assert!(limit >= burst + 24 * 1522);
        assert_eq!(bucket(Rate(5_000_000), 1500).0, 25_000);
        assert_eq!(bucket(Rate::GIGABIT, 1500).0, 256 << 10);
        assert_eq!(bucket(Rate::GIGABIT, 1500).1, (256 << 10) + 2_500_000);
    }
}

//! Moves the cables of a running lab, as a person does who unplugs them and plugs them in elsewhere: the
//! NIC or port at each end vanishes with the old cable and comes back with the new one.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::thread;
use std::time::Duration;

use crate::blueprint::{Blueprint, Cable, End};
use crate::run::{self, RunError};
use crate::script;
use crate::state::{Directory, StateError};

/// Why the cables of a lab could not be moved.
#[derive(Debug, thiserror::Error)]
pub enum RecableError {
    /// The lab's directory.
    #[error(transparent)]
    State(#[from] StateError),
    /// A node or switch that the lab does not have.
    #[error("the lab has no `{place}`: build it from the larger cluster file")]
    NoPlace {
        /// The node or switch.
        place: String,
    },
    /// iproute2.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// The cables to move so that a lab has all cables of a blueprint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moves {
    /// Cables that occupy a NIC or a port of a missing one.
    pub unplug: Vec<Cable>,
    /// Cables of the blueprint that the lab does not have.
    pub plug: Vec<Cable>,
}

impl Moves {
    /// The moves from `present` to all cables of `wanted`. A cable that is in nobody's way stays.
    #[must_use]
    pub fn between(present: &[Cable], wanted: &Blueprint) -> Self {
        let had: BTreeSet<_> = present.iter().map(ends).collect();
        let missing = wanted.cables.iter().filter(|cable| !had.contains(&ends(cable)));
        let plug: Vec<Cable> = missing.cloned().collect();
        let used: BTreeSet<_> = plug.iter().flat_map(ends).collect();
        let in_the_way = |cable: &&Cable| ends(cable).iter().any(|end| used.contains(end));
        Self { unplug: present.iter().filter(in_the_way).cloned().collect(), plug }
    }
}

/// Carries out the moves of cables to the blueprint `wanted`; returns them. Between unplugging and
/// plugging in `pause` goes by. A switch port comes back without any VLAN.
///
/// # Errors
/// [`RecableError`]; some cables may have been moved.
pub fn recable(
    directory: &Directory,
    wanted: &Blueprint,
    pause: Duration,
) -> Result<Moves, RecableError> {
    let _lock = directory.lock()?;
    let mut record = directory.load_up()?;
    let mut moves = Moves::between(&record.blueprint.cables, wanted);
    let places: BTreeSet<&str> = record.blueprint.places().collect();
    if let Some(end) = moves.plug.iter().flat_map(both).find(|e| !places.contains(&*e.place)) {
        return Err(RecableError::NoPlace { place: end.place.clone() });
    }
    let indices = record.blueprint.cables.iter().flat_map(both).map(|end| end.ifindex);
    let mut ifindex = indices.max().unwrap_or_default();
    for end in moves.plug.iter_mut().flat_map(|cable| [&mut cable.a, &mut cable.b]) {
        ifindex += 1;
        end.ifindex = ifindex;
    }
    for cable in &moves.unplug {
        let gone = format!("link del dev {}\n", cable.a.interface);
        run::batch(Some(&directory.netns(&cable.a.place)), "ip", &gone)?;
    }
    if !moves.unplug.is_empty() {
        thread::sleep(pause);
    }
    run::batch(None, "ip", &script::cables(&moves.plug, directory))?;
    let ipv6 = std::path::Path::new("/proc/sys/net/ipv6").exists();
    for end in moves.plug.iter().flat_map(both) {
        let netns = directory.netns(&end.place);
        run::batch(Some(&netns), "ip", &attached(end, record.blueprint.needs_vlans(), ipv6))?;
    }
    // A node that comes back may have other addresses than it had.
    for node in &mut record.blueprint.nodes {
        if let Some(wanted) = wanted.nodes.iter().find(|wanted| wanted.name == node.name) {
            node.addresses.clone_from(&wanted.addresses);
        }
    }
    record.blueprint.cables.retain(|cable| !moves.unplug.contains(cable));
    record.blueprint.cables.extend(moves.plug.iter().cloned());
    // Cables are shaped by the place at each end, which may have others too.
    let plugged = Blueprint { cables: moves.plug.clone(), ..record.blueprint.clone() };
    for place in moves.plug.iter().flat_map(both).map(|end| &end.place).collect::<BTreeSet<_>>() {
        let tc = script::shaping(&plugged, place, record.shape, false);
        run::batch(Some(&directory.netns(place)), "tc", &tc)?;
    }
    directory.store(&record)?;
    directory.name(&record.blueprint.nodes)?;
    Ok(moves)
}

/// The `ip -batch` input that puts a new interface to use.
fn attached(end: &End, vlans: bool, ipv6: bool) -> String {
    let End { interface, .. } = end;
    let mut text = String::new();
    if end.switch {
        let master = end.bond.clone().unwrap_or_else(|| script::bridge_of(end, !vlans));
        let _ = writeln!(text, "link set dev {interface} master {master}");
    } else if ipv6 {
        let _ = writeln!(text, "link set dev {interface} addrgenmode none");
    }
    let _ = writeln!(text, "link set dev {interface} up");
    text
}

fn both(cable: &Cable) -> [&End; 2] {
    [&cable.a, &cable.b]
}

/// Place and interface of both ends, in order.
fn ends(cable: &Cable) -> [(&str, &str); 2] {
    let mut ends = both(cable).map(|end| (end.place.as_str(), end.interface.as_str()));
    ends.sort_unstable();
    ends
}

#[cfg(test)]
mod tests {
    use tresse_plan::Plan;
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;

    fn ring(nodes: u32) -> Blueprint {
        let kind = TopologyShape::Ring { nodes };
        let plan = Plan::build(Cluster::generated(kind, 1, 1, Strategy::Xy, 2)).unwrap();
        Blueprint::of(&plan, false).unwrap()
    }

    #[test]
    fn a_ring_grows_by_a_cable_that_makes_room_for_two() {
        let (small, large) = (ring(4), ring(5));
        let moves = Moves::between(&small.cables, &large);
        let names = |cables: &[Cable]| -> Vec<String> {
            let name = |end: &End| format!("{}:{}", end.place, end.interface);
            cables.iter().map(|c| format!("{} {}", name(&c.a), name(&c.b))).collect()
        };
        assert_eq!(names(&moves.unplug), ["n0:eth0 n3:eth1"]);
        assert_eq!(names(&moves.plug), ["n0:eth0 n4:eth1", "n3:eth1 n4:eth0"]);
        let back = Moves::between(&large.cables, &small);
        assert_eq!((back.unplug.len(), back.plug.len()), (2, 1));
        assert_eq!(Moves::between(&small.cables, &small), Moves::default());
    }
}

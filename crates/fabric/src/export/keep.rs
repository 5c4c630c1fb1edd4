//! Configurations for the time of a change: what the new plan wants, and the VLANs of the old one
//! where its cables and ports still are, so that nodes of either plan reach each other.

use std::collections::{BTreeSet, HashMap};

use super::{ExportError, Options, PortRole, SwitchConfig, VlanConfig, switch};
use crate::id::{LinkId, Vid};
use crate::lock::place;
use crate::plan::Plan;

/// The configurations of `plan` with the VLANs of `old` added, which must have been planned with the
/// same lock: a VID in both then is one tree, or two that have no loop together (K4).
///
/// # Errors
/// A switch that cannot hold the VLANs of both.
pub(super) fn configs(
    plan: &Plan,
    old: &Plan,
    options: Options,
) -> Result<Vec<SwitchConfig>, ExportError> {
    let mut configs = switch::configs(plan, options);
    let before: HashMap<String, SwitchConfig> = switch::configs(old, options)
        .into_iter()
        .map(|config| (place::switch(old.cluster(), config.switch), config))
        .collect();
    // Trunk ports whose cable was there before, and goes where it went.
    let all: Vec<LinkId> = (0..old.cluster().links.len()).map(LinkId::from).collect();
    let same = place::links(plan.cluster(), &place::cables(old.cluster(), &all));
    let ends = same.iter().map(|id| plan.cluster().link(*id)).flat_map(|link| [link.a, link.b]);
    let same: BTreeSet<_> = ends.map(|end| (end.switch, end.port)).collect();
    for config in &mut configs {
        let Some(before) = before.get(&place::switch(plan.cluster(), config.switch)) else {
            continue;
        };
        let kept = |port: u32, role: PortRole| match role {
            PortRole::Node => true,
            PortRole::Trunk | PortRole::Pruned => same.contains(&(config.switch, port)),
        };
        let node = |role: PortRole| role == PortRole::Node;
        let mut tagged: BTreeSet<(Vid, u32)> = BTreeSet::new();
        for port in &mut config.ports {
            let old = before.ports.iter().find(|old| old.port == port.port);
            let old = old.filter(|old| node(old.role) == node(port.role));
            let old = old.filter(|old| kept(old.port, old.role));
            port.tagged.extend(old.into_iter().flat_map(|old| &old.tagged));
            port.tagged.sort_unstable();
            port.tagged.dedup();
            if port.role == PortRole::Pruned && !port.tagged.is_empty() {
                port.role = PortRole::Trunk;
            }
            tagged.extend(port.tagged.iter().map(|vid| (*vid, port.port)));
        }
        let new: BTreeSet<Vid> = config.vlans.iter().map(|vlan| vlan.vid).collect();
        let gone = before.vlans.iter().filter(|vlan| !new.contains(&vlan.vid));
        config.vlans.extend(gone.map(|vlan| VlanConfig { tagged: Vec::new(), ..vlan.clone() }));
        config.vlans.sort_by_key(|vlan| vlan.vid);
        for vlan in &mut config.vlans {
            let ports = tagged.range((vlan.vid, 0)..=(vlan.vid, u32::MAX));
            vlan.tagged = ports.map(|(_, port)| *port).collect();
        }
        let known: BTreeSet<_> = config.fdb.iter().map(|entry| (entry.vid, entry.mac)).collect();
        let more = before.fdb.iter().filter(|e| !known.contains(&(e.vid, e.mac)));
        config.fdb.extend(more.filter(|e| tagged.contains(&(e.vid, e.port))));
        config.fdb.sort_unstable();
        let taken: BTreeSet<u16> =
            config.vlans.iter().map(|v| v.vid).chain(config.base).map(|vid| vid.0).collect();
        config.parking = Vid((2..=4094).rev().find(|v| !taken.contains(v)).unwrap_or(1));
        let (vlans, limit) = (taken.len(), plan.cluster().switch(config.switch).max_vlans);
        if vlans > limit as usize {
            let switch = config.name.clone();
            return Err(ExportError::TooManyKept { switch, vlans, limit });
        }
    }
    Ok(configs)
}

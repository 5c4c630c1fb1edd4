//! Switch configurations for the time in which nodes change from one plan to another: those of the new
//! plan, plus the VLANs of the old plan on ports whose cables are unchanged, and on ports that the new
//! plan does not use: their cables may still be there. With them, nodes that have the old plan and nodes
//! that have the new one reach each other.

use std::collections::{BTreeSet, HashMap};

use tresse_base::id::{LinkId, SwitchId, Vid};
use tresse_plan::Plan;
use tresse_plan::lock::{place, tree};
use tresse_topology::cluster::Port;

use super::{ExportError, ExportOptions, PortConfig, PortRole, SwitchConfig, switch};

/// Returns the switch configurations of `plan`, with the VLANs of the previous plan `old` added to them.
/// Both plans must be made with the same lock (the file that keeps VIDs as they are): then the trees
/// that a VID has in both plans form no loop together (K4).
///
/// # Errors
/// A switch cannot hold the VLANs of both plans.
pub fn configs(
    plan: &Plan,
    old: &Plan,
    options: ExportOptions,
) -> Result<Vec<SwitchConfig>, ExportError> {
    let mut configs = switch::drafts(plan, options);
    let before: HashMap<String, SwitchConfig> = switch::drafts(old, options)
        .into_iter()
        .map(|config| (place::switch(old.cluster(), config.switch), config))
        .collect();
    let cabled = same_cables(plan, old);
    let loops = base_loops(plan, old);
    for config in &mut configs {
        if let Some(before) = before.get(&place::switch(plan.cluster(), config.switch)) {
            add(config, before, &cabled);
        }
        switch::finish(plan, config);
        config.notes.extend(loops.clone());
        let vlans = config.vlans.len() + usize::from(config.base.is_some());
        let limit = plan.cluster().switch(config.switch).max_vlans;
        if vlans > limit as usize {
            let switch = config.name.clone();
            return Err(ExportError::TooManyKept { switch, vlans, limit });
        }
    }
    Ok(configs)
}

/// Returns advice if the base trees of both plans form a loop together, which one VID cannot
/// prevent: cables of the old tree must be removed.
fn base_loops(plan: &Plan, old: &Plan) -> Option<String> {
    let text = |plan: &Plan| {
        let (vid, links) = tresse_plan::base_vlan(plan)?;
        Some((vid, place::cables(plan.cluster(), &links)))
    };
    let ((vid, new), (before, old)) = (text(plan)?, text(old)?);
    (vid == before && !tree::compatible(&old, &new)).then(|| {
        format!(
            "base VLAN {vid} has another tree in each plan, and both together have a loop: leave its \
             spanning tree on (without the last block of this file) until every switch has the \
             configuration of the new plan"
        )
    })
}

/// Returns the ports of `plan` whose cable to another switch exists in `old` too, with the same far
/// end.
fn same_cables(plan: &Plan, old: &Plan) -> BTreeSet<(SwitchId, u32)> {
    let all: Vec<LinkId> = (0..old.cluster().links.len()).map(LinkId::from).collect();
    let same = place::links(plan.cluster(), &place::cables(old.cluster(), &all));
    let ends = same.iter().map(|id| plan.cluster().link(*id)).flat_map(|link| [link.a, link.b]);
    ends.map(|Port { switch, port }| (switch, port)).collect()
}

/// Adds the VLANs and forwarding entries of `before` on ports whose cable is unchanged, and its ports that
/// `config` does not have. The base VLAN stays off cables between switches that the new plan does not have,
/// as its trees of both plans may have a loop together.
fn add(config: &mut SwitchConfig, before: &SwitchConfig, cabled: &BTreeSet<(SwitchId, u32)>) {
    let mut tagged: BTreeSet<(Vid, u32)> = BTreeSet::new();
    for port in &mut config.ports {
        let node = port.role == PortRole::Node;
        let leads_there = node || cabled.contains(&(config.switch, port.port));
        // What was a cable by itself may belong to a group now, which leads there too.
        let numbers = port.numbers();
        let same = |old: &&PortConfig| {
            leads_there && numbers.contains(&old.port) && (old.role == PortRole::Node) == node
        };
        port.tagged.extend(before.ports.iter().filter(same).flat_map(|old| &old.tagged));
        port.tagged.sort_unstable();
        port.tagged.dedup();
        if port.role == PortRole::Pruned && !port.tagged.is_empty() {
            port.role = PortRole::Trunk;
        }
        tagged.extend(port.tagged.iter().map(|vid| (*vid, port.port)));
    }
    let used: BTreeSet<u32> = config.ports.iter().flat_map(PortConfig::numbers).collect();
    let is_free = |port: &&PortConfig| port.numbers().iter().all(|number| !used.contains(number));
    for port in before.ports.iter().filter(is_free) {
        if port.role == PortRole::Access || port.tagged.is_empty() {
            continue;
        }
        let untagged = port.untagged.filter(|_| port.role == PortRole::Node);
        config.ports.push(PortConfig { untagged, ..port.clone() });
        tagged.extend(port.tagged.iter().map(|vid| (*vid, port.port)));
    }
    let new: BTreeSet<Vid> = config.vlans.iter().map(|vlan| vlan.vid).collect();
    // A port is in one line only, so nothing of an old line is kept.
    let trees = before.vlans.iter().filter(|vlan| vlan.untagged.is_empty());
    config.vlans.extend(trees.filter(|vlan| !new.contains(&vlan.vid)).cloned());
    let known: BTreeSet<_> = config.fdb.iter().map(|entry| (entry.vid, entry.mac)).collect();
    let more = before.fdb.iter().filter(|e| !known.contains(&(e.vid, e.mac)));
    config.fdb.extend(more.filter(|e| tagged.contains(&(e.vid, e.port))));
}

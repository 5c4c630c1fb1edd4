//! What a new plan changes for those who run an older one (`tresse plan --against OLD`).

use std::collections::BTreeMap;

use serde::Serialize;

use super::Plan;
use crate::id::NodeId;

/// The difference between two plans, by names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Comparison {
    /// Format of this object: 1.
    pub format: u32,
    /// Generation of the older plan.
    pub old_generation: String,
    /// Generation of the newer plan.
    pub new_generation: String,
    /// Ordered pairs of nodes that both plans have.
    pub common_pairs: usize,
    /// Of these, pairs whose primary leaves by another NIC, VID or way, or whose address changed.
    pub touched_pairs: usize,
    /// Ordered pairs that only the newer plan has.
    pub added_pairs: usize,
    /// Ordered pairs that only the older plan has.
    pub removed_pairs: usize,
    /// Tree names that keep their VID.
    pub kept_vlans: usize,
    /// Tree names with a VID that the older plan does not give them.
    pub fresh_vlans: Vec<String>,
    /// Tree names that the newer plan gives no VID or another one.
    pub dropped_vlans: Vec<String>,
}

impl Comparison {
    /// Compares by node, switch and tree names. O(pairs).
    #[must_use]
    pub fn of(old: &Plan, new: &Plan) -> Self {
        let by_name = |plan: &Plan| -> BTreeMap<String, NodeId> {
            let nodes = plan.cluster().nodes.iter().enumerate();
            nodes.map(|(k, n)| (n.name.clone(), NodeId::from(k))).collect()
        };
        let (before, after) = (by_name(old), by_name(new));
        let common: Vec<(NodeId, NodeId)> =
            before.iter().filter_map(|(name, a)| Some((*a, *after.get(name)?))).collect();
        let mut touched = 0;
        for &(s, s2) in &common {
            for &(d, d2) in common.iter().filter(|(d, _)| *d != s) {
                let moved = old.addresses().node[d.index()] != new.addresses().node[d2.index()];
                touched += usize::from(moved || fingerprint(old, s, d) != fingerprint(new, s2, d2));
            }
        }
        let pairs = |n: usize| n * n.saturating_sub(1);
        let vids = |plan: &Plan| -> BTreeMap<String, u16> {
            let specs = plan.specs().iter().enumerate();
            specs.map(|(t, s)| (s.name.clone(), plan.vid(t.into()).0)).collect()
        };
        let (old_vids, new_vids) = (vids(old), vids(new));
        let missing = |from: &BTreeMap<String, u16>, of: &BTreeMap<String, u16>| -> Vec<String> {
            from.iter().filter(|(n, v)| of.get(*n) != Some(v)).map(|(n, _)| n.clone()).collect()
        };
        let fresh_vlans = missing(&new_vids, &old_vids);
        Self {
            format: 1,
            old_generation: old.generation().into(),
            new_generation: new.generation().into(),
            common_pairs: pairs(common.len()),
            touched_pairs: touched,
            added_pairs: pairs(after.len()) - pairs(common.len()),
            removed_pairs: pairs(before.len()) - pairs(common.len()),
            kept_vlans: new_vids.len() - fresh_vlans.len(),
            fresh_vlans,
            dropped_vlans: missing(&old_vids, &new_vids),
        }
    }
}

/// NICs, VID and switches of a primary, by name.
fn fingerprint(plan: &Plan, s: NodeId, d: NodeId) -> (String, String, u16, Vec<&str>) {
    let segment = plan.primary(s, d);
    let (from, to) = (plan.sender(&segment), plan.receiver(&segment));
    let mut channels = Vec::new();
    plan.walk(&segment, &mut channels);
    let name = |s: usize| plan.cluster().switches[s].name.as_str();
    let mut way = vec![name(from.switch.index())];
    way.extend(channels.iter().map(|c| name(plan.graph().head(*c) as usize)));
    (from.name.clone(), to.name.clone(), plan.vid(segment.tree).0, way)
}

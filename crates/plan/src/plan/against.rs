//! Compares a plan with an older one (`tresse plan --against OLD`), and counts the pairs, cables and VLANs that
//! differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use tresse_base::id::{NodeId, TreeId};
use tresse_topology::cluster::{Nic, Node};
use tresse_topology::path::Segment;

use super::Plan;
use crate::lock::{Labels, Lock, place};

/// The differences between an older and a newer plan: counts of pairs and cables, and lists of VLANs. Nodes and
/// switches of generated fabrics are matched by their places (coordinates, index or port), as in the lock, others by
/// their names.
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
    /// Of these, pairs whose primary leaves by another NIC, VID or path, or whose address changed.
    pub touched_pairs: usize,
    /// Ordered pairs that only the newer plan has.
    pub added_pairs: usize,
    /// Ordered pairs that only the older plan has.
    pub removed_pairs: usize,
    /// NICs of common nodes whose cable goes to another switch, port or node.
    pub moved_cables: usize,
    /// Names of trees, or of lines on shared switches, that keep their VID.
    pub kept_vlans: usize,
    /// Names with a VID that the older plan does not give them.
    pub fresh_vlans: Vec<String>,
    /// Names that the newer plan gives no VID or another one.
    pub dropped_vlans: Vec<String>,
    /// Gateways and networks behind nodes that only the newer plan has, or has at another node or place.
    pub fresh_behind: Vec<String>,
    /// The same of the older plan.
    pub dropped_behind: Vec<String>,
}

impl Comparison {
    /// Compares. O(pairs).
    #[must_use]
    pub fn of(old: &Plan, new: &Plan) -> Self {
        let lock = Lock::default().next(old.cluster(), old.addresses(), &[], &[], Labels::new());
        let before: HashMap<&str, NodeId> = old
            .cluster()
            .nodes
            .iter()
            .zip(0..)
            .map(|(n, k)| (n.name.as_str(), NodeId(k)))
            .collect();
        let names = lock.names(new.cluster()).into_iter().zip(0..);
        let common: Vec<(NodeId, NodeId)> =
            names.filter_map(|(name, k)| Some((*before.get(name?)?, NodeId(k)))).collect();
        let places = [old, new].map(|plan| {
            let switches = 0..plan.cluster().switches.len();
            switches.map(|s| place::switch(plan.cluster(), s.into())).collect::<Vec<_>>()
        });
        let mut touched = 0;
        for &(s, s2) in &common {
            for &(d, d2) in common.iter().filter(|(d, _)| *d != s) {
                let moved = old.addresses().node[d.index()] != new.addresses().node[d2.index()];
                touched += usize::from(
                    moved
                        || fingerprint(old, &places[0], s, d)
                            != fingerprint(new, &places[1], s2, d2),
                );
            }
        }
        let moved = |(k, k2): &(NodeId, NodeId)| {
            let [before, after] = [(old, *k, &places[0]), (new, *k2, &places[1])]
                .map(|(plan, node, places)| cables(plan, node, places));
            after.iter().filter(|(nic, end)| before.get(*nic).is_some_and(|b| b != *end)).count()
        };
        let moved_cables = common.iter().map(moved).sum();
        let pairs = |n: usize| n * n.saturating_sub(1);
        let vids = |plan: &Plan| -> BTreeMap<String, u16> {
            let specs = plan.specs().iter().enumerate();
            let trees = specs.map(|(t, s)| (s.name.clone(), plan.vid(t.into()).0));
            trees.chain(plan.lines().into_iter().map(|line| (line.name, line.vid.0))).collect()
        };
        let (old_vids, new_vids) = (vids(old), vids(new));
        let missing = |from: &BTreeMap<String, u16>, of: &BTreeMap<String, u16>| -> Vec<String> {
            from.iter().filter(|(n, v)| of.get(*n) != Some(v)).map(|(n, _)| n.clone()).collect()
        };
        let fresh_vlans = missing(&new_vids, &old_vids);
        let (old_behind, new_behind) = (behind(old), behind(new));
        Self {
            format: 1,
            old_generation: old.generation().into(),
            new_generation: new.generation().into(),
            common_pairs: pairs(common.len()),
            touched_pairs: touched,
            added_pairs: pairs(new.cluster().nodes.len()) - pairs(common.len()),
            removed_pairs: pairs(before.len()) - pairs(common.len()),
            moved_cables,
            kept_vlans: new_vids.len() - fresh_vlans.len(),
            fresh_vlans,
            dropped_vlans: missing(&old_vids, &new_vids),
            fresh_behind: new_behind.difference(&old_behind).cloned().collect(),
            dropped_behind: old_behind.difference(&new_behind).cloned().collect(),
        }
    }
}

/// What is behind nodes, in words.
fn behind(plan: &Plan) -> BTreeSet<String> {
    let of = |node: &Node| {
        let gateway = node.gateway.then(|| match node.gateway_order {
            0 => format!("gateway {}", node.name),
            order => format!("gateway {} at place {order}", node.name),
        });
        let networks = node.prefixes.iter().map(|to| format!("{to} behind {}", node.name));
        gateway.into_iter().chain(networks).collect::<Vec<_>>()
    };
    plan.cluster().nodes.iter().flat_map(of).collect()
}

/// Where the cable of each NIC of a node goes: switch and port, or node and NIC. A switch with one line of
/// nodes is known by the line, as its number shifts with growth.
fn cables<'a>(
    plan: &'a Plan,
    node: NodeId,
    places: &[String],
) -> BTreeMap<&'a str, (String, String)> {
    let cluster = plan.cluster();
    let lines = plan.layout().filter(|layout| !layout.shares_switches());
    let end = |(index, nic): (usize, &'a Nic)| {
        let (there, port) = match (nic.peer, lines) {
            (Some(peer), _) => {
                let far = cluster.node(peer.node);
                (far.name.clone(), far.nics[peer.nic].name.clone())
            }
            (None, Some(layout)) => {
                (layout.line_name(layout.line(node, index)), nic.port.to_string())
            }
            (None, None) => (places[nic.switch.index()].clone(), nic.port.to_string()),
        };
        (nic.name.as_str(), (there, port))
    };
    cluster.node(node).nics.iter().enumerate().map(end).collect()
}

/// NICs, VID and switches of each segment of a primary, by names and places; where nodes route, the
/// nodes.
fn fingerprint<'a>(
    plan: &'a Plan,
    places: &'a [String],
    s: NodeId,
    d: NodeId,
) -> Vec<(&'a str, &'a str, u16, Vec<&'a str>)> {
    let one = |segment: &Segment| {
        let (from, to) = (plan.sender(segment), plan.receiver(segment));
        if segment.tree == TreeId::NONE {
            let next = plan.cluster().node(segment.to).name.as_str();
            return (from.name.as_str(), to.name.as_str(), 0, vec![next]);
        }
        let mut channels = Vec::new();
        plan.walk(segment, &mut channels);
        let mut path = vec![places[from.switch.index()].as_str()];
        path.extend(channels.iter().map(|c| places[plan.graph().head(*c) as usize].as_str()));
        (from.name.as_str(), to.name.as_str(), plan.vid(segment.tree).0, path)
    };
    plan.primary(s, d).iter().map(one).collect()
}

//! One node's part of a plan, in the form in which the decision engine installs it in the kernel
//! and keeps it in the state file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_base::id::{Label, NodeId, Vid};
use tresse_base::units::{Mac, Prefix};
use tresse_plan::Plan;
use tresse_plan::lock;
use tresse_reconcile::{
    METRIC_PRIMARY, Nexthop, PUSH_INTERFACE, Wanted, WantedLabel, WantedRoute, XyBackups,
    sysctl_interface,
};
use tresse_slice::Slice;
use tresse_slice::watch::Watches;

use super::index::Index;

/// One node's part of a plan, with the texts of the cluster file and the lock file from which the
/// plan was computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// This node's name.
    pub node: String,
    /// The name of this machine, if it is a spare that has taken the place of the node's own.
    #[serde(default)]
    pub machine: Option<String>,
    /// This node's index in the cluster.
    pub id: NodeId,
    /// Number of nodes in the cluster; announcements with a higher index are foreign.
    pub nodes: u32,
    /// FNV-1a hash (64 bits) of the fabric's name; announcements with another one are foreign.
    pub fabric: [u8; 8],
    /// Digest of the plan.
    pub generation: String,
    /// Text of the cluster file.
    pub cluster: String,
    /// Text of the lock.
    pub lock: Option<String>,
    /// The VLAN interfaces by name; on a fabric without VLANs, the NICs.
    pub interfaces: BTreeMap<String, PlannedInterface>,
    /// The kernel state if every VLAN is proven and none is fused. Excludes label handling:
    /// [`labels`](Self::labels) and [`label_sources`](Self::label_sources) are separate.
    pub wanted: Wanted,
    /// By destination: the first nexthops of its other paths by rank, used when a VLAN is fused.
    #[serde(default)]
    pub alternatives: BTreeMap<Prefix, Vec<Nexthop>>,
    /// What this node forwards for others, whichever engine does it.
    #[serde(default)]
    pub labels: Vec<(Label, WantedLabel)>,
    /// The paths of this node and which of them are watched; empty without BFD.
    #[serde(default)]
    pub watches: Arc<Watches>,
    /// Answers to control calls about the plan. Not stored, but made again when a stored plan is
    /// loaded.
    #[serde(skip)]
    pub index: Arc<Index>,
    /// By interface: the MAC addresses from which labelled frames are accepted.
    #[serde(default)]
    pub label_sources: BTreeMap<String, BTreeSet<Mac>>,
}

/// One VLAN interface that the plan uses on this node; on a fabric without VLANs, a NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedInterface {
    /// The NIC below.
    pub parent: String,
    /// The VLAN; `None` for a NIC itself, which has no tree: nothing to prove and nothing that could loop.
    #[serde(with = "untagged_as_zero")]
    pub vid: Option<Vid>,
    /// Digest of the VLAN's tree: proofs are stored by (VID, digest).
    pub digest: String,
    /// Does a segment end at this NIC? Then it announces itself (K17).
    pub announces: bool,
    /// Place in the order of canary senders (K5).
    pub rank: u32,
    /// Shortest ageing time of the forwarding databases on the tree.
    pub fdb_age_seconds: u32,
    /// The VLAN's tree in one line of text, from which its links are listed on request.
    #[serde(default)]
    pub tree: String,
}

impl Prepared {
    /// Does a path of this node push labels?
    pub(super) fn pushes(&self) -> bool {
        let routes = self.wanted.routes.values().flat_map(|route| &route.nexthops);
        routes.chain(self.alternatives.values().flatten()).any(|nexthop| !nexthop.labels.is_empty())
    }

    /// The VLANs by VID, each with one of its interfaces.
    #[must_use]
    pub fn vlans(&self) -> BTreeMap<Vid, (&str, &PlannedInterface)> {
        let mut vlans = BTreeMap::new();
        for (name, interface) in &self.interfaces {
            if let Some(vid) = interface.vid {
                vlans.entry(vid).or_insert((name.as_str(), interface));
            }
        }
        vlans
    }

    /// The name of this machine.
    pub(super) fn machine(&self) -> &str {
        self.machine.as_ref().unwrap_or(&self.node)
    }

    /// The digest by which announcements identify this plan.
    #[must_use]
    pub fn digest(&self) -> [u8; 8] {
        digest(&self.generation)
    }

    /// The links of a VLAN's tree, `s00-s01`.
    #[must_use]
    pub fn links(&self, vid: Vid) -> Vec<String> {
        let interface = self.interfaces.values().find(|i| i.vid == Some(vid));
        interface.map(|i| lock::tree::links(&i.tree)).unwrap_or_default()
    }

    /// The planned route to a node, by the address of the same family as `like`.
    pub(super) fn route_to(&self, node: NodeId, like: Prefix) -> Option<&WantedRoute> {
        let pair = self.index.pairs().find(|pair| pair[0].id.dst == node)?;
        let ipv4 = like.address.is_ipv4();
        let to = pair[0].nexthops.iter().find(|(to, _)| to.address.is_ipv4() == ipv4)?;
        self.wanted.routes.get(&(to.0, METRIC_PRIMARY))
    }

    /// The part of `node`, with the texts that `plan` was made from.
    #[must_use]
    pub fn new(plan: &Plan, node: NodeId, cluster: String, lock: Option<String>) -> Self {
        let Slice { node: name, generation, interfaces, wanted, alternatives, .. } =
            Slice::of(plan, node);
        let model = plan.cluster();
        let age = model.switches.iter().map(|s| s.fdb_age_seconds).min().unwrap_or(300);
        let tree = |vid| plan.tree_of(vid).map(|id| plan.tree_text(id));
        let interfaces = interfaces
            .into_iter()
            .map(|(name, interface)| {
                let prepared = PlannedInterface {
                    tree: interface.vid.and_then(tree).unwrap_or_default(),
                    parent: interface.parent,
                    vid: interface.vid,
                    digest: interface.digest,
                    announces: interface.announces,
                    rank: interface.rank,
                    fdb_age_seconds: age,
                };
                (name, prepared)
            })
            .collect();
        let routes = wanted.all_routes();
        let Wanted { labels, label_sources, xy: XyBackups { tables, .. }, .. } = wanted;
        Self {
            node: name,
            machine: model.node(node).machine.clone(),
            id: node,
            nodes: model.nodes.len() as u32,
            fabric: digest(&model.name),
            generation,
            cluster,
            lock,
            interfaces,
            labels: labels.into_iter().collect(),
            label_sources,
            watches: Arc::default(),
            index: Arc::default(),
            wanted: Wanted {
                routes,
                labels: BTreeMap::new(),
                label_sources: BTreeMap::new(),
                xy: XyBackups { backups: BTreeMap::new(), tables },
                ..wanted
            },
            alternatives,
        }
    }

    /// Converts a plan that an older version stored: those include label handling in the kernel
    /// state.
    pub(super) fn upgrade(&mut self) {
        // Versions before stored paths without their ends: such paths are chosen again.
        if self.watches.paths().iter().any(|watch| watch.id.src == watch.id.dst) {
            self.watches = Arc::default();
        }
        let wanted = &mut self.wanted;
        wanted.routes = wanted.all_routes();
        wanted.xy.backups.clear();
        let (labels, sources) = (std::mem::take(&mut wanted.labels), &mut wanted.label_sources);
        let sources = std::mem::take(sources);
        if self.labels.is_empty() {
            self.labels.extend(labels);
            self.label_sources.extend(sources);
        }
        wanted.links.remove(PUSH_INTERFACE);
        let of_engines = |key: &str| {
            key.starts_with("net/mpls/") || sysctl_interface(key) == Some(PUSH_INTERFACE)
        };
        wanted.sysctls.retain(|key, _| !of_engines(key));
    }
}

/// The state file has 0 for what has no tag, as versions before wrote it.
mod untagged_as_zero {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use tresse_base::id::Vid;

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub fn serialize<S: Serializer>(vid: &Option<Vid>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u16(vid.map_or(0, |vid| vid.0))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vid>, D::Error> {
        u16::deserialize(from).map(Vid::tag)
    }
}

/// FNV-1a (64 bits). Only distinguishes fabrics on one cable, and plans of one fabric.
#[must_use]
pub fn digest(text: &str) -> [u8; 8] {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_file_has_zero_for_no_vlan() {
        let planned = |vid| PlannedInterface {
            parent: "eth0".into(),
            vid,
            digest: String::new(),
            announces: true,
            rank: 0,
            fdb_age_seconds: 300,
            tree: String::new(),
        };
        for (vid, number) in [(None, 0), (Some(Vid(100)), 100)] {
            let json = serde_json::to_value(planned(vid)).unwrap();
            assert_eq!(json["vid"], number);
            assert_eq!(serde_json::from_value::<PlannedInterface>(json).unwrap(), planned(vid));
        }
    }
}
